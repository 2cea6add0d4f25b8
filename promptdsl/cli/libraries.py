"""``promptdsl list`` and ``promptdsl show``: the section libraries, and a section of a library.

In this order: the library or section that a command names; a section as JSON data, its
descriptions and errors as text, and names in stubs; ``list``; and ``show``. ``stubs.py`` and
``new.py`` use names of the first two parts.
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
from promptdsl.cli.output import (
    UsageError,
    as_json,
    as_section,
    fields,
    location_fields,
    relative_paths,
    suggestion,
)
from promptdsl.comparing import visible

# The library or section that a command names.

SECTION_HELP = "a section of an installed library, such as starter:untrusted"
"""The help of an argument that names a section."""
BROKEN_LIBRARY = "the library is wrong"
"""What exit code 1 means, for the help of a command that loads a library."""


@contextmanager
def loaded_library(name: str) -> Generator[Library]:
    """Yield an installed library; until the block ends, all output goes to standard error.

    Raises :class:`UsageError` for an unknown library, :class:`LibraryError` for a broken library.
    """
    is_installed = any(library.name == name for library in Library.installed())
    with redirect_stdout(sys.stderr):
        try:
            library = Library.load(name)
        except LibraryError as error:
            # Unknown and broken libraries raise the same error. Only a broken one is installed.
            if is_installed:
                raise
            raise UsageError(one_line(error)) from None
        yield library


@contextmanager
def loaded_section(target: str) -> Generator[tuple[Library, str]]:
    """Yield the library and the name of the section for ``LIBRARY:NAME``.

    Until the block ends, all output goes to standard error. Raises :class:`UsageError` for a text
    in another format, for an unknown library and for an unknown section, and
    :class:`LibraryError` for a broken library.
    """
    library_name, colon, name = target.partition(":")
    if not colon or not library_name or not name:
        raise UsageError(
            f"{target!r} is not a section: write LIBRARY:NAME, such as starter:untrusted; "
            "promptdsl list LIBRARY lists the sections"
        )
    with loaded_library(library_name) as library:
        # Only the name is checked here: a broken section raises an error when it is used. So the
        # names are listed, because ``name in library.sections`` would read the section.
        section_names = list(library.sections)
        if name not in section_names:
            try:
                library[name]  # raises an error with advice, such as similar names
            except LibraryError as error:
                raise UsageError(f"{library_name} has no section {name!r}: {error.fix}") from None
        yield library, name


def section_prompt(library: Library, name: str) -> Callable[..., Any]:  # Any: parts
    """Return a function that returns a section in a system turn, for inputs by name.

    A text is parsed as the type of its input; a text that is already parsed stays unchanged. A
    section that contains turns is returned without a system turn. A section that takes children
    gets a text as its child.
    """
    component = library[name]
    declared = {field.name: field for field in library.sections[name].inputs or ()}
    # A component that takes children is a generator function: it yields where they are.
    takes_children = inspect.isgeneratorfunction(inspect.unwrap(component))

    def section_of(inputs: Arguments) -> Any:
        section = component(**inputs)
        if takes_children:
            with section:
                Text("(its children)")
        return section

    # With ``wraps``, the function has the signature of the component: commands read it.
    @wraps(component)
    def prompt(**arguments: object) -> Any:
        inputs = dict(arguments)
        # ``show`` has parsed the texts of ``-p`` already, other commands have not. A value that is
        # still a text after that does not change if it is parsed again.
        for key, argument in arguments.items():
            if key in declared and isinstance(argument, str):
                inputs[key] = declared[key].parsed(argument)
        # A system turn refuses turns. No attribute of a component says whether it writes turns, so
        # this error is the answer.
        try:
            return System(section_of(inputs))
        except PlacementError:
            return section_of(inputs)

    return prompt


# A section as JSON data, its descriptions and errors as text, and names in stubs.

WIDTH = 76
"""The maximum number of characters in a line of text."""
LIBRARY_ATTRIBUTES = frozenset({*dir(Library), "name"})
"""The attributes of every library. A section with one of these names is no attribute: write
``library["name"]``."""


def section_row(info: SectionInfo) -> dict[str, object]:
    """Return a section as JSON data.

    It has the name, version, digest, kind, title, description, inputs and location.
    """
    return {
        **as_section(info.section),
        **fields(info, "kind", "title", "description"),
        "inputs": None
        if info.inputs is None
        else [_input_row(declared) for declared in info.inputs],
        **location_fields(f"{info.file}:{info.line}"),
    }


def _input_row(declared: Input) -> dict[str, object]:
    row = fields(declared, "name", "type", "required")
    default = {} if declared.required else {"default": json_or_text(declared.default)}
    return {**row, **default, "doc": declared.doc}


def json_or_text(value: object) -> object:
    """Return a value if JSON can express it, else its text: a default may be any object."""
    try:
        as_json(value)
    except (TypeError, ValueError, RecursionError):
        return default_text(value)
    return value


def default_text(default: object) -> str:
    """Return a default as text: a date in ISO 8601, any other default as Python code."""
    return default.isoformat() if isinstance(default, date) else repr(default)


def wrapped_lines(text: str, indent: str = "    ") -> Iterable[str]:
    """Return a text as indented lines of at most ``WIDTH`` characters."""
    wrap = textwrap.TextWrapper(WIDTH, indent, indent, break_on_hyphens=False).wrap
    # An empty line stays: wrap() returns no lines for it.
    return [wrapped for line in visible(text).split("\n") for wrapped in wrap(line) or [""]]


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
ALLOWED_VARIABLE = "PROMPTDSL_LIBRARIES"
"""The environment variable with the names of the libraries that may be used."""


def add_list(add_parser: AddParser) -> None:
    """Add the command and its options."""
    parser = add_command(
        add_parser,
        "list",
        run=run_list,
        takes="[LIBRARY]",
        description=LIST_DESCRIPTION,
        failed=f"{BROKEN_LIBRARY}, or --check found a problem",
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
        allowed_names = os.environ.get(ALLOWED_VARIABLE)
        if allowed_names is not None:
            notes = [f"{ALLOWED_VARIABLE} is {allowed_names!r}: all other libraries are left out"]
        elif not libraries:
            notes = ["no library is installed: create one with promptdsl new library NAME"]
        rows, lines = _libraries(libraries, check=arguments.check)
    has_problem = any(row.get("problem") or row.get("broken") for row in rows)
    code = int(arguments.check and has_problem)
    return as_json(rows) if arguments.json else "\n".join(lines), notes, code


def _libraries(
    libraries: Sequence[InstalledLibrary], *, check: bool
) -> tuple[list[dict[str, object]], list[str]]:
    """Return each library as JSON data, and as lines: one for the library, and its problems.

    With ``check``, each library and its sections are loaded; ``broken`` in the data of a library
    are its sections that cannot be used, each with its problem.
    """
    rows: list[dict[str, object]] = []
    lines: list[str] = []
    name_width = max((len(installed.name) for installed in libraries), default=0)
    version_width = max((len(installed.version) for installed in libraries), default=0)
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
        name, version = f"{installed.name:<{name_width}}", f"{installed.version:<{version_width}}"
        line = f"{name}  {version}  {installed.package}"
        lines.append(visible(line.rstrip(), one_line=True))
        # The text of a section's problem has the name of the section.
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
        # The description of a function is the rest of its docstring: too long for a list.
        description = info.description if info.kind == "template" else ""
        summary = ": ".join(filter(None, [info.title, description]))
        lines += wrapped_lines(summary) if summary else []
    return rows, lines


# ``promptdsl show``: a section of a library, and its rendered text.

SHOW_DESCRIPTION = """\
Show a section of a library: its inputs, its source, its rendered text, and the tokens of this text.
-p passes inputs; all others have their defaults."""
RULE_WIDTH = 72
"""The width of the line above the source, in characters."""


def add_show(add_parser: AddParser) -> None:
    """Add the command and its options."""
    parser = add_command(
        add_parser,
        "show",
        run=run_show,
        takes="SECTION",
        description=SHOW_DESCRIPTION,
        failed=BROKEN_LIBRARY,
    )
    parser.add_argument("target", metavar="SECTION", help=SECTION_HELP)
    add_arguments(parser.add_argument, what="an input of the section")
    parser.add_argument("--model", metavar="NAME", help="the model whose tokens are counted")
    parser.add_argument(
        "--json", action="store_true", help="print the same as JSON, with the schema of the inputs"
    )


def run_show(arguments: argparse.Namespace) -> tuple[str, list[str]]:
    """Return the section as text or JSON, and the notes.

    If an input is missing, the section is not rendered: the text, or a note, says which to pass.
    """
    values = read_arguments(arguments.pairs, arguments.props)
    with loaded_section(arguments.target) as (library, name):
        info = library.sections[name]
        inputs = _parsed_inputs(info, values)
        required = [declared for declared in info.inputs or () if declared.required]
        missing = [declared for declared in required if declared.name not in inputs]
        rendered, reason = None, ""
        if missing:
            pairs = [
                f"'{declared.name}=[...]'" if _is_list(declared) else f"{declared.name}=..."
                for declared in missing
            ]
            reason = f"to see the rendered text, pass its inputs: -p {' -p '.join(pairs)}"
        else:
            try:
                prompt = section_prompt(library, name)(**inputs)
                rendered = render(prompt, model=arguments.model)
            except TemplateError as error:
                # A template without front matter does not declare its inputs. So only the render
                # shows which inputs are missing: their names are undefined.
                if info.inputs is not None:
                    raise
                reason = one_line(error)
                if error.what.endswith("is undefined"):
                    reason = f"{error.what}: pass it with -p NAME=VALUE"
        notes: list[str] = []
        if rendered is not None and arguments.model and not rendered.facts.known:
            notes = [f"model {arguments.model!r} is unknown"]
        if arguments.json:
            return _json_text(info, missing, rendered), [*notes, *([reason] if reason else [])]
        return _section_text(info, rendered, reason), notes


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


def _section_text(info: SectionInfo, rendered: Rendered | None, reason: str) -> str:
    """Return a section as text; if it is not ``rendered``, the text ends with the ``reason``."""
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
    lines += ["", "── source ".ljust(RULE_WIDTH, "─"), visible(info.source.rstrip("\n"))]
    if rendered is None:
        return "\n".join([*lines, "", *wrapped_lines(reason, "")])
    tokens = f"{rendered.tokens.total:,} tokens: {rendered.tokens.label}"
    return "\n".join([*lines, "", str(rendered).rstrip("\n"), "", visible(tokens, one_line=True)])


def _json_text(info: SectionInfo, missing: list[Input], rendered: Rendered | None) -> str:
    inputs = info.inputs or ()
    schema = {
        "type": "object",
        "properties": {
            declared.name: {key: json_or_text(value) for key, value in declared.schema.items()}
            for declared in inputs
        },
        "required": [declared.name for declared in inputs if declared.required],
        "additionalProperties": info.inputs is None,
    }
    text: str | None = None
    tokens: dict[str, object] | None = None
    if rendered is not None:
        text = str(rendered)
        tokens = {"total": rendered.tokens.total, "label": rendered.tokens.label}
    return as_json(
        {
            **section_row(info),
            "schema": schema,
            "source": info.source,
            "missing": [declared.name for declared in missing],
            "rendered": text,
            "tokens": tokens,
        }
    )
