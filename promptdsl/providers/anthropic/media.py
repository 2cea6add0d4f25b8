"""Write and read attachments: the sources of images and documents."""

import base64
from collections.abc import Mapping

from promptdsl.messages import MediaBlock
from promptdsl.messages.media.source import MediaSource, is_address, plain_type
from promptdsl.providers.shared.clean import TEXT_TYPE, text_of_file, utf8, with_bytes
from promptdsl.providers.shared.request import Param

BASE64: Mapping[str, tuple[str, ...]] = {
    "image": ("image/jpeg", "image/png", "image/gif", "image/webp"),
    "document": ("application/pdf",),
}
"""The media types that are taken as base64, by type of block."""


def source_param(kind: str, source: MediaSource) -> Param | None:
    """Return a source as it is sent, ``None`` if it or its media type is refused."""
    source = with_bytes(source)
    value, media_type = utf8(source.value), source.media_type
    if source.kind == "url":
        is_web = value[:8].lower().startswith(("http://", "https://"))
        return {"type": "url", "url": value} if is_web else None
    if source.kind == "file_id":
        return {"type": "file", "file_id": value}
    if source.kind == "base64" and media_type in BASE64[kind]:
        return {"type": "base64", "media_type": media_type, "data": value}
    # The only media type of a text is text/plain, and every text may be sent as that.
    text = text_of_file(source) if kind == "document" else None
    return None if text is None else {"type": "text", "media_type": "text/plain", "data": text}


def needs_bytes(block: MediaBlock, role: str) -> bool:
    """Return whether the address of an attachment is refused, but its bytes may be taken.

    A document at an address is always a PDF (``URLPDFSourceParam``), so a text is sent as bytes.
    """
    if role == "assistant" or not is_address(block.source):
        return False
    is_text = block.is_document and TEXT_TYPE.fullmatch(plain_type(block.media_type) or "")
    return bool(is_text) or source_param(block.type, block.source) is None


def read_source(source: object) -> Param | None:
    """Return a recorded source as the dictionary of a ``MediaSource``, ``None`` for others."""
    match source:
        case {"type": "file", "file_id": str(id)}:
            return {"type": "file_id", "file_id": id}
        case {"type": "text", "data": str(text)}:
            data = base64.b64encode(utf8(text).encode()).decode()
            return {"type": "base64", "data": data, "media_type": "text/plain"}
        case {"type": "base64", "data": str(data), "media_type": str(media_type)}:
            return {"type": "base64", "data": data, "media_type": media_type}
        case {"type": "url", "url": str(url)}:
            return {"type": "url", "url": url}
        case _:
            return None
