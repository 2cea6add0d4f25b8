"""``promptdsl show``: a section of a library, and what it renders to."""

import argparse
from collections.abc import Mapping

from promptdsl import Input, PromptError, Rendered, SectionInfo, TemplateError, render
from promptdsl.cli.arguments import Arguments, read_arguments
from promptdsl.cli.commands import AddParser, add_arguments, add_command
from promptdsl.cli.errors import UsageError, near
from promptdsl.cli.libraries import (
    FAILED,
    SECTION,
    loaded_section,
    one_line,
    plain,
    section_prompt,
    section_row,
    short,
    wrapped,
)
from promptdsl.cli.show import as_json, relative
from promptdsl.comparing import visible

DESCRIPTION = """\
Show a section of a library: its inputs, its source, the text that it renders to with the given
inputs and the defaults, and the tokens of this text."""
RULE = 72
"""The width of the rules between the parts, in characters, as in ``promptdsl render``."""


def add_show(add_parser: AddParser) -> None:
    """Add the command and its options."""
    parser = add_command(
        add_parser, "show", run=run, takes="SECTION", description=DESCRIPTION, failed=FAILED
    )
    parser.add_argument("target", metavar="SECTION", help=SECTION)
    add_arguments(parser.add_argument, of="input of the section")
    parser.add_argument("--model", metavar="NAME", help="the model whose tokens are counted")
    parser.add_argument(
        "--json", action="store_true", help="print the same as JSON, with the schema of the inputs"
    )


def run(arguments: argparse.Namespace) -> tuple[str, list[str]]:
    """Return the data and the notes of the command."""
    given = read_arguments(arguments.pairs, arguments.props)
    with loaded_section(arguments.target) as (library, name):
        info = library.sections[name]
        inputs = _inputs(info, given)
        missing = [one for one in info.inputs or () if one.required and one.name not in inputs]
        rendered, problem = None, ""
        if missing:
            options = [f"'{it.name}=[...]'" if _is_list(it) else f"{it.name}=..." for it in missing]
            problem = f"to see what it renders to, give its inputs: -p {' -p '.join(options)}"
        else:
            try:
                prompt = section_prompt(library, name)(**inputs)
                rendered = render(prompt, model=arguments.model)
            except TemplateError as error:
                # Without front matter nobody knows the inputs before it is rendered.
                if info.inputs is not None:
                    raise
                problem = f"{error.what}: give its value with -p, as name=value"
        notes: list[str] = []
        if rendered is not None and arguments.model and not rendered.facts.known:
            notes = [f"model {arguments.model!r} is not known"]
        if arguments.json:
            return _json_text(info, missing, rendered), [*notes, *([problem] if problem else [])]
        return _text(info, rendered, problem), notes


def _is_list(one: Input) -> bool:
    return one.type.startswith("list")


def _inputs(info: SectionInfo, given: Arguments) -> Mapping[str, object]:
    if info.inputs is None:
        return given
    known = {one.name: one for one in info.inputs}
    values: Arguments = {}
    for name, value in given.items():
        if name not in known:
            there = near(name, known) or ": it has none"
            raise UsageError(f"{info.section.name} has no input {name!r}{there}")
        try:
            values[name] = known[name].parsed(value) if isinstance(value, str) else value
        except PromptError as error:
            advice = f"; a list is JSON: -p '{name}=[\"...\"]'" if _is_list(known[name]) else ""
            raise UsageError(f"-p {name}={value}: {one_line(error)}{advice}") from None
    return values


def _text(info: SectionInfo, rendered: Rendered | None, problem: str) -> str:
    lines = [visible(str(info.section), one_line=True)]
    lines += wrapped(info.title) if info.title else []
    lines += wrapped(info.description) if info.description else []
    lines += ["", f"{info.kind} in {visible(relative(f'{info.file}:{info.line}'), one_line=True)}"]
    lines += ["", "inputs: " + ("any" if info.inputs is None else "none")]
    if info.inputs:
        lines[-1] = "inputs:"
    for one in info.inputs or ():
        default = " (required)" if one.required else f" = {short(one.default)}"
        lines.append(visible(f"  {one.name}: {one.type}{default}", one_line=True))
        lines += wrapped(one.doc, "      ") if one.doc else []
    lines += ["", f"── source {'─' * (RULE - 10)}", visible(info.source.rstrip("\n"))]
    if rendered is None:
        return "\n".join([*lines, "", *wrapped(problem, "")])
    tokens = f"{rendered.tokens.total:,} tokens: {rendered.tokens.label}"
    return "\n".join([*lines, "", str(rendered).rstrip("\n"), "", visible(tokens, one_line=True)])


def _json_text(info: SectionInfo, missing: list[Input], rendered: Rendered | None) -> str:
    inputs = info.inputs or ()
    schema = {
        "type": "object",
        "properties": {
            one.name: {key: plain(value) for key, value in one.schema.items()} for one in inputs
        },
        "required": [one.name for one in inputs if one.required],
        "additionalProperties": info.inputs is None,
    }
    tokens = rendered and {"total": rendered.tokens.total, "label": rendered.tokens.label}
    return as_json(
        {
            **section_row(info),
            "schema": schema,
            "source": info.source,
            "missing": [one.name for one in missing],
            "rendered": None if rendered is None else str(rendered),
            "tokens": tokens,
        }
    )
