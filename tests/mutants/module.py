"""Mutants of a module: its code, with one mistake in a function or in what a constant is."""

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType

from tests.mutants.changes import expressions, is_cast, statements
from tests.mutants.patterns import TOKEN, of_class, of_pattern
from tests.mutants.rooms import module_name

FIRST_HOLE = 0x100000
"""Where the characters begin that stand for the ``{NAME}`` of a pattern, by position."""

Text = ast.Constant | ast.JoinedStr
Definition = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True, eq=False)
class Mutant:
    """A module with one mistake.

    ``name`` is the qualified name of the function it is in, or of the constant. ``lines`` are those
    of which one runs in each test that may notice it; empty for a constant.
    """

    module: str
    name: str
    change: str
    line: int
    lines: range
    is_function: bool
    tree: ast.Module = field(repr=False)
    put: Callable[[], Callable[[], None]] = field(repr=False)
    """Make the mistake in the tree; what it returns takes it back."""

    @property
    def constants(self) -> frozenset[str]:
        """The names of the constants that are changed."""
        return frozenset(() if self.is_function else (self.name,))

    @property
    def where(self) -> str:
        """The module, the line and the name, as a list of survivors has them."""
        return f"{self.module}:{self.line} {self.name}"

    def code(self) -> CodeType:
        """Return the code of the module with the mistake; raise :class:`SyntaxError`."""
        undo = self.put()
        try:
            return compile(ast.fix_missing_locations(self.tree), self.name, "exec")
        except (TypeError, ValueError) as error:
            raise SyntaxError(str(error)) from error
        finally:
            undo()


@dataclass(frozen=True, slots=True)
class Parts:
    """The names that patterns are made of: as a part of one, and inside of its brackets."""

    patterns: frozenset[str]
    classes: frozenset[str]


def mutants(path: Path) -> Iterator[Mutant]:
    """Yield every mutant of the functions and the constants of a file."""
    tree = ast.parse(path.read_text("utf-8"))
    yield from _in_functions(module_name(path), tree)
    yield from _in_constants(module_name(path), tree)


def constants(tree: ast.Module) -> Iterator[tuple[str, ast.Assign | ast.AnnAssign]]:
    """Yield the constants of a module by name."""
    for statement in tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)]):
                yield name, statement
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()):
                yield name, statement


def functions(body: list[ast.stmt], around: str = "") -> Iterator[tuple[str, Definition]]:
    """Yield the functions of a module and of its classes, by qualified name."""
    for statement in body:
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield around + statement.name, statement
            case ast.ClassDef(name=name):
                yield from functions(statement.body, f"{around}{name}.")


def _in_functions(module: str, tree: ast.Module) -> Iterator[Mutant]:
    for name, function in functions(tree.body):
        for node, around, slot in _slots(function):
            for new in (*expressions(node), *statements(node)):
                yield Mutant(
                    module,
                    name,
                    _said(node, new),
                    getattr(node, "lineno", around.lineno),
                    _lines(node, around),
                    True,
                    tree,
                    _putter(slot, node, new),
                )


def _in_constants(module: str, tree: ast.Module) -> Iterator[Mutant]:
    parts = _parts(tree)
    for name, statement in constants(tree):
        assert statement.value is not None
        if name == "__all__" or _is_of_types(statement):
            continue
        for node, new, change, slot in _of_constant(statement, name, parts):
            put = _putter(slot, node, new)
            line = statement.lineno
            yield Mutant(module, name, change, line, range(0), False, tree, put)


Slot = Callable[[ast.AST], None]


def _slots(function: Definition) -> Iterator[tuple[ast.AST, ast.stmt, Slot]]:
    """Yield what may be changed in a function, the statement around it, and how it is replaced.

    Docstrings, annotations and types that are cast to are left as they are.
    """
    for place, statement in enumerate(function.body):
        if not _is_docstring(statement):
            yield from _inside(function, "body", place, statement)


def _inside(
    owner: ast.AST, name: str, place: int | None, around: ast.stmt
) -> Iterator[tuple[ast.AST, ast.stmt, Slot]]:
    held = getattr(owner, name)
    node: ast.AST = held if place is None else held[place]

    def slot(new: ast.AST) -> None:
        if place is None:
            setattr(owner, name, new)
        else:
            getattr(owner, name)[place] = new

    if isinstance(node, ast.stmt):
        around = node
    yield node, around, slot
    for key, value in ast.iter_fields(node):
        if key in {"annotation", "returns", "decorator_list", "args"} and not isinstance(
            node, ast.Call
        ):
            continue
        if isinstance(value, ast.AST):
            yield from _inside(node, key, None, around)
        elif isinstance(value, list):
            start = 1 if is_cast(node) and key == "args" else 0
            for at, each in enumerate(value):
                if at >= start and isinstance(each, ast.AST) and not _is_docstring(each):
                    yield from _inside(node, key, at, around)


def _is_docstring(node: ast.AST) -> bool:
    """Return whether a statement is a text alone: of a function, a class or an attribute."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _putter(slot: Slot, old: ast.AST, new: ast.AST) -> Callable[[], Callable[[], None]]:
    def put() -> Callable[[], None]:
        slot(ast.copy_location(new, old))
        return lambda: slot(old)

    return put


def _lines(node: ast.AST, around: ast.stmt) -> range:
    """Return the lines of a node; of a statement with a body, those of its head."""
    body: list[ast.AST] = getattr(around, "body", None) or getattr(around, "cases", None) or []
    first = getattr(node, "lineno", around.lineno)
    last = getattr(node, "end_lineno", first)
    if node is around and body:
        inner = body[0].pattern if isinstance(body[0], ast.match_case) else body[0]
        last = max(first, getattr(inner, "lineno", last) - 1)
    return range(first, last + 1)


def _said(old: ast.AST, new: ast.AST) -> str:
    """Return a change in one line, without the bodies of statements."""
    return f"{_head(old)} -> {_head(new)}"


def _head(node: ast.AST) -> str:
    if isinstance(node, ast.comprehension):
        return " ".join(f"if {ast.unparse(test)}" for test in node.ifs) or "no if"
    if isinstance(node, ast.Slice):
        return f"[{ast.unparse(node)}]"
    if isinstance(node, ast.Match):
        cases = ", ".join(ast.unparse(case.pattern) for case in node.cases)
        return f"match {ast.unparse(node.subject)}: {cases}"
    text = ast.unparse(ast.fix_missing_locations(node)).partition("\n")[0]
    return text if len(text) <= 160 else f"{text[:157]}..."


def _is_of_types(statement: ast.Assign | ast.AnnAssign) -> bool:
    """Return whether a statement only names a type."""
    kind = ast.unparse(statement.annotation) if isinstance(statement, ast.AnnAssign) else ""
    value = ast.unparse(statement.value) if statement.value else ""
    starts = ("TypeVar(", "Callable[", "tuple[", "Literal[", "Mapping[")
    return "TypeAlias" in kind or value.startswith(starts)


def _of_constant(
    statement: ast.Assign | ast.AnnAssign, name: str, parts: Parts
) -> Iterator[tuple[ast.AST, ast.AST, str, Slot]]:
    assert statement.value is not None
    text = _pattern(statement.value, name, parts)
    for node, _, slot in _inside(statement, "value", None, statement):
        if node is text:
            assert text is not None
            written, holes = _written(text)
            others = of_class(written) if name in parts.classes else of_pattern(written)
            for other in sorted({*others} - {written}):
                yield node, _text(other, holes), _difference(written, other, holes), slot
        elif text is None:
            for new in (*expressions(node), *_of_table(node)):
                yield node, new, _said(node, new), slot


def _of_table(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a table with a row dropped, or two neighbours the other way round."""
    match node:
        case ast.Tuple(entries) if len(entries) > 1:
            for place in range(len(entries)):
                yield ast.Tuple([*entries[:place], *entries[place + 1 :]], ast.Load())
            for place in range(len(entries) - 1 if isinstance(entries[0], ast.Tuple) else 0):
                pair = entries[place : place + 2]
                rest = [*entries[:place], *reversed(pair), *entries[place + 2 :]]
                if _differ(*pair):
                    yield ast.Tuple(rest, ast.Load())
        case ast.Dict(keys, [_, _, *_] as values):
            for place in range(len(values) - 1):
                pair = values[place : place + 2]
                if _differ(*pair):
                    yield ast.Dict(keys, [*values[:place], *reversed(pair), *values[place + 2 :]])
        case ast.Constant(value=str(text)):
            for place in range(len(text)):
                yield ast.Constant(f"{text[:place]}\ufffd{text[place + 1 :]}")


def _differ(one: ast.AST, other: ast.AST) -> bool:
    return ast.dump(one) != ast.dump(other)


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
