"""The rule PD105 about text that is not written: a call or a string alone in a block.

Read :func:`unwritten_texts` first. It runs no code: ``expressions.py`` finds out what is text.
"""

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
    """An expression that is a statement in a block, its scope, and the blocks around it.

    ``open_blocks`` has the name of the component of each block, the innermost last. It has
    ``"detached"`` for a block of ``detached()``, and ``""`` for any other ``with``.
    """

    node: ast.expr
    scope: Scope
    open_blocks: tuple[str, ...]


def unwritten_texts(file: PythonFile) -> Problems:
    """Yield each statement of a block that is only a text, or the name of a component."""
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
        """Yield each expression that is a statement in a block of a component."""
        root = self._file.tree
        unvisited: list[tuple[ast.AST, Scope, tuple[str, ...]]] = [(root, (root,), ())]
        while unvisited:
            node, scope, open_blocks = unvisited.pop()
            if isinstance(node, ast.Expr) and any(name in _WITH_BLOCKS for name in open_blocks):
                yield Statement(node.value, scope, open_blocks)
            if isinstance(node, Function | ast.ClassDef):
                # The methods of a class do not see the names of the class.
                visible_scopes = [outer for outer in scope if not isinstance(outer, ast.ClassDef)]
                scope, open_blocks = (node, *visible_scopes), ()
            elif isinstance(node, ast.With | ast.AsyncWith):
                open_blocks += tuple(
                    self._opened_component(with_item.context_expr, scope)
                    for with_item in node.items
                )
            bodies = [child for child in ast.iter_child_nodes(node) if isinstance(child, _BODIES)]
            unvisited += [(body, scope, open_blocks) for body in bodies]

    def lost(self, statement: Statement) -> Problems:
        """Yield the problems of a statement, if they are certain."""
        node, scope, open_blocks = statement
        match node:
            case ast.IfExp(body=first, orelse=second):
                yield from self.lost(Statement(first, scope, open_blocks))
                yield from self.lost(Statement(second, scope, open_blocks))
            case ast.BoolOp(values=[*_, final]):
                yield from self.lost(Statement(final, scope, open_blocks))
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                for element in elements:
                    yield from self.lost(Statement(element, scope, open_blocks))
            case ast.Name():
                problem = self._lost_name(statement)
                if problem:
                    yield node, *problem
            case ast.Call(func=func) if self._texts.awaited(func, scope):
                message = f"`{ast.unparse(func)}()` is not awaited, so its text is not sent"
                yield node, message, f"write Text(await {ast.unparse(func)}(...))"
            case _ if self._texts.is_text(node, scope) and not self._effects.has(node, scope):
                yield node, *_lost_text(node, open_blocks)
            case _:
                return

    def _opened_component(self, node: ast.expr, scope: Scope) -> str:
        """Return what :class:`Statement` has for the block of a ``with``."""
        if isinstance(node, ast.Name):
            bindings, _ = self._names.resolve(node.id, scope)
            names = {self._component_of(binding) for binding in bindings}
            return names.pop() if len(names) == 1 else ""
        name = self._file.public(node).partition(".")[0]
        functions = self._texts.functions(getattr(node, "func", node), scope)
        if functions and all(self._is_component(function) for function in functions):
            return "Fragment"
        return name if name in (*_WITH_BLOCKS, "detached") else ""

    def _component_of(self, binding: Binding) -> str:
        """Return the name of the component that a binding assigns, or ``""``."""
        name = self._file.public(binding.node).partition(".")[0]
        kind: object = getattr(promptdsl, name, None) if name and binding.kind == "value" else None
        return name if isinstance(kind, type) and issubclass(kind, promptdsl.Node) else ""

    def _is_component(self, function: Function) -> bool:
        return "promptdsl.component" in map(self._file.dotted, function.decorator_list)

    def _lost_name(self, statement: Statement) -> tuple[str, str] | None:
        """Return the problem of a name whose value is certainly not written in the block."""
        node, scope, open_blocks = statement
        name = ast.unparse(node)
        functions = self._texts.functions(node, scope)
        if functions and not any(decorators_of(function) - {"component"} for function in functions):
            message = f"the function `{name}` is not called, so it writes nothing"
            return message, f"write {name}(...)"
        if self._texts.is_text(node, scope):
            return _lost_text(node, open_blocks)
        bindings, location = self._names.resolve(name, scope)
        if not bindings or not all(
            self._is_detached(binding, location, statement) for binding in bindings
        ):
            return None
        if all(map(self._component_of, bindings)):
            message = f"`{name}` was made outside of a block, and its name alone does not write it"
            return message, f"write include({name}), or pass it as an argument"
        text = "User" if _innermost(open_blocks) in _HOLD_TURNS else "Text"
        fix = f"include({name}) for a part, {text}({name}) for a text, {name}(...) for a component"
        return f"`{name}` on a line of its own writes nothing", f"write {fix}"

    def _is_detached(self, binding: Binding, location: Scope, statement: Statement) -> bool:
        """Return whether no block was open where a name was bound."""
        if binding.blocks:
            items = binding.blocks[-1].items
            return self._opened_component(items[-1].context_expr, location) == "detached"
        is_from_elsewhere = isinstance(binding.node, ast.alias | ast.arg)
        if len(location) == 1 or is_from_elsewhere or binding.kind == "annotation":
            return True
        # The function may be called in a block, unless it opens a Timeline itself.
        return location == statement.scope and statement.open_blocks[0] == "Timeline"


def _innermost(open_blocks: tuple[str, ...]) -> str:
    """Return the innermost component of the blocks that are open."""
    return [name for name in open_blocks if name in _WITH_BLOCKS][-1]


def _lost_text(node: ast.expr, open_blocks: tuple[str, ...]) -> tuple[str, str]:
    """Return the problem of a text in a block, and what to write."""
    fix, further_advice = "write Text(...) around it", ", or Value(...) if it comes from elsewhere"
    if _innermost(open_blocks) in _HOLD_TURNS:
        fix, further_advice = "write System(...) or User(...) around it", ""
    call = node.value if isinstance(node, ast.Await) else node
    match call:
        case ast.Call(func=ast.Name() | ast.Attribute(value=ast.Name()) as func):
            what = f"what `{ast.unparse(func)}()` returns"
        case ast.Name() | ast.Attribute():
            what = f"`{ast.unparse(call)}` on a line of its own"
        case _:
            return "a string on a line of its own is not sent", fix
    return f"{what} is not sent", fix + further_advice


PD105 = CheckRule(
    id="PD105",
    name="text that is written nowhere",
    why=(
        "Only calls of components write into a prompt. A string or a variable alone on a line "
        "writes nothing, also in a `with` block: its text is not sent. The same is true of a "
        "call of a function that only returns a str. The rule reports only what is certain. It "
        "does not report a name that may already be written in this block, or a call that may "
        "have an effect, such as writing into the block."
    ),
    source="The blocks of promptdsl (2026).",
    wrong='with System():\n    Text("You help customers.")\n    "Be brief."\n',
    right='with System():\n    Text("You help customers.")\n    Text("Be brief.")\n',
    in_source=unwritten_texts,
)
