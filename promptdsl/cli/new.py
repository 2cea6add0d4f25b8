"""``promptdsl new``: the files of a new library, or of a new section in a library."""

import argparse
import keyword
import os
import re
from collections.abc import Mapping

from promptdsl import Library
from promptdsl.cli.commands import COMMANDS, AddParser, add_command
from promptdsl.cli.errors import UsageError
from promptdsl.cli.libraries import TAKEN, class_name
from promptdsl.cli.project import Project
from promptdsl.cli.show import as_json
from promptdsl.cli.write_files import write_files

SCAFFOLD = os.path.join(os.path.dirname(__file__), "scaffold")
LIBRARY_FILES = {
    "gitignore": ".gitignore",
    "test.yml": ".github/workflows/test.yml",
    "README.md": "README.md",
    "pyproject.toml": "pyproject.toml",
    "__init__.py": "promptdsl_sample/__init__.py",
    "library.py": "promptdsl_sample/library.py",
    "library.pyi": "promptdsl_sample/library.pyi",
    "py.typed": "promptdsl_sample/py.typed",
    "sections.py": "promptdsl_sample/sections.py",
    "scope.md.j2": "promptdsl_sample/templates/scope.md.j2",
    "test_sample.py": "tests/test_sample.py",
    "decline.txt": "tests/__snapshots__/test_sample/test_scope[decline].prompt.txt",
    "forward.txt": "tests/__snapshots__/test_sample/test_scope[forward].prompt.txt",
    "tone.txt": "tests/__snapshots__/test_sample/test_tone.prompt.txt",
}
"""The paths of the files of ``scaffold/library`` in a project; ``sample`` becomes its name."""
RESERVED = ("library", "promptdsl", "sections", "starter", "templates", "tests")
TYPES = ("bool", "component", "date", "float", "int", "list", "object", "staticmethod", "str")
"""The names that a stub uses: a section with such a name would hide them there."""
LIBRARY_DESCRIPTION = """\
Begin a section library: an ordinary Python package with a function, a template, their tests, and
types for editors. It builds, and its tests pass."""
SECTION_DESCRIPTION = """\
Add a section to the library whose project is here: a template with inputs, or a function, and a
test with its snapshot."""


def add_new(add_parser: AddParser) -> None:
    """Add the command, which has two commands."""
    parser = add_parser(
        "new",
        usage="promptdsl new library|section NAME [options]",
        help=COMMANDS["new"][1],
        allow_abbrev=False,
    )
    kinds = parser.add_subparsers(
        dest="kind", metavar="KIND", title="kinds", prog="promptdsl new", required=True
    )
    library = add_command(
        kinds.add_parser,
        "new library",
        run=run_library,
        takes="NAME",
        description=LIBRARY_DESCRIPTION,
        summary="begin a section library",
        failed="it failed",
    )
    library.add_argument("target", metavar="NAME", help="the name of the library, such as support")
    library.add_argument(
        "--folder", metavar="DIR", help="the folder of the project; promptdsl-NAME without it"
    )
    section = add_command(
        kinds.add_parser,
        "new section",
        run=run_section,
        takes="NAME",
        description=SECTION_DESCRIPTION,
        summary="add a section to the library whose project is here",
        failed="it failed",
    )
    section.add_argument(
        "target", metavar="NAME", help="the name of the section, such as refunds or billing/refunds"
    )
    section.add_argument(
        "--function", action="store_true", help="add a function instead of a template"
    )
    for command in (library, section):
        command.add_argument("--force", action="store_true", help="replace existing files")
        command.add_argument("--json", action="store_true", help="print the files as JSON")


def run_library(arguments: argparse.Namespace) -> tuple[str, list[str]]:
    """Write the files of a new library; return their paths, and the next steps as notes."""
    written: str = arguments.target
    name = re.sub("^promptdsl[-_]", "", written).replace("-", "_")
    _check_name(name, written, "library")
    if name in RESERVED:
        raise UsageError(f"{name!r} is taken: name the library after its topic, such as support")
    distribution = f"promptdsl-{name.replace('_', '-')}"
    folder = os.path.normpath(distribution if arguments.folder is None else arguments.folder)

    def renamed(text: str) -> str:
        # All words are replaced in one step, as the name may contain one of them.
        names = {"promptdsl-sample": distribution, "_Sample": class_name(name), "sample": name}
        return re.sub("promptdsl-sample|_Sample|sample", lambda word: names[word[0]], text)

    files = {
        os.path.join(folder, *renamed(path).split("/")): renamed(_scaffold("library", source))
        for source, path in LIBRARY_FILES.items()
    }
    write_files(files, force=arguments.force)
    notes = [
        "next, in that folder:",
        "  python -m venv .venv",
        "  .venv/bin/pip install --editable '.[test]'",
        "  .venv/bin/pytest",
        f"  .venv/bin/promptdsl list {name}",
    ]
    if any(name == library.name for library in Library.installed()):
        notes.insert(
            0,
            f"a library {name!r} is installed already: if both are installed, neither can be used",
        )
    return _written_text(files, arguments), notes


def run_section(arguments: argparse.Namespace) -> tuple[str, list[str]]:
    """Write the files of a new section; return their paths, and the next steps as notes."""
    library, _, name = arguments.target.rpartition(":")
    for word in name.split("/"):
        _check_name(word, name, "section")
    if arguments.function and "/" in name:
        raise UsageError(f"the name of a function has no /: {name}")
    if name in TAKEN:
        raise UsageError(f"{name!r} is taken: every library has it")
    project = Project.around(os.getcwd(), library)
    template = project.template(name)
    if name in project.functions() or (template and os.path.exists(template)):
        raise UsageError(f"{project.name} has a section {name!r}")
    word = name.replace("/", "_")

    def renamed(file: str) -> str:
        call = f"{project.variable}.NAME" if "/" not in name else f'{project.variable}["NAME"]'
        text = _scaffold("section", file).replace("library: LIBRARY", f"library: {project.name}")
        text = text.replace("LIBRARY.NAME", call)
        text = text.replace("LIBRARY", project.variable).replace("MODULE", project.module)
        title = word.replace("_", " ").capitalize()
        return text.replace("TITLE", title).replace("WORD", word).replace("NAME", name)

    changed: dict[str, str] = {}
    files = {project.path("tests", f"test_{word}.py"): renamed("test.py")}
    snapshot = ("tests", "__snapshots__", f"test_{word}", f"test_{word}.prompt.txt")
    if arguments.function:
        changed = project.with_function(name, renamed("function.py"))
        files[project.path(*snapshot)] = renamed("function.txt")
    elif template is None:
        line = f"{project.file}:{project.call.lineno}"
        raise UsageError(f'{line}: to add a template, write templates="templates"')
    else:
        files[template] = renamed("template.md.j2")
        files[project.path(*snapshot)] = renamed("template.txt")
    write_files(files, changed=changed, force=arguments.force)
    notes = ["next:", "  pytest", f"  promptdsl stubs {project.module}:{project.variable}"]
    return _written_text({**files, **changed}, arguments), notes


def _check_name(name: str, written: str, what: str) -> None:
    """Raise :class:`UsageError` for a name that is not valid in Python, or already has a meaning.

    ``written`` is the name in the call of the command.
    """
    if re.fullmatch("con|prn|aux|nul|(com|lpt)[0-9]", name):
        raise UsageError(f"{written!r} cannot be the name of a file on Windows")
    if written in TYPES:
        raise UsageError(f"{written!r} is the name of a type: choose another name for the {what}")
    if re.fullmatch("[a-z][a-z0-9_]{0,60}", name) and not keyword.iskeyword(name):
        return
    better = re.sub("[^a-z0-9]+", "_", name.lower()).strip("_0123456789")
    fix = f", such as {better}" if better and not keyword.iskeyword(better) else ""
    if keyword.iskeyword(name):
        raise UsageError(f"{written!r} is a keyword of Python: choose another name for the {what}")
    rule = "write lower-case letters, digits and _"
    raise UsageError(f"{written!r} is not a valid name of a {what}: {rule}{fix}")


def _scaffold(kind: str, file: str) -> str:
    with open(os.path.join(SCAFFOLD, kind, f"{file}.in"), encoding="utf-8") as opened:
        return opened.read()


def _written_text(files: Mapping[str, str], arguments: argparse.Namespace) -> str:
    paths = sorted(os.path.relpath(path) for path in files)
    return as_json({"files": paths}) if arguments.json else "\n".join(paths)
