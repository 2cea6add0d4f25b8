"""The author's line of each part of a prompt, and tracebacks that end at such a line.

A line is kept as a code object and an offset in it. The file and the line number are looked up when
an error or a report needs them. Frames of this package are removed from tracebacks.
"""

import contextlib
import functools
import os
import sys
from bisect import bisect_right
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from functools import wraps
from inspect import CO_COROUTINE, CO_VARARGS, CO_VARKEYWORDS
from types import CodeType, FrameType, FunctionType, TracebackType
from typing import Any, ParamSpec, TypeAlias, TypeVar
from weakref import WeakSet, ref

import attrs

from promptdsl.foundation.errors import PromptError
from promptdsl.foundation.wrong_calls import wrong_call

P = ParamSpec("P")
R = TypeVar("R")

Position: TypeAlias = tuple[CodeType, int]
"""A code object and the offset of an instruction in it: noting a line like this takes 128 ns."""


@attrs.frozen
class Source:
    """The location where an author wrote something: a file and a line.

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
_MOST_KNOWN = 64


def _lines_of(code: CodeType) -> _Lines:
    """Return the lines of a code object, which are read once for all positions in it."""
    known = _KNOWN.get(id(code))
    if known is not None and known[0]() is code:
        return known[1]
    table = [*code.co_lines()]
    lines = [start for start, _, _ in table], [line for _, _, line in table]
    if len(_KNOWN) >= _MOST_KNOWN:
        _KNOWN.clear()
    _KNOWN[id(code)] = ref(code), lines
    return lines


def looked_up(at: Position | Source | None) -> Source | None:
    """Return the file and line of an instruction; a :class:`Source` is returned unchanged."""
    return source_of(at) if isinstance(at, tuple) else at


_PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep
_BETWEEN = (contextlib.__file__, functools.__file__, "<attrs generated")
OURS = (_PACKAGE, *_BETWEEN)
"""The beginnings of the names of files that no author wrote: this package, and modules between it
and its callers. A ``with`` block, for example, may end through ``contextlib``."""

AWAITED: ContextVar[Source | None] = ContextVar("promptdsl_awaited", default=None)
"""The author's line of the running coroutine, as its stack may have only the event loop."""


def author_frame(frame: FrameType) -> FrameType:
    """Return the nearest frame outside of this package: a frame itself, or one of its callers."""
    while frame.f_back is not None and frame.f_code.co_filename.startswith(OURS):
        frame = frame.f_back
    return frame


def author() -> Source:
    """Return the nearest line of a caller outside of this package."""
    frame, is_awaited = sys._getframe(1), False
    while frame.f_back is not None and frame.f_code.co_filename.startswith(OURS):
        is_awaited = is_awaited or bool(frame.f_code.co_flags & CO_COROUTINE)
        frame = frame.f_back
    return (is_awaited and AWAITED.get()) or source_of((frame.f_code, frame.f_lasti))


def note_caller(error: Exception, location: object, name: str) -> None:
    """Add a note to an exception of a user's function: the line because of which it was called.

    The type of the exception stays. An error of this package names its own line.
    """
    note = f"{location}: raised by {name}"
    if not isinstance(error, PromptError) and note not in getattr(error, "__notes__", ()):
        error.add_note(note)


def end_traceback(error: PromptError) -> None:
    """Remove the frames of this package from the traceback of an error that leaves a function.

    A bare ``raise`` after it adds no frame, so the traceback ends in the author's code, or in the
    function that was called there. An error without a line gets the author's line, where an author
    called the function. The environment variable ``PROMPTDSL_TRACEBACK=1`` keeps all frames.
    """
    if not error.at:
        frame: FrameType | None = sys._getframe(2)
        while frame is not None and frame.f_code.co_filename.startswith(_BETWEEN):
            frame = frame.f_back
        if frame is None or not frame.f_code.co_filename.startswith(_PACKAGE):
            error.located(author())
    if os.environ.get("PROMPTDSL_TRACEBACK") == "1":
        return
    traces: list[TracebackType] = []
    trace = error.__traceback__
    while trace is not None:
        if not trace.tb_frame.f_code.co_filename.startswith(OURS):
            traces.append(trace)
        trace = trace.tb_next
    kept: TracebackType | None = None
    for trace in reversed(traces):
        kept = TracebackType(kept, trace.tb_frame, trace.tb_lasti, trace.tb_lineno)
    error.__traceback__ = kept


def public_api(function: Callable[P, R], name: str = "") -> Callable[P, R]:
    """Return a function of the public API whose tracebacks end at it: see :func:`end_traceback`.

    Arguments that it does not take are an :class:`OptionError` with advice. ``name`` is that of
    the class whose ``__init__`` it is. A function that is called very often does the
    same in an ``except`` of its own, which saves 0.1 µs.
    """

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except PromptError as error:
            end_traceback(error)
            raise
        except TypeError as error:
            if _was_called(error):
                raise
            raise wrong_call(function, name, args, kwargs).located(author()) from None

    _PUBLIC.add(call)
    return call


def public_object(value: Any) -> Any:  # Any: a class, a function, or a constant
    """Return a value that a package is about to publish; a function is a :func:`public_api` then.

    The ``__init__`` of a class, or the ``__new__`` of a named tuple, is replaced in the class, also
    an inherited one. Components check their arguments themselves: theirs take any.
    """
    if isinstance(value, FunctionType):
        return value if _takes_any(value) else public_api(value)
    if isinstance(value, type):
        publish: Any = value  # Any: the attributes of a class cannot be assigned, to type checkers
        if isinstance(publish.__init__, FunctionType) and not _takes_any(publish.__init__):
            publish.__init__ = public_api(publish.__init__, value.__qualname__)
        elif isinstance(publish.__new__, FunctionType) and not _takes_any(publish.__new__):
            publish.__new__ = staticmethod(public_api(publish.__new__, value.__qualname__))
    return value


def made_by_render(cls: type[R]) -> type[R]:
    """Return a class whose ``__init__`` stays as it is: every render makes one, an author none."""
    made: Any = cls  # Any: the attributes of a class, as above
    _PUBLIC.add(made.__init__)
    return cls


_PUBLIC = WeakSet[Callable[..., object]]()
"""The functions that stay as they are: :func:`public_api` and :func:`async_public_api` made them,
or they are the ``__init__`` of a class that is :func:`made_by_render`."""


def _takes_any(function: FunctionType) -> bool:
    """Return whether Python gives any arguments to a function, or it is a public one already."""
    if function in _PUBLIC:
        return True
    any_arguments, code = CO_VARARGS | CO_VARKEYWORDS, function.__code__
    has_defaults = len(function.__kwdefaults__ or ()) == code.co_kwonlyargcount
    return has_defaults and code.co_flags & any_arguments == any_arguments


def _was_called(error: TypeError) -> bool:
    """Return whether an error was raised in a function, and not by Python for its arguments."""
    trace = error.__traceback__
    return trace is None or trace.tb_next is not None


def async_public_api(
    function: Callable[P, Coroutine[Any, Any, R]],
) -> Callable[P, Coroutine[Any, Any, R]]:
    """Return such a function for an ``async`` one; its errors have the line that called it."""

    @wraps(function)
    async def awaited(line: Source, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            coroutine = function(*args, **kwargs)
        except TypeError as error:
            if _was_called(error):
                raise
            raise wrong_call(function, "", args, kwargs).located(line) from None
        try:
            return await coroutine
        except PromptError as error:
            end_traceback(error.located(line))
            raise

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, R]:
        return awaited(author(), *args, **kwargs)

    _PUBLIC.add(call)
    return call
