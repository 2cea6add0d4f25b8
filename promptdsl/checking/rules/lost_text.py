"""The rule PD105 about text that is not written: a call or a string alone in a block."""

import ast
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

import promptdsl
from promptdsl.checking.expressions import Effects, Texts, decorators_of
from promptdsl.checking.finding import CheckRule, Problems
from promptdsl.checking.python_file import Binding, BoundNames, Function, PythonFile, Scope

_WITH_BLOCKS = (
    *("Timeline", "System", "Developer", "User", "Assistant", "ToolMessage", "Event", "Ephemeral"),
    *("Grounding", "Turn", "History", "Section", "Fragment", "Group", "FirstFit", "Format"),
    *("Limit", "Note", "List", "Checklist", "Item", "Quote", "ToolResult"),
)
"""The components that are opened as a block."""
_HOLD_TURNS = ("Timeline", "History")
_BODIES = (ast.stmt, ast.excepthandler, ast.match_case)


class Statement(NamedTuple):
    """An expression that is a statement of a block, its scope, and the names of the open blocks.

    A block that is not that of a component is ``"detached"``, or ``""`` for any other.
    """

    node: ast.expr
    scope: Scope
    opened: tuple[str, ...]


def unwritten_texts(file: PythonFile) -> Problems:
    """Yield each statement of a block that is text, or names a component from elsewhere."""
    if file.blocks:
        finder = _LostTexts(file)
        for statement in finder.statements():
            yield from islice(finder.lost(statement), 1)


class _LostTexts:
    """Finds the statements of a file that write nothing."""

    def __init__(self, file: PythonFile) -> None:
        self._file, self._names = file, BoundNames(file)
        self._texts = Texts(file, self._names)
        self._effects = Effects(file, self._names, self._texts)

    def statements(self) -> Iterator[Statement]:
        """Yield each expression that is a statement in the block of a component."""
        root = self._file.tree
        waiting: list[tuple[ast.AST, Scope, tuple[str, ...]]] = [(root, (root,), ())]
        while waiting:
            node, scope, opened = waiting.pop()
            if isinstance(node, ast.Expr) and any(name in _WITH_BLOCKS for name in opened):
                yield Statement(node.value, scope, opened)
            if isinstance(node, Function | ast.ClassDef):
                # The methods of a class do not see the names of the class.
                around = [outer for outer in scope if not isinstance(outer, ast.ClassDef)]
                scope, opened = (node, *around), ()
            elif isinstance(node, ast.With | ast.AsyncWith):
                opened += tuple(self._opened(item.context_expr, scope) for item in node.items)
            bodies = [child for child in ast.iter_child_nodes(node) if isinstance(child, _BODIES)]
            waiting += [(body, scope, opened) for body in bodies]

    def lost(self, statement: Statement) -> Problems:
        """Yield the problem of a statement, if it is certain."""
        node, scope, opened = statement
        match node:
            case ast.IfExp(body=first, orelse=second):
                yield from self.lost(Statement(first, scope, opened))
                yield from self.lost(Statement(second, scope, opened))
            case ast.BoolOp(values=[*_, final]):
                yield from self.lost(Statement(final, scope, opened))
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                for element in elements:
                    yield from self.lost(Statement(element, scope, opened))
            case ast.Name():
                problem = self._lost_name(statement)
                if problem:
                    yield node, *problem
            case ast.Call(func=func) if self._texts.awaited(func, scope):
                message = f"`{ast.unparse(func)}()` is not awaited, so its text is not sent"
                yield node, message, f"write Text(await {ast.unparse(func)}(...))"
            case _ if self._texts.is_text(node, scope) and not self._effects.has(node, scope):
                yield node, *_lost_text(node, opened)
            case _:
                return

    def _opened(self, node: ast.expr, scope: Scope) -> str:
        """Return the component that a ``with`` opens, by its call or a name that is bound to it."""
        if isinstance(node, ast.Name):
            bindings, _ = self._names.resolve(node.id, scope)
            names = {self._part(binding) for binding in bindings}
            return names.pop() if len(names) == 1 else ""
        name = self._file.public(node).partition(".")[0]
        functions = self._texts.functions(getattr(node, "func", node), scope)
        if functions and all(self._is_component(function) for function in functions):
            return "Fragment"
        return name if name in (*_WITH_BLOCKS, "detached") else ""

    def _part(self, binding: Binding) -> str:
        """Return the component that is assigned to a name, or ``""``."""
        name = self._file.public(binding.node).partition(".")[0]
        kind: object = getattr(promptdsl, name, None) if name and binding.kind == "value" else None
        return name if isinstance(kind, type) and issubclass(kind, promptdsl.Node) else ""

    def _is_component(self, function: Function) -> bool:
        return "promptdsl.component" in map(self._file.dotted, function.decorator_list)

    def _lost_name(self, statement: Statement) -> tuple[str, str] | None:
        """Return the problem of a name whose value cannot have been written in the block."""
        node, scope, opened = statement
        name = ast.unparse(node)
        functions = self._texts.functions(node, scope)
        if functions and not any(decorators_of(function) - {"component"} for function in functions):
            message = f"the function `{name}` is not called, so it writes nothing"
            return message, f"write {name}(...)"
        if self._texts.is_text(node, scope):
            return _lost_text(node, opened)
        bindings, location = self._names.resolve(name, scope)
        if not bindings or not all(
            self._is_detached(binding, location, statement) for binding in bindings
        ):
            return None
        if all(map(self._part, bindings)):
            message = f"`{name}` was made outside of a block, and its name alone does not write it"
            return message, f"write include({name}), or pass it as an argument"
        text = "User" if _innermost(opened) in _HOLD_TURNS else "Text"
        fix = f"include({name}) for a part, {text}({name}) for a text, {name}(...) for a component"
        return f"`{name}` on a line of its own writes nothing", f"write {fix}"

    def _is_detached(self, binding: Binding, location: Scope, statement: Statement) -> bool:
        """Return whether no block was open where a name was bound."""
        if binding.blocks:
            items = binding.blocks[-1].items
            return self._opened(items[-1].context_expr, location) == "detached"
        is_from_elsewhere = isinstance(binding.node, ast.alias | ast.arg)
        if len(location) == 1 or is_from_elsewhere or binding.kind == "annotation":
            return True
        # A function may be called in a block, but not one that opens a Timeline.
        return location == statement.scope and statement.opened[0] == "Timeline"


def _innermost(opened: tuple[str, ...]) -> str:
    """Return the innermost component of the blocks that are open."""
    return [name for name in opened if name in _WITH_BLOCKS][-1]


def _lost_text(node: ast.expr, opened: tuple[str, ...]) -> tuple[str, str]:
    """Return the problem of a text in a block, and what to write."""
    fix, other = "write Text(...) around it", ", or Value(...) if it comes from elsewhere"
    if _innermost(opened) in _HOLD_TURNS:
        fix, other = "write System(...) or User(...) around it", ""
    call = node.value if isinstance(node, ast.Await) else node
    match call:
        case ast.Call(func=ast.Name() | ast.Attribute(value=ast.Name()) as func):
            what = f"what `{ast.unparse(func)}()` returns"
        case ast.Name() | ast.Attribute():
            what = f"`{ast.unparse(call)}` on a line of its own"
        case _:
            return "a string on a line of its own is not sent", fix
    return f"{what} is not sent", fix + other


PD105 = CheckRule(
    id="PD105",
    name="text that is written nowhere",
    why=(
        "Only calls of components write into a prompt. A string or a variable alone on a line "
        "does nothing, also inside a `with` block: its text is not sent. The same is true of "
        "a call of a function that returns a str and does nothing else. The rule reports only "
        "what is certain. It does not report a name that may already be written in this "
        "block, or a call that may have an effect, such as writing into the block."
    ),
    source="The blocks of promptdsl (2026).",
    wrong='with System():\n    Text("You help customers.")\n    "Be brief."\n',
    right='with System():\n    Text("You help customers.")\n    Text("Be brief.")\n',
    in_source=unwritten_texts,
)
