"""Imports of public names for tools that run no code: python -m tests.public_names writes them.

A public name is declared once, in the table that an ``__init__.py`` gives to ``lazy_names``. Type
checkers, editors and linters read imports instead: a block in the same file, made of that table.
"""

import ast
from pathlib import Path

import promptdsl

PACKAGE = Path(promptdsl.__file__).parent
HEAD = "if TYPE_CHECKING:  # Written by python -m tests.public_names, from the table below.\n"
WIDTH = 100


def tables() -> dict[str, dict[str, str]]:
    """Return the table of each package with lazy names: its names by module, relative to it."""
    trees = {path: ast.parse(path.read_text("utf-8")) for path in PACKAGE.rglob("__init__.py")}
    calls = [
        (path, node)
        for path, tree in sorted(trees.items())
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("lazy_names")
    ]
    return {
        ".".join(path.parent.relative_to(PACKAGE.parent).parts): ast.literal_eval(call.args[1])
        for path, call in calls
    }


def file_of(package: str) -> Path:
    """Return the file that has the table of a package, and its imports."""
    return PACKAGE.parent.joinpath(*package.split("."), "__init__.py")


def with_imports(text: str, package: str, table: dict[str, str]) -> str:
    """Return the text of a package's file with an import for each name, as ruff sorts them."""
    before, _, rest = text.partition(HEAD)
    _, end, after = rest.partition("else:\n")
    imports = [
        _import(f"{package}.{module}", name)
        for module, names in sorted(table.items())
        for name in sorted(names.split(), key=_kind)
    ]
    return "".join((before, HEAD, *imports, end, after))


def _kind(name: str) -> tuple[bool, bool, str]:
    """Return the sort key of a name: constants, then classes, then functions."""
    return (not name.isupper(), name[0].islower(), name)


def _import(module: str, name: str) -> str:
    """Return the import of a public name: without ``as``, type checkers take it for private."""
    line = f"    from {module} import {name} as {name}"
    if len(line) > WIDTH:
        line = f"    from {module} import (\n        {name} as {name},\n    )"
    return line + "\n"


if __name__ == "__main__":
    for package, table in tables().items():
        file = file_of(package)
        file.write_text(with_imports(file.read_text("utf-8"), package, table), "utf-8")
