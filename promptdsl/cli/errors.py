"""What goes wrong: a message with its line, and the way there through the code of its author."""

import os
import traceback
from collections.abc import Iterable

import promptdsl
from promptdsl import PromptError


class UsageError(Exception):
    """The command was called wrongly."""


def near(name: str, known: Iterable[str]) -> str:
    """Return ``": did you mean 'x'?"`` for the nearest known names, else which there are."""
    from difflib import get_close_matches

    names = sorted(known)
    close = get_close_matches(name, names)
    if close:
        return f": did you mean {' or '.join(map(repr, close))}?"
    return f"; there is {', '.join(names)}" if names else ""


def described(error: BaseException, *, target: str, frames: bool) -> str:
    """Return what an author reads of an error: ``file:line``, what is wrong, what to do.

    ``target`` stands where no line is known; ``frames`` says whether the way there comes first.
    """
    stack = _user_frames(error)
    text = _prompt_error(error, target) if isinstance(error, PromptError) else _other(error, target)
    if not frames:
        return text
    way = "".join(traceback.format_list(stack or traceback.extract_tb(error.__traceback__)))
    return f"Traceback (most recent call last):\n{way}{text}"


def _prompt_error(error: PromptError, target: str) -> str:
    # What render() complains of in its arguments is at the line of its caller: of this command.
    ours = {f"{frame.filename}:{frame.lineno}" for frame in traceback.extract_stack()}
    first, *others = [place for place in error.at if place not in ours] or [target]
    also = [f"  see also {place}" for place in others]
    return "\n".join([f"{first}: {error.what}", *also, *([f"  {error.fix}"] if error.fix else [])])


def _other(error: BaseException, target: str) -> str:
    lines = traceback.format_exception_only(error)
    if isinstance(error, SyntaxError):
        place = f"{error.filename}:{error.lineno}" if error.filename else target
        return f"{place}: {type(error).__name__}: {error.msg}"
    stack = _user_frames(error)
    place = f"{stack[-1].filename}:{stack[-1].lineno}" if stack else target
    return f"{place}: {''.join(lines).rstrip()}"


def _user_frames(error: BaseException) -> list[traceback.FrameSummary]:
    """Return the frames outside of this package; of those the ones of what is not installed."""
    import sysconfig

    package = os.path.dirname(promptdsl.__file__) + os.sep
    installed = tuple(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib"))
    stack = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith((package, "<frozen "))
    ]
    return [frame for frame in stack if not frame.filename.startswith(installed)] or stack
