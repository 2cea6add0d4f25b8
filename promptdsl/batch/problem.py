"""Problems of rows, and the author's lines of an error."""

import os
import sysconfig
import traceback
from functools import cache
from typing import NamedTuple

import promptdsl
from promptdsl import PromptError


class Problem(NamedTuple):
    """Why a row has no request: the error and its type, the author's lines, and what to do."""

    type: str
    what: str
    fix: str = ""
    at: tuple[str, ...] = ()

    def __str__(self) -> str:
        line = f"{self.at[0]}: " if self.at else ""
        return f"{line}{self.type}: {self.what}" + (f" ({self.fix})" if self.fix else "")


def problem_of(error: BaseException) -> Problem:
    """Return any error as a problem, with the lines of its author."""
    try:
        return _problem_of(error)
    except KeyboardInterrupt:
        raise
    except BaseException:  # an error of others may fail when it is asked for its text
        return Problem(type(error).__name__, "an error that cannot be printed")


def _problem_of(error: BaseException) -> Problem:
    name = type(error).__name__
    if isinstance(error, PromptError):
        # An error about an argument of render() names the line that calls it: that is ours.
        ours = {f"{frame.filename}:{frame.lineno}" for frame in traceback.extract_stack()}
        at = tuple(line for line in map(str, error.at) if line not in ours)
        return Problem(name, error.what, error.fix or "", at)
    frames = user_frames(error)
    return Problem(
        name, _text_of(error), at=tuple(f"{it.filename}:{it.lineno}" for it in frames[-1:])
    )


def _text_of(error: BaseException) -> str:
    """Return what an error says, with its notes behind it; its type, where it says nothing."""
    cls, lines = type(error), traceback.format_exception_only(error)
    names = (f"{cls.__module__}.{cls.__qualname__}", cls.__qualname__)
    # The lines of the code stand before a SyntaxError.
    begins = (index for index, line in enumerate(lines) if line.startswith(names))
    text = "".join(lines[next(begins, -1) :]).strip()
    prefix = next((f"{name}: " for name in names if text.startswith(f"{name}: ")), "")
    return text.removeprefix(prefix)


PACKAGE = os.path.join(os.path.dirname(promptdsl.__file__), "")
"""The folder of this package, with the separator behind it."""


def user_frames(error: BaseException) -> list[traceback.FrameSummary]:
    """Return the frames outside of this package; those of installed code only without others."""
    trace = traceback.extract_tb(error.__traceback__)
    stack = [it for it in trace if not it.filename.startswith((PACKAGE, "<frozen "))]
    return [frame for frame in stack if not is_installed(frame.filename)] or stack


def is_installed(path: str) -> bool:
    """Return whether a path is in the library of Python or of its installed packages."""
    return os.path.join(path, "").startswith(_installed())


def is_ours_or_installed(path: str) -> bool:
    """Return whether a path is in this package, or in installed code."""
    return path.startswith(PACKAGE) or is_installed(path)


@cache
def _installed() -> tuple[str, ...]:
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    folders = [sysconfig.get_path(name) for name in names]
    return tuple(os.path.join(it, "") for it in {*folders, *map(os.path.realpath, folders)})
