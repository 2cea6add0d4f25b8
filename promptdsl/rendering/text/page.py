"""The page a turn is written on: pieces of text, joined to blocks, and the parts that are open."""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Literal, NamedTuple, TypeAlias, cast

import attrs

from promptdsl.config.transformation import FormatBlock
from promptdsl.messages import Block
from promptdsl.messages.field_checks import CACHES, Cache
from promptdsl.messages.loss import Loss, LossKind
from promptdsl.messages.unchecked import text_block
from promptdsl.rendering.text.blocks import MediaRoots
from promptdsl.rendering.text.format import Form, Frame
from promptdsl.rendering.text.strings import StringRules
from promptdsl.tree.node import Child, Node
from promptdsl.tree.part_nodes import SectionNode

WIDEST = 80
"""Deeper than this many characters nothing is indented: it would grow with the square of depth."""


class Margin(NamedTuple):
    """The prefix of every further line, and the gap between two parts."""

    prefix: str
    gap: str


@lru_cache(maxsize=256)
def margin(prefix: str, between: str) -> Margin:
    """Return the margin of lines that start with ``prefix``, and ``between`` between two parts."""
    lines = between.count("\n")
    return Margin(prefix, ("\n" + prefix.rstrip()) * (lines - 1) + "\n" + prefix)


BETWEEN = "\n\n"
"""What separates two parts, where a container does not say otherwise."""
PLAIN = margin("", BETWEEN)


def deeper(outer: Margin, prefix: str, between: str) -> Margin:
    """Return the margin inside a container."""
    whole = outer.prefix + prefix
    return margin(whole if len(whole) <= WIDEST else outer.prefix, between)


class Listed(NamedTuple):
    """The kind of a list that was written, and whether its items had the other marks."""

    ordered: bool
    other: bool


Tail: TypeAlias = Listed | Literal["prose"] | None
"""The last thing on a page, where it matters for what follows: plain text, or a list."""


class Checkpoint(NamedTuple):
    """A place on a page: what is written after it can be taken back."""

    pieces: int
    gap: str
    written: int
    tail: Tail


class Page:
    """Finished blocks, and the pieces of the next one.

    ``written`` counts texts and blocks so far, ``marked`` those before the last cache mark; ``gap``
    comes before the next text.
    """

    __slots__ = ("blocks", "gap", "marked", "pieces", "tail", "written")

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.pieces: list[str] = []
        self.gap = ""
        self.written = 0
        self.marked = 0
        self.tail: Tail = None

    def here(self) -> Checkpoint:
        """Return the place that is reached."""
        return Checkpoint(len(self.pieces), self.gap, self.written, self.tail)

    def take_back(self, start: Checkpoint) -> None:
        """Remove the opening of a container in which nothing was written."""
        del self.pieces[start.pieces :]
        self.gap = start.gap
        self.tail = start.tail

    def put(self, text: str, around: Margin) -> None:
        """Write a text, nothing when it is empty."""
        if text:
            if around.prefix and ("\n" in text or "\r" in text):
                text = _prefixed(text, around.prefix)
            self.pieces += (self.gap, text) if self.gap else (text,)
            self.gap = around.gap
            self.tail = None
            self.written += 1

    def open(self, text: str, around: Margin) -> Checkpoint:
        """Write the opening of a container, without a gap after it; return the place before it."""
        start = self.here()
        if text:
            self.pieces += (self.gap, text.replace("\n", "\n" + around.prefix))
            self.gap = ""
            self.tail = None
        return start

    def close(self, text: str, around: Margin) -> None:
        """Write the closing of a container; ``around`` is the margin outside of it."""
        if text:
            text = text if self.pieces else text.lstrip("\n")
            self.pieces.append(text.replace("\n", "\n" + around.prefix))
            self.tail = None
        # A block begins with what is written, never with the gap before it.
        self.gap = around.gap if self.pieces else ""

    def flush(self, cache: Cache | None = None) -> None:
        """Make a block of the pieces there are."""
        if self.pieces:
            self.blocks.append(text_block("".join(self.pieces), cache))
            self.pieces.clear()
        self.gap = ""
        self.tail = None

    def block(self, block: Block) -> None:
        """Write a block other than text."""
        self.flush()
        self.blocks.append(block)
        self.written += 1

    def cache(self, cache: Cache, start: int | None = None) -> bool:
        """Put a cache mark after everything that is written; return whether it can carry one.

        The pieces from ``start`` on, which open containers, begin the next block. Where nothing was
        written since the last mark, the one that lives longer stays.
        """
        end = len(self.pieces) if start is None else start
        if end and self.marked < self.written:
            opening = self.pieces[end:]
            del self.pieces[end:]
            self.flush(cache)
            # The first of them is the gap to what stood before.
            self.pieces += ["", *opening[1:]] if opening else []
        elif self.blocks:
            self.blocks[-1] = marked(self.blocks[-1], cache)
        self.marked = self.written
        return bool(self.blocks) and hasattr(self.blocks[-1], "cache")


def _prefixed(text: str, prefix: str) -> str:
    """Return a text with a prefix before all lines but the first; an empty one gets no space."""
    bare = prefix.rstrip()
    return _LINE_END.sub(lambda end: end[0] + (prefix if end[1] is None else bare), text)


# A lone CR ends a line of Markdown, too (CommonMark 0.31, 2.1). The group tells an empty line.
_LINE_END = re.compile(r"(?:\n|\r(?!\n))(?=([\r\n]|\Z)?)")


def marked(block: Any, cache: Cache) -> Block:
    """Return a block with a cache mark after it; one that cannot carry it as it is.

    Of two marks the one that lives longer stays.
    """
    if not hasattr(block, "cache"):
        return cast("Block", block)
    return cast("Block", attrs.evolve(block, cache=longer(block.cache, cache)))


def longer(one: Cache | None, other: Cache) -> Cache:
    """Return the mark that lives longer, as far as it says; any is longer than none."""
    return one if one and CACHES.index(one) > CACHES.index(other) else other


# What is open while the parts of a turn become text.

OnLoss = Callable[[Loss], None]
"""Called for a loss, whose path is that of the sections it is in."""


class Setting(NamedTuple):
    """The same for all turns: the formats there are, and what an author wants of them."""

    forms: Mapping[str, Form]
    form: Form
    media_roots: MediaRoots = ()
    format_block: FormatBlock | None = None


@attrs.define(eq=False, repr=False)
class OpenPart:
    """A part whose children are being written. Its children inherit what it holds."""

    node: Any  # one of many classes, each with fields of its own
    children: Iterator[Child]
    rules: StringRules
    form: Form
    level: int
    """The level of a heading of a section in it, from 2."""
    margin: Margin
    listing: "OpenPart | None" = None
    """The list whose items the children are."""
    tight: bool = False
    """Whether a list goes on the line after a text, as in an item."""
    frame: Frame | None = None
    """The text around the part; ``None`` for a part that only holds others."""
    start: Checkpoint | None = None
    """The place on the page before the frame."""
    tags: tuple[str, ...] = ()
    """The folded names of the tags of the frame."""
    items: int = 0
    """The number of items in a list so far."""
    continues: bool = False
    """Whether an item is more of the one before it, as a list in a list is."""
    second: bool = False
    """Whether a list comes right after one of its kind, and so has the other marks."""


class TextState:
    """The page a turn is written on, and the parts of the turn that are open.

    ``tags`` counts the open tags by their folded names: no text in them may close one.
    """

    def __init__(self, setting: Setting, report: OnLoss, node: Node, rules: StringRules) -> None:
        """Open the turn itself, or a result in one: ``node``, whose strings follow ``rules``."""
        self.setting = setting
        self.report = report
        self.page = Page()
        self.tags: dict[str, int] = {}
        self.open = [OpenPart(node, iter(node.content), rules, setting.form, 2, PLAIN)]

    def note(self, node: Node, kind: LossKind, what: str, why: str) -> None:
        """Report a loss of a node, with the path of the sections it is in."""
        around = [part.node for part in self.open if isinstance(part.node, SectionNode)]
        if isinstance(node, SectionNode) and not any(part is node for part in around):
            around.append(node)
        path = "/".join([str(part.options.id) for part in around])
        self.report(Loss(kind, what, why, path, node.source))
