"""A Python file for the rules: it is parsed once, and its code is never run.

In this order: the file with its calls of components; which of its texts are constant; what its
names are bound to.
"""

import ast
import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import zip_longest
from typing import Any, NamedTuple

import promptdsl
from promptdsl.foundation.frozen import is_list

# A Python file with its calls of components.

INSTRUCTIONS = ("System", "Developer")
TURNS = (
    *(*INSTRUCTIONS, "User", "Assistant", "ToolMessage", "Event", "Ephemeral", "Grounding", "Turn"),
    *("History", "ToolResult", "Note", "Lazy", "Volatile", "Untrusted"),
)
"""The components that decide the role of the text in them."""
_LEAVES = (ast.Constant, ast.expr_context, ast.operator, ast.cmpop)
"""The classes of nodes that contain no call and bind no name."""


class AuthorCall(NamedTuple):
    """A call of a public name of promptdsl.

    ``enclosing`` is the call that has this call as an argument or in its block. ``scope`` are the
    functions around the call, the innermost first, then the module.
    """

    node: ast.Call
    name: str
    enclosing: "AuthorCall | None"
    scope: tuple[ast.AST, ...]

    @property
    def turn(self) -> str | None:
        """The component of the turn that has this call; ``None`` if it may go into any turn."""
        outermost, call = self, self.enclosing
        while outermost.name not in TURNS and call is not None:
            outermost, call = call, call.enclosing
        # A section directly in a Timeline belongs to the system message.
        is_loose = outermost.name == "Timeline" and self.name != "Timeline"
        if is_loose:
            return "System"
        return outermost.name if outermost.name in TURNS else None


class PythonFile:
    """A Python file: its ``calls`` of promptdsl in written order, and its ``with`` blocks."""

    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree
        self._names: dict[str, str] = {}
        self._bound: set[str] = set()
        self.blocks: list[ast.With | ast.AsyncWith] = []
        # A name that the file also binds itself may not be the name of promptdsl.
        self.calls = [call for call in [*self._walk()] if self.public(call.node)]

    def dotted(self, node: ast.AST) -> str:
        """Return the imported name in an expression, such as ``uuid.uuid4``, or ``""``."""
        names: list[str] = []
        while isinstance(node, ast.Attribute):
            names.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id in self._bound or node.id not in self._names:
            return ""
        return ".".join([self._names[node.id], *reversed(names)])

    def public(self, node: ast.AST) -> str:
        """Return the public name of promptdsl that an expression calls, or ``""``."""
        name = self.dotted(node.func) if isinstance(node, ast.Call) else ""
        return name.removeprefix("promptdsl.") if name.startswith("promptdsl.") else ""

    def _walk(self) -> Iterator[AuthorCall]:
        """Yield the calls in written order; note imports, bound names and ``with`` blocks."""
        unvisited: list[tuple[ast.AST, AuthorCall | None, tuple[ast.AST, ...]]]
        unvisited = [(self.tree, None, (self.tree,))]
        while unvisited:
            node, enclosing, scope = unvisited.pop()
            inner_call = enclosing
            calls_of_items: dict[ast.AST, AuthorCall | None] = {}
            match node:
                case ast.Name():
                    if isinstance(node.ctx, ast.Store):
                        self._bound.add(node.id)
                    continue
                case ast.Import() | ast.ImportFrom():
                    self._import(node)
                    continue
                case ast.arg(arg=name) | ast.ClassDef(name=name):
                    self._bound.add(name)
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                    self._bound.add(getattr(node, "name", ""))
                    inner_call = enclosing = None
                    scope = (node, *scope)
                case ast.Call() if name := self.public(node):
                    inner_call = enclosing = AuthorCall(node, name, enclosing, scope)
                    yield inner_call
                case ast.With() | ast.AsyncWith():
                    self.blocks.append(node)
                    for with_item in node.items:
                        call, calls_of_items[with_item] = with_item.context_expr, inner_call
                        if isinstance(call, ast.Call) and self.public(call):
                            inner_call = AuthorCall(call, self.public(call), inner_call, scope)
                case _:
                    pass
            for child in [*ast.iter_child_nodes(node)][::-1]:
                if not isinstance(child, _LEAVES):
                    unvisited.append((child, calls_of_items.get(child, inner_call), scope))

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        """Note the names that an import binds, each with its full name."""
        for alias in node.names:
            name = alias.asname or alias.name
            if isinstance(node, ast.Import):
                top = name.partition(".")[0]
                self._names |= {name: alias.name} if alias.asname else {top: top}
            elif name == "*" and node.module == "promptdsl":
                self._names |= {
                    public: f"promptdsl.{public}" for public in vars(promptdsl)["__all__"]
                }
            elif not node.level:
                self._names[name] = f"{node.module}.{alias.name}"


@lru_cache(maxsize=64)
def parsed(text: str) -> PythonFile | None:
    """Return the file with this text; ``None`` if the text does not name promptdsl.

    The result is cached, because tests check many prompts of the same file. Raises the errors of
    :func:`ast.parse` for a text that is not Python.
    """
    return PythonFile(ast.parse(text)) if "promptdsl" in text else None


# Which texts of a file are constant, and which depend on a variable.

_CONTAINERS = {"list", "dict", "tuple", "Sequence", "Iterable", "Mapping", "Optional", "Union"}
"""The names in an annotation that say nothing about the values in a container or a union."""
_TEXTS = {"str", "Any", "object"}
"""The names in an annotation of a parameter that may be any text."""
_TEXT_OF = {"str", "repr", "dedent", "indent", "sorted", "trusted"}
"""The functions that return the text of their argument."""
_BUILDING = {"format", "format_map", "join", "replace"}
"""The methods that put the text of their arguments into their result."""
_METHODS = _BUILDING | {
    *("capitalize", "casefold", "center", "ljust", "lower", "lstrip", "removeprefix"),
    *("removesuffix", "rjust", "rstrip", "split", "strip", "title", "upper"),
}
"""The methods of a text whose result has the text in it."""
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_PIECES = ("values", "left", "right", "body", "orelse", "elts", "elt")
_MADE = (
    *(ast.JoinedStr, ast.BoolOp, ast.BinOp, ast.IfExp, ast.Tuple, ast.List),
    *(ast.GeneratorExp, ast.ListComp),
)
"""The expressions that are made of other expressions, which are in their fields ``_PIECES``."""
NUMBERS = re.compile(r"%[^%a-z]*[bdefgiouxc]|\{[^{}]*:[^{}]*[,bdefgnx%]\}", re.IGNORECASE)
"""A field of a format string that only takes numbers."""
_UNKNOWN = ast.Constant("")
"""The value of a name that is assigned in another way, or compared: it counts as constant."""
Scope = tuple[ast.AST, ...]


class Constants:
    """Finds the variables in the texts of a file.

    A variable is a parameter that may be any text, input of a person, or a text that is made of
    these. Not a variable is what may be constant: a parameter that is assigned again or compared,
    a parameter of a private or nested function, the result of another function, a number, an
    attribute.
    """

    def __init__(self, file: PythonFile) -> None:
        self._file = file
        self._assigned: dict[ast.AST, dict[str, list[ast.expr | ast.AugAssign]]] = {}
        self._variables: dict[tuple[ast.AST, str], str] = {}

    def variable(self, node: ast.AST, scope: Scope) -> str:
        """Return a variable that is in the text of an expression, or ``""``."""
        pieces: list[Any] = []  # Any: expressions
        match node:
            case ast.Name(id=name):
                return self._variable_named(name, scope)
            case ast.Subscript(value=operand):
                is_input = self._file.dotted(operand) == "sys.argv"
                if isinstance(operand, ast.Name):
                    is_input = is_input or bool(
                        self._variable_named(operand.id, scope, is_annotated=True)
                    )
                return ast.unparse(node) if is_input else ""
            case ast.FormattedValue(value=operand, format_spec=spec):
                # The text of the specification is an f-string: leave out its ``f`` and its quotes.
                is_number = spec and NUMBERS.search(f"{{:{ast.unparse(spec)[2:-1]}}}")
                pieces = [] if is_number else [operand]
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

    def _variable_named(self, name: str, scope: Scope, *, is_annotated: bool = False) -> str:
        """Return a name if it is a variable, or ``""``."""
        for depth, function in enumerate(scope):
            assigned_nodes = self._names_of(function).get(name)
            if isinstance(function, _FUNCTIONS) and name in (parameters := _parameters(function)):
                # The calls of private and nested functions in this file may pass constants.
                function_name = getattr(function, "name", "")
                is_private = function_name.startswith("_") and function_name != "__init__"
                is_nested = len(scope) > depth + 2  # not only the module is around it
                if assigned_nodes or is_private or is_nested or name in ("self", "cls"):
                    return ""
                return name if _may_be_text(*parameters[name], is_annotated=is_annotated) else ""
            if assigned_nodes is not None:
                if (function, name) not in self._variables:
                    # A name that is assigned from itself must not be looked up forever.
                    self._variables[function, name] = ""
                    if all(self.variable(assigned, scope[depth:]) for assigned in assigned_nodes):
                        self._variables[function, name] = name
                return self._variables[function, name]
        return ""

    def _names_of(self, function: ast.AST) -> dict[str, list[ast.expr | ast.AugAssign]]:
        """Return what a function or module assigns to each name; for a loop, its iterable."""
        if function in self._assigned:
            return self._assigned[function]
        values: dict[str, list[ast.expr | ast.AugAssign]] = {}
        body: Any = getattr(function, "body", [])  # Any: that of a lambda is no list
        unvisited: list[ast.AST] = [*body] if isinstance(body, list) else [body]
        unvisited.reverse()
        while unvisited:
            node = unvisited.pop()
            bound: ast.AST | None = None
            match node:
                case (
                    ast.Assign(targets=[ast.Name(id=name) as bound], value=ast.expr() as assigned)
                    | ast.AnnAssign(target=ast.Name(id=name) as bound, value=ast.expr() as assigned)
                    | ast.For(target=ast.Name(id=name) as bound, iter=assigned)
                    | ast.comprehension(target=ast.Name(id=name) as bound, iter=assigned)
                ):
                    values.setdefault(name, []).append(assigned)
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
                unvisited += reversed(children)
        return self._assigned.setdefault(function, values)


def _parameters(function: Any) -> dict[str, tuple[ast.expr | None, ast.expr | None]]:  # Any: a def
    """Return the parameters of a function, each with its annotation and its default."""
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args][::-1]
    pairs = [
        *zip_longest(positional, arguments.defaults[::-1]),
        *zip_longest(arguments.kwonlyargs, arguments.kw_defaults),
        *((arg, None) for arg in (arguments.vararg, arguments.kwarg) if arg),
    ]
    return {arg.arg: (arg.annotation, default) for arg, default in pairs}


def _may_be_text(
    annotation: ast.expr | None, default: ast.expr | None, *, is_annotated: bool
) -> bool:
    """Return whether a parameter may be any text.

    With ``is_annotated``, a parameter without an annotation may not.
    """
    if annotation is None:
        constant = default.value if isinstance(default, ast.Constant) else default
        return not is_annotated and (constant is None or isinstance(constant, str))
    nodes = [*ast.walk(annotation)]
    quoted = " ".join(str(node.value) for node in nodes if isinstance(node, ast.Constant))
    kinds = {*map(last, nodes), *re.findall(r"\w+", quoted)} - {"", "None"} - _CONTAINERS
    return bool(kinds) and kinds <= _TEXTS


def _is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def last(node: ast.AST) -> str:
    """Return the last name of an expression: ``dedent`` of ``textwrap.dedent``; else ``""``."""
    return getattr(node, "attr", "") or getattr(node, "id", "")


# What the names of a file are bound to, in each function, class and module.

Function = ast.FunctionDef | ast.AsyncFunctionDef
Block = ast.With | ast.AsyncWith
_STR = {"str", "str | None", "None | str", "Optional[str]", "typing.Optional[str]"}
"""The annotations of a text, or of a text or ``None``."""


class Binding(NamedTuple):
    """Code that binds a name, and the ``with`` statements around it, the innermost last.

    ``kind`` is what ``node`` is: the assigned ``value``, the value that ``+=`` has ``added``, the
    iterable of a loop (``each``), an ``annotation``, a ``function``, a ``class`` (also for
    ``self``), or anything ``else``.
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
        """Return the bindings of a name, and its scope: where it is bound, and what is around that.

        Both are empty for a builtin, and for a name that is ``global`` or ``nonlocal`` anywhere.
        """
        if name in self._shared:
            return [], ()
        for depth, location in enumerate(scope):
            names = self.names_of(location)
            if name in names:
                return names[name], scope[depth:]
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
        """Yield the parameters of a function, each with its binding."""
        if not isinstance(function, Function):
            return
        arguments = function.args
        parameters = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        owner = self._classes.get(function)
        if owner and parameters and not function.decorator_list:
            yield parameters.pop(0).arg, Binding("class", owner)
        for parameter in parameters:
            yield (
                parameter.arg,
                Binding(
                    "annotation" if parameter.annotation else "else",
                    parameter.annotation or parameter,
                ),
            )
        for rest in (arguments.vararg, arguments.kwarg):
            if rest:
                yield rest.arg, Binding("else", rest)


def _bindings(scope: ast.AST) -> Iterator[tuple[str, Binding]]:
    """Yield each name that the body of a scope binds; names in nested functions are left out."""
    assigned: set[ast.AST] = set()
    unvisited: list[tuple[ast.AST, tuple[Block, ...]]] = [
        (statement, ()) for statement in _body(scope)
    ]
    while unvisited:
        node, blocks = unvisited.pop()
        for target, kind, value in _assigned(node):
            assigned.add(target)
            yield target.id, Binding(kind, value, blocks)
        if node not in assigned:
            yield from ((name, Binding(kind, node, blocks)) for name, kind in _names(node))
        if not isinstance(node, Function | ast.ClassDef | ast.Lambda):
            inner_blocks = (*blocks, node) if isinstance(node, Block) else blocks
            unvisited += [(child, inner_blocks) for child in ast.iter_child_nodes(node)]


def _body(scope: ast.AST) -> list[ast.stmt]:
    return scope.body if isinstance(scope, Function | ast.ClassDef | ast.Module) else []


def _assigned(node: ast.AST) -> Iterator[tuple[ast.Name, str, ast.AST]]:
    """Yield each name that a statement assigns, with the kind and the node of its binding."""
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=assigned_nodes)):
            if len(targets) == len(assigned_nodes):
                pairs = zip(targets, assigned_nodes, strict=True)
                yield from (
                    (name, "value", assigned)
                    for name, assigned in pairs
                    if isinstance(name, ast.Name)
                )
        case ast.Assign(targets=targets, value=assigned):
            yield from ((name, "value", assigned) for name in targets if isinstance(name, ast.Name))
        case ast.AnnAssign(target=ast.Name() as target, annotation=annotation, value=assigned):
            is_certain = assigned is None or is_str(annotation)
            kind = "annotation" if is_certain else "value"
            yield target, kind, annotation if is_certain else assigned or annotation
        case ast.AugAssign(target=ast.Name() as target, value=assigned):
            yield target, "added", assigned
        case (
            ast.For(target=ast.Name() as target, iter=assigned)
            | ast.comprehension(target=ast.Name() as target, iter=assigned)
        ):
            yield target, "each", assigned
        case _:
            pass


def _names(node: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield each other name that a node binds, with the kind of its binding."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            yield name, "function"
        case ast.ClassDef(name=name):
            yield name, "class"
        case ast.alias(name=name, asname=alias):
            yield alias or name.partition(".")[0], "else"
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
