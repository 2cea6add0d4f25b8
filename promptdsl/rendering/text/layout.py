"""The layout of a prompt: its turns, the nodes in them, and the pieces that each node wrote.

Read :class:`Layout` first: while ``lower`` writes, it notes numbers in these flat lists.
:class:`LayoutReader` makes objects of them when a report needs them: a :class:`WrittenTurn` has
:class:`WrittenNode` objects, and a :class:`WrittenPage` with the pieces of its blocks.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple, TypeAlias

import attrs

from promptdsl.foundation.escaping import Labelled
from promptdsl.foundation.frozen import new_dict
from promptdsl.foundation.source import LibrarySection, Source
from promptdsl.messages import Block, TextBlock, ToolResultBlock
from promptdsl.messages.message import Message
from promptdsl.messages.read_blocks import text_block
from promptdsl.tree.masks import RESULT, SHIFT
from promptdsl.tree.node import Node, walk
from promptdsl.tree.part_nodes import SectionNode, ValueNode, VolatileNode
from promptdsl.tree.turn_nodes import ComponentNode, ToolTurnNode, TurnNode

# Pieces of text, and the runs of a piece: a piece with values in it has runs of several kinds.

SpanKind: TypeAlias = Literal["section", "value", "volatile", "author", "conversation"]
"""The kind of a piece of output: text of the library around parts, or a kind of text in them."""


class TextRun(NamedTuple):
    """Characters of a text that have one kind: their number, the kind, and a label.

    A run begins where the run before it ends. ``node`` is the node of a value, which has a source
    line; values that are no nodes, such as the cells of a table, have none.
    """

    length: int
    kind: SpanKind
    label: str | None = None
    node: ValueNode | None = None


PieceKind: TypeAlias = "SpanKind | Literal['gap'] | Callable[[], Sequence[TextRun]]"
"""The kind of a piece: one kind, a gap between two parts, or a function that returns its runs."""


NotedTurn: TypeAlias = "tuple[int, Node, str, int, tuple[Block, ...] | None, int, int]"
"""A turn that was written, as a tuple: to make one takes less time than a ``NamedTuple``.

Its fields are

``(entry, node, head, index, blocks, first_block, first_node)``

``entry`` is the number of its timeline entry, ``head`` and ``index`` are its address (``user`` and
0, or the complete address and -1). ``blocks`` is ``None`` if they are those of its message.
``first_block`` and ``first_node`` are the numbers of blocks and of nodes before it."""


class Layout(NamedTuple):
    """The pieces, nodes and turns that were written of a prompt, in order.

    A piece is a text, or a block other than text, whose text is empty. ``lengths``, ``kinds`` and
    ``node_numbers`` have one item for each piece: the number of its characters, its kind, and the
    number of the node that wrote it (-1 for its turn).
    ``nodes``, ``parents`` and ``starts`` have one item for each node in a turn: the node, the
    number of the node around it (-1 for its turn), and the number of pieces before it.
    """

    lengths: list[int]
    kinds: list[PieceKind]
    node_numbers: list[int]
    nodes: list[Node]
    parents: list[int]
    starts: list[int]
    ends: list[int]
    """The number of pieces up to the end of each block."""
    cache_marks: dict[int, int]
    """The node that put a cache mark after a block, by the number of the block."""
    results: dict[int, int]
    """The number of blocks before the first one in a tool result, by the number of the result."""
    turns: list[NotedTurn]
    """The turns, without those of one string or one call."""
    only_nodes: dict[int, Node]
    """The only node of a turn of one text or one call, by the number of its timeline entry."""
    entries: list[int]
    """The number of messages up to the end of each timeline entry."""


def address_of(head: str, index: int) -> str:
    """Return the address ``head[index]``, or ``head`` alone if the index is -1."""
    return head if index < 0 else f"{head}[{index}]"


def runs_of(length: int, kind: PieceKind) -> Sequence[TextRun]:
    """Return the runs of a piece of ``length`` characters; a gap is text of the library."""
    if callable(kind):
        runs = [run for run in kind() if run.length or run.kind == "volatile"]
        return runs or [TextRun(length, "author")]
    return [TextRun(length, "section" if kind == "gap" else kind)]


def value_run(length: int, value: object) -> TextRun:
    """Return the run of a value that was encoded as ``length`` characters."""
    if isinstance(value, VolatileNode):
        return TextRun(length, "volatile", value.label, value)
    if isinstance(value, ValueNode):
        return TextRun(length, "value", value.label, value)
    if isinstance(value, Labelled) and value.label is not None:
        return TextRun(length, "volatile", value.label)
    return TextRun(length, "value")


def inserted(text: str, values: Iterable[tuple[str, object]], after: str = "") -> list[TextRun]:
    """Return the runs of a text with encoded values in it, each directly after ``after``.

    A value that is not in the text is left out.
    """
    runs: list[TextRun] = []
    end = 0
    for encoded, value in values:
        start = text.find(after + encoded, end)
        if start >= 0:
            start += len(after)
            runs += (TextRun(start - end, "section"), value_run(len(encoded), value))
            end = start + len(encoded)
    return [*runs, TextRun(len(text) - end, "section")]


def guarded(runs: Iterable[TextRun], before: str, after: str) -> list[TextRun]:
    """Return the runs of ``after``: the text ``before`` with references for some characters.

    ``runs`` are those of ``before``.
    """
    if before == after:
        return [*runs]
    changed: list[TextRun] = []
    start = end = 0
    for run in runs:
        start_after = end
        for character in before[start : start + run.length]:
            end = end + 1 if after[end] == character else after.index(";", end) + 1
        start += run.length
        changed.append(run._replace(length=end - start_after))
    return changed


# A layout that is pickled or copied: its nodes are those of the tree that is copied with it.


Packed: TypeAlias = tuple[Layout, list[int], list[tuple[Any, ...]], dict[int, int]]  # Any: a turn
"""A layout without nodes, and the nodes, turns and only nodes that were taken out of it.

Each node in them is replaced by its index in the tree.
"""


def packed(layout: Layout, tree: Node) -> Packed:
    """Return a layout that can be pickled: without nodes, and with runs instead of functions."""
    indexes = {id(node): index for index, (node, _) in enumerate(walk(tree))}
    kinds = [_packed_kind(kind) for kind in layout.kinds]
    nodes = [indexes[id(node)] for node in layout.nodes]
    turns = [
        (entry, indexes[id(node)], *other_fields) for entry, node, *other_fields in layout.turns
    ]
    only_nodes = {entry: indexes[id(node)] for entry, node in layout.only_nodes.items()}
    return layout._replace(kinds=kinds, nodes=[], turns=[], only_nodes={}), nodes, turns, only_nodes


def _packed_kind(kind: PieceKind) -> PieceKind:
    return partial(list[TextRun], kind()) if callable(kind) else kind


def unpacked(packed_layout: Packed, tree: Node) -> Layout:
    """Return the layout of a packed one; ``tree`` is a copy of the tree that it was packed with."""
    layout, indexes, turns, only_nodes = packed_layout
    nodes = [node for node, _ in walk(tree)]
    return layout._replace(
        nodes=[nodes[index] for index in indexes],
        turns=[(turn[0], nodes[turn[1]], *turn[2:]) for turn in turns],
        only_nodes={entry: nodes[index] for entry, index in only_nodes.items()},
    )


# The turns of a prompt, the nodes in them, and the pieces that each node wrote.
#
# While ``lower`` writes, it notes the pieces in the flat lists of a :class:`Layout`. When a report
# needs them, these classes make objects of the lists.

MAX_ADDRESS = 1_000
"""The maximum length of an address, in characters; a section in a longer one has ``.../id``.

Without a limit, the addresses of nested sections would grow with the square of the depth.
"""


class LayoutReader:
    """A reader of a layout, which returns turns with the nodes in them and their pieces."""

    def __init__(self, layout: Layout, messages: Sequence[Message]) -> None:
        self.layout = layout
        self.messages = messages

    def turns_of(self, entry: int) -> "list[WrittenTurn]":
        """Return the turns of the timeline entry with an index."""
        turns = self.layout.turns
        first = bisect_left(turns, entry, key=lambda turn: turn[0])
        end = bisect_right(turns, entry, key=lambda turn: turn[0])
        return [self._turn(index) for index in range(first, end)]

    def _turn(self, index: int) -> "WrittenTurn":
        """Return the turn with an index, with its page and its nodes."""
        layout = self.layout
        entry, node, head, address_index, blocks, first_block, first_node = layout.turns[index]
        if blocks is None:
            blocks = self.messages[layout.entries[entry] - 1].content
        end_block, end_node = len(layout.ends), len(layout.nodes)
        if index + 1 < len(layout.turns):
            *_, end_block, end_node = layout.turns[index + 1]
        turn = WrittenTurn(node, address_of(head, address_index), blocks, [], None, node.source)
        if isinstance(node, TurnNode):  # a recorded message is sent unchanged
            # The blocks of a tool turn are in a result.
            content = _content(blocks[0]) if isinstance(node, ToolTurnNode) else blocks
            turn.page = self._page(first_block, end_block, content)
            nodes = self._nodes(turn, turn.page, range(first_node, end_node))
            turn.nodes = [*nodes.values()]
            for page in (turn.page, *turn.page.results.values()):
                page.segments = [*self._segments(page, nodes)]
        return turn

    def _page(self, first: int, end: int, blocks: Sequence[Block]) -> "WrittenPage":
        """Return the page of the blocks from ``first`` to before ``end``.

        The blocks in a tool result have their own page, in ``results``.
        """
        numbers: list[int] = []
        # Backwards, because the blocks in a tool result were noted directly before it.
        while end > first:
            numbers.append(end - 1)
            end = self.layout.results.get(end - 1, end - 1)
        page = WrittenPage(numbers[::-1], blocks)
        for index, number in enumerate(page.numbers):
            page.pieces += self._pieces(number)
            if number in self.layout.results:
                first_inner = self.layout.results[number]
                page.results[index] = self._page(first_inner, number, _content(blocks[index]))
        return page

    def _pieces(self, block_number: int) -> range:
        """Return the numbers of the pieces of a block."""
        ends = self.layout.ends
        return range(ends[block_number - 1] if block_number else 0, ends[block_number])

    def _nodes(
        self, turn: "WrittenTurn", outer: "WrittenPage", numbers: range
    ) -> "dict[int, WrittenNode]":
        """Return the nodes in a turn by their numbers; ``outer`` is the page of the turn."""
        layout = self.layout
        # By the number of a node: the page of its children. A tool result has its own page.
        pages = {-1: outer}
        for index, page in outer.results.items():
            # The first piece of a result is its block: the node of the result wrote it.
            first_piece = self._pieces(outer.numbers[index])[0]
            pages[layout.node_numbers[first_piece]] = page
        nodes: dict[int, WrittenNode] = {}
        for number in numbers:
            parent_number = layout.parents[number]
            page = pages[parent_number]
            pages.setdefault(number, page)
            start = bisect_left(page.pieces, layout.starts[number])
            node, parent = layout.nodes[number], nodes.get(parent_number)
            nodes[number] = written_node(node, turn, parent, page, start=start)
        # A node ends after the last piece that it wrote, or that a node in it wrote.
        for page in (outer, *outer.results.values()):
            for end, piece in enumerate(page.pieces, 1):
                node_of_piece = nodes.get(layout.node_numbers[piece])
                is_gap = layout.kinds[piece] == "gap"
                if node_of_piece and node_of_piece.page is page and not is_gap:
                    node_of_piece.end = end
        for child in reversed(nodes.values()):
            parent = child.parent
            if parent and parent.page is child.page and child.start < child.end:
                parent.end = max(parent.end, child.end)
        return nodes

    def _segments(
        self, page: "WrittenPage", nodes: "Mapping[int, WrittenNode]"
    ) -> "Iterator[Segment]":
        """Yield the blocks of a page, each with its pieces."""
        layout, before = self.layout, 0  # ``before`` is the number of pieces before the block
        for block_index, (block_number, block) in enumerate(
            zip(page.numbers, page.blocks, strict=True)
        ):
            pieces: list[WrittenPiece] = []
            text, end = text_of_block(block), 0
            for index in self._pieces(block_number):
                node, kind = nodes.get(layout.node_numbers[index]), layout.kinds[index]
                if kind == "gap":  # a gap between two nodes is a piece of the node around both
                    piece_count = before + len(pieces)
                    while node is not None and node.page is page and node.start >= piece_count:
                        node = node.parent
                start, end = end, end + layout.lengths[index]
                pieces.append(WrittenPiece(text[start:end], node, kind))
            marking_node = nodes.get(layout.cache_marks.get(block_number, -1))
            if marking_node is not None:
                page.cache_marks[block_index] = marking_node
            is_text = isinstance(block, TextBlock) and not block.extra
            yield Segment(None if is_text else block, pieces, before)
            before += len(pieces)


def text_of_block(block: Block) -> str:
    """Return the text of a block, ``""`` for a block other than text."""
    return block.text if isinstance(block, TextBlock) else ""


def _content(block: Block) -> Sequence[Block]:
    """Return the content of a tool result."""
    return block.content if isinstance(block, ToolResultBlock) else ()


class WrittenPiece(NamedTuple):
    """A piece of a text, or a block other than text, with the node that wrote it.

    ``node`` is ``None`` for a string directly in the turn. ``text`` is empty for a block.
    """

    text: str
    node: "WrittenNode | None"
    kind: PieceKind


class Segment(NamedTuple):
    """A block and its pieces; ``block`` is ``None`` if the block is the text of the pieces.

    ``start`` is the number of pieces before it.
    """

    block: Block | None
    pieces: list[WrittenPiece]
    start: int


@attrs.define(eq=False)
class WrittenPage:
    """The blocks of a turn, or of a tool result in it.

    ``numbers`` are the numbers of its blocks in the layout, ``pieces`` those of its pieces.
    """

    numbers: list[int]
    blocks: Sequence[Block]
    pieces: list[int] = attrs.field(factory=list[int])
    segments: list[Segment] = attrs.field(factory=list[Segment])
    results: "dict[int, WrittenPage]" = attrs.field(factory=new_dict)
    """The page of a result, by the index of its block."""
    cache_marks: "dict[int, WrittenNode]" = attrs.field(factory=new_dict)
    """The node that put a cache mark after a block, by the index of the block."""

    def between(self, start: int, end: int) -> list[Block]:
        """Return the pieces from ``start`` to before ``end`` as blocks."""
        blocks: list[Block] = []
        first = bisect_right(self.segments, start, key=lambda segment: segment.start) - 1
        for block, pieces, before in self.segments[max(first, 0) :]:
            if before >= end:
                break
            if block is None:
                pieces_between = pieces[max(start - before, 0) : end - before]
                text = "".join([piece.text for piece in pieces_between])
                blocks += [text_block(text)] if text else []
            elif before >= start:
                blocks.append(block)
        return blocks


@attrs.define(eq=False)
class WrittenNode:
    """A node in a turn, and the pieces of a page that it wrote.

    ``parent`` is the node around it, ``None`` for a node directly in the turn. ``path`` is its
    address: that of the turn (``""`` for system text), and the ids of the sections around it.
    ``top`` is the node directly in the turn that contains it, or the node itself. ``page`` has its
    pieces, from ``start`` to before ``end``. ``library`` is the innermost section of a library that
    it is in.
    """

    node: Node
    path: str
    parent: "WrittenNode | None"
    page: WrittenPage
    start: int
    top: Node
    library: LibrarySection | None
    end: int

    def blocks(self) -> list[Block]:
        """Return the blocks of the node, the gap before it included."""
        return self.page.between(self.start, self.end)


@attrs.define(eq=False)
class WrittenTurn:
    """A turn, before it is merged with others: its blocks, and the nodes in it.

    ``nodes`` are in document order. ``page`` is ``None`` for a recorded message, which is sent
    unchanged.
    """

    node: Node
    address: str
    blocks: Sequence[Block]
    nodes: list[WrittenNode]
    page: WrittenPage | None
    source: Source | None

    @property
    def library(self) -> LibrarySection | None:
        """The innermost section of a library around the turn."""
        return _library_in(self.node, None)

    def with_one_part(self, node: Node | None) -> "WrittenTurn":
        """Return the turn with the page of its only block; ``node`` is ``None`` for a string."""
        (block,) = _content(self.blocks[0]) or self.blocks
        self.page = WrittenPage([0], (block,))
        if node is not None:
            self.nodes.append(written_node(node, self, None, self.page, start=0, end=1))
        text = text_of_block(block)
        piece = WrittenPiece(text, next(iter(self.nodes), None), "conversation")
        self.page.segments.append(Segment(None if text else block, [piece], 0))
        return self


def written_node(
    node: Node,
    turn: WrittenTurn,
    parent: WrittenNode | None,
    page: WrittenPage,
    *,
    start: int,
    end: int = 0,
) -> WrittenNode:
    """Return a node in a turn, with its address and the section of a library around it.

    A node that wrote nothing ends where it starts.
    """
    path, top, library = turn.address, node, turn.library
    if parent is not None:
        path, top, library = parent.path, parent.top, parent.library
    elif getattr(turn.node, "role", "") == "system":
        path = ""
    if isinstance(node, SectionNode):
        path = path if len(path) <= MAX_ADDRESS else "..."
        path = f"{path}/{node.options.id}" if path else str(node.options.id)
    library = _library_in(node, library)
    return WrittenNode(node, path, parent, page, start, top, library, max(start, end))


def _library_in(node: Node, outer_library: LibrarySection | None) -> LibrarySection | None:
    """Return the innermost section of a library around a node, the node included.

    ``outer_library`` is that of the node around it.
    """
    if isinstance(node, ComponentNode) and (node.section or node.by):
        return node.section
    # The components around a turn, or around a section outside of turns, are not in the tree.
    if node.options.libraries and isinstance(node, TurnNode | SectionNode):
        return node.options.libraries[-1]
    return outer_library


def message_blocks(
    turns: Iterable[WrittenTurn], entry: Node
) -> list[list[tuple[WrittenTurn, int]]]:
    """Return the blocks of each message of a timeline entry: their turn, and their index in it.

    There is a message for each tool result in the entry, and one for all other blocks.
    """
    results: list[list[tuple[WrittenTurn, int]]] = []
    other_blocks: list[tuple[WrittenTurn, int]] = []
    has_results = bool(entry._mask & RESULT << SHIFT)  # the deep bit of a tool result
    for turn in turns:
        for index, block in enumerate(turn.blocks):
            if has_results and isinstance(block, ToolResultBlock):
                results.append([(turn, index)])
            else:
                other_blocks.append((turn, index))
    return [*results, other_blocks] if other_blocks else results
