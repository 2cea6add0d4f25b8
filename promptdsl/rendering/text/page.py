"""The page of a prompt, which notes pieces of text and joins them to blocks.

Neighbouring texts, whose author chose the white space between them, come first.
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
    kind_of,
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

# Neighbouring texts in a part whose author chose the white space between them.

Parts: TypeAlias = "tuple[Child, ...]"
"""The strings and values of one text."""


class JoinedTexts:
    """The texts in a part, in order; neighbours are encoded together.

    They may share a line. Then a value at the end of one is a neighbour of the next text.
    """

    def __init__(self, content: Parts, separator: str) -> None:
        self._separator = separator
        self._rows = _rows(content)
        self._encoded: deque[tuple[str, PieceKind]] = deque()
        self.lost: list[Loss] = []
        """The losses in these texts; it is not known which text has which loss."""

    def take(
        self, rules: StringRules, encode: Callable[..., list[str]]
    ) -> tuple[str, PieceKind, str | None]:
        """Return the next text, its kind, and the white space between it and the text before.

        The white space is ``None`` for the first of neighbouring texts. ``encode`` is ``texts_in``
        without its parts, ``rules`` and ``note``.
        """
        if not self._encoded:
            self._follows = False
            row = [dedented(parts, rules) for parts in next(self._rows)]
            self._encoded += self._as_one(row, rules, encode)
        text, kind = self._encoded.popleft()
        gap = self._separator if self._follows else None
        self._follows = self._follows or bool(text)
        return text, kind, gap

    def _as_one(
        self, row: list[Parts], rules: StringRules, encode: Callable[..., list[str]]
    ) -> Iterator[tuple[str, PieceKind]]:
        """Yield each text of a row and its kind, encoded as one text with separators in it."""
        separator = make(TrustedTextNode, text=self._separator)
        parts: list[Child] = []
        locations: list[tuple[int, int]] = []
        follows = False
        for text in row:
            if any(map(text_of, text)):  # an empty text has no separator
                parts += (separator,) if follows else ()
                follows = True
            locations.append((len(parts), len(parts) + len(text)))
            parts += text
        texts = encode(tuple(parts), rules=rules, note=self.lost.append)
        for first, end in locations:
            yield "".join(texts[first:end]), kind_of(parts[first:end], texts[first:end], rules)


def is_own_block(part: Child) -> bool:
    """Return whether a part is a text with extra keys, which is a block of its own."""
    return isinstance(part, TextBlockNode) and bool(part.extra)


_WRITES = CACHE | RESULT << SHIFT
"""The bits of a part that ends a row of texts although it may have no content."""


def _rows(content: Parts) -> Iterator[list[Parts]]:
    """Yield the rows of neighbouring texts, in the order in which they are written."""
    row: list[Parts] = []
    waiting = [*reversed(content)]
    while waiting:
        part = waiting.pop()
        if isinstance(part, FragmentNode | NoteNode):
            waiting += reversed(part.content)
            continue
        if isinstance(part, str):
            row.append((part,))
            continue
        is_text = isinstance(part, TextNode | ValueNode | TrustedTextNode)
        if is_text and not is_own_block(part):
            row.append(part.content if isinstance(part, TextNode) else (part,))
            ends = mark_of(part.options) is not None  # the next text is in another block
        else:
            ends = bool(part._mask & _WRITES) or has_content((part,))
        if row and ends:
            yield row
            row = []
    if row:
        yield row


# The page of a prompt, which notes pieces of text and joins them to blocks.
#
# ``Page`` has the text so far, ``OpenPart`` is a container that is being written, and ``TextState``
# has both for one turn.

WIDEST = 80
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
    return margin(joined_prefix if len(joined_prefix) <= WIDEST else outer.prefix, between)


NO_INDENT = margin("", BETWEEN)

PROSE = "prose"
"""The ``tail`` of a page that ends with text outside of a frame."""


class Page:
    """The page of a prompt: its layout, and the block of a turn that is being written.

    ``blocks`` are the finished blocks of the turn, ``texts`` the pieces of the next one. ``gap``
    comes before the next text, or before the first of the ``openings``, which are those of
    containers that are still empty. ``tail`` is :data:`PROSE` after text outside of a frame, the
    marker of a list after a list, otherwise ``""``. ``written`` counts texts and blocks in the
    turn, ``marked`` those before the last cache mark. ``node_number`` is the number of the node
    that is being written.
    """

    def __init__(self, layout: Layout, node_number: int = -1) -> None:
        self.layout = layout
        self.node_number = node_number
        self.texts: list[str] = []
        self.blocks: list[Block] = []
        self.openings: list[tuple[str, PieceKind, int]] = []
        self.unwritten: list[TextRun] = []
        """Volatile values that are empty: their runs are in the next piece."""
        self.gap = self.tail = ""
        self.written = self.marked = 0

    @property
    def opening(self) -> str:
        """The text before the next text on its line: the openings of containers still empty."""
        if not self.openings:
            return ""
        return "".join([text for text, _, _ in self.openings]).rpartition("\n")[2]

    def begin(self, node: Node) -> None:
        """Note that a node is written now, inside the one that is being written."""
        pending = len(self.openings) + 1 if self.openings else 0  # the gap before them is a piece
        layout = self.layout
        start = len(layout.lengths) + pending
        layout.nodes.append(node)
        layout.around.append(self.node_number)
        layout.starts.append(start)
        self.node_number = len(layout.nodes) - 1

    def open(self, text: str, kind: PieceKind, around: Margin) -> None:
        """Begin a container; its opening is written before the first text in it."""
        if text:
            if around.prefix:
                text = text.replace("\n", "\n" + around.prefix)
            self.openings.append((text, kind, self.node_number))

    def put(self, text: str, kind: PieceKind, around: Margin) -> None:
        """Write a text, nothing when it is empty."""
        if text:
            if around.prefix and LINE_END.search(text):
                kind = partial(_indented, len(text), kind, _additions(text, around.prefix))
                text = _with_prefix(text, around.prefix)
            if self.unwritten:
                kind = self._taken(len(text), kind)
            if self.openings:
                self.write_openings()
            elif self.gap:
                self._add_piece(self.gap, "gap", self.node_number)
            self._add_piece(text, kind, self.node_number)
            self.gap = around.gap
            self.tail = ""
            self.written += 1

    def write(self, text: str, kind: PieceKind, around: Margin) -> None:
        """Write a text outside of a frame; an empty text leaves only its volatile values."""
        if text:
            self.put(text, kind, around)
            self.tail = PROSE
        else:
            self.leave_out(kind)

    def leave_out(self, kind: PieceKind) -> None:
        """Write an empty text; the runs of volatile values in it are in the next piece."""
        self.unwritten += [run for run in runs_of(0, kind) if run.kind == "volatile"]

    def _taken(self, length: int, kind: PieceKind) -> PieceKind:
        """Return the kind of a text, with the empty volatile values before it."""
        before = tuple(self.unwritten)
        self.unwritten.clear()
        return partial(_behind, before, length, kind)

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

    def close(self, text: str, around: Margin) -> None:
        """Write the closing of a container; ``around`` is the margin outside of it."""
        if text:
            text = text if self.texts else text.lstrip("\n")
            self._add_piece(text.replace("\n", "\n" + around.prefix), "section", self.node_number)
            self.tail = ""
        # A block begins with text, never with a gap.
        self.gap = around.gap if self.texts else ""

    def close_empty(self, opening: str) -> None:
        """Remove the opening of a container in which nothing was written."""
        if opening:
            self.openings.pop()

    def flush(self, cache: Cache | None = None) -> None:
        """Make a block of the pieces there are."""
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
        if self.unwritten:
            kind = self._taken(len(text), kind)
        self._add_piece(text, kind, self.node_number)
        self._add(block)
        self.written += 1

    def _add(self, block: Block) -> None:
        self.blocks.append(block)
        self.texts.clear()
        self.layout.ends.append(len(self.layout.lengths))

    def cache(self, cache: Cache) -> bool:
        """Put a cache mark after the text so far; return whether the last block takes one.

        If nothing was written since the last cache mark, the one that lives longer stays.
        """
        if self.texts and self.marked < self.written:
            self.flush(cache)
        self.marked = self.written
        if not self.blocks:
            return False
        self.blocks[-1] = with_cache_mark(self.blocks[-1], cache)
        self.layout.cache_marks[len(self.layout.ends) - 1] = self.node_number
        return isinstance(self.blocks[-1], MARKABLE)

    def finish(self) -> tuple[Block, ...]:
        """Return the blocks of the turn, the last one of the pieces there are."""
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


def _behind(before: Sequence[TextRun], length: int, kind: PieceKind) -> Sequence[TextRun]:
    """Return the runs of a text, and before them others, which are empty."""
    return [*before, *(run for run in runs_of(length, kind) if run.length)]


def _additions(text: str, prefix: str) -> list[tuple[int, int]]:
    """Return the ends of the lines of a text, with the characters that a prefix adds there."""
    return [(end.end(), len(_prefix_after(end, prefix))) for end in LINE_END.finditer(text)]


def _indented(
    length: int, kind: PieceKind, additions: Sequence[tuple[int, int]]
) -> Sequence[TextRun]:
    """Return the runs of a text in which characters were added at some positions."""
    indented: list[TextRun] = []
    position, number = 0, 0
    for run in runs_of(length, kind):
        position += run.length
        added = 0
        while number < len(additions) and additions[number][0] <= position:
            added += additions[number][1]
            number += 1
        indented.append(run._replace(length=run.length + added))
    return indented


MARKABLE = TextBlock | MediaBlock | ToolUseBlock | ToolResultBlock
"""The kinds of blocks that can have a cache mark."""


def with_cache_mark(block: Block, cache: Cache) -> Block:
    """Return a block with a cache mark, or with the mark it has if that lives longer.

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

    ``gap`` is the gap of the page before it, ``margin`` the margin in its last item.
    """

    marker: str
    is_checklist: bool
    gap: str
    items: int = 0
    margin: Margin = NO_INDENT


@attrs.define(eq=False, repr=False)
class OpenPart:
    """A part whose children are being written. Its children inherit the first fields."""

    node: Node
    children: Iterator[Child]
    rules: StringRules
    text_format: TextFormat
    level: int
    """The level of a heading of a section in it, from 2."""
    margin: Margin
    listing: OpenList | None = None
    """The list whose items the children are."""
    list_around: OpenList | None = None
    """The list whose item it is, or in which it is a list."""
    in_item: bool = False
    """Whether it is an item or a side of an example, see :meth:`TextState.tighten`."""
    frame: TextFrame | None = None
    """The text around the part; ``None`` for a part that only contains others."""
    written: int = 0
    """The texts and blocks on the page before it."""
    tags: tuple[str, ...] = ()
    """The folded names of the tags of the frame."""
    titled: str = ""
    """What has a title, for the hint if nothing is written in it; empty for no hint."""
    joined: "JoinedTexts | None" = None
    """The texts in it, where the author chose the white space between them."""
    node_number: int = -1
    """The number of the node that writes its pieces: its own, or that of the node around it."""

    def separate(self, outer: Margin) -> None:
        """Use the author's separator between the children, if there is one.

        A separator without a line end is written only between texts.
        """
        separator = self.node.options.separator
        if separator is not None:
            self.joined = JoinedTexts(self.node.content, separator)
            if separator.endswith("\n"):
                self.margin = deeper(outer, "", separator)


T = TypeVar("T")


@attrs.frozen
class Framed(Generic[T]):
    """The functions for a part with a frame: ``frame`` returns it in a format, ``write`` gets it.

    No value in the turn may contain the tags of the frame, so ``reserved_tags.py`` reads them.
    """

    frame: Callable[[TextFormat, Any], TextFrame]  # Any: the class it is listed for
    write: Callable[["TextState", Any, OpenPart, TextFrame], T]  # Any: the same class

    def __call__(self, state: "TextState", node: Node, around: OpenPart) -> T:
        """Write the part, or its opening."""
        return self.write(state, node, around, self.frame(around.text_format, node))


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
    """The page of a turn, the parts of the turn that are open, and their fences."""

    def __init__(self, text: TurnText, node: Node, fences: Fences) -> None:
        """Open ``node``, a turn or a result in it."""
        self.text, self.page, self.setting = text, text.page, text.setting
        self.report, self.fences, rules = text.report, fences, text.rules
        outermost = OpenPart(
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
        self.open = [outermost, outermost]  # around the outermost part is the same part

    def tighten(self, around: OpenPart) -> None:
        """Let a list or code follow the text of an item without a blank line."""
        page = self.page
        if around.in_item and page.tail == PROSE and not page.openings:
            page.gap = f"\n{around.margin.prefix}"

    def note(self, node: Node, loss: Loss) -> None:
        """Report a loss of a node, with the path of the sections it is in."""
        sections = [part.node for part in self.open if isinstance(part.node, SectionNode)]
        path = "/".join([str(section.options.id) for section in sections])
        self.report(attrs.evolve(loss, path=path, source=node.source))
