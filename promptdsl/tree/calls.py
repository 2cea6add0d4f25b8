"""The ids of the tool calls that turns and messages make and answer."""

from promptdsl.messages import ToolResultBlock
from promptdsl.messages.message import Message
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


def calls_in(message: Message) -> tuple[str, ...]:
    """Return the ids of the calls a message makes, in order; only an assistant makes any."""
    if message.role != "assistant":
        return ()
    return tuple(call.id for call in message.calls)


def answers_in(message: Message) -> tuple[str, ...]:
    """Return the ids of the calls a message answers, in order."""
    if message._plain is not None:
        return ()
    blocks = message.content
    return tuple(block.tool_use_id for block in blocks if isinstance(block, ToolResultBlock))


def asks(message: Message) -> bool:
    """Return whether a message is a user's and holds no result of a call."""
    return message.role == "user" and not answers_in(message)
