"""The tests themselves: they enter by the front door, and a shared helper has one meaning."""

import ast
import builtins
import re
import symtable
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from textwrap import dedent

import pytest

import promptdsl
from promptdsl import batch, checking, comparing, page, preview, testing
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

DOORS = (
    "batch", "checking", "tokens", "cli", "comparing", "integrations", "page", "preview", "testing",
)  # fmt: skip
"""The modules that are public beside the front door itself."""
INTEGRATIONS = ("langchain", "litellm", "mcp", "openai_agents", "pydantic_ai")
PUBLIC = (
    "promptdsl.integrations.Converted",
    *(
        f"promptdsl.integrations.{name}.{way}_{name}"
        for name in INTEGRATIONS
        for way in ("from", "to")
    ),
    "promptdsl.integrations.openai_agents.transcript_session",
    "promptdsl.cli.main",
    *(f"promptdsl.tokens.{name}" for name in ("Count", "counter", "download")),
    *(f"promptdsl.testing.{name}" for name in testing.__all__),
    *(f"promptdsl.batch.{name}" for name in dir(batch)),
    *(f"promptdsl.checking.{name}" for name in checking.__all__),
    *(f"promptdsl.comparing.{name}" for name in comparing.__all__),
    *(f"promptdsl.page.{name}" for name in page.__all__),
    *(f"promptdsl.preview.{name}" for name in preview.__all__),
)
"""What tests may take through the doors beside the front door."""
DOTTED = re.compile(r"\bpromptdsl(?:\.\w+)+")
TAKEN = re.compile(r"\bfrom (promptdsl[\w.]*) import (?:\(([^)]*)\)|([^\n;\"']*))")
COMMENT = re.compile("#.*")
MODULES = {path.stem for path in PACKAGE.iterdir()} - {*DOORS, *promptdsl.__all__}

INSIDE = ("internals.py", "mutants/")
"""What names modules of the package: one file, and what changes them to try the tests."""

HELPERS = (
    "any_data.py",
    "errors.py",
    "cases_file.py",
    "folding.py",
    "homes.py",
    "hostile.py",
    "lines_run.py",
    "renders.py",
    "searching.py",
    "template_strings.py",
    "value_places.py",
)
"""The files of the helpers that tests of any folder use."""


_tree = cache(ast.parse)


def _outside() -> dict[str, str]:
    return {name: text for name, text in FILES.items() if not name.startswith(INSIDE)}


def _modules_named(text: str) -> list[str]:
    """Return what code names behind the public doors, also in code that it quotes."""
    quoted = [node.value for node in ast.walk(_tree(text)) if isinstance(node, ast.Constant)]
    strings = [one for one in quoted if isinstance(one, str) and "promptdsl" in one]
    taken = [f"{module}.{name}" for module, name in _imports(text) if module and name]
    taken += [name for string in strings for name in _taken_in(string)]
    found = dict.fromkeys([*DOTTED.findall(text), *taken])
    return [name for name in found if name.startswith("promptdsl.") and not _is_public(name)]


def _taken_in(quoted: str) -> list[str]:
    """Return what is imported from the package in a string, whether or not it is code."""
    try:
        return [f"{module}.{name}" for module, name in _imports(dedent(quoted)) if name]
    except SyntaxError:
        found = [(one[1], COMMENT.sub("", one[2] or one[3])) for one in TAKEN.finditer(quoted)]
        parts = [(module, part.split()) for module, names in found for part in names.split(",")]
        return [f"{module}.{words[0]}" for module, words in parts if words]


def _is_public(name: str) -> bool:
    """Return whether a dotted name is public, leads to what is, or is a part of it."""
    if name.split(".")[1] not in DOORS:
        return name.split(".")[1] not in MODULES
    return any(f"{one}.".startswith(f"{name}.") or name.startswith(f"{one}.") for one in PUBLIC)


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


NAMING = """
from promptdsl.tree import node
from promptdsl import (  # the rest
    System,  # a comment, and "quotes"
    foundation,
)
from promptdsl.cli.errors import UsageError
from promptdsl.tokens import Tokens, counter
from promptdsl.integrations.mcp import from_mcp, reading
from promptdsl.cli import main
import promptdsl, promptdsl.rendering
promptdsl.tokens.frames.label_of(promptdsl.render, promptdsl.tokens.counter)
"import promptdsl.config.models, promptdsl.cli"
"from promptdsl import User, budget"
"{% no code %} from promptdsl import (\\n    User,  # x\\n    messages as l,\\n)"
"""


def test_modules_that_are_named_are_found() -> None:
    """What the tests below look for is found in code, in quoted code and in attributes."""
    assert [
        "promptdsl.budget",
        "promptdsl.cli.errors",
        "promptdsl.cli.errors.UsageError",
        "promptdsl.config.models",
        "promptdsl.foundation",
        "promptdsl.integrations.mcp.reading",
        "promptdsl.messages",
        "promptdsl.rendering",
        "promptdsl.tokens.Tokens",
        "promptdsl.tokens.frames.label_of",
        "promptdsl.tree",
        "promptdsl.tree.node",
    ] == sorted(_modules_named(NAMING))


def test_one_file_names_modules() -> None:
    """No file of the tests but one names what is not public in the package."""
    named = {name: _modules_named(text) for name, text in _outside().items()}
    assert {} == {name: modules for name, modules in named.items() if modules}


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


def test_names_that_nobody_binds_are_found() -> None:
    """What the test below looks for is found inside of functions and outside."""
    assert {"missing", "gone"} == _free(
        "def f(a):\n    b = missing\n    return a + b\nc = gone, f\n"
    )


def test_every_name_is_known() -> None:
    """Each name that a file reads is its own, Python's or public: ``import *`` hides no slip."""
    known = {*dir(builtins), *promptdsl.__all__, "__file__"}
    unknown = {name: sorted(_free(text) - known) for name, text in FILES.items()}
    assert {} == {name: names for name, names in unknown.items() if names}


def _free(text: str) -> set[str]:
    """Return the names that a file reads in functions and statements, and binds nowhere."""
    tables = _tables(symtable.symtable(text, "", "exec"))
    symbols = [symbol for table in tables for symbol in table.get_symbols() if _is_global(symbol)]
    bound = {symbol.get_name() for symbol in symbols if _is_bound(symbol)}
    return {symbol.get_name() for symbol in symbols if symbol.is_referenced()} - bound


def _is_global(symbol: symtable.Symbol) -> bool:
    # Python 3.11 takes a function that is named "top" for a module.
    return symbol.is_global() and not symbol.is_parameter()


def _is_bound(symbol: symtable.Symbol) -> bool:
    return symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace()


def _tables(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield table
    for inner in table.get_children():
        yield from _tables(inner)
