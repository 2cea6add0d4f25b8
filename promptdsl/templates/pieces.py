"""What a rendering comes to: author text and values, and never one for the other."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any, NamedTuple, TypeAlias, cast

from promptdsl.templates.limits import MAX_PIECES, MAX_TEXT, RUN, stop, too_much


class Inserted(NamedTuple):
    """A value that a template put in, not yet encoded, and the variable it came from, if one."""

    text: str
    name: str | None = None


Piece: TypeAlias = str | Inserted
"""A plain ``str`` is author text: what stands in the template, or what ``trusted()`` marked."""


class Rope(str):
    """What a macro, a block or ``{% set %}`` captured.

    It is its text for whatever works on it, and what that gives back is a plain string, so a value.
    Only output as it is, it is its pieces again.
    """

    __slots__ = ("pieces",)
    pieces: tuple[Piece, ...]

    def __new__(cls, pieces: Iterable[Piece]) -> "Rope":
        """Return the rope of pieces."""
        kept = tuple(pieces)
        rope = super().__new__(cls, "".join(map(_text, kept)))
        rope.pieces = kept
        return rope


def rope(stream: Iterable[Any]) -> Rope:
    """Return what a template yields as one rope: its neighbouring author texts are joined.

    It yields author text in a tuple, values as :class:`Inserted`, and ropes.
    """
    pieces: list[Piece] = []
    length = 0
    for item in stream:
        if type(item) is tuple:
            (text,) = cast("tuple[str]", item)
            pieces.append(text)
            length += len(text)
        elif type(item) is Inserted:
            pieces.append(item)
            length += len(item.text)
        else:
            pieces += item.pieces
            length += len(item)
        if length > MAX_TEXT or len(pieces) > MAX_PIECES:
            stop(stream, too_much(length))
    RUN.get().put(len(pieces), length)
    return Rope(_joined(filter(_text, pieces)))


def _text(piece: Piece) -> str:
    return piece if type(piece) is str else piece[0]


def _joined(pieces: Iterable[Piece]) -> Iterator[Piece]:
    for author, run in groupby(pieces, key=lambda piece: type(piece) is str):
        if author:
            yield "".join(map(_text, run))
        else:
            yield from run
