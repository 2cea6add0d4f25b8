"""Attachments: the bytes in an address, and a file's name where a service asks for one."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from promptdsl.foundation.errors import DataError
from promptdsl.messages.media.source import MediaSource, data_url
from promptdsl.providers.shared.request import Param, Request

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
