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
    """Put the marks that a request may carry on the blocks and tools before them."""
    params = chain(tools, request.system, *(turn["content"] for turn in request.entries))
    kept = {id(mark.param): mark for mark in settle_marks(request, params, ordered=True)}
    tools[:] = _with_marks(tools, kept)
    request.system = _with_marks(request.system, kept)
    for index in places_of(request.entries, kept):
        turn = request.entries[index]
        request.entries[index] = {**turn, "content": _with_marks(turn["content"], kept)}


def _with_marks(params: list[Param], kept: Mapping[int, Mark]) -> list[Param]:
    sent = [*params]
    for index, param in enumerate(params):
        if mark := kept.get(id(param)):
            ttl = {} if mark.cache == "default" else {"ttl": mark.cache}
            sent[index] = {**param, "cache_control": {"type": "ephemeral", **ttl}}
    return sent


def read_mark(control: object) -> Cache | None:
    """Return the mark of a ``cache_control``; :class:`DataError` for an unknown ``ttl``."""
    ttl = None if control is None else mapping(control).get("ttl", "default")
    if ttl not in (None, "default", "5m", "1h"):
        raise DataError(f"unknown 'ttl' {ttl!r}", fix="'5m' or '1h'")
    return ttl
