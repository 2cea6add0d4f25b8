"""Small mistakes in Python code: what may be put in the place of an expression or a statement."""

import ast
from collections.abc import Iterator
from typing import Any

COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
NAMED = {
    "any": "all",
    "all": "any",
    "min": "max",
    "max": "min",
    "startswith": "endswith",
    "endswith": "startswith",
    "lstrip": "rstrip",
    "rstrip": "lstrip",
    "bisect_left": "bisect_right",
    "bisect_right": "bisect_left",
    "append": "appendleft",
    "popleft": "pop",
    "issubset": "issuperset",
    "partition": "rpartition",
    "rpartition": "partition",
    "find": "rfind",
    "rfind": "find",
    "keys": "values",
    "values": "keys",
}
"""By the name of a function, one that does nearly the same."""


def expressions(node: ast.AST) -> Iterator[ast.AST]:
    """Yield each expression that is one with one mistake made."""
    match node:
        case ast.Compare(left, ops, comparators):
            for place, op in enumerate(ops):
                other = COMPARED[type(op)]()
                yield ast.Compare(left, _with(ops, place, other), comparators)
        case ast.BoolOp(op, values):
            yield ast.BoolOp(ast.And() if isinstance(op, ast.Or) else ast.Or(), values)
            for place in range(len(values)):
                rest = _without(values, place)
                yield ast.BoolOp(op, rest) if len(rest) > 1 else rest[0]
        case ast.UnaryOp(ast.Not() | ast.USub(), operand):
            yield operand
        case ast.BinOp(left, op, right) if type(op) in COMPUTED:
            yield ast.BinOp(left, COMPUTED[type(op)](), right)
        case ast.IfExp(test, body, orelse):
            yield ast.IfExp(test, orelse, body)
        case ast.Constant():
            yield from _constants(node.value)
        case ast.Name(name, context) if name in NAMED:
            yield ast.Name(NAMED[name], context)
        case ast.Attribute(value, name, context) if name in NAMED:
            yield ast.Attribute(value, NAMED[name], context)
        case ast.Call():
            yield from _calls(node)
        case ast.Slice(lower, upper, step):
            yield from (ast.Slice(None, upper, step),) if lower else ()
            yield from (ast.Slice(lower, None, step),) if upper else ()
        case ast.Dict(keys, values):
            for place in range(len(keys)):
                yield ast.Dict(_without(keys, place), _without(values, place))
        case ast.Set(entries) if len(entries) > 1:
            yield from (ast.Set(_without(entries, place)) for place in range(len(entries)))
        case ast.List(entries, ast.Load()):
            for place in range(len(entries)):
                yield ast.List(_without(entries, place), ast.Load())
        case ast.comprehension(target, iterated, ifs, is_async):
            for place in range(len(ifs)):
                yield ast.comprehension(target, iterated, _without(ifs, place), is_async)


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield each statement that is one with one mistake made."""
    match node:
        case ast.If(test, body, orelse):
            yield ast.If(_negated(test), body, orelse)
        case ast.While(test, body, orelse):
            yield ast.While(_negated(test), body, orelse)
        case ast.Break():
            yield ast.Continue()
        case ast.Continue():
            yield ast.Break()
        case ast.Return(ast.expr() as value) if not _is_empty(value):
            yield ast.Return(ast.Constant(None))
        case ast.Raise() | ast.AugAssign() | ast.Delete():
            yield ast.Pass()
        case ast.Expr(value) if not isinstance(value, ast.Constant):
            yield ast.Pass()
        case ast.Assign([ast.Attribute() | ast.Subscript()]):
            yield ast.Pass()
        case ast.Assign(targets, value) if not _is_none(value):
            if isinstance(targets[0], ast.Name):
                yield ast.Assign(targets, ast.Constant(None), None)
        case ast.Match(subject, cases) if len(cases) > 1:
            for place in range(len(cases)):
                yield ast.Match(subject, _without(cases, place))


def _constants(value: object) -> Iterator[ast.AST]:
    match value:
        case bool():
            yield ast.Constant(not value)
        case int():
            yield ast.Constant(value + 1)
        case str():
            yield ast.Constant(f"{value}?")


def _calls(node: ast.Call) -> Iterator[ast.AST]:
    """Yield a call without each named argument, and with ``None`` for each other one.

    A type that is cast to stays: it does nothing.
    """
    first = 1 if is_cast(node) else 0
    for place, argument in enumerate(node.args[first:], first):
        if not isinstance(argument, ast.Starred) and not _is_none(argument):
            yield ast.Call(node.func, _with(node.args, place, ast.Constant(None)), node.keywords)
    for place in range(len(node.keywords)):
        yield ast.Call(node.func, node.args, _without(node.keywords, place))


def is_cast(node: ast.AST) -> bool:
    """Return whether a node casts a value to a type."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "cast"


def _negated(test: ast.expr) -> ast.expr:
    return ast.UnaryOp(ast.Not(), test)


def _is_empty(value: ast.expr) -> bool:
    """Return whether a value is false wherever ``None`` is."""
    match value:
        case ast.Constant(value=constant):
            return not constant
        case ast.Tuple(elts=[]) | ast.List(elts=[]) | ast.Dict(keys=[]):
            return True
    return False


def _is_none(value: ast.AST) -> bool:
    return isinstance(value, ast.Constant) and value.value is None


def _with(items: list[Any], place: int, item: Any) -> list[Any]:
    return [*items[:place], item, *items[place + 1 :]]


def _without(items: list[Any], place: int) -> list[Any]:
    return [*items[:place], *items[place + 1 :]]
