"""The blocks and their keys that a provider can express; any other one is a loss."""

from collections.abc import Callable, Container, Iterable

from promptdsl.foundation.errors import DataError
from promptdsl.messages import Block, UnknownBlock
from promptdsl.providers.shared.request import Place, Request

ITEM = "item"
"""The key of a block's extra with the ids it was recorded with, which are no loss."""


def block_to_write(
    request: Request,
    place: Place,
    block: Block,
    *,
    kinds: Container[str],
    origin: str,
    read: Callable[[UnknownBlock], Block],
) -> Block | None:
    """Return a block whose type is one of ``kinds``, ``None`` for any other: a ``content`` loss.

    ``read`` returns the block of the provider ``origin`` that an unknown block describes. An
    unknown block that was read from another provider is a loss, too.
    """
    why = ""
    if isinstance(block, UnknownBlock):
        if block.origin not in (None, origin):
            why = f"only {block.origin} knows it"
        else:
            try:
                block = read(block)
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
        request.lose(place, "hint", "cache mark", "the block before it is not sent")


def lose_keys(
    request: Request, place: Place, block: Block, *, service: str, known: Iterable[str] = ()
) -> None:
    """Lose the further keys of a block that are not sent; the ids it was read with are no loss."""
    for key, value in getattr(block, "extra", {}).items():
        if value and key != ITEM and key not in known:
            why = f"{service} has none on a {block.type} block"
            request.lose(place, "hint", f"key {key!r}", why)
