"""The project of a library: its ``pyproject.toml``, and the module that defines the library."""

import ast
import os
import tomllib
from typing import Any, Self

import attrs

from promptdsl.cli.errors import UsageError, near

GROUP = "promptdsl.sections"
BEGIN = "begin a library with promptdsl new library NAME"
IMPORTS = ("Section", "Value", "component")
"""The names of promptdsl that the function of a new section needs."""


@attrs.frozen
class Project:
    """A folder with a ``pyproject.toml`` that declares a library.

    The library is the ``variable`` of the ``module``. ``file`` is the file of the module,
    ``source`` its code, and ``call`` the call of ``Library`` in it.
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
        """Return the project around a folder; ``name`` selects one of several libraries.

        Raises :class:`UsageError` if there is no such project.
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
        """Return the path of the template of a section; ``None`` if its folder is computed."""
        argument = self._argument("templates")
        folder = argument.value if isinstance(argument, ast.Constant) else argument or "templates"
        if not isinstance(folder, str):
            return None
        path = os.path.join(os.path.dirname(self.file), folder, *name.split("/"))
        return f"{path}.md.j2"

    def functions(self) -> set[str]:
        """Return the names of the sections that are functions."""
        listed = self._listed()
        elements = [] if listed is None else listed.elts
        return {ast.unparse(element).rpartition(".")[2] for element in elements}

    def _argument(self, name: str) -> ast.expr | None:
        """Return a keyword argument of the call of ``Library``."""
        return {keyword.arg: keyword.value for keyword in self.call.keywords}.get(name)

    def _listed(self) -> ast.List | ast.Tuple | None:
        """Return the list ``sections=[...]`` in the call of ``Library``."""
        sections = self._argument("sections")
        if sections is not None and not isinstance(sections, ast.List | ast.Tuple):
            raise UsageError(
                f"{self.file}:{sections.lineno}: to add a section, write sections=[...] as a list"
            )
        return sections

    def with_function(self, name: str, function: str) -> dict[str, str]:
        """Return the changed files: the one with a new function, and the one that lists it."""
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
        library = self._with_section(f"sections.{name}" if is_imported else name)
        if not is_imported:
            origin = f"{package}.sections" if package else "sections"
            library = _with_import(library, f"from {origin} import {name}")
        return {file: text.rstrip("\n") + "\n" + function, self.file: library}

    def _with_section(self, code: str) -> str:
        """Return the source of the module with one more section in the call of ``Library``."""
        listed, lines = self._listed(), self.source.split("\n")
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


def _declared(pyproject: str) -> dict[str, str]:
    """Return the libraries that a ``pyproject.toml`` declares: ``module:variable`` by name."""
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
    """Return the source of a module. Raises :class:`UsageError` if it is no code in UTF-8."""
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
    libraries = [call for call in calls if ast.unparse(call.func).endswith("Library")]
    for call in libraries:
        if call.args and ast.unparse(call.args[0]) == repr(library):
            return call
    if libraries:
        return libraries[0]
    raise UsageError(f"{file} makes no Library: name the module with the library in pyproject.toml")


def _bound(source: str) -> set[str]:
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
    """Return a module with one more import, after the others."""
    body, lines = ast.parse(source).body, source.split("\n")
    imports = [node for node in body if isinstance(node, ast.Import | ast.ImportFrom)]
    first = body[0] if body and isinstance(body[0], ast.Expr) else None
    after = imports[-1] if imports else first
    at = 0 if after is None else int(after.end_lineno or 0)
    return "\n".join([*lines[:at], *([] if imports else [""]), line, *lines[at:]])
