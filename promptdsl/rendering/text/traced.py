"""Lowering that also notes the text of each part, with the same messages as ``lower``.

Only the beginning and the end of each part are noted, so that ten thousand nested parts cost no
more than ten thousand siblings.
"""

from bisect import bisect_right
from collections.abc import Sequence
from typing import TypeAlias, cast

import attrs

from promptdsl.config.transformation import Resolved
from promptdsl.messages import Block
from promptdsl.messages.fast_path import text_block
from promptdsl.messages.field_checks import Cache
from promptdsl.messages.message import Message
from promptdsl.rendering.text.blocks import MediaRoots
from promptdsl.rendering.text.lower import LoweredTurn, Lowering, TextWriter, Turns
from promptdsl.rendering.text.page import Margin, OnLoss, OpenPart, Page, Setting
from promptdsl.rendering.text.strings import Fences, StringRules
from promptdsl.tree.node import Node
from promptdsl.tree.part_nodes import SectionNode
from promptdsl.tree.turn_nodes import RecordedNode, TurnNode

LONGEST = 1_000
"""The most characters of an address: without a limit, addresses grow with the square of depth."""

Segment: TypeAlias = "list[str] | Block"
"""The pieces of a block of text, or a block other than text."""


class TracedPage(Page):
    """A page that keeps the pieces of its blocks; a block other than text is one piece.

    It also notes which part wrote each block: ``around`` is the part that is written, ``None``
    outside of parts.
    """

    __slots__ = (
        *("around", "before", "first", "marks", "result"),
        *("results", "segments", "starts", "writers"),
    )

    def __init__(self, around: "TracedPart | None" = None) -> None:
        super().__init__()
        self.segments: list[Segment] = []
        self.starts: list[int] = []
        """The number of pieces before each segment."""
        self.before = 0
        self.around = around
        self.first = around
        """The part that wrote the first of the pieces."""
        self.writers: list[TracedPart | None] = []
        """The part that wrote each block, the first one where several did."""
        self.marks: dict[int, TracedPart | None] = {}
        """The part that put a cache mark after a block, by the index of the block."""
        self.results: dict[int, TracedPage] = {}
        """The page of a result, by the index of its block."""
        self.result: TracedPage | None = None
        """The page of the result whose block is written next."""

    @property
    def length(self) -> int:
        """The number of pieces so far, with the openings that are not written yet."""
        openings = len(self.openings)
        # The first opening is written after a gap, which is a piece.
        return self.before + len(self.pieces) + (openings + 1 if openings else 0)

    def put(self, text: str, around: Margin) -> None:
        """Write a text, nothing when it is empty."""
        self._begin()
        super().put(text, around)

    def close(self, text: str, around: Margin) -> None:
        """Write the closing of a container; ``around`` is the margin outside of it."""
        self._begin()
        super().close(text, around)

    def _begin(self) -> None:
        if not self.pieces:
            self.first = self.around

    def flush(self, cache: Cache | None = None) -> None:
        """Make a block of the pieces there are."""
        if self.pieces:
            self._add([*self.pieces], len(self.pieces), self.first)
        super().flush(cache)

    def block(self, block: Block) -> None:
        """Write a block other than text."""
        self._begin()
        super().block(block)
        if self.result is not None:
            self.results[len(self.writers)] = self.result
            self.result = None
        self._add(block, 1, self.around)

    def cache(self, cache: Cache) -> bool:
        """Put a cache mark after all that is written; return whether the last block takes one."""
        taken = super().cache(cache)
        self.marks[len(self.blocks) - 1] = self.around
        return taken

    def _add(self, segment: Segment, length: int, writer: "TracedPart | None") -> None:
        self.writers.append(writer)
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
    """A node and the pieces of a page that it wrote.

    ``around`` is the part it is in. ``path`` is its address: that of the turn, ``""`` for system
    text, and the ids of the sections around it.
    """

    node: Node
    path: str
    around: "TracedPart | None"
    page: TracedPage
    start: int
    end: int = 0

    def blocks(self) -> list[Block]:
        """Return the blocks of the node, the gap before it included."""
        return self.page.between(self.start, self.end)


@attrs.define(eq=False)
class TracedTurn:
    """A turn, also one that is merged with others: its blocks, and the parts in it.

    ``parts`` are in document order. ``page`` is ``None`` for a recorded message, which is sent
    unchanged.
    """

    node: TurnNode | RecordedNode
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
    """Writes the parts of one turn, and notes the beginning and the end of each."""

    page: TracedPage

    def __init__(
        self,
        setting: Setting,
        report: OnLoss,
        node: Node,
        rules: StringRules,
        *,
        fences: Fences,
        path: str,
        parts: list[TracedPart],
        around: TracedPart | None = None,
    ) -> None:
        super().__init__(setting, report, node, rules, fences=fences)
        self.page = TracedPage(around)
        self.path = path
        self.parts = parts

    def write_part(self, node: Node, around: OpenPart) -> bool:
        """Write a part; return whether it is open, so that its children are next."""
        around_it = self.page.around
        path = self.path if around_it is None else around_it.path
        if isinstance(node, SectionNode):
            path = path if len(path) <= LONGEST else "..."
            path = f"{path}/{node.options.id}" if path else str(node.options.id)
        part = TracedPart(node, path, around_it, self.page, self.page.length)
        self.parts.append(part)
        self.page.around = part
        is_open = super().write_part(node, around)
        if not is_open:
            self._end(part)
        return is_open

    def close(self, part: OpenPart, outside: Margin) -> None:
        """Write the closing of a part whose children are written."""
        super().close(part, outside)
        # The turn of this writer, and an item made around a child of a list, are not traced.
        traced = self.page.around
        if traced and traced.node is part.node and traced.page is self.page:
            self._end(traced)

    def _end(self, part: TracedPart) -> None:
        part.end = self.page.length
        self.page.around = part.around

    def inside(self, setting: Setting, node: Node, rules: StringRules) -> TextWriter:
        """Return a writer for a result in the turn, whose blocks are on a page of their own."""
        around = self.page.around
        writer = TracedWriter(
            setting,
            self.report,
            node,
            rules,
            fences=self.fences,
            path=self.path,
            parts=self.parts,
            around=around,
        )
        self.page.result = writer.page
        return writer


class TracedLowering(Lowering):
    """Lowers turns, and notes the text of each part."""

    def __init__(self, config: Resolved, media_roots: MediaRoots | None) -> None:
        super().__init__(config, media_roots)
        self.turns: list[TracedTurn] = []

    def turn_blocks(self, turn: TurnNode) -> LoweredTurn:
        """Return one turn as blocks."""
        lowered = super().turn_blocks(turn)
        self.turns[-1].blocks = lowered.blocks  # those of a tool turn are in a result, and marked
        return lowered

    def part_blocks(self, turn: TurnNode, address: str, report: OnLoss) -> tuple[Block, ...]:
        """Return the blocks that the parts of a turn become."""
        parts: list[TracedPart] = []
        path = "" if turn.role == "system" else address
        rules = self.rules(turn)
        writer = TracedWriter(
            self.setting,
            report,
            turn,
            rules,
            fences=self.fences(turn),
            path=path,
            parts=parts,
        )
        blocks = writer.write()
        self.turns.append(TracedTurn(turn, address, blocks, parts, writer.page))
        return blocks

    def recorded_message(self, node: RecordedNode) -> Message:
        """Return the message of a recording that is merged with turns, as it is sent."""
        message = super().recorded_message(node)
        address = f"history[{node.start}]"
        self.turns.append(TracedTurn(node, address, message.content, [], None))
        return message


def lower_traced(
    root: Node, *, config: Resolved, media_roots: MediaRoots | None = ()
) -> tuple[tuple[Message, ...], list[TracedEntry]]:
    """Return the messages of a finished tree, and its entries with the text of each part.

    With ``None`` for ``media_roots`` no file is read.
    """
    lowering = TracedLowering(config, media_roots)
    entries: list[TracedEntry] = []
    for turn in cast("Turns", root.content):
        lowering.turns = []
        lowering.lower(turn)
        entries.append(TracedEntry(lowering.turns, len(lowering.messages)))
    return tuple(lowering.messages), entries
