"""Attachments, both ways: pictures and documents."""

from collections.abc import Mapping
from typing import Any

from promptdsl import messages as b
from promptdsl.messages.field_checks import Cache, optional
from promptdsl.messages.media.source import MediaSource, data_url, plain_type
from promptdsl.providers.shared.clean import file_name, with_bytes
from promptdsl.providers.shared.request import Param

_IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/webp", "image/gif"})
_IMAGE_DETAILS = ("auto", "low", "high", "original")
_FILE_DETAILS = ("low", "high")


def media_part(block: b.MediaBlock) -> Param | None:
    """Return an attachment as a part, ``None`` for a source or a media type that is not taken."""
    if block.is_image:
        return _image(block)
    return _document(block) if block.is_document else None


def _image(block: b.MediaBlock) -> Param | None:
    source = with_bytes(block.source)
    detail = block.detail if block.detail in _IMAGE_DETAILS else "auto"
    if source.kind == "file_id":
        return {"type": "input_image", "file_id": source.value, "detail": detail}
    kind = plain_type(source.media_type)
    data = source.kind == "base64" and kind in _IMAGE_TYPES
    url = f"data:{kind};base64,{source.value}" if data else _address(source)
    return url and {"type": "input_image", "image_url": url, "detail": detail}  # type: ignore[return-value]


def _document(block: b.MediaBlock) -> Param | None:
    source = with_bytes(block.source)
    detail = {"detail": block.detail} if block.detail in _FILE_DETAILS else {}
    if source.kind == "file_id":
        return {"type": "input_file", "file_id": source.value, **detail}
    if source.kind == "url" and _address(source):
        return {"type": "input_file", "file_url": source.value, **detail}
    kind = plain_type(source.media_type) or "application/pdf"
    if source.kind != "base64" or "," in kind:
        return None
    data = f"data:{kind};base64,{source.value}"
    name = file_name(block.title, kind)
    return {"type": "input_file", "file_data": data, "filename": name, **detail}


def _address(source: MediaSource) -> str | None:
    fetched = source.value[:8].lower().startswith(("http://", "https://"))
    return source.value if source.kind == "url" and fetched else None


def read_image(part: Mapping[str, Any], cache: Cache | None) -> b.Block | None:
    """Return the block of a picture, ``None`` for a part that does not say where it is."""
    url, id = (optional(part.get(key), key) for key in ("image_url", "file_id"))
    detail = optional(part.get("detail"), "detail")
    if url is None and id is None:
        return None
    source = _source("file_id", id) if url is None else data_url(url) or _source("url", url)
    if source.kind == "base64" and plain_type(source.media_type) not in _IMAGE_TYPES:
        source = _source("url", url)
    return b.ImageBlock(source, detail=None if detail == "auto" else detail, cache=cache)


def read_file(part: Mapping[str, Any], cache: Cache | None) -> b.Block | None:
    """Return the block of a document, ``None`` for a part that does not say where it is."""
    found = {key: optional(part.get(key), key) for key in ("file_data", "file_url", "file_id")}
    key = next((key for key, value in found.items() if value is not None), None)
    if key is None:
        return None
    value = found[key] or ""
    inside = data_url(value) if key == "file_data" else None
    source = inside or _source(_KINDS[key], value)
    title, detail = (optional(part.get(key), key) for key in ("filename", "detail"))
    return b.DocumentBlock(source, title, detail, cache)


_KINDS: Mapping[str, Any] = {"file_data": "base64", "file_url": "url", "file_id": "file_id"}


def _source(kind: Any, value: str | None) -> MediaSource:
    return MediaSource(kind, value or "", from_data=True)
