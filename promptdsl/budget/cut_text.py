"""The raw text of parts, joined in order, and the parts with some of it left out."""

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

import attrs

from promptdsl.tokens.cut import best_boundary, whole_character
from promptdsl.tree.masks import TEXT, bits
from promptdsl.tree.node import Node, make
from promptdsl.tree.part_nodes import (
    CodeNode,
    HeadingNode,
    JsonNode,
    ParagraphNode,
    TableNode,
    TextNode,
    VerbatimNode,
)
from promptdsl.tree.rewrite import replace, with_content

MARK = "[...]"
"""The mark in the place of missing text."""

INLINE = (TextNode, ParagraphNode, HeadingNode, CodeNode)
"""In these, text follows text on the same line."""


@attrs.define(eq=False)
class Leaves:
    """The texts of a node in their order: ``at`` is where each begins in all of them."""

    node: Node
    texts: list[str]
    at: list[int]
    size: int

    def kept(self, head: int, tail: int) -> Node | None:
        """Return the node with so many characters of its beginning and of its end.

        ``None`` when nothing is left.
        """
        if head + tail >= self.size:
            return self.node
        return _Cutting(self, head, self.size - tail).done()

    def ends_before(self, place: int) -> Iterator[int]:
        """Yield where a head may end, the best place first: not in the middle of something."""
        number = self._leaf(place)
        text, start = self.texts[number], self.at[number]
        lowest = max((place + 1) // 2 - start, 0)
        best = best_boundary(text, lowest, place - start, last=True)
        if best is not None:
            yield start + best
        elif start and start >= place // 2:
            yield start
        yield start + whole_character(text, place - start)

    def starts_after(self, place: int) -> Iterator[int]:
        """Yield where a tail may start, the best place first."""
        number = self._leaf(place)
        text, start = self.texts[number], self.at[number]
        if text.isspace():
            yield place  # rows of a table: each of them ends something
        highest = min(place + (self.size - place) // 2 - start, len(text))
        best = best_boundary(text, place - start, highest, last=False)
        if best is not None:
            yield start + best
        elif start + len(text) <= place + (self.size - place) // 2:
            yield start + len(text)
        yield start + whole_character(text, place - start, forwards=True)

    def _leaf(self, place: int) -> int:
        return max(bisect_right(self.at, place) - 1, 0)


def leaves_of(node: Node) -> Leaves:
    """Return the texts in a node, in their order."""
    texts = [*_texts(node)]
    at = [0, *accumulate(map(len, texts))]
    return Leaves(node, texts or [""], at[:-1] or [0], at[-1])


def _texts(node: Node) -> Iterator[str]:
    waiting: list[Any] = [*reversed(node.content)]
    while waiting:
        part = waiting.pop()
        text = _text_of(part)
        if text is not None:
            yield text
        else:
            waiting += reversed(part.content)


def _text_of(part: Any) -> str | None:
    """Return the raw text of a part that holds no others; of a table, a character for each row."""
    if isinstance(part, str):
        return part
    if isinstance(part, TableNode):
        return "\n" * len(part.rows)
    if part.content:
        return None
    return getattr(part, "text", None) or "\x00"


@attrs.define(eq=False)
class _Cutting:
    """Takes the text from ``start`` to ``stop`` out of a node, and puts a mark there."""

    leaves: Leaves
    start: int
    stop: int
    number: int = 0
    marked: bool = False

    def done(self) -> Node | None:
        """Return what is left."""
        root = self.leaves.node
        levels: list[tuple[Any, list[Any], Iterator[Any]]] = [(root, [], iter(root.content))]
        while True:
            node, kept, rest = levels[-1]
            part = next(rest, None)
            if part is None:
                levels.pop()
                left = with_content(node, tuple(kept)) if any(kept) else None
                if not levels:
                    return left
                levels[-1][1].extend([left] if left is not None else [])
            elif _text_of(part) is None:
                levels.append((part, [], iter(part.content)))
            else:
                kept.extend(self._leaf(part, inline=isinstance(node, INLINE)))

    def _leaf(self, part: Any, *, inline: bool) -> list[Any]:
        """Return what is left of a leaf, with the mark when it is the one that was cut."""
        text, at = self.leaves.texts[self.number], self.leaves.at[self.number]
        self.number += 1
        head = text[: max(self.start - at, 0)]
        tail = text[max(self.stop - at, 0) :]
        if text in (head, tail):
            return [part]
        marks = not self.marked
        self.marked = True
        if isinstance(part, TableNode):
            return _rows(part, len(head), len(tail), marks=marks)
        if not marks:
            return _with_text(part, tail, inline=inline) if tail else []
        return _with_text(part, _joined(head, tail), inline=inline)


def _joined(head: str, tail: str) -> str:
    """Return a text with the mark between its ends."""
    before, after = head.rstrip(), tail.lstrip()
    first = "\n\n" if "\n\n" in head[len(before) :] else " "
    second = "\n\n" if "\n\n" in tail[: len(tail) - len(after)] else " "
    return f"{before}{first if before else ''}{MARK}{second if after else ''}{after}"


def _with_text(part: Any, text: str, *, inline: bool) -> list[Any]:
    """Return a leaf that says another text."""
    if isinstance(part, str):
        return [text]
    if isinstance(part, JsonNode):
        # It is JSON no more: nothing may take it for that.
        return [make(VerbatimNode, mask=bits(TEXT), at=part.at, text=text)]
    if hasattr(part, "text"):
        return [replace(part, text=text)]
    return [text] if inline else [make(TextNode, (text,), mask=bits(TEXT), at=part.at)]


def _rows(table: TableNode, head: int, tail: int, *, marks: bool) -> list[Any]:
    """Return a table with some of its first and last rows, and the mark beside them."""
    rows = (*table.rows[:head], *table.rows[len(table.rows) - tail :])
    cut = [replace(table, rows=rows)] if rows else []
    mark = [make(TextNode, (MARK,), mask=bits(TEXT), at=table.at)] if marks else []
    return [*cut, *mark] if head else [*mark, *cut]
