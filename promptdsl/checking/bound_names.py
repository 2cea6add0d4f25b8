"""What the names of a file are bound to, in each function, class and module; nothing is run."""

import ast
from collections.abc import Iterator
from typing import NamedTuple

from promptdsl.checking.constants import Scope
from promptdsl.checking.python_file import PythonFile

Function = ast.FunctionDef | ast.AsyncFunctionDef
Block = ast.With | ast.AsyncWith
_STR = {"str", "str | None", "None | str", "Optional[str]", "typing.Optional[str]"}


class Binding(NamedTuple):
    """Code that binds a name, and the ``with`` statements around it, the innermost last.

    ``kind`` is the role of ``node``: the ``value`` that is assigned, the value that ``+=`` has
    ``added``, the iterable of a loop (``each``), an ``annotation``, a ``function``, a ``class``
    (also the class of ``self``), or anything ``else``.
    """

    kind: str
    node: ast.AST
    blocks: tuple[Block, ...] = ()


class BoundNames:
    """The names of a file, each with its bindings in its function, class or module."""

    def __init__(self, file: PythonFile) -> None:
        self._scopes: dict[ast.AST, dict[str, list[Binding]]] = {}
        self._classes: dict[ast.AST, ast.ClassDef] = {}
        self._shared: set[str] = set()
        for node in ast.walk(file.tree):
            if isinstance(node, ast.Global | ast.Nonlocal):
                self._shared |= {*node.names}
            elif isinstance(node, ast.ClassDef):
                self._classes |= dict.fromkeys(node.body, node)

    def resolve(self, name: str, scope: Scope) -> tuple[list[Binding], Scope]:
        """Return the bindings of a name, and the scope in which it is bound.

        Both are empty for a builtin, and for a name that a function declares ``global``.
        """
        if name in self._shared:
            return [], ()
        for number, location in enumerate(scope):
            names = self.names_of(location)
            if name in names:
                return names[name], scope[number:]
        return [], ()

    def names_of(self, scope: ast.AST) -> dict[str, list[Binding]]:
        """Return the bindings of each name of a function, a class or a module."""
        if scope not in self._scopes:
            names: dict[str, list[Binding]] = {}
            for name, binding in [*self._parameters(scope), *_bindings(scope)]:
                names.setdefault(name, []).append(binding)
            self._scopes[scope] = names
        return self._scopes[scope]

    def _parameters(self, function: ast.AST) -> Iterator[tuple[str, Binding]]:
        if not isinstance(function, Function):
            return
        arguments = function.args
        named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        of_class = self._classes.get(function)
        if of_class and named and not function.decorator_list:
            yield named.pop(0).arg, Binding("class", of_class)
        for parameter in named:
            yield (
                parameter.arg,
                Binding(
                    "annotation" if parameter.annotation else "else",
                    parameter.annotation or parameter,
                ),
            )
        for several in (arguments.vararg, arguments.kwarg):
            if several:
                yield several.arg, Binding("else", several)


def _bindings(scope: ast.AST) -> Iterator[tuple[str, Binding]]:
    """Yield each name that the body of a scope binds, without the names of nested functions."""
    assigned: set[ast.AST] = set()
    waiting: list[tuple[ast.AST, tuple[Block, ...]]] = [
        (statement, ()) for statement in _body(scope)
    ]
    while waiting:
        node, blocks = waiting.pop()
        for target, kind, value in _assigned(node):
            assigned.add(target)
            yield target.id, Binding(kind, value, blocks)
        if node not in assigned:
            yield from ((name, Binding(kind, node, blocks)) for name, kind in _names(node))
        if not isinstance(node, Function | ast.ClassDef | ast.Lambda):
            inside = (*blocks, node) if isinstance(node, Block) else blocks
            waiting += [(child, inside) for child in ast.iter_child_nodes(node)]


def _body(scope: ast.AST) -> list[ast.stmt]:
    return scope.body if isinstance(scope, Function | ast.ClassDef | ast.Module) else []


def _assigned(node: ast.AST) -> Iterator[tuple[ast.Name, str, ast.AST]]:
    """Yield each name that a statement assigns, with the kind and the node of its binding."""
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
            if len(targets) == len(values):
                pairs = zip(targets, values, strict=True)
                yield from (
                    (name, "value", value) for name, value in pairs if isinstance(name, ast.Name)
                )
        case ast.Assign(targets=targets, value=value):
            yield from ((name, "value", value) for name in targets if isinstance(name, ast.Name))
        case ast.AnnAssign(target=ast.Name() as target, annotation=annotation, value=value):
            is_certain = value is None or is_str(annotation)
            kind = "annotation" if is_certain else "value"
            yield target, kind, annotation if is_certain else value or annotation
        case ast.AugAssign(target=ast.Name() as target, value=value):
            yield target, "added", value
        case (
            ast.For(target=ast.Name() as target, iter=value)
            | ast.comprehension(target=ast.Name() as target, iter=value)
        ):
            yield target, "each", value
        case _:
            pass


def _names(node: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield each other name that a node binds, with the kind of its binding."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            yield name, "function"
        case ast.ClassDef(name=name):
            yield name, "class"
        case ast.alias(name=name, asname=other):
            yield other or name.partition(".")[0], "else"
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            yield name, "else"
        case (
            ast.ExceptHandler(name=str(name))
            | ast.MatchAs(name=str(name))
            | ast.MatchStar(name=str(name))
            | ast.MatchMapping(rest=str(name))
        ):
            yield name, "else"
        case _:
            pass


def is_str(annotation: ast.AST | None) -> bool:
    """Return whether an annotation is ``str`` or ``str | None``, quoted or not."""
    return annotation is not None and ast.unparse(annotation).strip("'\"") in _STR
