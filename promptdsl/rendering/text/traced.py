"""Lowering that also notes the text of each part, with the same messages as ``lower``.

Only the beginning and the end of each part are noted, so that ten thousand nested parts cost no
more than ten thousand siblings.
"""

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple, cast

import attrs

from promptdsl.config.transformation import Resolved
from promptdsl.foundation.library_section import LibrarySection
from promptdsl.foundation.source import Source
from promptdsl.messages import Block, TextBlock, ToolResultBlock
from promptdsl.messages.fast_path import text_block
from promptdsl.messages.field_checks import Cache
from promptdsl.messages.message import Message
from promptdsl.rendering.text.blocks import MediaRoots
from promptdsl.rendering.text.lower import LoweredTurn, Lowering, TextWriter, Turns
from promptdsl.rendering.text.page import LINE_END, Margin, OnLoss, OpenPart, Page, Setting
from promptdsl.rendering.text.runs import SpanKind, TextRun
from promptdsl.rendering.text.strings import Fences, StringRules
from promptdsl.tree.group_nodes import ComponentNode
from promptdsl.tree.masks import RESULT, SHIFT
from promptdsl.tree.node import Node
from promptdsl.tree.part_nodes import SectionNode
from promptdsl.tree.turn_nodes import RecordedNode, TurnNode

LONGEST = 1_000
"""The most characters of an address: without a limit, addresses grow with the square of depth."""


class TracedPiece(NamedTuple):
    """A piece of a text, or a block other than text, with the part that wrote it.

    ``runs`` are what the text consists of, ``text`` is empty for a block.
    """

    text: str
    part: "TracedPart | None"
    runs: Sequence[TextRun]


class Segment(NamedTuple):
    """A block, ``None`` for one made of its pieces; ``start`` is the number of pieces before it."""

    block: Block | None
    pieces: list[TracedPiece]
    start: int


class TracedPage(Page):
    """A page that keeps the pieces of its blocks; a block other than text is one piece.

    ``around`` is the part that is written, ``None`` outside of parts. A text between two parts is a
    piece of the part around them.
    """

    __slots__ = (
        *("around", "before", "kind", "marks", "notes", "opened", "result"),
        *("results", "segments", "runs"),
    )

    def __init__(self, around: "TracedPart | None" = None) -> None:
        super().__init__()
        # Never ``None`` here, and no other object is ever put in its place.
        self.runs: list[TextRun] = []  # pyright: ignore[reportIncompatibleVariableOverride]
        self.segments: list[Segment] = []
        self.before = 0
        self.around = around
        self.kind: SpanKind = "author"
        """The kind of a text or a block without runs."""
        self.notes: list[tuple[TracedPart | None, Sequence[TextRun]]] = []
        """The part and the runs of each of the pieces."""
        self.opened: list[tuple[TracedPart | None, Sequence[TextRun]]] = []
        """The same of each of the openings."""
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

    def open(self, text: str, around: Margin, runs: Sequence[TextRun] = ()) -> None:
        """Begin a container; its opening is written before the first text in it."""
        super().open(text, around, runs)
        if text:
            self.opened.append((self.around, runs))

    def close_empty(self, opening: str) -> None:
        """Remove the opening of a container in which nothing was written."""
        super().close_empty(opening)
        if opening:
            self.opened.pop()

    def put(self, text: str, around: Margin) -> None:
        """Write a text, nothing when it is empty."""
        runs = self._taken(text)
        if text:
            if self.gap and not self.openings:
                self.notes.append((self._outside(self.around), ()))
            super().put(text, around)
            self.notes.append((self.around, _indented(runs, text, around.prefix)))

    def _write_openings(self) -> None:
        self.notes += ((self._outside(self.opened[0][0]), ()), *self.opened)
        self.opened.clear()
        super()._write_openings()

    def _outside(self, part: "TracedPart | None") -> "TracedPart | None":
        """Return the part around a gap, which is the next piece; ``part`` writes the one after."""
        here = self.before + len(self.pieces)
        while part is not None and part.page is self and part.start >= here:
            part = part.around
        return part

    def _taken(self, text: str) -> list[TextRun]:
        """Return the runs of a text, which are taken from those that were noted."""
        taken = [run for run in self.runs if run.length or run.kind == "volatile"]
        self.runs.clear()
        return taken or [TextRun(len(text), self.kind)]

    def close(self, text: str, around: Margin) -> None:
        """Write the closing of a container; ``around`` is the margin outside of it."""
        super().close(text, around)
        if text:
            self.notes.append((self.around, ()))

    def flush(self, cache: Cache | None = None) -> None:
        """Make a block of the pieces there are."""
        if self.pieces:
            notes = zip(self.pieces, self.notes, strict=True)
            self._add(None, [TracedPiece(text, *note) for text, note in notes])
            self.notes.clear()
        super().flush(cache)

    def block(self, block: Block) -> None:
        """Write a block other than text, or of text with keys of its own."""
        text = block.text if isinstance(block, TextBlock) else ""
        runs = self._taken(text)
        super().block(block)
        if self.result is not None:
            self.results[len(self.segments)] = self.result
            self.result = None
        self._add(block, [TracedPiece(text, self.around, runs)])

    def cache(self, cache: Cache) -> bool:
        """Put a cache mark after all that is written; return whether the last block takes one."""
        taken = super().cache(cache)
        self.marks[len(self.blocks) - 1] = self.around
        return taken

    def _add(self, block: Block | None, pieces: list[TracedPiece]) -> None:
        self.segments.append(Segment(block, pieces, self.before))
        self.before += len(pieces)

    def between(self, start: int, end: int) -> list[Block]:
        """Return the pieces from ``start`` to before ``end`` as blocks, once all are written."""
        blocks: list[Block] = []
        first = bisect_right(self.segments, start, key=lambda segment: segment.start) - 1
        for block, pieces, before in self.segments[max(first, 0) :]:
            if before >= end:
                break
            if block is None:
                text = "".join([it.text for it in pieces[max(start - before, 0) : end - before]])
                blocks += [text_block(text)] if text else []
            elif before >= start:
                blocks.append(block)
        return blocks


def _indented(runs: Sequence[TextRun], text: str, prefix: str) -> Sequence[TextRun]:
    """Return the runs of a text whose further lines begin with a prefix."""
    ends = [*LINE_END.finditer(text)] if prefix else []
    if not ends:
        return runs
    indented: list[TextRun] = []
    position, number = 0, 0
    for run in runs:
        position += run.length
        added = 0
        while number < len(ends) and ends[number].end() <= position:
            added += len(prefix if ends[number][1] is None else prefix.rstrip())
            number += 1
        indented.append(run._replace(length=run.length + added))
    return indented


@attrs.define(eq=False)
class TracedPart:
    """A node and the pieces of a page that it wrote.

    ``around`` is the part it is in. ``path`` is its address: that of the turn, ``""`` for system
    text, and the ids of the sections around it. ``top`` is the outermost node around it that is a
    part of its turn, or the node itself. ``library`` is the innermost section of a library that it
    is in.
    """

    node: Node
    path: str
    around: "TracedPart | None"
    page: TracedPage
    start: int
    top: Node
    library: LibrarySection | None
    end: int = 0

    def blocks(self) -> list[Block]:
        """Return the blocks of the node, the gap before it included."""
        return self.page.between(self.start, self.end)


def _library_in(node: Node, around: LibrarySection | None) -> LibrarySection | None:
    """Return the innermost section of a library that a node is in or is; ``around`` is outside."""
    if isinstance(node, ComponentNode) and (node.section or node.by):
        return node.section
    # The components around a turn, or around a section outside of turns, are not in the tree.
    if node.options.libraries and isinstance(node, TurnNode | SectionNode):
        return node.options.libraries[-1]
    return around


@attrs.define(eq=False)
class TracedTurn:
    """A turn, also one that is merged with others: its blocks, and the parts in it.

    ``parts`` are in document order. ``page`` is ``None`` for a recorded message, which is sent
    unchanged.
    """

    node: Node
    address: str
    blocks: list[Block]
    parts: list[TracedPart]
    page: TracedPage | None
    source: Source | None

    @property
    def library(self) -> LibrarySection | None:
        """The innermost section of a library around the turn."""
        return _library_in(self.node, None)


@attrs.define(eq=False)
class TracedEntry:
    """An entry of the timeline: its turns, and the number of messages up to its end."""

    turns: list[TracedTurn]
    messages: int

    def written(self, node: Node) -> list[list[tuple[TracedTurn, int]]]:
        """Return what wrote the blocks of each message: a turn, and the index of the block in it.

        ``node`` is the entry. There is a message for each result in it, and one for the rest.
        """
        blocks = [
            (turn, place, block) for turn in self.turns for place, block in enumerate(turn.blocks)
        ]
        messages: list[list[tuple[TracedTurn, int]]] = []
        if node._mask & RESULT << SHIFT:
            messages = [[(turn, n)] for turn, n, it in blocks if isinstance(it, ToolResultBlock)]
            blocks = [it for it in blocks if not isinstance(it[2], ToolResultBlock)]
        if blocks:
            messages.append([(turn, place) for turn, place, _ in blocks])
        return messages


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
        self.library = _library_in(node, None)

    def write_part(self, node: Node, around: OpenPart) -> bool:
        """Write a part; return whether it is open, so that its children are next."""
        around_it = self.page.around
        path = self.path if around_it is None else around_it.path
        if isinstance(node, SectionNode):
            path = path if len(path) <= LONGEST else "..."
            path = f"{path}/{node.options.id}" if path else str(node.options.id)
        top = node if around_it is None else around_it.top
        around_library = self.library if around_it is None else around_it.library
        library = _library_in(node, around_library)
        part = TracedPart(node, path, around_it, self.page, self.page.length, top, library)
        self.parts.append(part)
        self.page.around = part
        self.page.kind = "conversation" if around.rules.encoding == "plain" else "author"
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
        self.turns[-1].blocks = [
            *lowered.blocks
        ]  # those of a tool turn are in a result, and marked
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
        self.turns.append(TracedTurn(turn, address, [*blocks], parts, writer.page, turn.source))
        return blocks

    def recorded_message(self, node: RecordedNode) -> Message:
        """Return the message of a recording that is merged with turns, as it is sent."""
        message = super().recorded_message(node)
        address = f"history[{node.start}]"
        self.turns.append(TracedTurn(node, address, [*message.content], [], None, node.source))
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
