"""``promptdsl list``: the section libraries, and the sections of one."""

import argparse
import os

from promptdsl import InstalledLibrary, Library, PromptError
from promptdsl.cli.commands import AddParser, add_command
from promptdsl.cli.libraries import (
    FAILED,
    call_text,
    loaded_library,
    one_line,
    section_row,
    wrapped,
)
from promptdsl.cli.show import as_json, visible

DESCRIPTION = """\
List the installed section libraries, each with its version, the package that brings it, and the
reason if it cannot be used; none is loaded. With LIBRARY, list its sections."""
LIMIT = "PROMPTDSL_LIBRARIES"


def add_list(add_parser: AddParser) -> None:
    """Add the command and its options."""
    parser = add_command(
        add_parser, "list", takes="[LIBRARY]", description=DESCRIPTION, failed=FAILED
    )
    parser.add_argument(
        "target", metavar="LIBRARY", nargs="?", help="the name of a library, such as starter"
    )
    parser.add_argument("--json", action="store_true", help="print the same as JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> tuple[str, list[str]]:
    """Return the data and the notes of the command.

    Raises :class:`UsageError` when it is called wrongly, and :class:`LibraryError` for a library
    that cannot be loaded.
    """
    if arguments.target is not None:
        with loaded_library(arguments.target) as library:
            return _sections(library, arguments), []
    libraries = Library.installed()
    notes = [] if libraries else ["no library is installed: promptdsl new library begins one"]
    limit = os.environ.get(LIMIT)
    if limit is not None:
        notes = [f"{LIMIT} is {limit!r}: other libraries are left out"]
    if arguments.json:
        rows = [
            {
                "name": library.name,
                "version": library.version,
                "package": library.package,
                "target": library.target,
                "problem": library.problem or None,
            }
            for library in libraries
        ]
        return as_json(rows), notes
    return _table(libraries), notes


def _table(libraries: tuple[InstalledLibrary, ...]) -> str:
    """Return a line for each library, and one for its problem."""
    rows = [(library.name, library.version, library.package) for library in libraries]
    name, version = (max((len(row[n]) for row in rows), default=0) for n in (0, 1))
    lines: list[str] = []
    for library in libraries:
        text = f"{library.name:<{name}}  {library.version:<{version}}  {library.package}"
        lines.append(visible(text.rstrip(), one_line=True))
        lines += wrapped(f"problem: {library.problem}") if library.problem else []
    return "\n".join(lines)


def _sections(library: Library, arguments: argparse.Namespace) -> str:
    """Return each section with its inputs and its description; a broken one with its problem."""
    rows: list[dict[str, object]] = []
    lines: list[str] = []
    for name in library.sections:
        try:
            info = library.sections[name]
        except PromptError as error:
            rows.append({"name": f"{library.name}:{name}", "problem": one_line(error)})
            lines += [f"{library.name}:{name}", *wrapped(f"problem: {one_line(error)}")]
            continue
        rows.append(section_row(info))
        summary = [info.title, info.description if info.kind == "template" else ""]
        lines.append(call_text(info))
        lines += wrapped(": ".join(text for text in summary if text)) if any(summary) else []
    return as_json(rows) if arguments.json else "\n".join(lines)
