"""Runs of recorded messages: parts of them, and what was found in them before."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from promptdsl.messages.conversation_cache import Recording
from promptdsl.messages.message import Message
from promptdsl.tree.rewrite import copied
from promptdsl.tree.turn_nodes import Recorded

T = TypeVar("T")
_set = object.__setattr__


def cut(run: Recorded, start: int, stop: int | None = None, *, mask: int | None = None) -> Recorded:
    """Return a part of a run, which knows where in its history it begins."""
    part = copied(run, run.content, run.mask if mask is None else mask)
    _set(part, "items", run.items[start:stop])
    _set(part, "start", run.start + start)
    _set(part, "known", getattr(run, "known", None))
    return part


def remember(run: Recorded, key: object, fold: Callable[[Sequence[Message], Any], T]) -> T:
    """Return what ``fold`` finds in a recording, from its beginning to the end of a run.

    ``fold`` takes these messages, and what it found the last time: in the first of them, or in more
    (``None`` at first). When a long conversation has grown, only what is new is looked at. What is
    kept under a ``key`` is replaced and never changed, so two threads may work on one conversation.
    """
    known = recording(run)
    stop = run.start - known.start + len(run.items)
    before = known.found.get(key)
    found = fold(known.items if stop >= len(known.items) else known.items[:stop], before)
    if found is not before:
        known.found = {**known.found, key: found}
    return found


def first_of(run: Recorded) -> int:
    """Return which message of its recording is the first one of a run."""
    return run.start - recording(run).start


def recording(run: Any) -> Recording:
    """Return the recording a run is a part of; a run that was made by itself is its own."""
    known: Recording | None = getattr(run, "known", None)
    if known is None:
        known = Recording((), run.items, run.mask, run.start)
        _set(run, "known", known)
    return known
