"""Which functions of a file may do more than return a value; nothing is run."""

import ast

from promptdsl.checking.bound_names import BoundNames, Function
from promptdsl.checking.constants import Scope
from promptdsl.checking.python_file import PythonFile
from promptdsl.checking.texts import PURE_FUNCTIONS, WRAPPERS, Texts, decorators_of

_BUILTINS = {
    *("abs", "all", "any", "bool", "chr", "dict", "enumerate", "float", "format", "int"),
    *("isinstance", "len", "list", "max", "min", "ord", "range", "repr", "reversed", "round"),
    *("set", "sorted", "str", "sum", "tuple", "zip"),
}
"""The builtin functions that change nothing."""
_METHODS = {
    *("casefold", "endswith", "items", "keys", "lower", "lstrip", "rstrip", "split", "splitlines"),
    *("startswith", "strip", "upper", "values"),
}
"""The methods that change nothing, whatever the type of their object."""
_ACTS = (
    *(ast.Global, ast.Nonlocal, ast.Raise, ast.Assert, ast.With, ast.AsyncWith, ast.AsyncFor),
    *(ast.Yield, ast.YieldFrom),
)
_NEW = (
    *(ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp),
    *(ast.Constant, ast.JoinedStr),
)
"""The expressions that make a new value, which no other code can see."""


class Effects:
    """Finds the calls that may have an effect: write into a block, change a value, or fail.

    The call of an unknown function may have an effect.
    """

    def __init__(self, file: PythonFile, names: BoundNames, texts: Texts) -> None:
        self._file, self._names, self._texts = file, names, texts
        self._known: dict[Function, bool] = {}

    def has(self, node: ast.AST, scope: Scope) -> bool:
        """Return whether a function of the file that an expression calls may have an effect."""
        functions: list[Function] = []
        for child in ast.walk(node):
            functions += self._texts.functions(getattr(child, "func", child), scope)
        return any(self._is_active(function, scope[-1:]) for function in functions)

    def _is_active(self, function: Function, module: Scope) -> bool:
        """Return whether a function, or one that it calls, may do more than return a value."""
        if function not in self._known:
            self._known[function] = True  # for a function that calls itself
            scope = (function, *module)
            nodes = ast.walk(ast.Module(function.body, []))
            self._known[function] = any(self._acts(node, scope) for node in nodes)
        return self._known[function]

    def _acts(self, node: ast.AST, scope: Scope) -> bool:
        match node:
            case ast.Call(func=func):
                return self._may_act(func, scope)
            case ast.Attribute(ctx=ast.Store() | ast.Del()):
                return True
            case ast.Subscript(value=value, ctx=ast.Store() | ast.Del()):
                return not self._is_new(value, scope)
            case ast.AugAssign(target=ast.Name() as target):
                return not self._is_new(target, scope)
            case ast.Await(value=value):
                return not isinstance(value, ast.Call)
            case _:
                return isinstance(node, _ACTS)

    def _may_act(self, func: ast.expr, scope: Scope) -> bool:
        """Return whether the call of an expression may have an effect."""
        functions = self._texts.functions(func, scope)
        if functions:
            is_plain = all(decorators_of(function) <= WRAPPERS for function in functions)
            return not is_plain or any(
                self._is_active(function, scope[-1:]) for function in functions
            )
        match func:
            case ast.Name(id=name) if name in _BUILTINS:
                return self._names.resolve(name, scope) != ([], ())
            case ast.Attribute(value=value, attr=method) if not self._file.dotted(func):
                return method not in _METHODS and not self._is_new(value, scope)
            case _:
                return self._file.dotted(func) not in PURE_FUNCTIONS

    def _is_new(self, node: ast.expr, scope: Scope) -> bool:
        """Return whether a value is a text, or was made in this function for itself."""
        if not isinstance(node, ast.Name) or self._texts.is_text(node, scope):
            return self._texts.is_text(node, scope)
        bindings, location = self._names.resolve(node.id, scope)
        values = [binding.node for binding in bindings if binding.kind != "added"]
        is_local = location[:1] == scope[:1] and len(values) > 0
        return is_local and all(isinstance(value, _NEW) for value in values)
