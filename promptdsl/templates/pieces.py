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
    """The text that a macro, a block or ``{% set %}`` captured, which remembers its pieces.

    An operation on it gives a plain string, which is a value. Put out unchanged, it is its pieces.
    """

    __slots__ = ("pieces",)
    pieces: tuple[Piece, ...]

    def __new__(cls, pieces: Iterable[Piece]) -> "Rope":
        """Return the rope of pieces."""
        kept = tuple(pieces)
        texts = [it.text if isinstance(it, Inserted) else it for it in kept]
        rope = super().__new__(cls, "".join(texts))
        rope.pieces = kept
        return rope


Output: TypeAlias = tuple[str] | Inserted | str
"""An output of compiled code: author text in a tuple, a value, or a rope of pieces."""


def collect(outputs: Iterable[Output]) -> Rope:
    """Return the outputs of a template as one rope: author texts side by side are joined."""
    pieces: list[Piece] = []
    length = 0
    for output in outputs:
        if isinstance(output, Rope):
            pieces += output.pieces
            length += len(output)
        elif isinstance(output, Inserted | str):
            # A string without a mark is a value.
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
                # The line of the error is that of the template that yields too much.
                if isinstance(outputs, Generator):
                    outputs.throw(error)
                raise
    RUN.get().write(length, len(pieces))
    # Empty pieces are left out, but for volatile ones, which may not be empty in the next run.
    # Author texts that are neighbours become one.
    joined: list[Piece] = []
    kept = [it for it in pieces if it and (type(it) is not Inserted or it.text or it.is_volatile)]
    for kind, run in groupby(kept, key=type):
        if kind is Inserted:
            joined += run
        else:
            joined.append("".join(cast("Iterable[str]", run)))
    return Rope(joined)
