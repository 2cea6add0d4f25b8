"""Cache marks, both ways: a block of its own behind what it covers, at most four in a request."""

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any, cast

from promptdsl.foundation.errors import DataError
from promptdsl.messages.field_checks import Cache
from promptdsl.providers.bedrock.request import Converse
from promptdsl.providers.shared.cache_marks import places_of, settle_marks
from promptdsl.providers.shared.checks import items, mapping
from promptdsl.providers.shared.request import Param

POINT = "cachePoint"


def write_marks(request: Converse, tools: list[Param]) -> None:
    """Put a block for each mark that a request may carry behind what it covers."""
    lists = [tools, request.system, *(turn["content"] for turn in request.entries)]
    _lose_misplaced(request)
    points: dict[int, Param] = {}
    for mark in settle_marks(request, chain.from_iterable(lists), ordered=True):
        ttl = {} if mark.cache == "default" else {"ttl": mark.cache}
        points[id(mark.param)] = {POINT: {"type": "default", **ttl}}
    tools[:] = _pointed(tools, points)
    request.system = [*_pointed(request.system, points)]
    for place in places_of(request.entries, points):
        turn = request.entries[place]
        request.entries[place] = {**turn, "content": [*_pointed(turn["content"], points)]}


def _pointed(params: list[Param], points: Mapping[int, Param]) -> Iterator[Param]:
    for param in params:
        yield param
        if id(param) in points:
            yield points[id(param)]


def _lose_misplaced(request: Converse) -> None:
    """Lose marks behind documents and videos, which are refused (pydantic-ai, ``BedrockModel``)."""
    claude = request.is_made_by("claude", "anthropic.")
    for mark in [*request.marks]:
        pdf = claude and mark.param.get("document", {}).get("format") == "pdf"
        if "video" in mark.param or ("document" in mark.param and not pdf):
            why = "none may stand behind a video, or a document that is no PDF for Claude"
            request.lose(mark.subject, "hint", "cache mark", why)
            request.marks.remove(mark)


def marked_items(data: object, place: str) -> Iterator[tuple[str, Any, Cache | None]]:
    """Yield each item of a list that is no mark: where it stands, itself, and the mark behind it.

    Raises :class:`DataError` for a mark with nothing before it.
    """
    found = items(data, place)
    for index, item in enumerate(found):
        if not _is_mark(item):
            behind = found[index + 1 : index + 2]
            cache = read_mark(behind[0][POINT]) if behind and _is_mark(behind[0]) else None
            yield f"{place}[{index}]", item, cache
        elif index == 0 or _is_mark(found[index - 1]):
            raise DataError(
                f"{place}[{index}]: a {POINT!r} with nothing before it",
                fix="it stands behind what it covers",
            )


def _is_mark(item: Any) -> bool:
    return isinstance(item, Mapping) and len(cast("Any", item)) == 1 and POINT in item


def read_mark(point: object) -> Cache:
    """Return how long a mark asks for; :class:`DataError` for an unknown ``ttl``."""
    ttl = mapping(point).get("ttl", "default")
    if ttl not in ("default", "5m", "1h"):
        raise DataError(f"unknown 'ttl' {ttl!r}", fix="'5m' or '1h'")
    return ttl  # type: ignore[no-any-return]
