"""Which texts of a file are constant, and which depend on a variable; nothing is run."""

import ast
import re
from itertools import zip_longest
from typing import Any

from promptdsl.checking.python_file import PythonFile
from promptdsl.foundation.frozen import is_list

_CONTAINERS = {"list", "dict", "tuple", "Sequence", "Iterable", "Mapping", "Optional", "Union"}
_TEXTS = {"str", "Any", "object"}
_TEXT_OF = {"str", "repr", "dedent", "indent", "sorted", "trusted"}
"""The functions that return the text of their argument."""
_BUILDING = {"format", "format_map", "join", "replace"}
"""The methods that put the text of their arguments into their result."""
_METHODS = _BUILDING | {
    *("capitalize", "casefold", "center", "ljust", "lower", "lstrip", "removeprefix"),
    *("removesuffix", "rjust", "rstrip", "split", "strip", "title", "upper"),
}
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_PIECES = ("values", "left", "right", "body", "orelse", "elts", "elt")
_MADE = (
    *(ast.JoinedStr, ast.BoolOp, ast.BinOp, ast.IfExp, ast.Tuple, ast.List),
    *(ast.GeneratorExp, ast.ListComp),
)
"""The expressions that are made of others; ``_PIECES`` are the fields with the others."""
NUMBERS = re.compile(r"%[^%a-z]*[bdefgiouxc]|\{[^{}]*:[^{}]*[,bdefgnx%]\}", re.IGNORECASE)
"""A field of a format string that only takes numbers."""
_UNKNOWN = ast.Constant("")
Scope = tuple[ast.AST, ...]


class Constants:
    """Finds the variables in the texts of a file.

    A variable is a parameter that may be any text, input of a person, or a text made of one. These
    are no variables, since they may be constant: a parameter that is assigned again or compared
    with a text, a parameter of a private function, results of other functions, numbers, attributes.
    """

    def __init__(self, file: PythonFile) -> None:
        self._file = file
        self._assigned: dict[ast.AST, dict[str, list[ast.expr | ast.AugAssign]]] = {}
        self._known: dict[tuple[ast.AST, str], str] = {}

    def variable(self, node: ast.AST, scope: Scope) -> str:
        """Return a variable that is in the text of an expression, or ``""``."""
        pieces: list[Any] = []  # Any: expressions
        match node:
            case ast.Name(id=name):
                return self._named(name, scope)
            case ast.Subscript(value=value):
                is_input = self._file.dotted(value) == "sys.argv"
                if isinstance(value, ast.Name):
                    is_input = is_input or bool(self._named(value.id, scope, is_annotated=True))
                return ast.unparse(node) if is_input else ""
            case ast.FormattedValue(value=value, format_spec=spec):
                is_number = spec and NUMBERS.search(f"{{:{ast.unparse(spec)[2:-1]}}}")
                pieces = [] if is_number else [value]
            case ast.Call(func=ast.Name(id="input")):
                return ast.unparse(node)
            case ast.Call(func=func, args=arguments, keywords=keywords):
                name = last(func)
                is_method = name in _METHODS and isinstance(func, ast.Attribute)
                if name in _TEXT_OF or (is_method and name in _BUILDING):
                    pieces = [*arguments, *(keyword.value for keyword in keywords)]
                if is_method and not self._file.dotted(func):
                    pieces.append(getattr(func, "value", func))
            case _ if isinstance(node, _MADE):
                for name in _PIECES:
                    piece: Any = getattr(node, name, [])
                    if is_list(piece):
                        pieces += piece
                    else:
                        pieces.append(piece)
                is_sum = not isinstance(node, ast.BinOp) or isinstance(node.op, ast.Add | ast.Mod)
                pieces = pieces if is_sum and not any(map(_is_number, pieces)) else []
            case _:
                pass
        return next(filter(None, (self.variable(piece, scope) for piece in pieces)), "")

    def values(self, name: str, scope: Scope) -> list[ast.expr | ast.AugAssign]:
        """Return the values assigned to a name in its innermost scope, in written order."""
        for function in scope:
            if name in (values := self._names_of(function)):
                return values[name]
            if isinstance(function, _FUNCTIONS) and name in _parameters(function):
                break
        return []

    def _named(self, name: str, scope: Scope, *, is_annotated: bool = False) -> str:
        for number, function in enumerate(scope):
            values = self._names_of(function).get(name)
            if isinstance(function, _FUNCTIONS) and name in (parameters := _parameters(function)):
                # Private and nested functions are called in this file, maybe with constants.
                of = getattr(function, "name", "")
                is_private = of.startswith("_") and of != "__init__"
                if values or is_private or len(scope) > number + 2 or name in ("self", "cls"):
                    return ""
                return name if _may_be_text(*parameters[name], is_annotated=is_annotated) else ""
            if values is not None:
                if (function, name) not in self._known:
                    self._known[function, name] = ""
                    if all(self.variable(value, scope[number:]) for value in values):
                        self._known[function, name] = name
                return self._known[function, name]
        return ""

    def _names_of(self, function: ast.AST) -> dict[str, list[ast.expr | ast.AugAssign]]:
        """Return the values of each name of a function or module, with what loops iterate over."""
        if function in self._assigned:
            return self._assigned[function]
        values: dict[str, list[ast.expr | ast.AugAssign]] = {}
        body: Any = getattr(function, "body", [])  # Any: that of a lambda is no list
        waiting: list[ast.AST] = [*body] if isinstance(body, list) else [body]
        waiting.reverse()
        while waiting:
            node = waiting.pop()
            bound: ast.AST | None = None
            match node:
                case (
                    ast.Assign(targets=[ast.Name(id=name) as bound], value=ast.expr() as value)
                    | ast.AnnAssign(target=ast.Name(id=name) as bound, value=ast.expr() as value)
                    | ast.For(target=ast.Name(id=name) as bound, iter=value)
                    | ast.comprehension(target=ast.Name(id=name) as bound, iter=value)
                ):
                    values.setdefault(name, []).append(value)
                case ast.AugAssign(target=ast.Name(id=name) as bound, op=ast.Add()):
                    values.setdefault(name, []).append(node)
                case ast.Compare(left=ast.Name(id=name), ops=[op, *_]):
                    if not isinstance(op, ast.Is | ast.IsNot):
                        values.setdefault(name, []).append(_UNKNOWN)
                case ast.Name(id=name, ctx=ast.Store()) | ast.Match(subject=ast.Name(id=name)):
                    values.setdefault(name, []).append(_UNKNOWN)
                case _:
                    pass
            if not isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
                children = [child for child in ast.iter_child_nodes(node) if child is not bound]
                waiting += reversed(children)
        return self._assigned.setdefault(function, values)


def _parameters(function: Any) -> dict[str, tuple[ast.expr | None, ast.expr | None]]:  # Any: a def
    """Return the parameters of a function, each with its annotation and its default."""
    arguments = function.args
    named = [*arguments.posonlyargs, *arguments.args][::-1]
    every = [
        *zip_longest(named, arguments.defaults[::-1]),
        *zip_longest(arguments.kwonlyargs, arguments.kw_defaults),
        *((arg, None) for arg in (arguments.vararg, arguments.kwarg) if arg),
    ]
    return {arg.arg: (arg.annotation, value) for arg, value in every}


def _may_be_text(
    annotation: ast.expr | None, default: ast.expr | None, *, is_annotated: bool
) -> bool:
    """Return whether a parameter may be any text; ``is_annotated`` demands an annotation."""
    if annotation is None:
        value = default.value if isinstance(default, ast.Constant) else default
        return not is_annotated and (value is None or isinstance(value, str))
    nodes = [*ast.walk(annotation)]
    quoted = " ".join(str(node.value) for node in nodes if isinstance(node, ast.Constant))
    kinds = {*map(last, nodes), *re.findall(r"\w+", quoted)} - {"", "None"} - _CONTAINERS
    return bool(kinds) and kinds <= _TEXTS


def _is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def last(node: ast.AST) -> str:
    """Return the last name of an expression such as ``textwrap.dedent``."""
    return getattr(node, "attr", "") or getattr(node, "id", "")
