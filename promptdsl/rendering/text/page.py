"""A page: the pieces of text that are written, joined to blocks, with what stands before a line."""

import re
from collections.abc import Container, Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple, TypeAlias, cast

import attrs

from promptdsl.messages import Block
from promptdsl.messages.field_checks import CACHES, Cache
from promptdsl.messages.unchecked import text_block

WIDEST = 80
"""Deeper than this many characters nothing is indented: it would grow with the square of depth."""


class Margin(NamedTuple):
    """What stands before every further line, and between two parts."""

    prefix: str
    gap: str


@lru_cache(maxsize=256)
def margin(prefix: str, between: str) -> Margin:
    """Return the margin of parts with ``between`` between them, each line behind ``prefix``."""
    lines = between.count("\n")
    return Margin(prefix, ("\n" + prefix.rstrip()) * (lines - 1) + "\n" + prefix)


PLAIN = margin("", "\n\n")


def deeper(outer: Margin, prefix: str, between: str) -> Margin:
    """Return the margin inside a container."""
    whole = outer.prefix + prefix
    return margin(whole if len(whole) <= WIDEST else outer.prefix, between)


class Listed(NamedTuple):
    """A list that was written: its kind, and whether its marks were the other ones."""

    ordered: bool
    other: bool


Tail: TypeAlias = Listed | Literal["prose"] | None
"""What stands last on a page, where that matters for what follows: plain text, or a list."""


class Mark(NamedTuple):
    """A place on a page to which everything behind it can be taken back."""

    pieces: int
    gap: str
    written: int
    tail: Tail


class Page:
    """What has been written: finished blocks, and the pieces of the next one."""

    __slots__ = ("blocks", "gap", "marked", "pieces", "tail", "written")

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.pieces: list[str] = []
        self.gap = ""
        self.written = 0
        self.marked = 0
        self.tail: Tail = None

    def here(self) -> Mark:
        """Return the place that is reached."""
        return Mark(len(self.pieces), self.gap, self.written, self.tail)

    def take_back(self, mark: Mark) -> None:
        """Remove what opened a container in which nothing was written."""
        del self.pieces[mark.pieces :]
        self.gap = mark.gap
        self.tail = mark.tail

    def put(self, text: str, around: Margin) -> None:
        """Write a text, nothing when it is empty."""
        if text:
            if around.prefix and ("\n" in text or "\r" in text):
                text = _behind(text, around.prefix)
            self.pieces += (self.gap, text) if self.gap else (text,)
            self.gap = around.gap
            self.tail = None
            self.written += 1

    def open(self, text: str, around: Margin) -> None:
        """Write what opens a container; nothing separates it from what comes next."""
        if text:
            self.pieces += (self.gap, text.replace("\n", "\n" + around.prefix))
            self.gap = ""
            self.tail = None

    def close(self, text: str, around: Margin) -> None:
        """Write what closes a container, around which ``around`` holds."""
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
        """Write a block that is no text."""
        self.flush()
        self.blocks.append(block)
        self.written += 1

    def cache(self, cache: Cache, start: int | None = None) -> bool:
        """Put a cache mark behind what has been written; return whether it can carry one.

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


class Trace:
    """What parts of a turn came to: by the id of a node, its blocks, the gap before it included.

    ``wanted`` are the ids of the nodes it is asked of.
    """

    __slots__ = ("found", "open", "wanted")

    def __init__(self, wanted: Container[int]) -> None:
        self.wanted = wanted
        self.found: dict[int, list[Block]] = {}
        self.open: list[tuple[object, Page, int, int, int]] = []

    def page(self) -> Page:
        """Return the page that a turn, or a result in one, is written on."""
        return Page()

    def said(self, turn: object, blocks: Sequence[Block], address: str) -> None:
        """Be told what a turn came to, or a turn that is merged with others."""

    def reached(self, messages: int) -> None:
        """Be told how many messages there are behind what stands in a timeline."""

    def begin(self, node: object, page: Page, *, plain: bool) -> None:
        """Note where on the page a node begins, if it is asked for; a plain one is only text."""
        if id(node) in self.wanted:
            written = 0 if plain else sum(map(len, page.pieces))
            self.open.append((node, page, len(page.blocks), len(page.pieces), written))

    def end(self, node: object, page: Page) -> None:
        """Note what stands on the page since a node began."""
        # A result ends twice: on the page of what it holds, and on the one it stands on.
        if not self.open or self.open[-1][0] is not node or self.open[-1][1] is not page:
            return
        _, _, blocks, pieces, written = self.open.pop()
        if len(page.blocks) == blocks:
            text = "".join(page.pieces[pieces:])
            self.found[id(node)] = [text_block(text)] if text else []
            return
        said = [*page.blocks[blocks:]]
        if written:
            # What stood there before is in the first block, too.
            said[0] = text_block(getattr(said[0], "text", "")[written:])
        rest = [text_block("".join(page.pieces))] if page.pieces else []
        self.found[id(node)] = [*said, *rest]


def _behind(text: str, prefix: str) -> str:
    """Return a text with a prefix before all lines but the first; an empty one gets no space."""
    bare = prefix.rstrip()
    return _LINE_END.sub(lambda end: end[0] + (prefix if end[1] is None else bare), text)


# A lone CR ends a line of Markdown, too (CommonMark 0.31, 2.1). The group tells an empty line.
_LINE_END = re.compile(r"(?:\n|\r(?!\n))(?=([\r\n]|\Z)?)")


def marked(block: Any, cache: Cache) -> Block:
    """Return a block with a cache mark behind it; one that cannot carry it as it is.

    Of two marks the one that lives longer stays.
    """
    if not hasattr(block, "cache"):
        return cast("Block", block)
    return cast("Block", attrs.evolve(block, cache=longer(block.cache, cache)))


def longer(one: Cache | None, other: Cache) -> Cache:
    """Return the mark that lives longer, as far as it says; any is longer than none."""
    return one if one and CACHES.index(one) > CACHES.index(other) else other
