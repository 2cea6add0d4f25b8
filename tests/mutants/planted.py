"""Planted mutants: mistakes that somebody has written, as a text of a file and its replacement."""

import ast
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import FunctionType

from tests.mutants.applying import Location, NoModule, clear_caches, replace_code, run_again
from tests.mutants.module import constants, functions
from tests.mutants.probes import head
from tests.mutants.rooms import PACKAGE, module_name

ROOT = PACKAGE.parent


class OutOfReach(Exception):
    """A mistake that is neither in the body of a function nor in a constant of a module."""


@dataclass(frozen=True, slots=True, eq=False)
class Planted:
    """A module with a mistake that somebody has written, and a sentence that says what it is.

    ``lines`` are those of which one runs in each test that may notice it, ``names`` those of the
    functions and ``constants`` those of the constants that are changed.
    """

    path: Path
    line: int
    change: str
    lines: frozenset[int]
    names: frozenset[str]
    constants: frozenset[str]
    before: str = field(repr=False)
    after: str = field(repr=False)

    @property
    def module(self) -> str:
        """The dotted name of the module."""
        return module_name(self.path)

    @property
    def name(self) -> str:
        """What is changed, in a word."""
        return ", ".join(sorted(self.names | self.constants)) or "the module"

    @property
    def where(self) -> str:
        """The module, the line and the names, as a list of survivors has them."""
        return f"{self.module}:{self.line} {self.name}"


def planted_in(path: Path) -> list[Planted]:
    """Return the mutants in a JSON file; raise :class:`ValueError` for one that cannot be made."""
    return [planted(**entry) for entry in json.loads(path.read_text("utf-8"))]


def planted(*, file: str, old: str, new: str, what: str) -> Planted:
    """Return the mutant that has a new text in the place of an old one."""
    path = ROOT / file
    if path == PACKAGE / "__main__.py":
        raise ValueError(f"no module to be loaded: {file}")
    before = path.read_text("utf-8")
    if before.count(old) != 1:
        raise ValueError(f"{before.count(old)} times in {file}: {old!r}")
    after = before.replace(old, new)
    try:
        trees = ast.parse(before), ast.parse(after)
    except SyntaxError as error:
        raise ValueError(f"no Python in {file}: {new!r}") from error
    first = before[: before.index(old)].count("\n") + 1
    touched = range(first, first + old.rstrip("\n").count("\n") + 1)
    return Planted(
        path,
        first,
        what,
        frozenset(_lines(trees[0], touched)),
        frozenset(_changed(*map(functions_of, trees))),
        frozenset(_changed(*(constants(tree) for tree in trees))),
        before,
        after,
    )


def functions_of(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """Yield the functions of a module by qualified name."""
    return functions(tree.body)


def traced_files(mutants: Iterable[Planted]) -> list[Path]:
    """Return the files of mutants, loaded, and those that import a changed constant by its name."""
    mutants = list(mutants)
    files = {mutant.path for mutant in mutants}
    names = {(mutant.module, name) for mutant in mutants for name in mutant.constants}
    for path in PACKAGE.rglob("*.py") if names else ():
        if not names.isdisjoint(_imported(ast.parse(path.read_text("utf-8")))):
            files.add(path)
    for path in files:
        import_module(module_name(path))
    return sorted(files)


def plant(mutant: Planted, loaded: dict[Location, list[FunctionType]]) -> None:
    """Make a mistake in the package as it is loaded.

    Raise :class:`NoModule` where the module could not be imported with it, :class:`OutOfReach`
    where only a process that loads the package anew would have it.
    """
    if _frame(mutant.before) != _frame(mutant.after):
        raise OutOfReach
    file = str(mutant.path)
    try:
        new = compile(mutant.after, file, "exec", dont_inherit=True)
    except SyntaxError as error:
        raise NoModule from error
    try:
        replace_code(file, mutant.before, new, loaded, names=mutant.names)
    except ValueError as error:  # a function that was made before has other free variables
        raise OutOfReach from error
    if mutant.constants:
        run_again(import_module(mutant.module), ast.parse(mutant.after), mutant.constants)
    clear_caches({str(path) for path in PACKAGE.rglob("*.py")})


def _changed(
    before: Iterable[tuple[str, ast.AST]], after: Iterable[tuple[str, ast.AST]]
) -> Iterator[str]:
    """Yield the names of what differs."""
    for (name, old), (_, new) in zip(before, after, strict=False):
        if ast.dump(old) != ast.dump(new):
            yield name


def _frame(text: str) -> str:
    """Return what a module is without the bodies of functions and the values of constants."""
    tree = ast.parse(text)
    for _, function in functions(tree.body):
        function.body = []
    for _, statement in constants(tree):
        statement.value = ast.Constant(None)
    return ast.dump(tree)


def _lines(tree: ast.Module, touched: range) -> Iterator[int]:
    """Yield the lines of the statements of which one is touched; of a function all of them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt | ast.match_case | ast.ExceptHandler):
            lines = head(node)
            if lines.start < touched.stop and touched.start < lines.stop:
                whole = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
                yield from range(lines.start, (node.end_lineno or 0) + 1) if whole else lines


def _imported(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from ((str(node.module), alias.name) for alias in node.names)
