"""``promptdsl list`` and ``promptdsl show``: the section libraries, and a section of a library.

In this order: loading the library or section that a command names, ``list``, and ``show``.
"""

import argparse
import inspect
import os
import re
import sys
import textwrap
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from datetime import date
from functools import wraps
from typing import Any

from promptdsl import (
    Input,
    InstalledLibrary,
    Library,
    LibraryError,
    PlacementError,
    PromptError,
    Rendered,
    SectionInfo,
    System,
    TemplateError,
    Text,
    render,
)
from promptdsl.cli.commands import AddParser, Arguments, add_arguments, add_command, read_arguments
from promptdsl.cli.output import UsageError, as_json, as_section, fields, relative_paths, suggestion
from promptdsl.comparing import visible

# Loading the library or section that a command names, and a section as JSON data and as text.

SECTION = "a section of an installed library, such as starter:untrusted"
FAILED = "the library is wrong"
WIDTH = 76
"""The most characters of a line of a description."""
LIBRARY_ATTRIBUTES = frozenset({*dir(Library), "name"})
"""The attributes of every library. A section with one of these names is no attribute: write
``library["name"]``."""


@contextmanager
def loaded_library(name: str) -> Generator[Library]:
    """Yield an installed library; output of its code goes to standard error.

    Raises :class:`UsageError` for an unknown library, :class:`LibraryError` for a broken one.
    """
    is_installed = any(library.name == name for library in Library.installed())
    with redirect_stdout(sys.stderr):
        try:
            library = Library.load(name)
        except LibraryError as error:
            if is_installed:
                raise
            raise UsageError(one_line(error)) from None
        yield library


@contextmanager
def loaded_section(target: str) -> Generator[tuple[Library, str]]:
    """Yield the library and the name of the section for ``LIBRARY:NAME``.

    Raises :class:`UsageError` for a text in another format, and for an unknown section.
    """
    library_name, colon, name = target.partition(":")
    if not colon or not library_name or not name:
        raise UsageError(
            f"{target!r} is not a section: write LIBRARY:NAME, such as starter:untrusted; "
            "promptdsl list LIBRARY lists the sections"
        )
    with loaded_library(library_name) as library:
        # Only the name is checked here. A broken section raises an error when it is used.
        if name not in [*library.sections]:
            try:
                library[name]
            except LibraryError as error:
                raise UsageError(f"{library_name} has no section {name!r}: {error.fix}") from None
        yield library, name


def section_prompt(library: Library, name: str) -> Callable[..., Any]:  # Any: parts
    """Return a function that returns a section in a system turn, for inputs by name.

    A text is parsed as the type of its input. A section that contains turns is returned without a
    system turn. A section that takes children gets a text as its child.
    """
    component = library[name]
    declared = {field.name: field for field in library.sections[name].inputs or ()}

    def section_of(inputs: Arguments) -> Any:
        section = component(**inputs)
        if inspect.isgeneratorfunction(inspect.unwrap(component)):
            with section:
                Text("(its children)")
        return section

    @wraps(component)
    def prompt(**arguments: object) -> Any:
        inputs = dict(arguments)
        for key, argument in arguments.items():
            if key in declared and isinstance(argument, str):
                inputs[key] = declared[key].parsed(argument)
        try:
            return System(section_of(inputs))
        except PlacementError:
            return section_of(inputs)

    return prompt


def section_row(info: SectionInfo) -> dict[str, object]:
    """Return a section as JSON data, without its source."""
    return {
        **as_section(info.section),
        **fields(info, "kind", "title", "description"),
        "inputs": None
        if info.inputs is None
        else [_input_row(declared) for declared in info.inputs],
        "file": relative_paths(f"{info.file}:{info.line}").rpartition(":")[0],
        "line": info.line,
    }


def _input_row(declared: Input) -> dict[str, object]:
    row = fields(declared, "name", "type", "required")
    default = {} if declared.required else {"default": json_default(declared.default)}
    return {**row, **default, "doc": declared.doc}


def json_default(default: object) -> object:
    """Return a default if JSON can express it, else its text: a default may be any object."""
    try:
        as_json(default)
    except (TypeError, ValueError, RecursionError):
        return default_text(default)
    return default


def default_text(default: object) -> str:
    """Return a default as text: a date in ISO 8601, any other default as Python code."""
    return default.isoformat() if isinstance(default, date) else repr(default)


def wrapped_lines(text: str, indent: str = "    ") -> Iterable[str]:
    """Return a text as indented lines of at most ``WIDTH`` characters."""
    wrap = textwrap.TextWrapper(WIDTH, indent, indent, break_on_hyphens=False).wrap
    return [row for line in visible(text).split("\n") for row in wrap(line) or [""]]


def class_name(library: str) -> str:
    """Return the name of the class that a library has in its stub."""
    return "_" + "".join(word.capitalize() for word in re.split("[_.-]", library))


def one_line(error: PromptError) -> str:
    """Return an error in one line: the problem and the advice."""
    return f"{error.what}: {error.fix}" if error.fix else error.what


# ``promptdsl list``: the section libraries, and the sections of one.

LIST_DESCRIPTION = """\
List the installed section libraries, each with its version and its package. With LIBRARY, list its
sections. The list of libraries shows what the packages declare, and loads nothing. --check loads
each library and its sections, and shows what cannot be used, and why."""
LIMIT = "PROMPTDSL_LIBRARIES"
"""The environment variable with the names of the libraries that may be used."""


def add_list(add_parser: AddParser) -> None:
    """Add the command and its options."""
    parser = add_command(
        add_parser,
        "list",
        run=run_list,
        takes="[LIBRARY]",
        description=LIST_DESCRIPTION,
        failed=f"{FAILED}, or --check found a problem",
    )
    parser.add_argument(
        "target", metavar="LIBRARY", nargs="?", help="the name of a library, such as starter"
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="load each library and section; exit with 1 if one of them is broken",
    )
    parser.add_argument("--json", action="store_true", help="print the same as JSON")


def run_list(arguments: argparse.Namespace) -> tuple[str, list[str], int]:
    """Return the list, the notes and the exit code."""
    notes: list[str] = []
    if arguments.target is not None:
        with loaded_library(arguments.target) as library:
            rows, lines = _sections(library)
    else:
        libraries = Library.installed()
        limit = os.environ.get(LIMIT)
        if limit is not None:
            notes = [f"{LIMIT} is {limit!r}: all other libraries are left out"]
        elif not libraries:
            notes = ["no library is installed: create one with promptdsl new library NAME"]
        rows, lines = _libraries(libraries, check=arguments.check)
    failed = arguments.check and any(row.get("problem") or row.get("broken") for row in rows)
    return as_json(rows) if arguments.json else "\n".join(lines), notes, int(failed)


def _libraries(
    libraries: Sequence[InstalledLibrary], *, check: bool
) -> tuple[list[dict[str, object]], list[str]]:
    """Return each library as JSON data, and as lines: one for the library, and its problems."""
    rows: list[dict[str, object]] = []
    lines: list[str] = []
    name, version = (
        max((len(getattr(installed, key)) for installed in libraries), default=0)
        for key in ("name", "version")
    )
    for installed in libraries:
        problem, broken = installed.problem, dict[str, str]()
        if check and not problem:
            try:
                with loaded_library(installed.name) as library:
                    sections, _ = _sections(library)
                broken = {
                    str(section["name"]): str(section["problem"])
                    for section in sections
                    if "problem" in section
                }
            except LibraryError as error:
                problem = one_line(error)
        row = fields(installed, "name", "version", "package", "target")
        rows.append({**row, "problem": problem or None, **({"broken": broken} if check else {})})
        text = f"{installed.name:<{name}}  {installed.version:<{version}}  {installed.package}"
        lines.append(visible(text.rstrip(), one_line=True))
        # The text of a section's problem names the section.
        for text in (problem, *broken.values()):
            lines += wrapped_lines(f"problem: {text}") if text else []
    return rows, lines


def _sections(library: Library) -> tuple[list[dict[str, object]], list[str]]:
    """Return each section as JSON data, and as lines: its call and description, or its problem."""
    rows: list[dict[str, object]] = []
    lines: list[str] = []
    for name in library.sections:
        try:
            info = library.sections[name]
        except PromptError as error:
            qualified = f"{library.name}:{name}"
            rows.append({"name": qualified, "problem": one_line(error)})
            lines.append(visible(qualified, one_line=True))
            lines += wrapped_lines(f"problem: {one_line(error)}")
            continue
        rows.append(section_row(info))
        inputs = [
            declared.name
            if declared.required
            else f"{declared.name}={default_text(declared.default)}"
            for declared in info.inputs or ()
        ]
        call = f"{info.section.name}({'...' if info.inputs is None else ', '.join(inputs)})"
        lines.append(visible(call, one_line=True))
        summary = [info.title, info.description if info.kind == "template" else ""]
        lines += wrapped_lines(": ".join(text for text in summary if text)) if any(summary) else []
    return rows, lines


# ``promptdsl show``: a section of a library, and its rendered text.

SHOW_DESCRIPTION = """\
Show a section of a library: its inputs, its source, its rendered text, and the tokens of this text.
-p passes inputs; all others have their defaults."""
RULE = 72
"""The width of the line above the source, in characters."""


def add_show(add_parser: AddParser) -> None:
    """Add the command and its options."""
    parser = add_command(
        add_parser,
        "show",
        run=run_show,
        takes="SECTION",
        description=SHOW_DESCRIPTION,
        failed=FAILED,
    )
    parser.add_argument("target", metavar="SECTION", help=SECTION)
    add_arguments(parser.add_argument, of="input of the section")
    parser.add_argument("--model", metavar="NAME", help="the model whose tokens are counted")
    parser.add_argument(
        "--json", action="store_true", help="print the same as JSON, with the schema of the inputs"
    )


def run_show(arguments: argparse.Namespace) -> tuple[str, list[str]]:
    """Return the section as text or JSON, and the notes."""
    values = read_arguments(arguments.pairs, arguments.props)
    with loaded_section(arguments.target) as (library, name):
        info = library.sections[name]
        inputs = _parsed_inputs(info, values)
        required = [declared for declared in info.inputs or () if declared.required]
        missing = [declared for declared in required if declared.name not in inputs]
        rendered, problem = None, ""
        if missing:
            options = [
                f"'{declared.name}=[...]'" if _is_list(declared) else f"{declared.name}=..."
                for declared in missing
            ]
            problem = f"to see the rendered text, pass its inputs: -p {' -p '.join(options)}"
        else:
            try:
                prompt = section_prompt(library, name)(**inputs)
                rendered = render(prompt, model=arguments.model)
            except TemplateError as error:
                # Without front matter, only the render shows which inputs are missing.
                if info.inputs is not None:
                    raise
                problem = f"{error.what}: pass it with -p NAME=VALUE"
        notes: list[str] = []
        if rendered is not None and arguments.model and not rendered.facts.known:
            notes = [f"model {arguments.model!r} is unknown"]
        if arguments.json:
            return _json_text(info, missing, rendered), [*notes, *([problem] if problem else [])]
        return _section_text(info, rendered, problem), notes


def _is_list(declared: Input) -> bool:
    return declared.type.startswith("list")


def _parsed_inputs(info: SectionInfo, values: Arguments) -> Mapping[str, object]:
    """Return the values of the inputs of a section; each text is parsed as the type of its input.

    Raises :class:`UsageError` for an unknown input, and for a text of another type.
    """
    if info.inputs is None:
        return values
    by_name = {declared.name: declared for declared in info.inputs}
    parsed: Arguments = {}
    for name, value in values.items():
        if name not in by_name:
            advice = suggestion(name, by_name) or ": it has no inputs"
            raise UsageError(f"{info.section.name} has no input {name!r}{advice}")
        try:
            parsed[name] = by_name[name].parsed(value) if isinstance(value, str) else value
        except PromptError as error:
            advice = f"; a list is JSON: -p '{name}=[\"...\"]'" if _is_list(by_name[name]) else ""
            raise UsageError(f"-p {name}={value}: {one_line(error)}{advice}") from None
    return parsed


def _section_text(info: SectionInfo, rendered: Rendered | None, problem: str) -> str:
    lines = [visible(str(info.section), one_line=True)]
    lines += wrapped_lines(info.title) if info.title else []
    lines += wrapped_lines(info.description) if info.description else []
    lines += [
        "",
        f"{info.kind} in {visible(relative_paths(f'{info.file}:{info.line}'), one_line=True)}",
    ]
    lines += ["", "inputs: " + ("any" if info.inputs is None else "none")]
    if info.inputs:
        lines[-1] = "inputs:"
    for declared in info.inputs or ():
        default = " (required)" if declared.required else f" = {default_text(declared.default)}"
        lines.append(visible(f"  {declared.name}: {declared.type}{default}", one_line=True))
        lines += wrapped_lines(declared.doc, "      ") if declared.doc else []
    lines += ["", f"── source {'─' * (RULE - 10)}", visible(info.source.rstrip("\n"))]
    if rendered is None:
        return "\n".join([*lines, "", *wrapped_lines(problem, "")])
    tokens = f"{rendered.tokens.total:,} tokens: {rendered.tokens.label}"
    return "\n".join([*lines, "", str(rendered).rstrip("\n"), "", visible(tokens, one_line=True)])


def _json_text(info: SectionInfo, missing: list[Input], rendered: Rendered | None) -> str:
    inputs = info.inputs or ()
    schema = {
        "type": "object",
        "properties": {
            declared.name: {key: json_default(value) for key, value in declared.schema.items()}
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
