"""Blocks on the wire, each by the writer of its type, where one of that type may stand."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from promptdsl.errors import DataError
from promptdsl.wire.request import Param, Request

Writers = Mapping[str, Callable[[Any, Any], Param | None]]
"""By type of block, what writes it: told the request and the block."""


def write_blocks(
    request: Request,
    content: Iterable[Any],
    place: str,
    *,
    origin: str,
    writers: Writers,
    known: Callable[[Any], Any],
) -> list[Param]:
    """Return the blocks of a content; one that may not stand in this place is a ``content`` loss.

    ``known`` returns the block that an unknown one is to the provider ``origin``; one that was read
    from another provider may not stand anywhere.
    """
    params: list[Param] = []
    for given in content:
        block, why = _known(given, origin, known)
        if not why and block.type not in writers:
            why = f"there is none in {place} content"
        if why:
            request.lose("content", f"{block.type} block", why)
        param = None if why else writers[block.type](request, block)
        params += [param] if param else []
        if param is None and getattr(block, "cache", None):
            request.lose("hint", "cache mark", "what it stands behind is not sent")
    return params


def _known(given: Any, origin: str, known: Callable[[Any], Any]) -> tuple[Any, str]:
    """Return the block an unknown one is to a provider, or why it is none."""
    if given.type != "unknown":
        return given, ""
    if given.origin not in (None, origin):
        return given, f"only {given.origin} knows it"
    try:
        return known(given), ""
    except DataError as error:
        return given, error.what
