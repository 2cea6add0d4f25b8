"""The id of a section is its address for overrides, tests and reports, so siblings need different
ids. An empty block is not sent. Sections in a branch or loop are not checked. If a block is empty
because its text is in no call, only PD105 reports it.
"""

import ast
from collections.abc import Iterable, Iterator

from promptdsl.checking.finding import CheckRule, Problems
from promptdsl.checking.python_file import PythonFile

_HOLD_SECTIONS = ("System", "Developer", "Section", "Event", "User", "Assistant", "Fragment")
_EMPTY = ("Section", "System", "Developer", "User", "Assistant", "Event", "Ephemeral", "Grounding")


def in_source(file: PythonFile) -> Problems:
    """Yield sections with the id of a sibling that is always written, and empty blocks."""
    for call in file.calls:
        if call.name in _HOLD_SECTIONS:
            yield from _twice(file, call.node.args)
    for block in file.blocks:
        opened = block.items[-1].context_expr
        name, arguments = file.public(opened), getattr(opened, "args", [])
        if name in _HOLD_SECTIONS:
            yield from _twice(file, _always(block))
        is_bare = len(arguments) <= (name in ("Section", "Grounding"))
        if name in _EMPTY and is_bare and all(map(_is_nothing, block.body)):
            yield block, f"the block of {name} is empty", "write Text(...) in it"


def _is_nothing(statement: ast.stmt) -> bool:
    """Return whether a statement is ``pass`` or ``...``, or a constant that is not a string."""
    value = getattr(statement, "value", statement)
    is_constant = isinstance(value, ast.Constant) and not isinstance(value.value, str)
    return is_constant or isinstance(value, ast.Pass)


def _always(block: ast.With | ast.AsyncWith) -> Iterator[ast.expr]:
    """Yield the expressions of a block that always run, and may write into it."""
    for statement in block.body:
        if isinstance(statement, ast.Return | ast.Raise):
            return
        if isinstance(statement, ast.Expr):
            yield statement.value
        elif isinstance(statement, ast.With | ast.AsyncWith) and len(statement.items) == 1:
            yield statement.items[0].context_expr


def _twice(file: PythonFile, nodes: Iterable[ast.expr]) -> Problems:
    lines: dict[str, int] = {}
    for node in nodes:
        if not isinstance(node, ast.Call) or file.public(node) != "Section" or not node.args:
            continue
        id = getattr(node.args[0], "value", None)
        if isinstance(id, str) and "audience" not in [keyword.arg for keyword in node.keywords]:
            if id in lines:
                message = f"two sibling sections have the id {id!r}, the other in line {lines[id]}"
                yield node, message, "give one of them another id"
            lines.setdefault(id, node.lineno)


RULE = CheckRule(
    name="section twice, or empty block",
    source="The errors and hints of promptdsl (2026).",
    wrong='with Section("rules", title="Rules"):\n    pass\n',
    right='with Section("rules", title="Rules"):\n    Text("Never promise refunds.")\n',
    hints=("empty_block", "title_only", "empty_grounding", "text_as_id"),
)
