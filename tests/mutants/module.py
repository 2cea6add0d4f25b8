"""Mutants of a module: its code, with one element of a constant or decorated function changed."""

import ast
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from types import CodeType
from typing import Any

from tests.mutants.patterns import TOKEN, of_class, of_pattern

FIRST_HOLE = 0x100000
"""Where the characters begin that stand for the ``{NAME}`` of a pattern, by position."""

Text = ast.Constant | ast.JoinedStr


@dataclass(frozen=True, slots=True)
class Mutant:
    """A module that is wrong in one place."""

    name: str
    change: str
    code: CodeType


@dataclass(frozen=True, slots=True)
class Parts:
    """The names that patterns are made of: as a part of one, and inside of its brackets."""

    patterns: frozenset[str]
    classes: frozenset[str]


def mutants(source: str) -> Iterator[Mutant]:
    """Yield every mutant of a module that is still a module.

    Bodies of plain functions are left as they are.
    """
    tree = ast.parse(source)
    parts = _parts(tree)
    for statement in tree.body:
        name = _name(statement)
        for old, new, change in _changes(statement, name, parts) if name else ():
            slot = _slot(statement, old)
            slot(new)
            with suppress(ValueError, SyntaxError):
                yield Mutant(name, change, compile(ast.fix_missing_locations(tree), name, "exec"))
            slot(old)


def _name(statement: ast.stmt) -> str:
    """Return what a statement makes, or nothing for one that is not ours to mutate."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name
        case ast.FunctionDef(name=name, decorator_list=[_, *_]):
            return name
    return ""


def _changes(
    statement: ast.stmt, name: str, parts: Parts
) -> Iterator[tuple[ast.AST, ast.AST, str]]:
    if isinstance(statement, ast.FunctionDef):
        roots: list[ast.AST] = [each for each in statement.body if not _is_docstring(each)]
    else:
        roots = [statement.value]
    text = _pattern(roots[0], name, parts)
    if text is not None:
        written, holes = _written(text)
        others = of_class(written) if name in parts.classes else of_pattern(written)
        for other in sorted({*others} - {written}):
            yield text, _text(other, holes), _difference(written, other, holes)
        return
    for node in (each for root in roots for each in ast.walk(root)):
        yield from ((node, new, f"{ast.unparse(node)} -> {ast.unparse(new)}") for new in _of(node))


def _of(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what may stand in the place of an expression or a statement, and be wrong."""
    match node:
        case ast.Dict(keys=keys, values=values):
            for place in range(len(keys)):
                yield ast.Dict(_without(keys, place), _without(values, place))
        case ast.Tuple(elts=[ast.Tuple(), *_] as entries):
            yield from (ast.Tuple(other, ast.Load()) for other in _rows(entries))
        case ast.Constant(value=str(text)):
            others = [f"{text[:place]}?{text[place + 1 :]}" for place in range(len(text))]
            yield from (ast.Constant(other) for other in others if other != text)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            yield from (ast.IfExp(test, orelse, body), body, orelse)
        case ast.Call(func=function, args=arguments, keywords=keywords):
            for place in range(len(arguments)):
                yield ast.Call(function, _without(arguments, place), keywords)
            yield from arguments[-1:]
        case ast.For() | ast.Expr():
            yield ast.Pass()


def _rows(entries: list[ast.expr]) -> Iterator[list[ast.expr]]:
    """Yield a table without each row, and with each two neighbours the other way round."""
    for place in range(len(entries)):
        yield _without(entries, place)
    for place in range(len(entries) - 1):
        pair = entries[place : place + 2]
        yield [*entries[:place], *reversed(pair), *entries[place + 2 :]]


def _without(items: list[Any], place: int) -> list[Any]:
    return [*items[:place], *items[place + 1 :]]


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _slot(root: ast.AST, wanted: ast.AST) -> Callable[[ast.AST], None]:
    """Return the function that puts a node where this one is."""
    for owner in ast.walk(root):
        for field, value in ast.iter_fields(owner):
            if value is wanted:
                return lambda node: setattr(owner, field, node)
            if isinstance(value, list) and any(each is wanted for each in value):
                place = next(at for at, each in enumerate(value) if each is wanted)
                return lambda node: value.__setitem__(place, node)
    raise LookupError(ast.dump(wanted))


def _pattern(value: ast.AST, name: str, parts: Parts) -> Text | None:
    """Return the text of a pattern, or of a part of patterns."""
    match value:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr="compile")):
            value = value.args[0]
        case _ if name not in parts.patterns | parts.classes:
            return None
    return value if isinstance(value, ast.Constant | ast.JoinedStr) else None


def _parts(tree: ast.Module) -> Parts:
    """Return the names in the patterns of a module, and those inside of brackets."""
    texts = [_written(node) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    used: set[str] = set()
    bracketed: set[str] = set()
    for text, holes in texts:
        for token in TOKEN.finditer(text):
            names = {holes[ord(each) - FIRST_HOLE] for each in token[0] if ord(each) >= FIRST_HOLE}
            (bracketed if token["class"] else used).update(names)
    return Parts(frozenset(used), frozenset(bracketed))


def _written(text: Text) -> tuple[str, list[str]]:
    """Return a text with one character for each ``{...}``, and what these are."""
    holes: list[str] = []
    written = ""
    for piece in text.values if isinstance(text, ast.JoinedStr) else [text]:
        if isinstance(piece, ast.Constant):
            written += str(piece.value)
        else:
            written += chr(FIRST_HOLE + len(holes))
            holes.append(ast.unparse(piece.value))
    return written, holes


def _text(written: str, holes: list[str]) -> ast.JoinedStr:
    pieces = re.split(f"([{chr(FIRST_HOLE)}-{chr(0x10FFFF)}])", written)
    return ast.JoinedStr([_piece(piece, holes) for piece in pieces if piece])


def _piece(piece: str, holes: list[str]) -> ast.expr:
    if ord(piece[0]) < FIRST_HOLE:
        return ast.Constant(piece)
    named = ast.parse(holes[ord(piece) - FIRST_HOLE], mode="eval").body
    return ast.FormattedValue(named, -1, None)


def _difference(before: str, after: str, holes: list[str]) -> str:
    """Return what changed, with a little of what stands around it."""
    texts = (before, after)
    start = _alike(before, after)
    end = _alike(before[start:][::-1], after[start:][::-1])
    shown = (text[max(0, start - 10) : len(text) - end + 8] for text in texts)
    return " -> ".join("".join(_printed(each, holes) for each in text) for text in shown)


def _alike(one: str, other: str) -> int:
    """Return how many characters two texts have in common at their start."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def _printed(character: str, holes: list[str]) -> str:
    if ord(character) >= FIRST_HOLE:
        return f"{{{holes[ord(character) - FIRST_HOLE]}}}"
    return character if character.isascii() else ascii(character)[1:-1]
