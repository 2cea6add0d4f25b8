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
Show a section of a library: its inputs, its source, its rendered text with the inputs of -p and the
defaults of the others, and the tokens of this text."""
RULE = 72
"""The width of the lines between the parts of the output, in characters."""


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
    values = read_arguments(arguments.pairs, arguments.props)
    with loaded_section(arguments.target) as (library, name):
        info = library.sections[name]
        inputs = _inputs(info, values)
        required = [declared for declared in info.inputs or () if declared.required]
        missing = [declared for declared in required if declared.name not in inputs]
        rendered, problem = None, ""
        if missing:
            options = [
                f"'{declared.name}=[...]'" if _is_list(declared) else f"{declared.name}=..."
                for declared in missing
            ]
            problem = f"to see the rendered text, give its inputs: -p {' -p '.join(options)}"
        else:
            try:
                prompt = section_prompt(library, name)(**inputs)
                rendered = render(prompt, model=arguments.model)
            except TemplateError as error:
                # Without front matter, the inputs are not known before the render.
                if info.inputs is not None:
                    raise
                problem = f"{error.what}: give its value with -p, as name=value"
        notes: list[str] = []
        if rendered is not None and arguments.model and not rendered.facts.known:
            notes = [f"model {arguments.model!r} is not known"]
        if arguments.json:
            return _json_text(info, missing, rendered), [*notes, *([problem] if problem else [])]
        return _text(info, rendered, problem), notes


def _is_list(declared: Input) -> bool:
    return declared.type.startswith("list")


def _inputs(info: SectionInfo, values: Arguments) -> Mapping[str, object]:
    """Return the values of the inputs of a section; texts are parsed."""
    if info.inputs is None:
        return values
    by_name = {declared.name: declared for declared in info.inputs}
    parsed: Arguments = {}
    for name, value in values.items():
        if name not in by_name:
            others = near(name, by_name) or ": it has none"
            raise UsageError(f"{info.section.name} has no input {name!r}{others}")
        try:
            parsed[name] = by_name[name].parsed(value) if isinstance(value, str) else value
        except PromptError as error:
            advice = f"; a list is JSON: -p '{name}=[\"...\"]'" if _is_list(by_name[name]) else ""
            raise UsageError(f"-p {name}={value}: {one_line(error)}{advice}") from None
    return parsed


def _text(info: SectionInfo, rendered: Rendered | None, problem: str) -> str:
    lines = [visible(str(info.section), one_line=True)]
    lines += wrapped(info.title) if info.title else []
    lines += wrapped(info.description) if info.description else []
    lines += ["", f"{info.kind} in {visible(relative(f'{info.file}:{info.line}'), one_line=True)}"]
    lines += ["", "inputs: " + ("any" if info.inputs is None else "none")]
    if info.inputs:
        lines[-1] = "inputs:"
    for declared in info.inputs or ():
        default = " (required)" if declared.required else f" = {short(declared.default)}"
        lines.append(visible(f"  {declared.name}: {declared.type}{default}", one_line=True))
        lines += wrapped(declared.doc, "      ") if declared.doc else []
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
            declared.name: {key: plain(value) for key, value in declared.schema.items()}
            for declared in inputs
        },
        "required": [declared.name for declared in inputs if declared.required],
        "additionalProperties": info.inputs is None,
    }
    tokens = rendered and {"total": rendered.tokens.total, "label": rendered.tokens.label}
    return as_json(
        {
            **section_row(info),
            "schema": schema,
            "source": info.source,
            "missing": [declared.name for declared in missing],
            "rendered": None if rendered is None else str(rendered),
            "tokens": tokens,
        }
    )
