"""Cache marks: at most four in a request, an hour before five minutes."""

from collections.abc import Sequence
from itertools import chain
from typing import cast

from promptdsl.adapters.anthropic.entries import mapping
from promptdsl.adapters.anthropic.request import Request
from promptdsl.errors import DataError
from promptdsl.losses import loss_of
from promptdsl.messages import FLEETING, Message

_MOST = 4


def settle_marks(request: Request) -> None:
    """Keep four: an hour before five minutes, of equals the last, which cover more."""
    sent = chain(request.system, *(turn["content"] for turn in request.turns))
    order = {id(param): place for place, param in enumerate(sent)}
    able = request.facts.cache_marks
    end = _passing(request.messages) if able else -1
    marks = [
        mark for mark in request.marks if mark.place < end and mark.message.kind not in FLEETING
    ]
    marks.sort(key=lambda mark: order[id(mark.param)])
    hours = [place for place, mark in enumerate(marks) if mark.cache == "1h"]
    late = marks[hours[-1] + 1 :] if hours else marks
    for mark in [*late, *(marks[place] for place in hours)][-_MOST:]:
        ttl = {} if mark.cache == "default" else {"ttl": mark.cache}
        mark.param["cache_control"] = {"type": "ephemeral", **ttl}
    full = "more than four, or behind request-only content"
    why = full if able else "this model takes none"
    lost = [mark.message for mark in request.marks if "cache_control" not in mark.param]
    request.losses += [loss_of(said, "hint", "cache mark", why) for said in lost]


def _passing(messages: Sequence[Message]) -> int:
    """Return the index of the first request-only message that no assistant turn follows."""
    answered = max((n for n, m in enumerate(messages) if m.role == "assistant"), default=-1)
    passing = (n for n, m in enumerate(messages) if n > answered and m.kind in FLEETING)
    return next(passing, len(messages))


def read_mark(control: object) -> str | None:
    """Return how long a ``cache_control`` asks for; :class:`DataError` for an unknown ``ttl``."""
    ttl = None if control is None else mapping(control).get("ttl", "default")
    if ttl not in (None, "default", "5m", "1h"):
        raise DataError(f"unknown 'ttl' {ttl!r}", fix="'5m' or '1h'")
    return cast("str | None", ttl)
