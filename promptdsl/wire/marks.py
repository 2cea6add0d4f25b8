"""Cache marks: which of those that are asked for a request may carry."""

from collections.abc import Iterable, Sequence
from typing import Any

from promptdsl.messages import FLEETING, Message
from promptdsl.wire.request import Mark, Request

MOST = 4
"""How many marks a request may carry, at every provider that has them."""


def settle_marks(request: Request, sent: Iterable[Any], *, ordered: bool) -> list[Mark]:
    """Return the marks that are kept, in the order of ``sent``, the params as they go out.

    None stands behind request-only content that no assistant turn follows. With ``ordered`` an hour
    has to come before five minutes; what lives longest is kept, of equals the last, which cover
    more. For all others there is a hint.
    """
    order = {id(param): place for place, param in enumerate(sent)}
    able = request.facts.cache_marks
    end = _passing(request.messages) if able else -2
    marks = [mark for mark in request.marks if mark.place < end and id(mark.param) in order]
    marks = [mark for mark in marks if not _is_fleeting(mark)]
    marks.sort(key=lambda mark: order[id(mark.param)])
    latest = [*reversed(_ordered(marks) if ordered else marks)]
    kept = sorted(latest, key=lambda mark: mark.cache != "1h")[:MOST]
    held = {id(mark) for mark in kept}
    full = "more than four, or behind request-only content"
    why = full if able else "this model takes none"
    for mark in request.marks:
        if id(mark) not in held:
            request.lose("hint", "cache mark", why, subject=mark.subject)
    return [mark for mark in marks if id(mark) in held]


def _is_fleeting(mark: Mark) -> bool:
    return isinstance(mark.subject, Message) and mark.subject.kind in FLEETING


def _ordered(marks: list[Mark]) -> list[Mark]:
    """Return the marks without those of five minutes that stand before one of an hour."""
    hours = [place for place, mark in enumerate(marks) if mark.cache == "1h"]
    late = marks[hours[-1] + 1 :] if hours else marks
    return [*(marks[place] for place in hours), *late]


def _passing(messages: Sequence[Message]) -> int:
    """Return the index of the first request-only message that no assistant turn follows."""
    answered = max((n for n, m in enumerate(messages) if m.role == "assistant"), default=-1)
    passing = (n for n, m in enumerate(messages) if n > answered and m.kind in FLEETING)
    return next(passing, len(messages))
