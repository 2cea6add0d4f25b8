"""The page of a turn: it notes each piece of text in the layout, and joins the pieces to blocks.

Read ``Page`` first, then ``OpenNode`` and ``TextState``. ``JoinedTexts``, at the top, is for texts
with a separator that the author chose.
"""

import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

import attrs

from promptdsl.config.transformation import FormatBlock
from promptdsl.messages import Block, MediaBlock, TextBlock, ToolResultBlock, ToolUseBlock
from promptdsl.messages.field_checks import CACHES, Cache
from promptdsl.messages.prompt import Loss
from promptdsl.messages.read_blocks import text_block
from promptdsl.rendering.text.blocks import MediaRoots
from promptdsl.rendering.text.encode import (
    AuthorTags,
    Fences,
    StringRules,
    dedented,
    piece_kind_of,
    text_of,
)
from promptdsl.rendering.text.format import BETWEEN, TextFormat, TextFrame
from promptdsl.rendering.text.layout import Layout, PieceKind, TextRun, runs_of
from promptdsl.tree.masks import CACHE, RESULT, SHIFT
from promptdsl.tree.node import Child, Node, make, mark_of
from promptdsl.tree.part_nodes import (
    SectionNode,
    TextBlockNode,
    TextNode,
    TrustedTextNode,
    ValueNode,
)
from promptdsl.tree.rewrite import has_content
from promptdsl.tree.turn_nodes import FragmentNode, NoteNode

# Neighbouring texts in a container with a separator that the author chose.

TextChildren: TypeAlias = "tuple[Child, ...]"
"""The strings and values that are the children of one text."""


class JoinedTexts:
    """The texts in a container, in order; neighbouring texts are encoded together.

    Two texts may share a line. Then the second text is a neighbour of a value at the end of the
    first: together, they could form a tag.
    """

    def __init__(self, content: TextChildren, separator: str) -> None:
        self._separator = separator
        self._rows = _rows(content)
        self._encoded: deque[tuple[str, PieceKind]] = deque()
        """The texts of the current row that were not taken yet, each with its kind."""
        self._follows = False
        """Whether a text of the current row was taken that is not empty."""
        self.lost: list[Loss] = []
        """The losses of all these texts. If there are any, each text is encoded alone, too."""

    def take(
        self, rules: StringRules, encode: Callable[..., list[str]]
    ) -> tuple[str, PieceKind, str | None]:
        """Return the next text, its kind, and the white space between it and the text before.

        The white space is ``None`` for the first of neighbouring texts. ``encode`` is ``texts_in``
        with all arguments but the strings and values, ``rules`` and ``note``.
        """
        if not self._encoded:
            self._follows = False
            row = [dedented(children, rules) for children in next(self._rows)]
            self._encoded += self._as_one(row, rules, encode)
        text, kind = self._encoded.popleft()
        gap = self._separator if self._follows else None
        self._follows = self._follows or bool(text)
        return text, kind, gap

    def _as_one(
        self, row: list[TextChildren], rules: StringRules, encode: Callable[..., list[str]]
    ) -> Iterator[tuple[str, PieceKind]]:
        """Yield the texts of a row, each with its kind; they are encoded as one joined text."""
        separator = make(TrustedTextNode, text=self._separator)
        children: list[Child] = []
        locations: list[tuple[int, int]] = []
        follows = False
        for text in row:
            if any(map(text_of, text)):  # an empty text has no separator
                children += (separator,) if follows else ()
                follows = True
            locations.append((len(children), len(children) + len(text)))
            children += text
        texts = encode(tuple(children), rules=rules, note=self.lost.append)
        for first, end in locations:
            yield (
                "".join(texts[first:end]),
                piece_kind_of(children[first:end], texts[first:end], rules),
            )


def is_own_block(node: Child) -> bool:
    """Return whether a child is a text with extra keys, which is a block of its own."""
    return isinstance(node, TextBlockNode) and bool(node.extra)


_ENDS_ROW = CACHE | RESULT << SHIFT
"""The bits of a node that ends a row of texts although it may have no content.

It has a cache mark, or contains a tool result: both end the block of the text before them.
"""


def _rows(content: TextChildren) -> Iterator[list[TextChildren]]:
    """Yield the rows of neighbouring texts, in the order in which they are written."""
    row: list[TextChildren] = []
    node_stack = [*reversed(content)]
    while node_stack:
        node = node_stack.pop()
        if isinstance(node, FragmentNode | NoteNode):
            node_stack += reversed(node.content)
            continue
        if isinstance(node, str):
            row.append((node,))
            continue
        is_text = isinstance(node, TextNode | ValueNode | TrustedTextNode)
        if is_text and not is_own_block(node):
            row.append(node.content if isinstance(node, TextNode) else (node,))
            ends = mark_of(node.options) is not None  # the next text is in another block
        else:
            ends = bool(node._mask & _ENDS_ROW) or has_content((node,))
        if row and ends:
            yield row
            row = []
    if row:
        yield row


# The page of a turn: it notes each piece of text in the layout, and joins the pieces to blocks.
#
# ``Page`` has the text so far. ``OpenNode`` is a container that is being written. ``TextState`` has
# both for one turn.

MAX_INDENTATION = 80
"""The most characters of indentation: without a limit, a text grows with the square of depth."""


class Margin(NamedTuple):
    """The prefix of every further line, and the gap between two parts."""

    prefix: str
    gap: str


@lru_cache(maxsize=256)
def margin(prefix: str, between: str) -> Margin:
    """Return the margin of lines that start with ``prefix``, and ``between`` between two parts."""
    lines = between.count("\n")
    if not lines:
        return Margin(prefix, between)
    return Margin(prefix, ("\n" + prefix.rstrip()) * (lines - 1) + "\n" + prefix)


@lru_cache(maxsize=256)
def deeper(outer: Margin, prefix: str, between: str) -> Margin:
    """Return the margin inside a container."""
    joined_prefix = outer.prefix + prefix
    return margin(joined_prefix if len(joined_prefix) <= MAX_INDENTATION else outer.prefix, between)


NO_INDENT = margin("", BETWEEN)

PROSE = "prose"
"""The ``tail`` of a page that ends with text outside of a frame."""


class Page:
    """The page of one turn, or of a tool result in it: finished blocks, and the block in progress.

    - ``blocks``: the finished blocks.
    - ``texts``: the pieces of the block that is being written.
    - ``openings``: the openings of containers that are still empty. They are written with the first
      text in these containers.
    - ``gap``: the text that comes before the next text, or before the first of the ``openings``.
    - ``tail``: :data:`PROSE` after text outside of a frame, the marker of a list after a list,
      otherwise ``""``.
    - ``written_count``: the number of texts and blocks on the page.
    - ``marked_count``: the number of those before the last cache mark.
    - ``node_number``: the number of the node that is being written, -1 for the turn.
    """

    def __init__(self, layout: Layout, node_number: int = -1) -> None:
        self.layout = layout
        self.node_number = node_number
        self.texts: list[str] = []
        self.blocks: list[Block] = []
        self.openings: list[tuple[str, PieceKind, int]] = []
        self.empty_volatiles: list[TextRun] = []
        """Volatile values that are empty: their runs are in the next piece."""
        self.gap = self.tail = ""
        self.written_count = self.marked_count = 0

    @property
    def opening(self) -> str:
        """The text before the next text on its line: the openings of containers still empty."""
        if not self.openings:
            return ""
        return "".join([text for text, _, _ in self.openings]).rpartition("\n")[2]

    def begin(self, node: Node) -> None:
        """Note a node in the layout; it is written next, inside the node that is being written."""
        pending = len(self.openings) + 1 if self.openings else 0  # the gap before them is a piece
        layout = self.layout
        start = len(layout.lengths) + pending
        layout.nodes.append(node)
        layout.parents.append(self.node_number)
        layout.starts.append(start)
        self.node_number = len(layout.nodes) - 1

    def open(self, text: str, kind: PieceKind, parent_margin: Margin) -> None:
        """Begin a container; its opening is written before the first text in it."""
        if text:
            if parent_margin.prefix:
                text = text.replace("\n", "\n" + parent_margin.prefix)
            self.openings.append((text, kind, self.node_number))

    def put(self, text: str, kind: PieceKind, parent_margin: Margin) -> None:
        """Write a text; an empty text writes nothing."""
        if text:
            if parent_margin.prefix and LINE_END.search(text):
                kind = partial(_indented, len(text), kind, _additions(text, parent_margin.prefix))
                text = _with_prefix(text, parent_margin.prefix)
            if self.empty_volatiles:
                kind = self._with_empty_volatiles(len(text), kind)
            if self.openings:
                self.write_openings()
            elif self.gap:
                self._add_piece(self.gap, "gap", self.node_number)
            self._add_piece(text, kind, self.node_number)
            self.gap = parent_margin.gap
            self.tail = ""
            self.written_count += 1

    def write(self, text: str, kind: PieceKind, parent_margin: Margin) -> None:
        """Write a text outside of a frame; an empty text leaves only its volatile values."""
        if text:
            self.put(text, kind, parent_margin)
            self.tail = PROSE
        else:
            self.leave_out(kind)

    def leave_out(self, kind: PieceKind) -> None:
        """Write an empty text; the runs of volatile values in it are in the next piece."""
        self.empty_volatiles += [run for run in runs_of(0, kind) if run.kind == "volatile"]

    def _with_empty_volatiles(self, length: int, kind: PieceKind) -> PieceKind:
        """Return the kind of a text, with runs for the empty volatile values before it."""
        before = tuple(self.empty_volatiles)
        self.empty_volatiles.clear()
        return partial(_after_empty_volatiles, before, length, kind)

    def _add_piece(self, text: str, kind: PieceKind, node_number: int) -> None:
        self.texts.append(text)
        self.layout.lengths.append(len(text))
        self.layout.kinds.append(kind)
        self.layout.node_numbers.append(node_number)

    def write_openings(self) -> None:
        """Write the openings of the containers that are still empty."""
        self._add_piece(self.gap, "gap", self.openings[0][2])
        for opening in self.openings:
            self._add_piece(*opening)
        self.openings.clear()
        self.gap = ""

    def close(self, text: str, parent_margin: Margin) -> None:
        """Write the closing of a container; ``parent_margin`` is the margin outside of it."""
        if text:
            text = text if self.texts else text.lstrip("\n")
            self._add_piece(
                text.replace("\n", "\n" + parent_margin.prefix), "section", self.node_number
            )
            self.tail = ""
        # A block begins with text, never with a gap.
        self.gap = parent_margin.gap if self.texts else ""

    def close_empty(self, opening: str) -> None:
        """Remove the opening of a container in which nothing was written."""
        if opening:
            self.openings.pop()

    def flush(self, cache: Cache | None = None) -> None:
        """Make a block of the pieces so far, if there are any."""
        if self.texts:
            self._add(text_block("".join(self.texts), cache))
        self.gap = ""
        self.tail = ""

    def end_text(self) -> None:
        """End the text before a block, with the openings of containers that are still empty."""
        if self.openings:
            self.write_openings()
        self.flush()

    def block(self, block: Block, kind: PieceKind, text: str = "") -> None:
        """Write a block other than text, or a ``text`` with extra keys."""
        self.end_text()
        if self.empty_volatiles:
            kind = self._with_empty_volatiles(len(text), kind)
        self._add_piece(text, kind, self.node_number)
        self._add(block)
        self.written_count += 1

    def _add(self, block: Block) -> None:
        self.blocks.append(block)
        self.texts.clear()
        self.layout.ends.append(len(self.layout.lengths))

    def cache(self, cache: Cache) -> bool:
        """Put a cache mark after the text so far; return whether the last block takes one.

        If nothing was written since the last cache mark, the one that lives longer stays.
        """
        if self.texts and self.marked_count < self.written_count:
            self.flush(cache)
        self.marked_count = self.written_count
        if not self.blocks:
            return False
        self.blocks[-1] = with_cache_mark(self.blocks[-1], cache)
        self.layout.cache_marks[len(self.layout.ends) - 1] = self.node_number
        return isinstance(self.blocks[-1], MARKABLE)

    def finish(self) -> tuple[Block, ...]:
        """Return the blocks of the page; the pieces so far become the last block."""
        self.flush()
        return tuple(self.blocks)


# A lone CR ends a line of Markdown, too (CommonMark 0.31, 2.1). The group matches where the next
# line is empty: no space is written there.
LINE_END = re.compile(r"(?:\n|\r(?!\n))(?=([\r\n]|\Z)?)")


def _with_prefix(text: str, prefix: str) -> str:
    """Return a text whose further lines begin with a prefix."""
    return LINE_END.sub(lambda end: end[0] + _prefix_after(end, prefix), text)


def _prefix_after(line_end: re.Match[str], prefix: str) -> str:
    """Return the prefix of the next line, without white space at its end if that line is empty."""
    return prefix if line_end[1] is None else prefix.rstrip()


def _after_empty_volatiles(
    before: Sequence[TextRun], length: int, kind: PieceKind
) -> Sequence[TextRun]:
    """Return the runs of a text, after the runs ``before``, which are empty."""
    return [*before, *(run for run in runs_of(length, kind) if run.length)]


def _additions(text: str, prefix: str) -> list[tuple[int, int]]:
    """Return the ends of the lines of a text, with the characters that a prefix adds there."""
    return [(end.end(), len(_prefix_after(end, prefix))) for end in LINE_END.finditer(text)]


def _indented(
    length: int, kind: PieceKind, additions: Sequence[tuple[int, int]]
) -> Sequence[TextRun]:
    """Return the runs of a text in which characters were added at some positions."""
    indented: list[TextRun] = []
    position, index = 0, 0
    for run in runs_of(length, kind):
        position += run.length
        added_length = 0
        while index < len(additions) and additions[index][0] <= position:
            added_length += additions[index][1]
            index += 1
        indented.append(run._replace(length=run.length + added_length))
    return indented


MARKABLE = TextBlock | MediaBlock | ToolUseBlock | ToolResultBlock
"""The kinds of blocks that can have a cache mark."""


def with_cache_mark(block: Block, cache: Cache) -> Block:
    """Return a block with a cache mark; of two cache marks, the one that lives longer stays.

    A block that takes no cache mark is returned unchanged.
    """
    if not isinstance(block, MARKABLE):
        return block
    return attrs.evolve(block, cache=longer(block.cache, cache))


def longer(first: Cache | None, second: Cache) -> Cache:
    """Return the cache mark that lives longer; without a first one, the second."""
    return first if first and CACHES.index(first) > CACHES.index(second) else second


OnLoss = Callable[[Loss], None]
"""A function that is called for a loss, whose path is that of the sections it is in."""


class Setting(NamedTuple):
    """The author's options for text, the same for all turns.

    ``media_roots`` are the folders in which files may be read.
    """

    text_format: TextFormat
    media_roots: MediaRoots = ()
    format_block: FormatBlock | None = None


@attrs.define(eq=False)
class OpenList:
    """A list that is being written.

    ``marker`` is the sign of its items, ``items`` their number so far. ``gap`` is the gap of the
    page before the list, ``margin`` the margin in its last item.
    """

    marker: str
    is_checklist: bool
    gap: str
    items: int = 0
    margin: Margin = NO_INDENT


@attrs.define(eq=False, repr=False)
class OpenNode:
    """A container, or a turn, whose children are being written.

    Its children inherit ``rules``, ``text_format``, ``level``, ``margin`` and ``in_item``.
    """

    node: Node
    children: Iterator[Child]
    rules: StringRules
    text_format: TextFormat
    level: int
    """The level of a heading of a section in it, from 2."""
    margin: Margin
    listing: OpenList | None = None
    """The list whose items the children are."""
    parent_list: OpenList | None = None
    """The list that it is an item of, or that it is in, if it is a list itself."""
    in_item: bool = False
    """Whether it is an item or a side of an example, see :meth:`TextState.tighten`."""
    frame: TextFrame | None = None
    """The text around its children; ``None`` for a node without a frame."""
    count_before: int = 0
    """The number of texts and blocks on the page before it."""
    tags: tuple[str, ...] = ()
    """The folded names of the tags of the frame."""
    titled: str = ""
    """Its name in the hint that it has a title but no content; empty for no hint."""
    joined_texts: "JoinedTexts | None" = None
    """The texts in it, if the author chose the separator between them."""
    node_number: int = -1
    """The number of the node that writes its pieces: its own, or that of the node around it."""

    def separate(self, outer: Margin) -> None:
        """Use the author's separator between the children, if there is one.

        A separator without a line end is written only between texts.
        """
        separator = self.node.options.separator
        if separator is not None:
            self.joined_texts = JoinedTexts(self.node.content, separator)
            if separator.endswith("\n"):
                self.margin = deeper(outer, "", separator)


T = TypeVar("T")


@attrs.frozen
class Framed(Generic[T]):
    """The functions for a node with a frame.

    ``frame`` returns the frame in a format. ``write`` writes the node, or its opening, and gets the
    frame. ``reserved_tags.py`` calls ``frame``, too: no value in the turn may contain its tags.
    """

    frame: Callable[[TextFormat, Any], TextFrame]  # Any: the class it is listed for
    write: Callable[["TextState", Any, OpenNode, TextFrame], T]  # Any: the same class

    def __call__(self, state: "TextState", node: Node, parent: OpenNode) -> T:
        """Write the node, or its opening."""
        return self.write(state, node, parent, self.frame(parent.text_format, node))


class TurnText(NamedTuple):
    """The page of a turn, its rules, and the function that is called for a loss."""

    page: Page
    setting: Setting
    rules: StringRules
    author_tags: Callable[[], AuthorTags]
    """Returns the reserved tags of the turn."""
    literals: frozenset[str]
    report: OnLoss


class TextState:
    """The page of a turn, the nodes of the turn that are open, and their fences."""

    def __init__(self, text: TurnText, node: Node, fences: Fences) -> None:
        """Open ``node``, a turn or a tool result in it."""
        self.text, self.page, self.setting = text, text.page, text.setting
        self.report, self.fences, rules = text.report, fences, text.rules
        outermost = OpenNode(
            node,
            iter(node.content),
            rules,
            self.setting.text_format,
            2,
            NO_INDENT,
            node_number=self.page.node_number,
        )
        if node.options.separator is not None:
            outermost.rules = rules.in_text(tagged=False)
            outermost.separate(NO_INDENT)
        self.open_nodes = [outermost, outermost]  # the outermost node is its own parent

    def tighten(self, parent: OpenNode) -> None:
        """Let a list or code follow the text of an item without a blank line."""
        page = self.page
        if parent.in_item and page.tail == PROSE and not page.openings:
            page.gap = f"\n{parent.margin.prefix}"

    def note(self, node: Node, loss: Loss) -> None:
        """Report a loss of a node, with the path of the sections it is in."""
        sections = [
            open_node.node
            for open_node in self.open_nodes
            if isinstance(open_node.node, SectionNode)
        ]
        path = "/".join([str(section.options.id) for section in sections])
        self.report(attrs.evolve(loss, path=path, source=node.source))
