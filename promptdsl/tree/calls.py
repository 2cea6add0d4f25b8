"""The ids of the tool calls that turns make and answer."""

from promptdsl.tree.masks import CALL, RESULT, SHIFT
from promptdsl.tree.node import Node, walk
from promptdsl.tree.part_nodes import ToolResultNode, ToolUseNode
from promptdsl.tree.turn_nodes import ToolTurnNode


def calls_of(turn: Node) -> tuple[str, ...]:
    """Return the ids of the calls a turn makes, in order."""
    if not turn._mask & CALL << SHIFT:
        return ()
    return tuple(part.block.id for part, _ in walk(turn) if isinstance(part, ToolUseNode))


def answers_of(turn: Node) -> tuple[str, ...]:
    """Return the ids of the calls a turn answers, in order."""
    if isinstance(turn, ToolTurnNode):
        return (turn.tool_use_id,)
    if not turn._mask & RESULT << SHIFT:
        return ()
    return tuple(part.tool_use_id for part, _ in walk(turn) if isinstance(part, ToolResultNode))
