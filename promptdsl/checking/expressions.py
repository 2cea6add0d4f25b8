"""Finds out which expressions of a file are certainly text, and which calls may have an effect.

No code is run. :class:`Texts` reads types and names, :class:`Effects` the statements of functions.
"""

import ast

from promptdsl.checking.python_file import (
    Binding,
    BoundNames,
    Function,
    PythonFile,
    Scope,
    is_str,
    last,
)

# Which expressions of a file are certainly text.

_TEXT_METHODS = {
    *("capitalize", "casefold", "center", "expandtabs", "format", "format_map", "join", "ljust"),
    *("lower", "lstrip", "removeprefix", "removesuffix", "replace", "rjust", "rstrip", "strip"),
    *("swapcase", "title", "translate", "upper", "zfill"),
}
"""The methods that return text."""
PURE_FUNCTIONS = {"promptdsl.dedent", "textwrap.dedent", "textwrap.indent", "inspect.cleandoc"}
"""The functions that only return a text, made of their argument."""
WRAPPERS = {"staticmethod", "classmethod", "cache", "lru_cache", "override", "final"}
"""The decorators that do not change what a function returns."""
_GETTERS = {"property", "cached_property"}
"""The decorators that make a function a property."""
_LISTS = {"list", "tuple", "set", "frozenset", "Sequence", "Iterable", "Collection", "Iterator"}
"""The names of collections in an annotation."""
_STRING = (ast.JoinedStr, getattr(ast, "TemplateStr", ast.JoinedStr))
"""The f-string and, from Python 3.14 on, the t-string."""


class Texts:
    """Finds the expressions of a file that are text in every run of the file."""

    def __init__(self, file: PythonFile, names: BoundNames) -> None:
        self._file, self._names = file, names
        self._text_names: dict[tuple[Scope, str], bool] = {}

    def is_text(self, node: ast.AST, scope: Scope) -> bool:
        """Return whether an expression is certainly text, unless it raises an error."""
        match node:
            case ast.Name(id=name):
                return self._is_named_text(name, scope)
            case ast.BinOp(left=first, op=ast.Add() | ast.Mult(), right=second):
                return self.is_text(first, scope) or self.is_text(second, scope)
            case ast.BinOp(left=operand, op=ast.Mod()) | ast.Subscript(value=operand):
                return self.is_text(operand, scope)
            case ast.IfExp(body=first, orelse=second):
                return self.is_text(first, scope) and self.is_text(second, scope)
            case ast.BoolOp(values=operands):
                return all(self.is_text(operand, scope) for operand in operands)
            case ast.Call() | ast.Await() | ast.Attribute():
                return self._gives_text(node, scope)
            case _:
                is_string = isinstance(node, ast.Constant) and isinstance(node.value, str)
                return is_string or isinstance(node, _STRING)

    def functions(self, func: ast.AST, scope: Scope) -> list[Function]:
        """Return the functions that an expression may name; empty if it may name something else."""
        bindings: list[Binding] = []
        match func:
            case ast.Name(id=name):
                bindings, _ = self._names.resolve(name, scope)
            case ast.Attribute(value=ast.Name(id=name), attr=attribute):
                owners, _ = self._names.resolve(name, scope)
                if [owner.kind for owner in owners] == ["class"]:
                    bindings = self._names.names_of(owners[0].node).get(attribute, [])
            case _:
                pass
        functions = [binding.node for binding in bindings if isinstance(binding.node, Function)]
        return functions if len(functions) == len(bindings) else []

    def awaited(self, func: ast.AST, scope: Scope) -> bool:
        """Return whether the call of an expression gives text if, and only if, it is awaited."""
        return self._give_text(self.functions(func, scope), is_awaited=True)

    def _is_named_text(self, name: str, scope: Scope) -> bool:
        """Return whether a name is always bound to text; a name that is bound to itself is not."""
        bindings, location = self._names.resolve(name, scope)
        key = location[:1], name  # the scope in which the name is bound
        if key not in self._text_names:
            self._text_names[key] = False  # for a name that is bound to itself
            first = [binding for binding in bindings if binding.kind != "added"]
            self._text_names[key] = bool(first) and all(
                self._binds_text(binding, location) for binding in first
            )
        return self._text_names[key]

    def _binds_text(self, binding: Binding, scope: Scope) -> bool:
        """Return whether a binding certainly binds a text."""
        match binding:
            case ("value", node, _):
                return self.is_text(node, scope)
            case ("annotation", node, _):
                return is_str(node)
            case ("each", node, _):
                return self._holds_texts(node, scope)
            case _:
                return False

    def _holds_texts(self, node: ast.AST, scope: Scope) -> bool:
        """Return whether an expression is an iterable, and all its items are text."""
        match node:
            case ast.Tuple(elts=elements) | ast.List(elts=elements) | ast.Set(elts=elements):
                return bool(elements) and all(self.is_text(element, scope) for element in elements)
            case ast.Name(id=name):
                bindings, location = self._names.resolve(name, scope)
                if len(bindings) != 1:
                    return False
                kind, bound_node, _ = bindings[0]
                is_value = kind == "value" and not isinstance(bound_node, ast.Name)
                return (is_value and self._holds_texts(bound_node, location)) or (
                    kind == "annotation" and _is_list_of_str(bound_node)
                )
            case _:
                return False

    def _gives_text(self, node: ast.Call | ast.Await | ast.Attribute, scope: Scope) -> bool:
        """Return whether a call, an awaited call or a property gives text."""
        match node:
            case ast.Await(value=ast.Call(func=func)):
                return self.awaited(func, scope)
            case ast.Attribute():
                functions = self.functions(node, scope)
                return bool(functions) and all(map(_is_property, functions))
            case ast.Call(func=ast.Name(id="str")):
                return self._names.resolve("str", scope) == ([], ())
            case ast.Call(func=func):
                is_method = isinstance(func, ast.Attribute) and func.attr in _TEXT_METHODS
                is_known = self._file.dotted(func) in PURE_FUNCTIONS
                is_known |= is_method and self.is_text(getattr(func, "value", func), scope)
                return is_known or self._give_text(self.functions(func, scope))
            case _:
                return False

    def _give_text(self, functions: list[Function], *, is_awaited: bool = False) -> bool:
        """Return whether there are functions, and all of them are annotated to return text."""
        return bool(functions) and all(
            isinstance(function, ast.AsyncFunctionDef) is is_awaited
            and is_str(function.returns)
            and decorators_of(function) <= WRAPPERS
            for function in functions
        )


def decorators_of(function: Function) -> set[str]:
    """Return the last names of the decorators of a function."""
    return {last(getattr(decorator, "func", decorator)) for decorator in function.decorator_list}


def _is_property(function: Function) -> bool:
    """Return whether a function is a property that is annotated to return text."""
    names = decorators_of(function)
    return bool(names) and names <= _GETTERS and is_str(function.returns)


def _is_list_of_str(annotation: ast.AST) -> bool:
    """Return whether an annotation is a list, or another collection, of ``str``."""
    match annotation:
        case ast.Subscript(value=kind, slice=ast.Tuple(elts=[inner, ast.Constant(value=last_one)])):
            return last(kind) == "tuple" and last_one is ... and is_str(inner)
        case ast.Subscript(value=kind, slice=inner):
            return last(kind) in _LISTS - {"tuple"} and is_str(inner)
        case _:
            return False


# Which functions of a file may do more than return a value.

_BUILTINS = {
    *("abs", "all", "any", "bool", "chr", "dict", "enumerate", "float", "format", "int"),
    *("isinstance", "len", "list", "max", "min", "ord", "range", "repr", "reversed", "round"),
    *("set", "sorted", "str", "sum", "tuple", "zip"),
}
"""The builtin functions that change nothing."""
_PURE_METHODS = {
    *("casefold", "endswith", "items", "keys", "lower", "lstrip", "rstrip", "split", "splitlines"),
    *("startswith", "strip", "upper", "values"),
}
"""The methods that change nothing, in all types that have them."""
_ACTS = (
    *(ast.Global, ast.Nonlocal, ast.Raise, ast.Assert, ast.With, ast.AsyncWith, ast.AsyncFor),
    *(ast.Yield, ast.YieldFrom),
)
"""The statements and expressions that have an effect, or give control to other code."""
_NEW = (
    *(ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp),
    *(ast.Constant, ast.JoinedStr),
)
"""The expressions that make a new object, which no other code can have."""


class Effects:
    """Finds the calls that may have an effect: write into a block, change an object, or raise.

    The call of a function that is not known may have an effect.
    """

    def __init__(self, file: PythonFile, names: BoundNames, texts: Texts) -> None:
        self._file, self._names, self._texts = file, names, texts
        self._active_functions: dict[Function, bool] = {}

    def has(self, node: ast.AST, scope: Scope) -> bool:
        """Return whether an expression calls a function of the file that may have an effect."""
        functions: list[Function] = []
        for child in ast.walk(node):
            functions += self._texts.functions(getattr(child, "func", child), scope)
        return any(self._is_active(function, scope[-1:]) for function in functions)

    def _is_active(self, function: Function, module: Scope) -> bool:
        """Return whether a function or one of its calls may do more than return a value."""
        if function not in self._active_functions:
            self._active_functions[function] = True  # for a function that calls itself
            scope = (function, *module)
            nodes = ast.walk(ast.Module(function.body, []))
            self._active_functions[function] = any(self._acts(node, scope) for node in nodes)
        return self._active_functions[function]

    def _acts(self, node: ast.AST, scope: Scope) -> bool:
        """Return whether a node of a function may have an effect."""
        match node:
            case ast.Call(func=func):
                return self._may_act(func, scope)
            case ast.Attribute(ctx=ast.Store() | ast.Del()):
                return True
            case ast.Subscript(value=operand, ctx=ast.Store() | ast.Del()):
                return not self._is_new(operand, scope)
            case ast.AugAssign(target=ast.Name() as target):
                return not self._is_new(target, scope)
            case ast.Await(value=operand):
                return not isinstance(operand, ast.Call)
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
            case ast.Attribute(value=owner, attr=method) if not self._file.dotted(func):
                return method not in _PURE_METHODS and not self._is_new(owner, scope)
            case _:
                return self._file.dotted(func) not in PURE_FUNCTIONS

    def _is_new(self, node: ast.expr, scope: Scope) -> bool:
        """Return whether an expression is text, or an object that this function made itself."""
        if not isinstance(node, ast.Name) or self._texts.is_text(node, scope):
            return self._texts.is_text(node, scope)
        bindings, location = self._names.resolve(node.id, scope)
        bound_nodes = [binding.node for binding in bindings if binding.kind != "added"]
        is_local = location[:1] == scope[:1] and len(bound_nodes) > 0
        return is_local and all(isinstance(bound_node, _NEW) for bound_node in bound_nodes)
