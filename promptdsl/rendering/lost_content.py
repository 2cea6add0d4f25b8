"""Which losses are about content of the author, and the warnings about them."""

from collections.abc import Iterable

from promptdsl.foundation.lost_content import warn_of_lost_content
from promptdsl.foundation.source import Source
from promptdsl.messages import Block, ReasoningBlock, TextBlock, ToolResultBlock
from promptdsl.messages.loss import Loss
from promptdsl.rendering.losses import part_of_block
from promptdsl.rendering.spans import Trace
from promptdsl.tree.part_nodes import MediaNode, ToolResultNode, ToolUseNode
from promptdsl.tree.turn_nodes import TurnNode


def warn_of_losses(losses: Iterable[Loss], trace: Trace) -> None:
    """Warn of each block, tool and output schema of the author that is not sent.

    Recorded messages, tools of a recorded payload, and single characters are data: about their
    losses nothing warns.
    """
    for loss in losses:
        source = _author_line(loss, trace) if loss.kind == "content" else None
        if source is not None:
            warn_of_lost_content(source, loss.what.split(" ")[0], loss._refusal("sent"))


_OF_BLOCKS = frozenset({MediaNode, ToolUseNode, ToolResultNode})
"""The nodes of blocks of messages that an author put into a turn; a component has its own class."""


def _author_line(loss: Loss, trace: Trace) -> Source | None:
    """Return the line that wrote what is lost, ``None`` for data and for a part of a block."""
    if not loss.at:
        # A tool and an output schema of a recorded payload have no line.
        return loss.source if loss.path == "output" or loss.path.startswith("tools/") else None
    index, *block = loss.at
    if not block:
        turn = trace.message_turn(index)
        return turn.source if isinstance(turn.node, TurnNode) else None
    turn_block = trace.turn_block(index, block[0])
    if turn_block.page is None:
        return None  # a recorded message
    lost = _block_at(trace.messages[index].content, block)
    if isinstance(lost, TextBlock | ReasoningBlock):
        return None  # the text is sent: characters were replaced, or a signature is left out
    part = part_of_block(turn_block, block, is_mark=False)
    if part is not None and type(part.node) in _OF_BLOCKS:
        return None
    return trace.line(part) or turn_block.turn.source


def _block_at(content: tuple[Block, ...], location: list[int]) -> Block:
    """Return the block at a location: its index, and the index of a block in a result."""
    block = content[location[0]]
    if len(location) > 1 and isinstance(block, ToolResultBlock):
        return block.content[location[1]]
    return block
