"""The blocks and their keys that a provider has a word for; each other one is a loss."""

from collections.abc import Callable, Container, Iterable
from typing import Any

from promptdsl.foundation.errors import DataError
from promptdsl.messages import Block, UnknownBlock
from promptdsl.providers.shared.request import Place, Request

ITEM = "item"
"""The key of a block's extra that holds the ids it was recorded with, which are no loss."""


def block_to_write(
    request: Request,
    place: Place,
    given: Block,
    *,
    kinds: Container[str],
    origin: str,
    read: Callable[[UnknownBlock], Block],
) -> Block | None:
    """Return a block that may stand in a content, ``None`` for any other: a ``content`` loss.

    ``kinds`` are the types of blocks that may. ``read`` returns the block that an unknown one is to
    the provider ``origin``; one that was read from another provider may not stand anywhere.
    """
    block, why = given, ""
    if isinstance(given, UnknownBlock):
        if given.origin not in (None, origin):
            why = f"only {given.origin} knows it"
        else:
            try:
                block = read(given)
            except DataError as error:
                why = error.what
    if not why and block.type not in kinds:
        why = f"there is none in {place.role} content"
    if not why:
        return block
    request.lose(place, "content", f"{block.type} block", why)
    lose_mark(request, place, block)
    return None


def lose_mark(request: Request, place: Place, block: Block) -> None:
    """Lose the cache mark of a block that is not sent, if it has one."""
    if getattr(block, "cache", None):
        request.lose(place, "hint", "cache mark", "what it stands behind is not sent")


def lose_keys(
    request: Request, place: Place, block: Any, *, service: str, known: Iterable[str] = ()
) -> None:
    """Record the further keys of a block that are not sent; ids are none of them."""
    for key, value in block.extra.items():
        if value and key != ITEM and key not in known:
            why = f"{service} has none on a {block.type} block"
            request.lose(place, "hint", f"key {key!r}", why)
