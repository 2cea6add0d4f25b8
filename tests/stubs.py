"""Stubs of the packages whose names are lazy: python -m tests.stubs writes them.

A public name is declared once, in the table that an ``__init__.py`` gives to ``lazy_names``. Type
checkers and editors run no code: they read the ``__init__.pyi`` beside it, made of that table.
"""

import ast
from pathlib import Path

import promptdsl

PACKAGE = Path(promptdsl.__file__).parent
HEAD = "# Written by python -m tests.stubs, from the table of names in __init__.py.\n"
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


def stub(package: str, table: dict[str, str]) -> str:
    """Return the text of a package's stub: an import for each of its names, as ruff sorts them."""
    imports = [
        _import(f"{package}.{module}", name)
        for module, names in sorted(table.items())
        for name in sorted(names.split(), key=_kind)
    ]
    return HEAD + "\n" + "".join(imports)


def stub_file(package: str) -> Path:
    """Return the file of a package's stub."""
    return PACKAGE.parent.joinpath(*package.split("."), "__init__.pyi")


def _kind(name: str) -> tuple[bool, bool, str]:
    """Return the sort key of a name: constants, then classes, then functions."""
    return (not name.isupper(), name[0].islower(), name)


def _import(module: str, name: str) -> str:
    """Return the import of a public name: without ``as``, a name of a stub is private."""
    line = f"from {module} import {name} as {name}"
    if len(line) > WIDTH:
        line = f"from {module} import (\n    {name} as {name},\n)"
    return line + "\n"


if __name__ == "__main__":
    for package, table in tables().items():
        stub_file(package).write_text(stub(package, table), "utf-8")
