"""Probes: before each statement of a function, a call that notes that its lines run."""

import ast
import builtins
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.mutants.applying import loaded, replace_code

Line = tuple[str, int]
NAME = "__ran__"


def put_probes(files: Iterable[str], ran: Callable[[int], object]) -> list[list[Line]]:
    """Put probes into the loaded functions of files; return the lines of each number.

    ``ran`` is called with the number of each statement that runs.
    """
    setattr(builtins, NAME, ran)
    places: list[list[Line]] = []
    functions = loaded(files)
    for file in files:
        text = Path(file).read_text("utf-8")
        tree = ast.fix_missing_locations(_Probed(file, places).visit(ast.parse(text)))
        replace_code(file, text, compile(tree, file, "exec", dont_inherit=True), functions)
    return places


def head(node: ast.AST) -> range:
    """Return the lines of a statement; of one with a body, those before it."""
    marks: Sequence[ast.AST] = getattr(node, "decorator_list", ())
    pattern = node.pattern if isinstance(node, ast.match_case) else node
    first = min(getattr(each, "lineno", 0) for each in (pattern, *marks))
    body: list[ast.AST] = getattr(node, "body", None) or getattr(node, "cases", None) or []
    if not body:
        return range(first, getattr(node, "end_lineno", first) + 1)
    inner = body[0].pattern if isinstance(body[0], ast.match_case) else body[0]
    return range(first, max(first + 1, getattr(inner, "lineno", first)))


class _Probed(ast.NodeTransformer):
    """A module with probes; only the code of its functions is used."""

    def __init__(self, file: str, places: list[list[Line]]) -> None:
        self._file = file
        self._places = places

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        for name in ("body", "orelse", "finalbody"):
            body = getattr(node, name, None)
            if isinstance(body, list) and not isinstance(node, ast.Module | ast.ClassDef):
                setattr(node, name, [each for one in body for each in self._probed(one)])
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        self.generic_visit(node)
        lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
        # A probe returns nothing: the value is that of the body.
        node.body = ast.BoolOp(ast.Or(), [self._probe(lines), node.body])
        return node

    def _probed(self, statement: ast.stmt) -> Iterator[ast.stmt]:
        is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if not is_text:  # a docstring stays first
            parts: list[Any] = [
                *getattr(statement, "cases", ()),
                *getattr(statement, "handlers", ()),
            ]
            lines = [line for part in (statement, *parts) for line in head(part)]
            yield ast.copy_location(ast.Expr(self._probe(lines)), statement)
        yield statement

    def _probe(self, lines: Iterable[int]) -> ast.expr:
        self._places.append([(self._file, line) for line in lines])
        number = ast.Constant(len(self._places) - 1)
        return ast.Call(ast.Name(NAME, ast.Load()), [number], [])
