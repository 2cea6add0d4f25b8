"""``promptdsl new``: the files of a new library, or of a new section in a library.

In this order: the project of a library, which is read and gets new code; and the two commands.
"""

import argparse
import ast
import keyword
import os
import re
import tomllib
from collections.abc import Mapping
from typing import Any, Self

import attrs

from promptdsl import Library
from promptdsl.cli.commands import COMMANDS, AddParser, add_command
from promptdsl.cli.libraries import LIBRARY_ATTRIBUTES, class_name
from promptdsl.cli.output import UsageError, as_json, suggestion, write_files

# The project of a library: its ``pyproject.toml``, and the module that defines the library.

ENTRY_POINT_GROUP = "promptdsl.sections"
"""The group of entry points in which a package declares its libraries."""
CREATE_ADVICE = "create a library with promptdsl new library NAME"
"""The advice of an error outside of the project of a library."""
NEEDED_NAMES = ("Section", "Value", "component")
"""The names of promptdsl that the function of a new section needs."""


@attrs.frozen
class Project:
    """A project with a library: a folder with a ``pyproject.toml`` that declares the library.

    The library is ``variable`` in the ``module``. ``file`` is the path of the module, ``source`` is
    its code, and ``call`` is the call of ``Library`` in this code.
    """

    folder: str
    name: str
    module: str
    variable: str
    file: str
    source: str
    call: ast.Call

    @classmethod
    def containing(cls, folder: str, name: str) -> Self:
        """Return the project that contains a folder; ``name`` selects one of several libraries.

        Raises :class:`UsageError` if there is no such project or library, and for a file of it that
        cannot be read as TOML or as Python.
        """
        while not os.path.isfile(os.path.join(folder, "pyproject.toml")):
            parent = os.path.dirname(folder)
            if parent == folder:
                raise UsageError(f"no folder from here up has a pyproject.toml: {CREATE_ADVICE}")
            folder = parent
        libraries = _declared_libraries(os.path.join(folder, "pyproject.toml"))
        if name and name not in libraries:
            raise UsageError(f"{folder} has no library {name!r}{suggestion(name, libraries)}")
        if not name and len(libraries) != 1:
            advice = f"name the library: {min(libraries)}:NAME" if libraries else CREATE_ADVICE
            raise UsageError(f"{folder} has {len(libraries)} libraries: {advice}")
        name = name or min(libraries)
        module, _, variable = libraries[name].partition(":")
        parts = module.split(".")
        for root in (folder, os.path.join(folder, "src")):
            path = os.path.join(root, *parts)
            for file in (f"{path}.py", os.path.join(path, "__init__.py")):
                if os.path.isfile(file):
                    source = _module_source(file)
                    call = _library_call(source, file, name)
                    return cls(folder, name, module, variable, file, source, call)
        raise UsageError(f"{folder} declares {name} = {libraries[name]!r}: there is no such module")

    def path(self, *parts: str) -> str:
        """Return the path of a file in the project."""
        return os.path.join(self.folder, *parts)

    def template(self, name: str) -> str | None:
        """Return the path of the template of a section.

        Returns ``None`` if the folder of templates is ``None``, or code computes it.
        """
        argument = self._argument("templates")
        folder: object = "templates"
        if isinstance(argument, ast.Constant):
            folder = argument.value
        elif argument is not None:
            return None
        if not isinstance(folder, str):
            return None
        path = os.path.join(os.path.dirname(self.file), folder, *name.split("/"))
        return f"{path}.md.j2"

    def functions(self) -> set[str]:
        """Return the names of the sections that are functions."""
        listed = self._section_list()
        elements = [] if listed is None else listed.elts
        return {ast.unparse(element).rpartition(".")[2] for element in elements}

    def _argument(self, name: str) -> ast.expr | None:
        """Return the code of a keyword argument of ``Library``; ``None`` without this argument."""
        return {keyword.arg: keyword.value for keyword in self.call.keywords}.get(name)

    def _section_list(self) -> ast.List | ast.Tuple | None:
        """Return the list ``sections=[...]`` of ``Library``; ``None`` without this argument."""
        sections = self._argument("sections")
        if sections is not None and not isinstance(sections, ast.List | ast.Tuple):
            raise UsageError(
                f"{self.file}:{sections.lineno}: to add a section, write sections=[...] as a list"
            )
        return sections

    def with_function(self, name: str, function: str) -> dict[str, str]:
        """Return the new texts of two files: ``sections.py`` with the function, and the module.

        ``name`` is that of the section, and ``function`` is its code. Raises :class:`UsageError` if
        ``sections.py`` already has this name, or the library has its sections not in a list.
        """
        package = self.module
        if os.path.basename(self.file) != "__init__.py":
            package = self.module.rpartition(".")[0]
        file = os.path.join(os.path.dirname(self.file), "sections.py")
        text = '"""The sections that are functions."""\n'
        if os.path.isfile(file):
            text = _module_source(file)
        missing = sorted(set(NEEDED_NAMES) - _bound_names(text))
        if missing:
            text = _with_import(text, f"from promptdsl import {', '.join(missing)}")
        if name in _bound_names(text):
            raise UsageError(f"{file} already defines the name {name!r}")
        is_imported = "sections" in _bound_names(self.source)
        library = self._with_section(f"sections.{name}" if is_imported else name)
        if not is_imported:
            origin = f"{package}.sections" if package else "sections"
            library = _with_import(library, f"from {origin} import {name}")
        return {file: text.rstrip("\n") + "\n" + function, self.file: library}

    def _with_section(self, code: str) -> str:
        """Return the source of the module, with one more section in the call of ``Library``."""
        listed, lines = self._section_list(), self.source.split("\n")
        if listed is None:
            arguments: list[ast.expr | ast.keyword] = [*self.call.args, *self.call.keywords]
            last = arguments[-1]
            row, column = last.end_lineno or 0, last.end_col_offset or 0
            code = f", sections=[{code}]"
        elif listed.elts:
            last = listed.elts[-1]
            row, column, code = last.end_lineno or 0, last.end_col_offset or 0, f", {code}"
        else:
            row, column = listed.lineno, listed.col_offset + 1
            code += "," if isinstance(listed, ast.Tuple) else ""
        # The parser counts columns in bytes.
        line = lines[row - 1].encode()
        lines[row - 1] = (line[:column] + code.encode() + line[column:]).decode()
        return "\n".join(lines)


def _declared_libraries(pyproject: str) -> dict[str, str]:
    """Return the libraries that a ``pyproject.toml`` declares: ``module:variable`` by name.

    Raises :class:`UsageError` if it declares none, or cannot be read.
    """
    try:
        with open(pyproject, "rb") as file:
            document: Any = tomllib.load(file)  # Any: TOML
        libraries = document["project"]["entry-points"][ENTRY_POINT_GROUP]
        return {str(name): str(target) for name, target in libraries.items()}
    except (KeyError, AttributeError, TypeError):
        raise UsageError(f"{pyproject} declares no library: {CREATE_ADVICE}") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{pyproject} cannot be read: {error}") from None


def _module_source(file: str) -> str:
    """Return the source of a module. Raises :class:`UsageError` if it is not code in UTF-8."""
    try:
        with open(file, encoding="utf-8") as stream:
            source = stream.read()
        ast.parse(source)
    except SyntaxError as error:
        raise UsageError(f"{file}:{error.lineno}: {error.msg}") from None
    except ValueError:
        raise UsageError(f"{file} is not written in UTF-8") from None
    return source


def _library_call(source: str, file: str, library: str) -> ast.Call:
    """Return the call of ``Library`` with a name; else the first call of ``Library``."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    libraries = [call for call in calls if ast.unparse(call.func).endswith("Library")]
    for call in libraries:
        if call.args and ast.unparse(call.args[0]) == repr(library):
            return call
    if libraries:
        return libraries[0]
    raise UsageError(f"{file} has no Library(...): name the right module in pyproject.toml")


def _bound_names(source: str) -> set[str]:
    """Return the names of the functions, the classes and the imports of a module."""
    names: set[str] = set()
    for statement in ast.parse(source).body:
        match statement:
            case ast.FunctionDef() | ast.ClassDef():
                names.add(statement.name)
            case ast.Import() | ast.ImportFrom():
                names |= {alias.asname or alias.name for alias in statement.names}
            case _:
                pass
    return names


def _with_import(source: str, line: str) -> str:
    """Return a module with one more import after the others."""
    body, lines = ast.parse(source).body, source.split("\n")
    imports = [node for node in body if isinstance(node, ast.Import | ast.ImportFrom)]
    # Without imports, the new import comes after the docstring.
    docstring = body[0] if body and isinstance(body[0], ast.Expr) else None
    before = imports[-1] if imports else docstring
    index = 0 if before is None else int(before.end_lineno or 0)
    return "\n".join([*lines[:index], *([] if imports else [""]), line, *lines[index:]])


# ``promptdsl new``: the files of a new library, or of a new section in a library.

SCAFFOLD_FOLDER = os.path.join(os.path.dirname(__file__), "scaffold")
"""The folder of the files from which new files are made."""
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
RESERVED_NAMES = ("library", "promptdsl", "sections", "starter", "templates", "tests")
"""The names that a library may not have: other things in its project have them."""
TYPE_NAMES = ("bool", "component", "date", "float", "int", "list", "object", "staticmethod", "str")
"""The names that a stub uses. A section with one of these names would hide it there."""
LIBRARY_DESCRIPTION = """\
Create a section library: an ordinary Python package with a function, a template, their tests, and
types for editors. The package can be built, and its tests pass."""
SECTION_DESCRIPTION = """\
Add a section to the library in the current project: a template with inputs, or a function. A test
with its snapshot is added, too."""


def add_new(add_parser: AddParser) -> None:
    """Add the command ``new`` with its two commands."""
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
        run=run_new_library,
        takes="NAME",
        description=LIBRARY_DESCRIPTION,
        summary="create a section library",
        failed="an unexpected error",
    )
    library.add_argument("target", metavar="NAME", help="the name of the library, such as support")
    library.add_argument(
        "--folder", metavar="DIR", help="the folder of the project; by default promptdsl-NAME"
    )
    section = add_command(
        kinds.add_parser,
        "new section",
        run=run_new_section,
        takes="NAME",
        description=SECTION_DESCRIPTION,
        summary="add a section to the library in the current project",
        failed="an unexpected error",
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


def run_new_library(arguments: argparse.Namespace) -> tuple[str, list[str]]:
    """Write the files of a new library; return their paths, and the next steps as notes."""
    typed_name: str = arguments.target
    name = re.sub("^promptdsl[-_]", "", typed_name).replace("-", "_")
    _check_name(name, typed_name, "library")
    if name in RESERVED_NAMES:
        problem = f"a library cannot have the name {name!r}"
        raise UsageError(f"{problem}: name it after its topic, such as support")
    distribution = f"promptdsl-{name.replace('_', '-')}"
    folder = os.path.normpath(distribution if arguments.folder is None else arguments.folder)

    def renamed(text: str) -> str:
        # All words are replaced in one step, because the name may contain one of them.
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
            f"a library {name!r} is already installed: if both are installed, neither can be used",
        )
    return _written_text(files, arguments), notes


def run_new_section(arguments: argparse.Namespace) -> tuple[str, list[str]]:
    """Write the files of a new section; return their paths, and the next steps as notes."""
    library, _, name = arguments.target.rpartition(":")
    for word in name.split("/"):
        _check_name(word, name, "section")
    if arguments.function and "/" in name:
        raise UsageError(f"the name of a function cannot have a /: {name}")
    if name in LIBRARY_ATTRIBUTES:
        problem = f"a section cannot have the name {name!r}"
        raise UsageError(f"{problem}: every library has an attribute of this name")
    project = Project.containing(os.getcwd(), library)
    template = project.template(name)
    if name in project.functions() or (template and os.path.exists(template)):
        raise UsageError(f"{project.name} already has a section {name!r}")
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


def _check_name(name: str, typed_name: str, what: str) -> None:
    """Raise :class:`UsageError` for a name that is not valid in Python, or already has a meaning.

    ``typed_name`` is the name as the user typed it. ``what`` is ``library`` or ``section``.
    """
    if re.fullmatch("con|prn|aux|nul|(com|lpt)[0-9]", name):
        raise UsageError(f"{typed_name!r} cannot be the name of a file on Windows")
    if typed_name in TYPE_NAMES:
        raise UsageError(
            f"{typed_name!r} is the name of a type: choose another name for the {what}"
        )
    if re.fullmatch("[a-z][a-z0-9_]{0,60}", name) and not keyword.iskeyword(name):
        return
    better = re.sub("[^a-z0-9]+", "_", name.lower()).strip("_0123456789")
    fix = f", such as {better}" if better and not keyword.iskeyword(better) else ""
    if keyword.iskeyword(name):
        raise UsageError(
            f"{typed_name!r} is a keyword of Python: choose another name for the {what}"
        )
    rule = "write lower-case letters, digits and _"
    raise UsageError(f"{typed_name!r} is not a valid name of a {what}: {rule}{fix}")


def _scaffold(kind: str, file: str) -> str:
    """Return the text of a file of ``scaffold/library`` or ``scaffold/section``."""
    with open(os.path.join(SCAFFOLD_FOLDER, kind, f"{file}.in"), encoding="utf-8") as stream:
        return stream.read()


def _written_text(files: Mapping[str, str], arguments: argparse.Namespace) -> str:
    """Return the paths of the written files, as lines or as JSON."""
    paths = sorted(os.path.relpath(path) for path in files)
    return as_json({"files": paths}) if arguments.json else "\n".join(paths)
