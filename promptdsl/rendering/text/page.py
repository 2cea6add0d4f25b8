"""The page of a turn, which joins pieces of text to blocks, and the parts of it that are open."""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Generic, NamedTuple, TypeVar

import attrs

from promptdsl.config.transformation import FormatBlock
from promptdsl.messages import Block, MediaBlock, TextBlock, ToolResultBlock, ToolUseBlock
from promptdsl.messages.fast_path import text_block
from promptdsl.messages.field_checks import CACHES, Cache
from promptdsl.messages.loss import Loss
from promptdsl.rendering.text.blocks import MediaRoots
from promptdsl.rendering.text.format import BETWEEN, Form, TextFrame
from promptdsl.rendering.text.joined import JoinedTexts
from promptdsl.rendering.text.runs import TextRun
from promptdsl.rendering.text.strings import Fences, StringRules
from promptdsl.tree.node import Child, Node
from promptdsl.tree.part_nodes import SectionNode

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


def deeper(outer: Margin, prefix: str, between: str) -> Margin:
    """Return the margin inside a container."""
    whole = outer.prefix + prefix
    return margin(whole if len(whole) <= WIDEST else outer.prefix, between)


PLAIN = margin("", BETWEEN)

PROSE = "prose"
"""The ``tail`` of a page that ends with plain text."""


class Page:
    """Finished blocks, the pieces of the next block, and the openings of containers still empty.

    ``gap`` comes before the next text, or before the first of the ``openings``. ``tail`` is
    :data:`PROSE` after plain text, the marker of a list after a list, ``""`` after all else.
    ``written`` counts texts and blocks so far, ``marked`` those before the last cache mark.
    """

    __slots__ = ("blocks", "gap", "marked", "openings", "pieces", "tail", "written")
    runs: "list[TextRun] | None" = None
    """A list for what the next text consists of, where that is noted."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.pieces: list[str] = []
        self.openings: list[str] = []
        self.gap = ""
        self.tail = ""
        self.written = 0
        self.marked = 0

    @property
    def opening(self) -> str:
        """What is written before the next text on its line: of the containers still empty."""
        return "".join(self.openings).rpartition("\n")[2]

    def open(self, text: str, around: Margin, runs: Sequence[TextRun] = ()) -> None:
        """Begin a container; its opening is written before the first text in it."""
        if text:
            self.openings.append(text.replace("\n", "\n" + around.prefix))

    def put(self, text: str, around: Margin) -> None:
        """Write a text, nothing when it is empty."""
        if text:
            if around.prefix and ("\n" in text or "\r" in text):
                bare = around.prefix.rstrip()
                text = LINE_END.sub(
                    lambda end: end[0] + (around.prefix if end[1] is None else bare), text
                )
            if self.openings:
                self._write_openings()
            self.pieces += (self.gap, text) if self.gap else (text,)
            self.gap = around.gap
            self.tail = ""
            self.written += 1

    def _write_openings(self) -> None:
        self.pieces += (self.gap, *self.openings)
        self.openings.clear()
        self.gap = ""

    def close(self, text: str, around: Margin) -> None:
        """Write the closing of a container; ``around`` is the margin outside of it."""
        if text:
            text = text if self.pieces else text.lstrip("\n")
            self.pieces.append(text.replace("\n", "\n" + around.prefix))
            self.tail = ""
        # A block begins with text, never with a gap.
        self.gap = around.gap if self.pieces else ""

    def close_empty(self, opening: str) -> None:
        """Remove the opening of a container in which nothing was written."""
        if opening:
            self.openings.pop()

    def flush(self, cache: Cache | None = None) -> None:
        """Make a block of the pieces there are."""
        if self.pieces:
            self.blocks.append(text_block("".join(self.pieces), cache))
            self.pieces.clear()
        self.gap = ""
        self.tail = ""

    def block(self, block: Block) -> None:
        """Write a block other than text."""
        if self.openings:
            self._write_openings()
        self.flush()
        self.blocks.append(block)
        self.written += 1

    def cache(self, cache: Cache) -> bool:
        """Put a cache mark after all that is written; return whether the last block takes one.

        If nothing was written since the last mark, the mark that lives longer stays.
        """
        if self.pieces and self.marked < self.written:
            self.flush(cache)
        elif self.blocks:
            self.blocks[-1] = marked(self.blocks[-1], cache)
        self.marked = self.written
        return bool(self.blocks) and isinstance(self.blocks[-1], MARKABLE)


# A lone CR ends a line of Markdown, too (CommonMark 0.31, 2.1). The group matches where the next
# line is empty: no space is written there.
LINE_END = re.compile(r"(?:\n|\r(?!\n))(?=([\r\n]|\Z)?)")

MARKABLE = TextBlock | MediaBlock | ToolUseBlock | ToolResultBlock
"""The kinds of blocks that carry a cache mark."""


def marked(block: Block, cache: Cache) -> Block:
    """Return a block with a cache mark, or with its own mark if that lives longer.

    A block that takes no mark is returned unchanged.
    """
    if not isinstance(block, MARKABLE):
        return block
    return attrs.evolve(block, cache=longer(block.cache, cache))


def longer(first: Cache | None, second: Cache) -> Cache:
    """Return the mark that lives longer; without a first mark, the second."""
    return first if first and CACHES.index(first) > CACHES.index(second) else second


OnLoss = Callable[[Loss], None]
"""Called for a loss, whose path is that of the sections it is in."""


class Setting(NamedTuple):
    """The author's options for text, the same for all turns.

    ``media_roots`` are the folders in which files may be read; ``None`` for no reading at all.
    """

    form: Form
    media_roots: MediaRoots | None = ()
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
    margin: Margin = PLAIN


@attrs.define(eq=False, repr=False)
class OpenPart:
    """A part whose children are being written. Its children inherit the first fields."""

    node: Node
    children: Iterator[Child]
    rules: StringRules
    form: Form
    level: int
    """The level of a heading of a section in it, from 2."""
    margin: Margin
    listing: OpenList | None = None
    """The list whose items the children are."""
    in_item: bool = False
    """Whether it is an item or a side of an example, see :meth:`TextState.tighten`."""
    frame: TextFrame | None = None
    """The text around the part; ``None`` for a part that only holds others."""
    written: int = 0
    """The texts and blocks on the page before it."""
    tags: tuple[str, ...] = ()
    """The folded names of the tags of the frame."""
    joined: "JoinedTexts | None" = None
    """The texts in it, where the author chose the white space between them."""

    def separate(self, outer: Margin) -> None:
        """Use the author's separator between the children, if there is one.

        One without a line end stands between texts only.
        """
        separator = self.node.options.separator
        if separator is not None:
            self.joined = JoinedTexts(self.node.content, separator)
            if separator.endswith("\n"):
                self.margin = deeper(outer, "", separator)


T = TypeVar("T")


@attrs.frozen
class Framed(Generic[T]):
    """How a part with a frame is written: ``frame`` returns it in a format, ``write`` gets it.

    The tags of the frame are those that no value in the turn may forge: ``vocabulary.py`` asks for
    the same frame.
    """

    frame: Callable[[Form, Any], TextFrame]  # Any: the class it is listed for
    write: Callable[["TextState", Any, OpenPart, TextFrame], T]  # Any: the same class

    def __call__(self, state: "TextState", node: Node, around: OpenPart) -> T:
        """Write the part, or its opening."""
        return self.write(state, node, around, self.frame(around.form, node))


class TextState:
    """The page a turn is written on, the parts of the turn that are open, and their fences."""

    def __init__(
        self, setting: Setting, report: OnLoss, node: Node, rules: StringRules, *, fences: Fences
    ) -> None:
        """Open ``node``, a turn or a result in it, whose strings follow ``rules``."""
        self.setting = setting
        self.report = report
        self.page = Page()
        self.fences = fences
        self.rules = rules  # also those of results in it, which a separator does not join
        whole = OpenPart(node, iter(node.content), rules, setting.form, 2, PLAIN)
        if node.options.separator is not None:
            whole.rules = rules.in_text(tagged=False)
            whole.separate(PLAIN)
        self.open = [whole]

    def tighten(self, around: OpenPart) -> None:
        """Let a list or code follow the plain text of an item without a blank line."""
        page = self.page
        if around.in_item and page.tail == PROSE and not page.openings:
            page.gap = f"\n{around.margin.prefix}"

    def note(self, node: Node, loss: Loss) -> None:
        """Report a loss of a node, with the path of the sections it is in."""
        around = [part.node for part in self.open if isinstance(part.node, SectionNode)]
        if isinstance(node, SectionNode) and not any(part is node for part in around):
            around.append(node)
        path = "/".join([str(part.options.id) for part in around])
        self.report(attrs.evolve(loss, path=path, source=node.source))
