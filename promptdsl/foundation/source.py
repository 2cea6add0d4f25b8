"""The lines that authors wrote: kept as a code object and an offset, looked up when needed."""

import contextlib
import os
import sys
from bisect import bisect_right
from types import CodeType
from typing import TypeAlias
from weakref import ref

import attrs

Position: TypeAlias = tuple[CodeType, int]
"""A line in a form that costs 128 ns: a code object and the offset of an instruction in it."""


@attrs.frozen
class Source:
    """The place where an author wrote something: a file and a line.

    ``file`` is the name that the interpreter uses, ``line`` counts from 1.

    >>> from promptdsl import Source
    >>> print(Source("prompts.py", 12))
    prompts.py:12
    """

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


def source_of(position: Position) -> Source:
    """Return the file and line of an instruction."""
    code, offset = position
    starts, lines = _lines_of(code)
    number = bisect_right(starts, offset)
    line = lines[number - 1] if number else None
    return Source(code.co_filename, line or code.co_firstlineno)


_Lines: TypeAlias = tuple[list[int], list[int | None]]
"""The offsets at which the lines of a code object begin, and the lines."""
_KNOWN: dict[int, tuple[ref[CodeType], _Lines]] = {}
"""The lines of the code objects that were looked up last, by their id."""
_MOST = 64


def _lines_of(code: CodeType) -> _Lines:
    """Return the lines of a code object, which are read once for all positions in it."""
    known = _KNOWN.get(id(code))
    if known is not None and known[0]() is code:
        return known[1]
    table = [*code.co_lines()]
    lines = [start for start, _, _ in table], [line for _, _, line in table]
    if len(_KNOWN) >= _MOST:
        _KNOWN.clear()
    _KNOWN[id(code)] = ref(code), lines
    return lines


def looked_up(at: Position | Source | None) -> Source | None:
    """Return the file and line of an instruction, unless they are known already."""
    return source_of(at) if isinstance(at, tuple) else at


_OURS = (os.path.dirname(os.path.dirname(__file__)) + os.sep, contextlib.__file__)


def author() -> Source:
    """Return the nearest line of a caller outside of this package.

    The standard library's ``contextlib`` is skipped too: a ``with`` block may end through it.
    """
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OURS):
        frame = frame.f_back
    return source_of((frame.f_code, frame.f_lasti))
