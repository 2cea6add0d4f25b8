"""Problems of rows, and the author's lines of an error."""

import os
import sysconfig
import traceback
from functools import cache
from typing import NamedTuple

import promptdsl
from promptdsl import PromptError


class Problem(NamedTuple):
    """The reason why a row has no request: the error, its type, its lines, and what to do."""

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
    except BaseException:  # the text of an unknown error may raise an error
        return Problem(type(error).__name__, "an error that cannot be printed")


def _problem_of(error: BaseException) -> Problem:
    name = type(error).__name__
    if isinstance(error, PromptError):
        # An error about an argument of render() names our line that calls render().
        ours = {f"{frame.filename}:{frame.lineno}" for frame in traceback.extract_stack()}
        at = tuple(line for line in map(str, error.at) if line not in ours)
        return Problem(name, error.what, error.fix or "", at)
    frames = user_frames(error)
    return Problem(
        name, _text_of(error), at=tuple(f"{frame.filename}:{frame.lineno}" for frame in frames[-1:])
    )


def _text_of(error: BaseException) -> str:
    """Return the text of an error, followed by its notes; its type if it has no text."""
    cls, lines = type(error), traceback.format_exception_only(error)
    names = (f"{cls.__module__}.{cls.__qualname__}", cls.__qualname__)
    # A SyntaxError begins with lines of the code.
    begins = (index for index, line in enumerate(lines) if line.startswith(names))
    text = "".join(lines[next(begins, -1) :]).strip()
    prefix = next((f"{name}: " for name in names if text.startswith(f"{name}: ")), "")
    return text.removeprefix(prefix)


PACKAGE = os.path.join(os.path.dirname(promptdsl.__file__), "")
"""The folder of this package, with a separator at its end."""


def user_frames(error: BaseException) -> list[traceback.FrameSummary]:
    """Return the frames of the user's code; those of installed packages if there are no others."""
    trace = traceback.extract_tb(error.__traceback__)
    stack = [frame for frame in trace if not frame.filename.startswith((PACKAGE, "<frozen "))]
    return [frame for frame in stack if not is_installed(frame.filename)] or stack


def is_installed(path: str) -> bool:
    """Return whether a path is in Python itself or in its installed packages."""
    return os.path.join(path, "").startswith(_installed())


def is_ours_or_installed(path: str) -> bool:
    """Return whether a path is in this package, or in installed code."""
    return path.startswith(PACKAGE) or is_installed(path)


@cache
def _installed() -> tuple[str, ...]:
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    folders = [sysconfig.get_path(name) for name in names]
    return tuple(os.path.join(folder, "") for folder in {*folders, *map(os.path.realpath, folders)})
