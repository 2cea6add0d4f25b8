"""Which part of a tree wrote which piece of text: the same way to messages, with notes on it.

Nothing is joined or counted here: a part is where it begins and where it ends, so that ten thousand
parts inside each other are no more than ten thousand beside each other.
"""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any, TypeAlias

import attrs

from promptdsl.config.transformation import Resolved
from promptdsl.messages import Block
from promptdsl.messages.details import RawOrigin
from promptdsl.messages.field_checks import Cache
from promptdsl.messages.message import Message
from promptdsl.messages.unchecked import text_block
from promptdsl.rendering.text.blocks import MediaRoots
from promptdsl.rendering.text.lower import Lowering
from promptdsl.rendering.text.page import Margin, OnLoss, OpenPart, Page, Setting
from promptdsl.rendering.text.strings import StringRules
from promptdsl.rendering.text.writer import TextWriter
from promptdsl.tree.node import Node
from promptdsl.tree.turn_nodes import RecordedNode

Segment: TypeAlias = "list[str] | Block"
"""The pieces of a block of text, or a block other than text."""


class TracedPage(Page):
    """A page that keeps the pieces its blocks were made of; a block other than text is one."""

    __slots__ = ("before", "segments", "starts")

    def __init__(self) -> None:
        super().__init__()
        self.segments: list[Segment] = []
        self.starts: list[int] = []
        """The number of pieces before each segment."""
        self.before = 0

    @property
    def length(self) -> int:
        """The number of pieces so far."""
        return self.before + len(self.pieces)

    def flush(self, cache: Cache | None = None) -> None:
        """Make a block of the pieces there are."""
        if self.pieces:
            self._add([*self.pieces], len(self.pieces))
        super().flush(cache)

    def block(self, block: Block) -> None:
        """Write a block other than text."""
        super().block(block)
        self._add(block, 1)

    def _add(self, segment: Segment, length: int) -> None:
        self.segments.append(segment)
        self.starts.append(self.before)
        self.before += length

    def between(self, start: int, end: int) -> list[Block]:
        """Return the pieces from ``start`` to before ``end`` as blocks, once all are written."""
        blocks: list[Block] = []
        for index in range(max(bisect_right(self.starts, start) - 1, 0), len(self.segments)):
            segment, before = self.segments[index], self.starts[index]
            if before >= end:
                break
            if isinstance(segment, list):
                text = "".join(segment[max(start - before, 0) : end - before])
                blocks += [text_block(text)] if text else []
            elif before >= start:
                blocks.append(segment)
        return blocks


@attrs.define(eq=False)
class TracedPart:
    """A node and the pieces of a page that it wrote; ``around`` is the part it is in."""

    node: Any
    around: "TracedPart | None"
    page: TracedPage
    start: int
    end: int = 0

    def blocks(self) -> list[Block]:
        """Return what the node came to, the gap before it included."""
        return self.page.between(self.start, self.end)


@attrs.define(eq=False)
class TracedTurn:
    """A turn, or one that was merged with others: what it came to, and the parts in it.

    ``parts`` are in the order of the document. ``page`` is ``None`` for a message that was
    recorded, and goes out as it is.
    """

    node: Any
    address: str
    blocks: Sequence[Block]
    parts: list[TracedPart]
    page: TracedPage | None


@attrs.define(eq=False)
class TracedEntry:
    """An entry of the timeline: its turns, and the number of messages up to its end."""

    turns: list[TracedTurn]
    messages: int


class TracedWriter(TextWriter):
    """Writes the parts of one turn, and notes where each begins and ends."""

    page: TracedPage

    def __init__(
        self,
        setting: Setting,
        report: OnLoss,
        node: Node,
        rules: StringRules,
        *,
        around: TracedPart | None = None,
        parts: list[TracedPart],
    ) -> None:
        super().__init__(setting, report, node, rules)
        self.page = TracedPage()
        self.around = around
        self.parts = parts

    def write_part(self, node: Node, around: OpenPart) -> bool:
        """Write a part; return whether it is open, so that its children are next."""
        part = TracedPart(node, self.around, self.page, self.page.length)
        self.parts.append(part)
        self.around = part
        is_open = super().write_part(node, around)
        if not is_open:
            self._end(part)
        return is_open

    def close(self, part: OpenPart, outside: Margin) -> None:
        """Write the closing of a part whose children are written."""
        super().close(part, outside)
        # A turn or a result that is written here was not begun here, nor was an item just made.
        traced = self.around
        if traced and traced.node is part.node and traced.page is self.page:
            self._end(traced)

    def _end(self, part: TracedPart) -> None:
        part.end = self.page.length
        self.around = part.around

    def inside(self, setting: Setting, node: Node, rules: StringRules) -> TextWriter:
        """Return a writer for a result in the turn, whose blocks are on a page of their own."""
        return TracedWriter(setting, self.report, node, rules, around=self.around, parts=self.parts)


class TracedLowering(Lowering):
    """Lowers turns, and notes which part of each came to which text."""

    def __init__(self, config: Resolved, media_roots: MediaRoots) -> None:
        super().__init__(config, media_roots)
        self.turns: list[TracedTurn] = []

    def said(self, turn: Any) -> tuple[tuple[Block, ...], tuple[RawOrigin, ...]]:
        """Return the blocks of one turn and where they are from."""
        blocks, origins = super().said(turn)
        self.turns[-1].blocks = blocks  # those of a tool turn are in a result, and marked
        return blocks, origins

    def written(self, turn: Any, address: str, report: OnLoss) -> tuple[Block, ...]:
        """Return the blocks that the parts of a turn come to."""
        parts: list[TracedPart] = []
        writer = TracedWriter(self.setting, report, turn, self.rules(turn), parts=parts)
        blocks = writer.write()
        self.turns.append(TracedTurn(turn, address, blocks, parts, writer.page))
        return blocks

    def recorded(self, node: RecordedNode) -> Message:
        """Return the message of a recording that is merged with turns, as it is sent."""
        message = super().recorded(node)
        address = f"history[{node.start}]"
        self.turns.append(TracedTurn(node, address, message.content, [], None))
        return message


def lower_traced(
    root: Node, *, config: Resolved, media_roots: MediaRoots = ()
) -> tuple[tuple[Message, ...], list[TracedEntry]]:
    """Return the messages of a finished tree, and which part of it came to which text."""
    lowering = TracedLowering(config, media_roots)
    entries: list[TracedEntry] = []
    for turn in root.content:
        lowering.turns = []
        lowering.lower(turn)
        entries.append(TracedEntry(lowering.turns, len(lowering.messages)))
    return tuple(lowering.messages), entries
