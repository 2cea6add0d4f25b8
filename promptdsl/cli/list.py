"""``promptdsl list``: the section libraries, and the sections of one."""

import argparse
import os
from collections.abc import Sequence

from promptdsl import InstalledLibrary, Library, LibraryError, PromptError
from promptdsl.cli.commands import AddParser, add_command
from promptdsl.cli.libraries import (
    FAILED,
    loaded_library,
    one_line,
    section_row,
    short,
    wrapped,
)
from promptdsl.cli.show import as_json, fields
from promptdsl.comparing import visible

DESCRIPTION = """\
List the installed section libraries, each with its version and its package. No library is loaded:
the list shows what the packages declare. --check loads the libraries and their sections, and shows
what cannot be used and why. With LIBRARY, list its sections."""
LIMIT = "PROMPTDSL_LIBRARIES"


def add_list(add_parser: AddParser) -> None:
    """Add the command and its options."""
    parser = add_command(
        add_parser,
        "list",
        run=run,
        takes="[LIBRARY]",
        description=DESCRIPTION,
        failed=f"{FAILED}, or --check found something that cannot be used",
    )
    parser.add_argument(
        "target", metavar="LIBRARY", nargs="?", help="the name of a library, such as starter"
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="load what is listed; exit with 1 if something is broken",
    )
    parser.add_argument("--json", action="store_true", help="print the same as JSON")


def run(arguments: argparse.Namespace) -> tuple[str, list[str], int]:
    """Return the data and the notes of the command, and its exit code."""
    notes: list[str] = []
    if arguments.target is not None:
        with loaded_library(arguments.target) as library:
            rows, lines = _sections(library)
    else:
        libraries = Library.installed()
        limit = os.environ.get(LIMIT)
        if limit is not None:
            notes = [f"{LIMIT} is {limit!r}: other libraries are left out"]
        elif not libraries:
            notes = ["no library is installed: begin one with promptdsl new library"]
        rows, lines = _libraries(libraries, check=arguments.check)
    failed = arguments.check and any(row.get("problem") or row.get("broken") for row in rows)
    return as_json(rows) if arguments.json else "\n".join(lines), notes, int(failed)


def _libraries(
    libraries: Sequence[InstalledLibrary], *, check: bool
) -> tuple[list[dict[str, object]], list[str]]:
    """Return each library as data, and as lines: its own, and one for each problem."""
    rows: list[dict[str, object]] = []
    lines: list[str] = []
    name, version = (
        max((len(getattr(library, key)) for library in libraries), default=0)
        for key in ("name", "version")
    )
    for library in libraries:
        problem, broken = library.problem, dict[str, str]()
        if check and not problem:
            try:
                with loaded_library(library.name) as loaded:
                    sections, _ = _sections(loaded)
                broken = {str(s["name"]): str(s["problem"]) for s in sections if "problem" in s}
            except LibraryError as error:
                problem = one_line(error)
        row = fields(library, "name", "version", "package", "target")
        rows.append({**row, "problem": problem or None, **({"broken": broken} if check else {})})
        text = f"{library.name:<{name}}  {library.version:<{version}}  {library.package}"
        lines.append(visible(text.rstrip(), one_line=True))
        # The problem of a section names the section.
        for text in (problem, *broken.values()):
            lines += wrapped(f"problem: {text}") if text else []
    return rows, lines


def _sections(library: Library) -> tuple[list[dict[str, object]], list[str]]:
    """Return each section as data and as lines: its call and its description, or its problem."""
    rows: list[dict[str, object]] = []
    lines: list[str] = []
    for name in library.sections:
        try:
            info = library.sections[name]
        except PromptError as error:
            qualified = f"{library.name}:{name}"
            rows.append({"name": qualified, "problem": one_line(error)})
            lines.append(visible(qualified, one_line=True))
            lines += wrapped(f"problem: {one_line(error)}")
            continue
        rows.append(section_row(info))
        inputs = [
            declared.name if declared.required else f"{declared.name}={short(declared.default)}"
            for declared in info.inputs or ()
        ]
        call = f"{info.section.name}({'...' if info.inputs is None else ', '.join(inputs)})"
        lines.append(visible(call, one_line=True))
        summary = [info.title, info.description if info.kind == "template" else ""]
        lines += wrapped(": ".join(text for text in summary if text)) if any(summary) else []
    return rows, lines
