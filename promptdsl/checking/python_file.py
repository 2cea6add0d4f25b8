"""A file of Python as rules see it: parsed once, with its calls of components; nothing is run."""

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
"""The components that decide what the text in them is."""


class AuthorCall(NamedTuple):
    """A call of a public name: what it is in, as an argument or in a ``with`` block, and where.

    ``scope`` are the functions around it, the innermost first, and the module.
    """

    node: ast.Call
    name: str
    around: "AuthorCall | None"
    scope: tuple[ast.AST, ...]

    @property
    def turn(self) -> str | None:
        """The innermost turn that it is or is in; ``None`` for a part that may go anywhere."""
        outermost, call = self, self.around
        while outermost.name not in TURNS and call is not None:
            outermost, call = call, call.around
        # A section outside of any turn belongs to the system message.
        is_loose = outermost.name in ("Section", "Timeline") and self.name != "Timeline"
        return "System" if is_loose else outermost.name if outermost.name in TURNS else None

    def keyword(self, name: str) -> ast.expr | None:
        """Return the argument of a keyword, ``None`` without it."""
        return next((it.value for it in self.node.keywords if it.arg == name), None)


class PythonFile:
    """A file of Python: its ``calls`` of promptdsl in written order, and its ``with`` blocks."""

    def __init__(self, path: str, text: str, tree: ast.Module) -> None:
        self.path, self.text, self.tree = path, text, tree
        self._names: dict[str, str] = {}
        self._bound: set[str] = set()
        self.blocks: list[ast.With | ast.AsyncWith] = []
        calls = [*self._walk()]
        # A name that the file binds again may be anything.
        self.calls = [it for it in calls if self.public(it.node)]

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

    def calls_at(self, line: int, *names: str) -> Iterator[AuthorCall]:
        """Yield the calls of public names at a line."""
        return (it for it in self.calls if it.node.lineno == line and it.name in names)

    def _walk(self) -> Iterator[AuthorCall]:
        """Yield the calls, and note imports, other bindings and ``with`` blocks on the way."""
        waiting: list[tuple[ast.AST, AuthorCall | None, tuple[ast.AST, ...]]]
        waiting = [(self.tree, None, (self.tree,))]
        while waiting:
            node, around, scope = waiting.pop()
            block = around
            match node:
                case ast.Name():
                    if isinstance(node.ctx, ast.Store):
                        self._bound.add(node.id)
                    continue
                case ast.Constant() | ast.expr_context() | ast.operator() | ast.cmpop():
                    continue
                case ast.Call():
                    if name := self.public(node):
                        around = AuthorCall(node, name, around, scope)
                        yield around
                case ast.Import() | ast.ImportFrom():
                    self._import(node)
                    continue
                case ast.arg():
                    self._bound.add(node.arg)
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                    around, scope = None, (node, *scope)
                case ast.With() | ast.AsyncWith():
                    self.blocks.append(node)
                    for item in node.items:
                        if isinstance(it := item.context_expr, ast.Call) and self.public(it):
                            block = AuthorCall(it, self.public(it), block, scope)
                    waiting += ((it, block, scope) for it in reversed(node.body))
                    waiting += ((it, around, scope) for it in reversed(node.items))
                    continue
                case _:
                    pass
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                self._bound.add(node.name)
            waiting += [(it, around, scope) for it in [*ast.iter_child_nodes(node)][::-1]]

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            name = alias.asname or alias.name
            if isinstance(node, ast.ImportFrom):
                if name == "*" and node.module == "promptdsl":
                    self._names |= {it: f"promptdsl.{it}" for it in promptdsl.__all__}
                elif not node.level:
                    self._names[name] = f"{node.module}.{alias.name}"
            elif alias.asname:
                self._names[name] = alias.name
            else:
                top = name.partition(".")[0]
                self._names[top] = top


@lru_cache(maxsize=64)
def parsed(path: str, text: str) -> PythonFile | None:
    """Return a file; ``None`` for one that does not name promptdsl or is no Python.

    A run of tests asks for the same files again, for each of its prompts.
    """
    try:
        return PythonFile(path, text, ast.parse(text)) if "promptdsl" in text else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
