"""The project of a library: its ``pyproject.toml``, and the module that makes the library."""

import ast
import os
import tomllib
from typing import Any, Self

import attrs

from promptdsl.cli.errors import UsageError, near

GROUP = "promptdsl.sections"
BEGIN = "begin a library with promptdsl new library NAME"
IMPORTS = ("Section", "Value", "component")
"""What the function of a new section needs of promptdsl."""


@attrs.frozen
class Project:
    """A folder with a ``pyproject.toml`` that declares a library.

    ``module`` and ``variable`` are where the library is; ``file`` is the file of the module, and
    ``call`` the call of ``Library`` in it.
    """

    folder: str
    name: str
    module: str
    variable: str
    file: str
    source: str
    call: ast.Call

    @classmethod
    def around(cls, folder: str, name: str) -> Self:
        """Return the project that a folder is in; with several libraries, that of the name.

        Raises :class:`UsageError` where there is none.
        """
        while not os.path.isfile(os.path.join(folder, "pyproject.toml")):
            above = os.path.dirname(folder)
            if above == folder:
                raise UsageError(f"no pyproject.toml is here or above: {BEGIN}")
            folder = above
        libraries = _declared(os.path.join(folder, "pyproject.toml"))
        if name and name not in libraries:
            raise UsageError(f"{folder} has no library {name!r}{near(name, libraries)}")
        if not name and len(libraries) != 1:
            several = f"name the library: {min(libraries)}:NAME" if libraries else BEGIN
            raise UsageError(f"{folder} has {len(libraries)} libraries: {several}")
        name = name or min(libraries)
        module, _, variable = libraries[name].partition(":")
        parts = module.split(".")
        for root in (folder, os.path.join(folder, "src")):
            path = os.path.join(root, *parts)
            for file in (f"{path}.py", os.path.join(path, "__init__.py")):
                if os.path.isfile(file):
                    source = _read(file)
                    call = _library_call(source, file, name)
                    return cls(folder, name, module, variable, file, source, call)
        raise UsageError(f"{folder} declares {name} = {libraries[name]!r}, but has no such module")

    def path(self, *parts: str) -> str:
        """Return the path of a file in the project."""
        return os.path.join(self.folder, *parts)

    def template(self, name: str) -> str | None:
        """Return the path of the template of a section, ``None`` for a folder that is computed."""
        given = {one.arg: one.value for one in self.call.keywords}.get("templates")
        folder = given.value if isinstance(given, ast.Constant) else given or "templates"
        if not isinstance(folder, str):
            return None
        path = os.path.join(os.path.dirname(self.file), folder, *name.split("/"))
        return f"{path}.md.j2"

    def functions(self) -> set[str]:
        """Return the names of the sections that are functions."""
        listed = self._listed()
        elements = [] if listed is None else listed.elts
        return {ast.unparse(one).rpartition(".")[2] for one in elements}

    def _listed(self) -> ast.List | ast.Tuple | None:
        given = {one.arg: one.value for one in self.call.keywords}.get("sections")
        if given is not None and not isinstance(given, ast.List | ast.Tuple):
            raise UsageError(
                f"{self.file}:{given.lineno}: write sections=[...] as a list to have one added"
            )
        return given

    def with_function(self, name: str, function: str) -> dict[str, str]:
        """Return the files in which a function is added, and its entry in the library."""
        package = self.module
        if os.path.basename(self.file) != "__init__.py":
            package = self.module.rpartition(".")[0]
        file = os.path.join(os.path.dirname(self.file), "sections.py")
        text = '"""The sections that are functions."""\n'
        if os.path.isfile(file):
            text = _read(file)
        missing = sorted(set(IMPORTS) - _bound(text))
        if missing:
            text = _with_import(text, f"from promptdsl import {', '.join(missing)}")
        if name in _bound(text):
            raise UsageError(f"{file} has a name {name!r}")
        is_imported = "sections" in _bound(self.source)
        library = self._with_entry(f"sections.{name}" if is_imported else name)
        if not is_imported:
            origin = f"{package}.sections" if package else "sections"
            library = _with_import(library, f"from {origin} import {name}")
        return {file: text.rstrip("\n") + "\n" + function, self.file: library}

    def _with_entry(self, entry: str) -> str:
        """Return the source of the module with one more section in the call."""
        listed, lines = self._listed(), self.source.split("\n")
        if listed is None:
            given: list[ast.expr | ast.keyword] = [*self.call.args, *self.call.keywords]
            last = given[-1]
            row, column = last.end_lineno or 0, last.end_col_offset or 0
            entry = f", sections=[{entry}]"
        elif listed.elts:
            last = listed.elts[-1]
            row, column, entry = last.end_lineno or 0, last.end_col_offset or 0, f", {entry}"
        else:
            row, column = listed.lineno, listed.col_offset + 1
            entry += "," if isinstance(listed, ast.Tuple) else ""
        # Columns of the parser are bytes.
        line = lines[row - 1].encode()
        lines[row - 1] = (line[:column] + entry.encode() + line[column:]).decode()
        return "\n".join(lines)


def _declared(pyproject: str) -> dict[str, str]:
    """Return the libraries that a ``pyproject.toml`` declares: where each is, by its name."""
    try:
        with open(pyproject, "rb") as file:
            data: Any = tomllib.load(file)  # Any: TOML
        libraries = data["project"]["entry-points"][GROUP]
        return {str(name): str(target) for name, target in libraries.items()}
    except (KeyError, AttributeError, TypeError):
        raise UsageError(f"{pyproject} declares no library: {BEGIN}") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{pyproject} cannot be read: {error}") from None


def _read(file: str) -> str:
    """Return the source of a module; raises :class:`UsageError` for what is no code in UTF-8."""
    try:
        with open(file, encoding="utf-8") as opened:
            source = opened.read()
        ast.parse(source)
    except SyntaxError as error:
        raise UsageError(f"{file}:{error.lineno}: {error.msg}") from None
    except ValueError:
        raise UsageError(f"{file} is not written in UTF-8") from None
    return source


def _library_call(source: str, file: str, library: str) -> ast.Call:
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    made = [one for one in calls if ast.unparse(one.func).endswith("Library")]
    for one in made:
        if one.args and ast.unparse(one.args[0]) == repr(library):
            return one
    if made:
        return made[0]
    raise UsageError(f"{file} makes no Library: name the module that does in pyproject.toml")


def _bound(source: str) -> set[str]:
    names: set[str] = set()
    for statement in ast.parse(source).body:
        match statement:
            case ast.FunctionDef() | ast.ClassDef():
                names.add(statement.name)
            case ast.Import() | ast.ImportFrom():
                names |= {one.asname or one.name for one in statement.names}
            case _:
                pass
    return names


def _with_import(source: str, line: str) -> str:
    """Return a module with one more import, after the others."""
    body, lines = ast.parse(source).body, source.split("\n")
    imports = [one for one in body if isinstance(one, ast.Import | ast.ImportFrom)]
    first = body[0] if body and isinstance(body[0], ast.Expr) else None
    after = imports[-1] if imports else first
    at = 0 if after is None else int(after.end_lineno or 0)
    return "\n".join([*lines[:at], *([] if imports else [""]), line, *lines[at:]])
