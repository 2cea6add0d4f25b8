"""The line an author wrote: a code object and an offset, looked up when somebody asks."""

import contextlib
import os
import sys
from types import CodeType
from typing import TypeAlias

import attrs

Position: TypeAlias = tuple[CodeType, int]
"""A code object and the offset of an instruction in it: a line, remembered cheaply (128 ns)."""


@attrs.frozen
class Source:
    """Where an author wrote something: ``file`` as the interpreter names it, ``line`` from 1."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


def source_of(position: Position) -> Source:
    """Return the file and line of an instruction."""
    code, offset = position
    line = next(
        (line for start, end, line in code.co_lines() if start <= offset < end and line), None
    )
    return Source(code.co_filename, line or code.co_firstlineno)


_PACKAGE = os.path.dirname(os.path.dirname(__file__))
_OURS = (_PACKAGE + os.sep, contextlib.__file__)


def author() -> Source:
    """Return the line outside of this package that called into it.

    A ``with`` block of ours may be left through the standard library's ``contextlib``.
    """
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OURS):
        frame = frame.f_back
    return source_of((frame.f_code, frame.f_lasti))
