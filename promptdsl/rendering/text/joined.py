"""Neighbouring texts in a part whose author chose the white space between them."""

from collections import deque
from collections.abc import Callable, Iterator
from typing import TypeAlias

from promptdsl.messages.loss import Loss
from promptdsl.rendering.text.encode import StringRules, dedented, kind_of, text_of
from promptdsl.rendering.text.pieces import PieceKind
from promptdsl.tree.group_nodes import FragmentNode, NoteNode
from promptdsl.tree.masks import CACHE, RESULT, SHIFT
from promptdsl.tree.node import Child, make, mark_of
from promptdsl.tree.part_nodes import TextBlockNode, TextNode, TrustedTextNode, ValueNode
from promptdsl.tree.rewrite import has_content

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
