"""Which text is known when the code is written, and which is only known when it runs."""

import ast
import re
from typing import Any

from promptdsl.checking.python_file import PythonFile
from promptdsl.foundation.frozen import is_list

_NUMBERS = {"int", "float", "bool", "None", "Decimal"}
_CONTAINERS = {"list", "dict", "tuple", "Sequence", "Iterable", "Mapping", "Optional", "Union"}
_TEXTS = {"str", "Any", "object"}
_TEXT_OF = {"str", "repr", "dedent", "indent", "sorted", "list", "tuple", "reversed", "trusted"}
"""The functions whose text is that of their argument."""
_METHODS = {
    *("capitalize", "casefold", "center", "format", "format_map", "join", "ljust", "lower"),
    *("lstrip", "removeprefix", "removesuffix", "replace", "rstrip", "split", "strip", "title"),
    *("upper", "get", "items", "keys", "values"),
}
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_PIECES = ("values", "left", "right", "body", "orelse", "elts", "elt")
_MADE = (
    *(ast.JoinedStr, ast.BoolOp, ast.BinOp, ast.IfExp, ast.Tuple, ast.List),
    *(ast.GeneratorExp, ast.ListComp),
)
"""The expressions that are made of others, and the names of these."""
Scope = tuple[ast.AST, ...]


class Constants:
    """The names of a file: which are constant.

    A variable is a parameter that may be a text, what a person types, and what is made of one.
    What other functions return is not known, so it is none, as are numbers and attributes of self.
    """

    def __init__(self, file: PythonFile) -> None:
        self._file = file
        self._assigned: dict[ast.AST, dict[str, list[ast.expr]]] = {}
        self._looking: set[tuple[ast.AST, str]] = set()

    def variable(self, node: ast.AST, scope: Scope) -> str:
        """Return a variable that the text of an expression is made of, or ``""``."""
        pieces: list[Any] = []  # Any: expressions
        match node:
            case ast.Name(id=name):
                return self._named(name, scope)
            case ast.Attribute(value=value) | ast.Subscript(value=value):
                is_enum = isinstance(node, ast.Attribute) and node.attr == "value"
                is_given = self._file.dotted(value) == "sys.argv"
                if isinstance(value, ast.Name) and value.id not in ("self", "cls"):
                    is_given = is_given or bool(self._named(value.id, scope, is_whole=False))
                elif not isinstance(value, ast.Name):
                    is_given = is_given or bool(self.variable(value, scope))
                return ast.unparse(node) if is_given and not is_enum else ""
            case ast.FormattedValue(value=value, format_spec=spec):
                # A format for numbers refuses text.
                is_number = spec is not None and ast.unparse(spec).strip("f'\"")[-1:] in ",dfeg%xb"
                pieces = [] if is_number else [value]
            case ast.Call(func=func, args=arguments, keywords=keywords):
                if last(func) == "input":
                    return ast.unparse(node)
                is_method = last(func) in _METHODS and not self._file.dotted(func)
                if is_method or last(func) in _TEXT_OF:
                    pieces = [*arguments, *(it.value for it in keywords)]
                    pieces += [func.value] if isinstance(func, ast.Attribute) and is_method else []
            case _ if isinstance(node, _MADE):
                for name in _PIECES:
                    piece: Any = getattr(node, name, [])
                    pieces += piece if is_list(piece) else [piece]
            case _:
                pass
        return next(filter(None, (self.variable(it, scope) for it in pieces)), "")

    def values(self, name: str, scope: Scope) -> list[ast.expr]:
        """Return what is assigned to a name in the innermost scope that assigns it."""
        every = (it[name] for it in map(self._names_of, scope) if name in it)
        return next(every, list[ast.expr]())

    def _named(self, name: str, scope: Scope, *, is_whole: bool = True) -> str:
        for number, function in enumerate(scope):
            if isinstance(function, _FUNCTIONS) and name in (given := _parameters(function)):
                return name if _may_be_text(*given[name], is_whole=is_whole) else ""
            values = self._names_of(function).get(name)
            if values is not None and (function, name) not in self._looking:
                self._looking.add((function, name))
                is_variable = any(self.variable(it, scope[number:]) for it in values)
                self._looking.discard((function, name))
                return name if is_variable else ""
        return ""

    def _names_of(self, function: ast.AST) -> dict[str, list[ast.expr]]:
        """Return what is assigned to each name of a function or module, loops included."""
        if function in self._assigned:
            return self._assigned[function]
        found: dict[str, list[ast.expr]] = {}
        body: Any = getattr(function, "body", [])  # Any: that of a lambda is no list
        waiting: list[ast.AST] = [*body] if isinstance(body, list) else [body]
        while waiting:
            node = waiting.pop()
            match node:
                case (
                    ast.Assign(targets=[ast.Name(id=name)], value=ast.expr() as value)
                    | ast.AugAssign(target=ast.Name(id=name), value=value)
                    | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
                    | ast.For(target=ast.Name(id=name), iter=value)
                    | ast.comprehension(target=ast.Name(id=name), iter=value)
                ):
                    found.setdefault(name, []).append(value)
                case ast.Name(id=name, ctx=ast.Store()):
                    found.setdefault(name, [])
                case _:
                    pass
            if not isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
                waiting += ast.iter_child_nodes(node)
        return self._assigned.setdefault(function, found)


def _parameters(function: Any) -> dict[str, tuple[ast.expr | None, ast.expr | None]]:  # Any: a def
    """Return the parameters of a function, each with its annotation and its default."""
    it = function.args
    named = [*it.posonlyargs, *it.args]
    defaults = [
        *[None] * (len(named) - len(it.defaults)),
        *it.defaults,
        *it.kw_defaults,
        None,
        None,
    ]
    every = [*named, *it.kwonlyargs, *filter(None, (it.vararg, it.kwarg))]
    return {arg.arg: (arg.annotation, value) for arg, value in zip(every, defaults, strict=False)}


def _may_be_text(annotation: ast.expr | None, default: ast.expr | None, *, is_whole: bool) -> bool:
    """Return whether a parameter may be a text; without ``is_whole``, whether a part of it may."""
    if annotation is None:
        return not isinstance(default, ast.Constant) or default.value in (None, str(default.value))
    nodes = [*ast.walk(annotation)]
    quoted = " ".join(str(it.value) for it in nodes if isinstance(it, ast.Constant))
    kinds = {*map(last, nodes), *re.findall(r"\w+", quoted)} - {""} - _CONTAINERS
    if "Literal" in kinds or (kinds and kinds <= _NUMBERS):
        return False
    # An object of another class may be an enum, and its attributes may be texts.
    return not is_whole or bool(kinds & _TEXTS) or not kinds


def last(node: ast.AST) -> str:
    """Return the last name of an expression such as ``textwrap.dedent``."""
    return getattr(node, "attr", "") or getattr(node, "id", "")
