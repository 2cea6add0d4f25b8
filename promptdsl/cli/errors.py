"""The errors of the commands, and the text of an error: its line, its message, its frames."""

import traceback
from collections.abc import Iterable

from promptdsl import LibraryError, PromptError
from promptdsl.batch import user_frames

_ALIKE = 0.65
"""How alike a name and its misspelling are at least, for difflib: as in the errors of the code."""


class UsageError(Exception):
    """The command was called wrongly."""

    code = 2


class FileError(UsageError):
    """The content of a file is wrong or out of date; the command was called correctly."""

    code = 1


def near(name: str, known: Iterable[str]) -> str:
    """Return ``": did you mean 'x'?"`` for the nearest known names, else a list of all names."""
    from difflib import get_close_matches

    names = sorted(known)
    close = get_close_matches(name, names, cutoff=_ALIKE)
    if close:
        return f": did you mean {' or '.join(map(repr, close))}?"
    return f"; there is {', '.join(names)}" if names else ""


def error_text(error: BaseException, *, target: str, frames: bool) -> str:
    """Return an error for its author: ``file:line``, the problem and the advice.

    If no line is known, the text begins with ``target``. With ``frames``, the frames of the
    author's code come first.
    """
    # The line of a broken library is the line at which its own code failed.
    cause = error.__cause__ if isinstance(error, LibraryError) else None
    stack = user_frames(cause or error)
    if isinstance(error, PromptError):
        # An error in the arguments of render() has the line of its caller: of this command.
        ours = {f"{frame.filename}:{frame.lineno}" for frame in traceback.extract_stack()}
        first, *others = [line for line in error.at if line not in ours] or [target]
        also = [f"  see also {line}" for line in others]
        fix = [f"  {error.fix}"] if error.fix else []
        text = "\n".join([f"{first}: {error.what}", *also, *fix])
    elif isinstance(error, SyntaxError):
        first = f"{error.filename}:{error.lineno}" if error.filename else target
        text = f"{first}: {type(error).__name__}: {error.msg}"
    else:
        first = f"{stack[-1].filename}:{stack[-1].lineno}" if stack else target
        text = f"{first}: {''.join(traceback.format_exception_only(error)).rstrip()}"
    if not frames:
        return text
    lines = traceback.format_list(stack or traceback.extract_tb(error.__traceback__))
    return f"Traceback (most recent call last):\n{''.join(lines)}{text}"
