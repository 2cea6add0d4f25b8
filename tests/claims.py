"""Find tests that say of no case at all that nothing is wrong with it: these can never fail.

``python -m tests.claims [FILE ...]`` runs the fast tests that have a claim which holds of an empty
table: ``assert [] == ...`` (or another empty literal), ``assert not [...]``, ``assert all(...)``.
Its cases are what loops and comprehensions go over while it is worked out, those of helpers among
them. A test ends at the first case. One whose loops have no case is printed.

A loop over an attribute (``rendered.losses``) reads what happened, and has no cases. Neither has an
inner one of a comprehension over what a call returns: it may be what is wrong.
"""

import ast
import re
import sys
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

import pytest

TESTS = Path(__file__).parent
OPTIONS = (
    *("-q", "-rfE", "--assert=plain", "-p", "no:cacheprovider", "--hypothesis-profile=fast"),
    *("-W", "ignore::ResourceWarning"),
    *("-m", "not slow and not sdk and not browser"),
)
EMPTY = ("[]", "()", "{}", "set()")
MAY_CLAIM = re.compile(r"assert (?:(?:\[\]|\(\)|\{\}|set\(\)) ==|not [\[{]|all\()")
LOGS = ("losses", "messages")
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
NOTED = "__claims__"
"""The name of the ``Claims`` in the code of tests."""


class Claims:
    """A plug-in of pytest that runs the tests with claims, and notes which of them see a case."""

    def __init__(self) -> None:
        self.functions: set[tuple[Path, str]] = set()
        """The functions with a claim."""
        self.seeing = 0
        """How many tests see a case."""
        self.empty: list[str] = []
        """The tests that see none."""
        self._claim = 0
        """The line of the claim that is being worked out."""
        self._looped = 0
        """The line of a claim of this test that began a loop."""

    def begin(self, line: int) -> None:
        """Note that a claim begins."""
        self._claim = line

    def end(self) -> None:
        """Note that it ended."""
        self._claim = 0

    def loop(self, cases: object) -> object:
        """Note that a loop over cases begins."""
        self._looped = self._looped or self._claim
        return cases

    def case(self) -> bool:
        """Note a case of a loop: that is all there is to know of a test."""
        if self._claim:
            self._claim = 0
            pytest.skip("it sees a case")
        return True

    def verdict(self) -> int:
        """Return 1 if a test sees no case, 2 if none has any claim over cases, or else 0."""
        if self.empty:
            return 1
        return 0 if self.seeing else 2

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """Leave out files without a claim."""
        is_file = collection_path.suffix == ".py"
        if is_file and not MAY_CLAIM.search(collection_path.read_text("utf-8")):
            return True
        return None

    def pytest_pycollect_makeitem(self, collector: pytest.Collector, name: str) -> list[str] | None:
        """Leave out tests without a claim."""
        left_out = name.startswith("test") and (collector.path, name) not in self.functions
        return [] if left_out else None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Note whether a test sees a case."""
        self._claim = self._looped = 0
        try:
            result = yield
        except pytest.skip.Exception:
            self.seeing += self._looped > 0
            raise
        if self._looped:
            self.empty.append(f"{item.location[0]}:{self._looped} {item.nodeid}")
        return result


class _Noting(ast.NodeTransformer):
    """Changes the code of tests: their claims and the cases of their loops are noted."""

    def __init__(self) -> None:
        self.functions: set[str] = set()
        self._names: set[str] = set()
        """The names in the function that are claimed to be empty."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        claimed = [claim for part in ast.walk(node) if (claim := _claimed(part))]
        if claimed:
            self.functions.add(node.name)
        around = self._names
        self._names = {claim.id for claim in claimed if isinstance(claim, ast.Name)}
        self.generic_visit(node)
        self._names = around
        return node

    def visit_Assert(self, node: ast.Assert) -> list[ast.stmt]:
        self.generic_visit(node)
        return _noted(node) if _claimed(node) else [node]

    def visit_Assign(self, node: ast.Assign) -> list[ast.stmt]:
        self.generic_visit(node)
        targets = [part for target in node.targets for part in ast.walk(target)]
        names = {target.id for target in targets if isinstance(target, ast.Name)}
        return _noted(node) if names & self._names else [node]

    def visit_For(self, node: ast.For) -> ast.AST:
        self.generic_visit(node)
        if not _is_log(node.iter):
            node.iter = _call("loop", node.iter)
            node.body.insert(0, ast.Expr(_call("case")))
        return node

    def visit_ListComp(self, node: ast.ListComp) -> ast.AST:
        self.generic_visit(node)
        first, *others = node.generators
        if not _is_log(first.iter):
            first.iter = _call("loop", first.iter)
            inner = [loop for loop in others if not isinstance(loop.iter, ast.Call)]
            [first, *inner][-1].ifs.insert(0, _call("case"))
        return node

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815
    visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_ListComp  # noqa: N815


def _claimed(node: ast.AST) -> ast.expr | None:
    """Return what a statement claims to be empty, or true of all cases."""
    match node:
        case ast.Assert(ast.Compare(left, [ast.Eq()], [right])) if ast.unparse(left) in EMPTY:
            return None if _is_log(right) else right
        case ast.Assert(ast.UnaryOp(ast.Not(), right)) if isinstance(right, COMPREHENSIONS):
            return right
        case ast.Assert(ast.Call(ast.Name("all")) as right):
            return right
    return None


def _is_log(node: ast.expr) -> bool:
    """Return whether code reads what happened: an attribute, or what a method returns."""
    match node:
        case ast.Attribute() | ast.Call(ast.Attribute()):
            return True
        case ast.Name(name):
            return name in LOGS
    return False


def _noted(node: ast.stmt) -> list[ast.stmt]:
    line = ast.Constant(node.lineno)
    return [ast.Expr(_call("begin", line)), node, ast.Expr(_call("end"))]


def _call(method: str, *arguments: ast.expr) -> ast.expr:
    claims = ast.Name(NOTED, ast.Load())
    return ast.Call(ast.Attribute(claims, method, ast.Load()), [*arguments], [])


class _Loader(SourceFileLoader):
    """Loads a module of tests so that its claims are noted."""

    def __init__(self, claims: Claims, name: str, path: str) -> None:
        super().__init__(name, path)
        self._claims = claims

    def get_code(self, fullname: str) -> CodeType:
        noting = _Noting()
        tree = noting.visit(ast.parse(self.get_data(self.path)))
        self._claims.functions |= {(Path(self.path), name) for name in noting.functions}
        return compile(ast.fix_missing_locations(tree), self.path, "exec", dont_inherit=True)

    def exec_module(self, module: ModuleType) -> None:
        setattr(module, NOTED, self._claims)
        super().exec_module(module)


class _Finder:
    """Finds modules of tests, below a folder."""

    def __init__(self, claims: Claims, folder: Path) -> None:
        self._claims, self._folder = claims, folder

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target)
        origin = (spec and spec.origin) or ""
        if spec is None or not Path(origin).is_relative_to(self._folder):
            return None
        spec.loader = _Loader(self._claims, name, origin)
        return spec


@contextmanager
def noting(claims: Claims, folder: Path) -> Iterator[None]:
    """Note the claims of modules below a folder that are imported within."""
    finder = _Finder(claims, folder)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


def main(files: Sequence[str]) -> int:
    """Print the tests that see no case, and return the verdict; a test that fails is one, too."""
    claims = Claims()
    with noting(claims, TESTS):
        failed = pytest.main([*OPTIONS, *(files or [str(TESTS)])], plugins=[claims])
    print(*claims.empty, sep="\n")
    print(f"{claims.seeing} tests see cases, {len(claims.empty)} see none")
    return claims.verdict() or int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
