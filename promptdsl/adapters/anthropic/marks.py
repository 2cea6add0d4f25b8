"""Cache marks, both ways: at most four in a request, an hour before five minutes."""

from itertools import chain

from promptdsl.blocks import Cache
from promptdsl.errors import DataError
from promptdsl.wire.entries import mapping
from promptdsl.wire.marks import settle_marks
from promptdsl.wire.request import Param
from promptdsl.wire.turns import Turns


def write_marks(request: Turns, tools: list[Param]) -> None:
    """Put the marks that a request may carry on what they stand behind."""
    sent = chain(tools, request.system, *(turn["content"] for turn in request.turns))
    for mark in settle_marks(request, sent, ordered=True):
        ttl = {} if mark.cache == "default" else {"ttl": mark.cache}
        mark.param["cache_control"] = {"type": "ephemeral", **ttl}


def read_mark(control: object) -> Cache | None:
    """Return how long a ``cache_control`` asks for; :class:`DataError` for an unknown ``ttl``."""
    ttl = None if control is None else mapping(control).get("ttl", "default")
    if ttl not in (None, "default", "5m", "1h"):
        raise DataError(f"unknown 'ttl' {ttl!r}", fix="'5m' or '1h'")
    return ttl
