"""Cache marks, both ways: a ``cachePoint`` block after the params it covers."""

from collections.abc import Iterator, Mapping
from itertools import chain

from promptdsl.foundation.errors import DataError
from promptdsl.messages.field_checks import Cache
from promptdsl.providers.bedrock.request import Converse
from promptdsl.providers.shared.cache_marks import places_of, settle_marks
from promptdsl.providers.shared.checks import items, mapping
from promptdsl.providers.shared.request import Param

POINT = "cachePoint"


def write_marks(request: Converse, tools: list[Param]) -> None:
    """Insert a block for each mark that the request may carry, after the param it covers."""
    # Marks after documents and videos are refused (pydantic-ai, ``BedrockModel``).
    claude = request.is_made_by("claude", "anthropic.")
    for mark in [*request.marks]:
        pdf = claude and mark.param.get("document", {}).get("format") == "pdf"
        if "video" in mark.param or ("document" in mark.param and not pdf):
            reason = "none may follow a video, or a document other than a PDF for Claude"
            request.lose(mark.subject, "hint", "cache mark", reason)
            request.marks.remove(mark)
    # The blocks of the marks that are kept, by the id of the param before each.
    points: dict[int, Param] = {}
    sent = chain(tools, request.system, *(turn["content"] for turn in request.entries))
    for mark in settle_marks(request, sent, ordered=True):
        ttl = {} if mark.cache == "default" else {"ttl": mark.cache}
        points[id(mark.param)] = {POINT: {"type": "default", **ttl}}
    # Turns may be remembered, so each that gets a block is replaced and not changed.
    tools[:] = _with_points(tools, points)
    request.system = [*_with_points(request.system, points)]
    for index in places_of(request.entries, points):
        turn = request.entries[index]
        request.entries[index] = {**turn, "content": [*_with_points(turn["content"], points)]}


def _with_points(params: list[Param], points: Mapping[int, Param]) -> Iterator[Param]:
    for param in params:
        yield param
        if id(param) in points:
            yield points[id(param)]


def marked_items(data: object, key: str) -> Iterator[tuple[str, object, Cache | None]]:
    """Yield the path, the value and the cache mark of each item of a list, except the marks.

    Raises :class:`DataError` for a mark with nothing before it.
    """
    listed = items(data, key)
    are_marks = [isinstance(item, Mapping) and [*item] == [POINT] for item in listed]
    for index, item in enumerate(listed):
        path = f"{key}[{index}]"
        if not are_marks[index]:
            is_marked = are_marks[index + 1 : index + 2] == [True]
            yield path, item, read_mark(mapping(listed[index + 1])[POINT]) if is_marked else None
        elif index == 0 or are_marks[index - 1]:
            raise DataError(
                f"{path}: a {POINT!r} with nothing before it", fix="put it after a block"
            )


def read_mark(point: object) -> Cache:
    """Return the time to live of a mark; :class:`DataError` for an unknown ``ttl``."""
    ttl = mapping(point).get("ttl", "default")
    for known in _TTLS:
        if known == ttl:
            return known
    raise DataError(f"unknown 'ttl' {ttl!r}", fix="'5m' or '1h'")


_TTLS: tuple[Cache, ...] = ("default", "5m", "1h")
