"""The tests themselves: they enter by the front door, and a shared helper has one meaning."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import promptdsl
from tests import internals

pytestmark = pytest.mark.slow

TESTS = Path(__file__).parent
PACKAGE = Path(promptdsl.__file__).parent
FILES = {
    path.relative_to(TESTS).as_posix(): path.read_text("utf-8")
    for path in sorted(TESTS.rglob("*.py"))
    if path != Path(__file__) and path.parent.name != "python314"
}
"""Every file of the tests but this one, and those that only Python 3.14 can read."""

DOORS = ("tokens", "cli", "bridges")
"""The modules that are public beside the front door itself."""
BEYOND = re.compile(r"\bpromptdsl\.([a-z_]+)")
TAKEN = re.compile(r"\bfrom promptdsl import \(?([\w\s,]+)")
MODULES = {path.stem for path in PACKAGE.iterdir()} - {*DOORS, *promptdsl.__all__}
PUBLIC_OF_TOKENS = {"Count", "counter", "download"}

INSIDE = ("internals.py", "mutants/")
"""What names modules of the package: one file, and what changes them to try the tests."""

HELPERS = (
    "any_data.py",
    "errors.py",
    "homes.py",
    "markdown_reader.py",
    "renders.py",
    "searching.py",
)
"""The files of the helpers that tests of any folder use."""


_tree = cache(ast.parse)


def _outside() -> dict[str, str]:
    return {name: text for name, text in FILES.items() if not name.startswith(INSIDE)}


def _modules_named(text: str) -> list[str]:
    """Return the modules behind the front door that a text names, in code that it quotes too."""
    taken = [name for names in TAKEN.findall(text) for name in re.findall(r"\w+", names)]
    return [name for name in (*BEYOND.findall(text), *taken) if name in MODULES]


def _imports(text: str) -> Iterator[tuple[str, str]]:
    """Yield module and name of what a file imports."""
    for node in ast.walk(_tree(text)):
        if isinstance(node, ast.ImportFrom):
            yield from ((node.module or "", alias.name) for alias in node.names)
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)


def _defined(text: str) -> set[str]:
    """Return the functions and classes that a file defines, without the mark of private ones."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    body = _tree(text).body
    return {node.name.lstrip("_") for node in body if isinstance(node, kinds)}


def _public(text: str) -> set[str]:
    """Return the functions and classes that a file of helpers gives to tests."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    found = {node.name for node in _tree(text).body if isinstance(node, kinds)}
    return {name for name in found if not name.startswith("_")}


def test_modules_that_are_named_are_found() -> None:
    """What the tests below look for is found in code, in quoted code and in attributes."""
    text = "from promptdsl.tree import make\n'import promptdsl.models, promptdsl.cli'\n"
    assert ["tree", "models", "encoding"] == _modules_named(f"{text}from promptdsl import encoding")


def test_one_file_names_modules() -> None:
    """No file of the tests but one names a module of the package behind the public doors."""
    named = {name: _modules_named(text) for name, text in _outside().items()}
    assert {} == {name: modules for name, modules in named.items() if modules}


def test_counters_are_what_is_public_of_tokens() -> None:
    """Of the module of counters tests take what its users take."""
    taken = {
        name: {one for module, one in _imports(text) if module.startswith("promptdsl.tokens")}
        for name, text in _outside().items()
    }
    assert {} == {name: more for name, names in taken.items() if (more := names - PUBLIC_OF_TOKENS)}


def test_every_internal_name_is_used() -> None:
    """Every name of the package that tests may use beside the public ones is used by one."""
    found = {
        name
        for text in FILES.values()
        for module, name in _imports(text)
        if module == "tests.internals"
    }
    quoted = {
        name
        for text in FILES.values()
        for names in re.findall(r"from tests\.internals import ([\w, ]+)", text)
        for name in re.findall(r"\w+", names)
    }
    assert [] == [name for name in internals.__all__ if name not in found | quoted]


def test_a_shared_helper_is_defined_once() -> None:
    """No name of a shared helper is the name of something else in another file of the tests."""
    names = [name for file in HELPERS for name in _public(FILES[file])]
    places = Counter(name for text in _outside().values() for name in _defined(text))
    assert [] == [name for name in names if places[name] > 1]


def test_no_test_module_is_imported() -> None:
    """What two files of tests share stands in a file without tests."""
    imports = [(name, module) for name, text in FILES.items() for module, _ in _imports(text)]
    assert [] == [
        (name, module) for name, module in imports if re.match(r"tests\.(.*\.)?test_", module)
    ]
