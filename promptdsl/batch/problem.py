"""What is wrong with a row, and the lines of an error's author."""

import os
import sysconfig
import traceback
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
    """Return an error as a problem, with the lines of its author."""
    name = type(error).__name__
    if isinstance(error, PromptError):
        # An error in what render() was given has the line of its caller, which is none of a prompt.
        ours = {f"{frame.filename}:{frame.lineno}" for frame in traceback.extract_stack()}
        at = tuple(line for line in map(str, error.at) if line not in ours)
        return Problem(name, error.what, error.fix or "", at)
    frames = user_frames(error)
    what = traceback.format_exception_only(error)[-1].strip().removeprefix(f"{name}: ")
    return Problem(name, what, at=tuple(f"{it.filename}:{it.lineno}" for it in frames[-1:]))


def user_frames(error: BaseException) -> list[traceback.FrameSummary]:
    """Return the frames outside of this package; those of installed code only without others."""
    package = os.path.dirname(promptdsl.__file__) + os.sep
    installed = tuple(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib"))
    trace = traceback.extract_tb(error.__traceback__)
    stack = [it for it in trace if not it.filename.startswith((package, "<frozen "))]
    return [frame for frame in stack if not frame.filename.startswith(installed)] or stack
