"""The raw texts in a node, joined in order, and the same node with its middle cut out."""

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate

import attrs

from promptdsl.foundation.labelled import label_of, labelled
from promptdsl.tokens.cut import best_boundary, character_boundary
from promptdsl.tree.masks import TEXT, bits
from promptdsl.tree.node import Child, Node, make
from promptdsl.tree.part_nodes import JsonNode, TableNode, TextNode, VerbatimNode
from promptdsl.tree.rewrite import replace, with_content

ELLIPSIS = "[...]"
"""The text that is sent in place of missing text."""


@attrs.define(eq=False)
class Leaves:
    """The texts in a node, in order; positions are counted over all of them."""

    node: Node
    texts: list[str]
    starts: list[int]
    """The position at which each text starts."""
    size: int

    @classmethod
    def of(cls, node: Node) -> "Leaves":
        """Return the texts in a node."""
        texts: list[str] = []
        waiting = [*reversed(node.content)]
        while waiting:
            part = waiting.pop()
            text = _leaf_text(part)
            if text is not None:
                texts.append(text)
            elif isinstance(part, Node):
                waiting += reversed(part.content)
        starts = [0, *accumulate(map(len, texts))]
        return cls(node, texts, starts[:-1], starts[-1])

    def ends_before(self, position: int) -> Iterator[int]:
        """Yield where a head may end: after a paragraph, sentence or word, then anywhere."""
        number = self._leaf(position)
        text, start = self.texts[number], self.starts[number]
        lowest = max((position + 1) // 2 - start, 0)
        best = best_boundary(text, lowest, position - start, last=True)
        if best is not None:
            yield start + best
        elif start and start >= position // 2:
            yield start
        yield start + character_boundary(text, position - start)

    def starts_after(self, position: int) -> Iterator[int]:
        """Yield where a tail may start: after a paragraph, sentence or word, then anywhere."""
        number = self._leaf(position)
        text, start = self.texts[number], self.starts[number]
        if text.isspace():
            yield position  # the rows of a table: a tail may start at each row
        middle = position + (self.size - position) // 2
        best = best_boundary(text, position - start, min(middle - start, len(text)), last=False)
        if best is not None:
            yield start + best
        elif start + len(text) <= middle:
            yield start + len(text)
        yield start + character_boundary(text, position - start, forwards=True)

    def _leaf(self, position: int) -> int:
        return max(bisect_right(self.starts, position) - 1, 0)

    def kept(self, head: int, tail: int) -> Node:
        """Return the node with its first ``head`` and last ``tail`` characters.

        Between them is an ellipsis.
        """
        stop = self.size - tail
        has_ellipsis = False
        leaves = zip(self.texts, self.starts, strict=True)
        # The nodes around the current leaf, each with the children it keeps and those to come.
        levels: list[tuple[Node, list[Child], Iterator[Child]]] = [
            (self.node, [], iter(self.node.content))
        ]
        while True:
            node, children, rest = levels[-1]
            part = next(rest, None)
            if part is None:
                levels.pop()
                if not levels:
                    return with_content(node, tuple(children))
                if any(children):
                    levels[-1][1].append(with_content(node, tuple(children)))
                continue
            if isinstance(part, Node) and _leaf_text(part) is None:
                levels.append((part, [], iter(part.content)))
                continue
            text, start = next(leaves)
            first, last = text[: max(head - start, 0)], text[max(stop - start, 0) :]
            if text in (first, last):
                children.append(part)
                continue
            children += _cut_leaf(part, first, last, ellipsis=not has_ellipsis)
            has_ellipsis = True


def _leaf_text(part: Child) -> str | None:
    """Return the raw text of a leaf, ``None`` for another node.

    The text of a table has one character for each row.
    """
    if isinstance(part, str):
        return part
    if isinstance(part, TableNode):
        return "\n" * len(part.rows)
    if part.content:
        return None
    return getattr(part, "text", None) or "\x00"


def _cut_leaf(part: Child, head: str, tail: str, *, ellipsis: bool) -> list[Child]:
    """Return a leaf with only the beginning and the end of its text.

    With ``ellipsis``, an ellipsis is between them.
    """
    if isinstance(part, TableNode):
        rows = (*part.rows[: len(head)], *part.rows[len(part.rows) - len(tail) :])
        table: list[Child] = [replace(part, rows=rows)] if rows else []
        note: list[Child] = []
        if ellipsis:
            note = [make(TextNode, (ELLIPSIS,), mask=bits(TEXT), at=part._at)]
        return [*table, *note] if head else [*note, *table]
    text = tail
    if ellipsis:
        before, after = head.rstrip(), tail.lstrip()
        left = "\n\n" if "\n\n" in head[len(before) :] else " "
        right = "\n\n" if "\n\n" in tail[: len(tail) - len(after)] else " "
        text = f"{before}{left if before else ''}{ELLIPSIS}{right if after else ''}{after}"
    if not text:
        return []
    if isinstance(part, str):
        return [text]
    if isinstance(part, JsonNode):
        # A part of the JSON is not valid JSON, so it becomes plain text.
        pieces = (labelled(text, label_of(part.pieces)),)
        return [make(VerbatimNode, mask=bits(TEXT), at=part._at, text=text, pieces=pieces)]
    if hasattr(part, "text"):
        label = label_of([getattr(part, "text", None)])
        return [replace(part, text=text if label is None else labelled(text, label))]
    return [make(TextNode, (text,), mask=bits(TEXT), at=part._at)]
