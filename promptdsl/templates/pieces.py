"""The output of a template: pieces that are author text, and pieces that are values."""

from collections.abc import Generator, Iterable
from itertools import groupby
from typing import NamedTuple, TypeAlias, cast

from promptdsl.foundation.errors import TemplateError
from promptdsl.templates.limits import MAX_PIECES, MAX_TEXT, RUN, check_length


class Inserted(NamedTuple):
    """A value that a template inserted, not yet encoded, and the variable it came from, if any.

    A volatile value has its own label instead of a variable.
    """

    text: str
    name: str | None = None
    is_volatile: bool = False


Piece: TypeAlias = str | Inserted
"""A plain ``str`` is author text: text of the template itself, or marked by ``trusted()``."""


class Rope(str):
    """The text of a macro, a block or ``{% set %}``, with the pieces that it was made of.

    If it is output unchanged, its pieces are output. The result of an operation on it is a plain
    string, which is a value.
    """

    __slots__ = ("pieces",)
    pieces: tuple[Piece, ...]

    def __new__(cls, pieces: Iterable[Piece]) -> "Rope":
        """Return the rope of pieces."""
        kept = tuple(pieces)
        texts = [piece.text if isinstance(piece, Inserted) else piece for piece in kept]
        rope = super().__new__(cls, "".join(texts))
        rope.pieces = kept
        return rope


Output: TypeAlias = tuple[str] | Inserted | str
"""An output of compiled code: author text in a tuple, a value, or a rope of pieces."""


def collect(outputs: Iterable[Output]) -> Rope:
    """Return the outputs of a template as one rope; neighbouring author texts are joined."""
    pieces: list[Piece] = []
    length = 0
    for output in outputs:
        if isinstance(output, Rope):
            pieces += output.pieces
            length += len(output)
        elif isinstance(output, Inserted | str):
            # A plain string is a value.
            value = output if isinstance(output, Inserted) else Inserted(output)
            pieces.append(value)
            length += len(value.text)
        else:
            pieces += output
            length += len(output[0])
        if length > MAX_TEXT or len(pieces) > MAX_PIECES:
            try:
                check_length(length, len(pieces))
            except TemplateError as error:
                # The error gets the line of the template that yields too much.
                if isinstance(outputs, Generator):
                    outputs.throw(error)
                raise
    RUN.get().write(length, len(pieces))
    # Empty pieces are left out, except for volatile ones: they may not be empty in the next run.
    # Neighbouring author texts become one.
    joined: list[Piece] = []
    kept = [
        piece
        for piece in pieces
        if piece and (type(piece) is not Inserted or piece.text or piece.is_volatile)
    ]
    for kind, run in groupby(kept, key=type):
        if kind is Inserted:
            joined += run
        else:
            joined.append("".join(cast("Iterable[str]", run)))
    return Rope(joined)
