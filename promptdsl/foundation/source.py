"""The lines that authors wrote: kept as a code object and an offset, looked up when needed."""

import contextlib
import functools
import os
import sys
from contextvars import ContextVar
from inspect import CO_COROUTINE
from types import CodeType
from typing import TypeAlias

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
    lines = (line for start, end, line in code.co_lines() if start <= offset < end and line)
    return Source(code.co_filename, next(lines, code.co_firstlineno))


def looked_up(at: Position | Source | None) -> Source | None:
    """Return the file and line of an instruction, unless they are known already."""
    return source_of(at) if isinstance(at, tuple) else at


OURS = (
    os.path.dirname(os.path.dirname(__file__)) + os.sep,
    *(contextlib.__file__, functools.__file__, "<attrs generated"),
)
"""The beginnings of the names of files whose frames are no author's: this package, and what stands
between it and an author. A ``with`` block may end through ``contextlib``."""

AWAITED: ContextVar[Source | None] = ContextVar("promptdsl_awaited", default=None)
"""The author's line of the coroutine that runs: an event loop may run it without the author."""


def author() -> Source:
    """Return the nearest line of a caller outside of this package."""
    frame, is_awaited = sys._getframe(1), False  # pyright: ignore[reportPrivateUsage]
    while frame.f_back is not None and frame.f_code.co_filename.startswith(OURS):
        is_awaited = is_awaited or bool(frame.f_code.co_flags & CO_COROUTINE)
        frame = frame.f_back
    return (is_awaited and AWAITED.get()) or source_of((frame.f_code, frame.f_lasti))
