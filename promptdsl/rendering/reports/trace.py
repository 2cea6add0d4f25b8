"""Writing: which node of a tree wrote which piece of which page.

Nothing is joined or counted here: a node is where it begins and where it ends, so that ten thousand
nodes inside each other are no more than ten thousand beside each other.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

import attrs

from promptdsl.messages import Block
from promptdsl.messages.field_checks import Cache
from promptdsl.rendering.text.page import Page, Trace

Said: TypeAlias = "list[str] | Block"
"""The pieces of a block of text, or a block that is none."""


class Sheet(Page):
    """A page that remembers the pieces its blocks were made of; a block that is no text is one."""

    __slots__ = ("before", "segments")

    def __init__(self) -> None:
        super().__init__()
        self.segments: list[Said] = []
        self.before = 0

    @property
    def length(self) -> int:
        """How many pieces there are so far."""
        return self.before + len(self.pieces)

    def flush(self, cache: Cache | None = None) -> None:
        """Make a block of the pieces there are."""
        if self.pieces:
            self.segments.append([*self.pieces])
            self.before += len(self.pieces)
        super().flush(cache)

    def block(self, block: Block) -> None:
        """Write a block that is no text."""
        super().block(block)
        self.segments.append(block)
        self.before += 1


@attrs.define(eq=False)
class Written:
    """A node and the pieces of a sheet that it wrote; ``around`` is the node it stands in."""

    node: Any
    around: "Written | None"
    sheet: Sheet
    start: int
    end: int = 0


@attrs.define(eq=False)
class Turn:
    """A turn, or one that was merged with others: what it came to, and the nodes in it.

    ``nodes`` are in the order of the document. ``sheet`` is ``None`` for a message that was
    recorded, and goes out as it is.
    """

    node: Any
    address: str
    blocks: Sequence[Block]
    nodes: list[Written]
    sheet: Sheet | None


@attrs.define(eq=False)
class Entry:
    """What stands in a timeline: its turns, and how many messages there are behind it."""

    turns: list[Turn]
    messages: int


class Writing(Trace):
    """What became of every node of a tree. ``entries`` are one for each part of the timeline."""

    __slots__ = ("_inside", "_nodes", "_sheet", "_turns", "entries")

    def __init__(self) -> None:
        super().__init__(())
        self.entries: list[Entry] = []
        self._turns: list[Turn] = []
        self._nodes: list[Written] = []
        self._inside: list[Written] = []
        self._sheet: Sheet | None = None

    def page(self) -> Page:
        """Return a sheet; the first one is that of the turn, others are those of results in it."""
        sheet = Sheet()
        self._sheet = self._sheet or sheet
        return sheet

    def begin(self, node: object, page: Page, *, plain: bool) -> None:
        """Note where a node begins."""
        if isinstance(page, Sheet):
            around = self._inside[-1] if self._inside else None
            begun = Written(node, around, page, page.length)
            self._nodes.append(begun)
            self._inside.append(begun)

    def end(self, node: object, page: Page) -> None:
        """Note where a node ends; what was never begun, such as an item we made, is left alone."""
        last = self._inside[-1] if self._inside else None
        if last is not None and last.node is node and last.sheet is page:
            last.end = last.sheet.length
            self._inside.pop()

    def said(self, turn: object, blocks: Sequence[Block], address: str) -> None:
        """Note what a turn came to."""
        self._turns.append(Turn(turn, address, blocks, self._nodes, self._sheet))
        self._nodes, self._sheet = [], None

    def reached(self, messages: int) -> None:
        """Note that a part of the timeline ends."""
        self.entries.append(Entry(self._turns, messages))
        self._turns = []
