"""Attachments, both ways: where pictures and documents come from."""

import base64
from collections.abc import Mapping

from promptdsl.messages.media.source import MediaSource
from promptdsl.providers.shared.attachments import with_bytes
from promptdsl.providers.shared.clean import utf8
from promptdsl.providers.shared.request import Param

BASE64: Mapping[str, tuple[str, ...]] = {
    "image": ("image/jpeg", "image/png", "image/gif", "image/webp"),
    "document": ("application/pdf",),
}
"""The media types that are taken as base64, by block type."""


def source_param(kind: str, source: MediaSource) -> Param | None:
    """Return a source on the wire, ``None`` for one or a media type that is not taken."""
    source = with_bytes(source)
    value, media_type = utf8(source.value), source.media_type
    if source.kind == "url":
        if not value[:8].lower().startswith(("http://", "https://")):
            return None
        return {"type": "url", "url": value}
    if source.kind == "file_id":
        return {"type": "file", "file_id": value}
    if source.kind == "base64" and media_type in BASE64[kind]:
        return {"type": "base64", "media_type": media_type, "data": value}
    # Of texts only plain ones have a name here, and each is one.
    if source.kind == "base64" and kind == "document" and (media_type or "").startswith(_TEXTS):
        return _plain_text(value)
    return None


_TEXTS = ("text/", "application/json", "application/xml", "application/yaml")


def _plain_text(data: str) -> Param | None:
    try:
        text = base64.b64decode(data).decode()
    except ValueError:
        return None
    return {"type": "text", "media_type": "text/plain", "data": text}


def read_source(source: object) -> Param | None:
    """Return a source of the wire as the dictionary of ours, ``None`` for any other value."""
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
