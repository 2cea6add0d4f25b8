"""Blocks on the wire, each by the writer of its type, where one of that type may stand."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from promptdsl.wire.request import Param, Request

Writers = Mapping[str, Callable[[Any, Any], Param | None]]
"""By type of block, what writes it: told the request and the block."""


def write_blocks(
    request: Request,
    content: Iterable[Any],
    place: str,
    *,
    writers: Writers,
    known: Callable[[Any], Any],
) -> list[Param]:
    """Return the blocks of a content; one that may not stand in this place is a ``content`` loss.

    ``known`` returns the block that an unknown one is to this provider.
    """
    params: list[Param] = []
    for given in content:
        block = known(given) if given.type == "unknown" else given
        if block.type in writers:
            param = writers[block.type](request, block)
            params += [param] if param else []
        else:
            request.lose("content", f"{block.type} block", f"there is none in {place} content")
    return params
