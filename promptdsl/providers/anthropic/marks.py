"""Cache marks, both ways: at most four in a request, an hour before five minutes."""

from collections.abc import Mapping
from itertools import chain

from promptdsl.foundation.errors import DataError
from promptdsl.messages.field_checks import Cache
from promptdsl.providers.shared.cache_marks import places_of, settle_marks
from promptdsl.providers.shared.checks import mapping
from promptdsl.providers.shared.request import Mark, Param
from promptdsl.providers.shared.two_sided import Turns


def write_marks(request: Turns, tools: list[Param]) -> None:
    """Put the marks that a request may carry on what they stand behind."""
    sent = chain(tools, request.system, *(turn["content"] for turn in request.entries))
    kept = {id(mark.param): mark for mark in settle_marks(request, sent, ordered=True)}
    tools[:] = _marked(tools, kept)
    request.system = _marked(request.system, kept)
    for place in places_of(request.entries, kept):
        turn = request.entries[place]
        request.entries[place] = {**turn, "content": _marked(turn["content"], kept)}


def _marked(params: list[Param], kept: Mapping[int, Mark]) -> list[Param]:
    sent = [*params]
    for index, param in enumerate(params):
        if id(param) in kept:
            cache = kept[id(param)].cache
            ttl = {} if cache == "default" else {"ttl": cache}
            sent[index] = {**param, "cache_control": {"type": "ephemeral", **ttl}}
    return sent


def read_mark(control: object) -> Cache | None:
    """Return how long a ``cache_control`` asks for; :class:`DataError` for an unknown ``ttl``."""
    ttl = None if control is None else mapping(control).get("ttl", "default")
    if ttl not in (None, "default", "5m", "1h"):
        raise DataError(f"unknown 'ttl' {ttl!r}", fix="'5m' or '1h'")
    return ttl
