"""The losses of messages get the address and the line of the block that each is about."""

from bisect import bisect_right
from collections.abc import Sequence
from typing import TypeAlias

import attrs

from promptdsl.config.transformation import Resolved
from promptdsl.foundation.source import Source
from promptdsl.messages import ToolResultBlock
from promptdsl.messages.details import Origin, origin_of
from promptdsl.messages.loss import MARKS, Loss
from promptdsl.messages.message import Message
from promptdsl.rendering.text.lower import system_origins
from promptdsl.rendering.text.traced import TracedPart, TracedTurn, lower_traced
from promptdsl.tree.masks import RESULT, SHIFT
from promptdsl.tree.turn_nodes import ConsolidatedNode, RecordedNode, RootNode, ToolTurnNode

Located: TypeAlias = tuple[str, Source | None]
"""An address in the tree, and the author's line."""
Written: TypeAlias = list[tuple[TracedTurn, int]]
"""The turns that wrote the blocks of a message, each with the index of the block in its turn."""


def located_losses(
    losses: Sequence[Loss], tree: RootNode, messages: Sequence[Message], config: Resolved
) -> tuple[Loss, ...]:
    """Return the losses; those in messages get their message, an address and a line.

    A loss of the whole prompt gets the line of the prompt.

    These are of the part that wrote the block, of the first turn for a loss of a whole message, of
    the ``History`` for a recorded one. ``messages`` are those that the finished tree became.
    """
    if all(loss.source and not loss.at for loss in losses):
        return tuple(losses)
    places = _Places(tree, messages, config) if any(loss.at for loss in losses) else None
    located: list[Loss] = []
    for loss in losses:
        if loss.at and places:
            path, source = places.of(loss)
            message = messages[loss.at[0]]
            located.append(attrs.evolve(loss, path=path, source=source, message=message))
        else:
            located.append(attrs.evolve(loss, source=loss.source or tree.source))
    return tuple(located)


class _Places:
    """The places of losses in a tree, which is lowered again to note what wrote each block."""

    def __init__(self, tree: RootNode, messages: Sequence[Message], config: Resolved) -> None:
        self.nodes = tree.content
        self.messages = messages
        again, self.entries = lower_traced(tree, config=config, media_roots=None)
        # An author's format_block may return other texts now: then lines are those of turns.
        self.is_same = _types_in(again) == _types_in(messages)
        self.ends = [entry.messages for entry in self.entries]
        self.written: dict[int, Written] = {}
        """The writers of the blocks of messages, by the index of the message, once asked for."""
        self.addresses: dict[int, str] = {}
        """The addresses of the turns in system text, by the id of the node, once asked for."""

    def of(self, loss: Loss) -> Located:
        """Return the place of a loss in a message."""
        index, *block = loss.at
        origins = self.messages[index].origins
        if not self.is_same:
            origin = origin_of(origins[0]) if origins else Origin("history", None)
            return origin.address, origin.source
        number = bisect_right(self.ends, index)
        node = self.nodes[number]
        if isinstance(node, RecordedNode) and not origins:
            first = self.ends[number - 1] if number else 0
            return f"history[{node.start + index - first}]", node.source
        if isinstance(node, RecordedNode) or not block:
            origin = origin_of(origins[0])
            return origin.address, origin.source
        if index not in self.written:
            self._note_writers(number)
        turn, place = self.written[index][block[0]]
        part = _writer(turn, [place, *block[1:]], is_mark=loss.what in MARKS)
        if part is None:
            return turn.address, turn.node.source
        return part.path or self._system_address(turn, part), part.node.source or turn.node.source

    def _note_writers(self, number: int) -> None:
        """Note the writers of the messages of an entry: one for each result, one for the rest."""
        entry, node = self.entries[number], self.nodes[number]
        blocks = [
            (turn, place, block) for turn in entry.turns for place, block in enumerate(turn.blocks)
        ]
        messages: list[Written] = []
        if node.mask & RESULT << SHIFT:
            messages = [[(turn, n)] for turn, n, it in blocks if isinstance(it, ToolResultBlock)]
            blocks = [it for it in blocks if not isinstance(it[2], ToolResultBlock)]
        if blocks:
            messages.append([(turn, place) for turn, place, _ in blocks])
        first = self.ends[number - 1] if number else 0
        self.written.update(enumerate(messages, first))

    def _system_address(self, turn: TracedTurn, part: TracedPart) -> str:
        """Return the address of a part of system text outside of sections: that of its turn."""
        if not isinstance(turn.node, ConsolidatedNode):
            return turn.address
        if not self.addresses:
            origins = map(origin_of, system_origins(turn.node))
            for node, origin in zip(turn.node.content, origins, strict=True):
                self.addresses.setdefault(id(node), origin.address)
        while part.around is not None:
            part = part.around
        return self.addresses[id(part.node)]


def _types_in(messages: Sequence[Message]) -> list[object]:
    """Return the types of the blocks of each message; text alone needs no list."""
    return [m.plain is None and [block.type for block in m.content] for m in messages]


def _writer(turn: TracedTurn, block: Sequence[int], *, is_mark: bool) -> TracedPart | None:
    """Return the part that wrote a block, or with ``is_mark`` its mark; ``None`` for the turn."""
    page, part, node = turn.page, None, turn.node
    if is_mark and node.options.cache and block[0] == len(turn.blocks) - 1:
        return None
    # The only block of a tool turn is its result: the page is that of the content of the result.
    for index in block[1:] if isinstance(node, ToolTurnNode) else block:
        if page is None:
            break
        part = (page.marks.get(index) if is_mark else None) or page.writers[index]
        page = page.results.get(index)
    return part
