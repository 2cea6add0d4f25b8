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
    """One thing that binds a name, and the ``with`` statements around it, the innermost last.

    ``kind`` says what ``node`` is: the ``value`` that is assigned, what is ``added`` to it, what a
    loop takes ``each`` of, an ``annotation``, a ``function``, a ``class`` (that of ``self``, too),
    or anything ``else``.
    """

    kind: str
    node: ast.AST
    blocks: tuple[Block, ...] = ()


class BoundNames:
    """The names of a file, each with all that binds it in its function, class or module."""

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
        """Return all that binds a name, and the scope that it is bound in.

        Both are empty for a builtin, and for a name that some function declares global.
        """
        for number, place in enumerate(scope if name not in self._shared else ()):
            names = self.names_of(place)
            if name in names:
                return names[name], scope[number:]
        return [], ()

    def names_of(self, scope: ast.AST) -> dict[str, list[Binding]]:
        """Return what binds each name of a function, a class or a module."""
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
        for it in named:
            yield it.arg, Binding("annotation" if it.annotation else "else", it.annotation or it)
        for several in (arguments.vararg, arguments.kwarg):
            if several:
                yield several.arg, Binding("else", several)


def _bindings(scope: ast.AST) -> Iterator[tuple[str, Binding]]:
    """Yield each name that the body of a scope binds; nested functions have names of their own."""
    known: set[ast.AST] = set()
    waiting: list[tuple[ast.AST, tuple[Block, ...]]] = [(it, ()) for it in _body(scope)]
    while waiting:
        node, blocks = waiting.pop()
        for target, kind, value in _assigned(node):
            known.add(target)
            yield target.id, Binding(kind, value, blocks)
        if node not in known:
            yield from ((name, Binding(kind, node, blocks)) for name, kind in _names(node))
        if not isinstance(node, Function | ast.ClassDef | ast.Lambda):
            inside = (*blocks, node) if isinstance(node, Block) else blocks
            waiting += [(it, inside) for it in ast.iter_child_nodes(node)]


def _body(scope: ast.AST) -> list[ast.stmt]:
    return scope.body if isinstance(scope, Function | ast.ClassDef | ast.Module) else []


def _assigned(node: ast.AST) -> Iterator[tuple[ast.Name, str, ast.AST]]:
    """Yield each name that a statement assigns, with what is known of its value."""
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
            if len(targets) == len(values):
                pairs = zip(targets, values, strict=True)
                yield from ((it, "value", to) for it, to in pairs if isinstance(it, ast.Name))
        case ast.Assign(targets=targets, value=value):
            yield from ((it, "value", value) for it in targets if isinstance(it, ast.Name))
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
    """Return whether an annotation is ``str``, or that and ``None``, quoted or not."""
    return annotation is not None and ast.unparse(annotation).strip("'\"") in _STR
