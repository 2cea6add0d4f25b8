"""A Python file for the rules: parsed once, with its calls of components; nothing is run."""

import ast
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import promptdsl

INSTRUCTIONS = ("System", "Developer")
TURNS = (
    *(*INSTRUCTIONS, "User", "Assistant", "ToolMessage", "Event", "Ephemeral", "Grounding", "Turn"),
    *("History", "ToolResult", "Note", "Lazy", "Volatile", "Untrusted"),
)
"""The components that decide the role of the text in them."""
_LEAVES = (ast.Constant, ast.expr_context, ast.operator, ast.cmpop)


class AuthorCall(NamedTuple):
    """A call of a public name, and ``around``, the call of which it is an argument or in the block.

    ``scope`` are the functions around it, the innermost first, then the module.
    """

    node: ast.Call
    name: str
    around: "AuthorCall | None"
    scope: tuple[ast.AST, ...]

    @property
    def turn(self) -> str | None:
        """The innermost turn of this call; ``None`` for a component that may go into any turn."""
        outermost, call = self, self.around
        while outermost.name not in TURNS and call is not None:
            outermost, call = call, call.around
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
        # A name that the file binds again may not be that of promptdsl.
        self.calls = [call for call in [*self._walk()] if self.public(call.node)]

    def dotted(self, node: ast.AST) -> str:
        """Return the imported name that an expression reads, such as ``uuid.uuid4``, or ``""``."""
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
        """Yield the calls, and collect imports, other bindings and ``with`` blocks on the way."""
        waiting: list[tuple[ast.AST, AuthorCall | None, tuple[ast.AST, ...]]]
        waiting = [(self.tree, None, (self.tree,))]
        while waiting:
            node, around, scope = waiting.pop()
            inside = around
            opened: dict[ast.AST, AuthorCall | None] = {}
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
                    inside = around = None
                    scope = (node, *scope)
                case ast.Call() if name := self.public(node):
                    inside = around = AuthorCall(node, name, around, scope)
                    yield inside
                case ast.With() | ast.AsyncWith():
                    self.blocks.append(node)
                    for item in node.items:
                        call, opened[item] = item.context_expr, inside
                        if isinstance(call, ast.Call) and self.public(call):
                            inside = AuthorCall(call, self.public(call), inside, scope)
                case _:
                    pass
            for child in [*ast.iter_child_nodes(node)][::-1]:
                if not isinstance(child, _LEAVES):
                    waiting.append((child, opened.get(child, inside), scope))

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
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
    """Return the file of a text; ``None`` if it does not name promptdsl.

    It is cached, as tests check many prompts of the same file. Raises the errors of
    :func:`ast.parse` for a text that is not Python.
    """
    return PythonFile(ast.parse(text)) if "promptdsl" in text else None
