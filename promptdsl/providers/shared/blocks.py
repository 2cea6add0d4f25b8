"""Attachments: the bytes in an address, and a file's name where a service asks for one."""

from collections.abc import Callable, Container, Iterable, Iterator

from promptdsl.foundation.errors import DataError
from promptdsl.messages import Block, UnknownBlock
from promptdsl.messages.media.source import MediaSource, data_url
from promptdsl.providers.shared.request import Place, Request

_OFFICE = "application/vnd.openxmlformats-officedocument."
_SUFFIXES = {
    "text/plain": "txt",
    "text/markdown": "md",
    "text/csv": "csv",
    "text/html": "html",
    "application/json": "json",
    "application/rtf": "rtf",
    "application/msword": "doc",
    "application/vnd.ms-excel": "xls",
    _OFFICE + "wordprocessingml.document": "docx",
    _OFFICE + "spreadsheetml.sheet": "xlsx",
    _OFFICE + "presentationml.presentation": "pptx",
}


def held(source: MediaSource) -> MediaSource:
    """Return a source, the bytes in a ``data:`` address as such."""
    return (data_url(source.value) if source.kind == "url" else None) or source


def file_name(title: str | None, media_type: str) -> str:
    """Return a document's title, or a name with the ending of its type.

    A wrong ending is read as another type.
    """
    return title or f"document.{_SUFFIXES.get(media_type, 'pdf')}"


def blocks_to_write(
    request: Request,
    place: Place,
    content: Iterable[Block],
    *,
    kinds: Container[str],
    origin: str,
    read: Callable[[UnknownBlock], Block],
) -> Iterator[Block]:
    """Yield the blocks of a content that may stand there; each other one is a ``content`` loss.

    ``kinds`` are the types of blocks that may. ``read`` returns the block that an unknown one is to
    the provider ``origin``; one that was read from another provider may not stand anywhere.
    """
    for given in content:
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
        if why:
            request.lose(place, "content", f"{block.type} block", why)
            lose_mark(request, place, block)
        else:
            yield block


def lose_mark(request: Request, place: Place, block: Block) -> None:
    """Lose the cache mark of a block that is not sent, if it has one."""
    if getattr(block, "cache", None):
        request.lose(place, "hint", "cache mark", "what it stands behind is not sent")
