"""Cache marks: which of those that are asked for a request may carry."""

from collections.abc import Container, Iterable, Sequence
from typing import Any

from promptdsl.messages import FLEETING, Message
from promptdsl.wire.request import Mark, Param, Request

MOST = 4
"""How many marks a request may carry, at every provider that has them."""


def settle_marks(request: Request, sent: Iterable[Any], *, ordered: bool) -> list[Mark]:
    """Return the marks that are kept, in the order of ``sent``, the params as they go out.

    None stands behind request-only content that no assistant turn follows. With ``ordered`` an hour
    has to come before five minutes, and what lives longest is kept; of equals the last, which cover
    more. For all others there is a hint.
    """
    order = {id(param): place for place, param in enumerate(sent)}
    lost: dict[int, str] = {}
    end = _passing(request.messages)
    for mark in request.marks:
        if not request.facts.cache_marks:
            lost[id(mark)] = "this model takes none"
        elif id(mark.param) not in order:
            lost[id(mark)] = "what it stands behind is not sent"
        elif mark.place >= end or _is_fleeting(mark):
            lost[id(mark)] = "behind request-only content, which is not there the next time"
    marks = [mark for mark in request.marks if id(mark) not in lost]
    marks.sort(key=lambda mark: order[id(mark.param)])
    if ordered:
        lost |= {id(mark): "five minutes may not stand before an hour" for mark in _early(marks)}
        marks = [mark for mark in marks if id(mark) not in lost]
    latest = sorted([*reversed(marks)], key=lambda mark: ordered and mark.cache != "1h")
    lost |= {id(mark): f"a request carries {MOST}" for mark in latest[MOST:]}
    for mark in request.marks:
        if id(mark) in lost:
            request.lose("hint", "cache mark", lost[id(mark)], subject=mark.subject)
    return [mark for mark in marks if id(mark) not in lost]


def places_of(turns: Sequence[Param], marked: Container[int]) -> list[int]:
    """Return which turns hold params that are marked, by the ids of these."""
    return [
        place
        for place, turn in enumerate(turns)
        if any(map(marked.__contains__, map(id, turn["content"])))
    ]


def _is_fleeting(mark: Mark) -> bool:
    return isinstance(mark.subject, Message) and mark.subject.kind in FLEETING


def _early(marks: list[Mark]) -> list[Mark]:
    """Return the marks of five minutes that stand before one of an hour."""
    hours = [place for place, mark in enumerate(marks) if mark.cache == "1h"]
    return [mark for mark in marks[: hours[-1]] if mark.cache != "1h"] if hours else []


def _passing(messages: Sequence[Message]) -> int:
    """Return the index of the first request-only message that no assistant turn follows."""
    behind = range(len(messages) - 1, -1, -1)
    answered = next((n for n in behind if messages[n].role == "assistant"), -1)
    passing = (n for n in range(answered + 1, len(messages)) if messages[n].kind in FLEETING)
    return next(passing, len(messages))
