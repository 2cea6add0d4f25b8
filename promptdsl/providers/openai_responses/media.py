"""Attachments, both ways: pictures and documents."""

from collections.abc import Mapping

from promptdsl import messages as b
from promptdsl.foundation.json import JsonObject
from promptdsl.messages.field_checks import Cache, optional
from promptdsl.messages.media.source import MediaSource, SourceKind, data_url, plain_type
from promptdsl.providers.shared.clean import file_name, with_bytes
from promptdsl.providers.shared.request import Param

_IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/webp", "image/gif"})
_IMAGE_DETAILS = ("auto", "low", "high", "original")
_FILE_DETAILS = ("low", "high")


def media_part(block: b.ImageBlock | b.DocumentBlock) -> Param | None:
    """Return an attachment as a part, ``None`` for a source or a media type that is not taken."""
    source, is_image = with_bytes(block.source), block.is_image
    media_type = plain_type(source.media_type)
    part: Param = {"type": "input_image" if is_image else "input_file"}
    if source.kind == "file_id":
        part["file_id"] = source.value
    elif source.kind == "url" and source.value[:8].lower().startswith(("http://", "https://")):
        part["image_url" if is_image else "file_url"] = source.value
    elif source.kind == "base64" and is_image and media_type in _IMAGE_TYPES:
        part["image_url"] = f"data:{media_type};base64,{source.value}"
    elif source.kind == "base64" and not is_image and "," not in (media_type or ""):
        media_type = media_type or "application/pdf"
        part["file_data"] = f"data:{media_type};base64,{source.value}"
        part["filename"] = file_name(block.title, media_type)
    else:
        return None
    if is_image:
        part["detail"] = block.detail if block.detail in _IMAGE_DETAILS else "auto"
    elif block.detail in _FILE_DETAILS:
        part["detail"] = block.detail
    return part


def read_image(part: JsonObject, cache: Cache | None) -> b.Block | None:
    """Return the block of a picture, ``None`` for a part that does not say where it is."""
    url, id = (optional(part.get(key), key) for key in ("image_url", "file_id"))
    detail = optional(part.get("detail"), "detail")
    if url is not None:
        source = data_url(url)
        if source is None or plain_type(source.media_type) not in _IMAGE_TYPES:
            source = MediaSource("url", url, from_data=True)
    elif id is not None:
        source = MediaSource("file_id", id, from_data=True)
    else:
        return None
    return b.ImageBlock(source, detail=None if detail == "auto" else detail, cache=cache)


def read_file(part: JsonObject, cache: Cache | None) -> b.Block | None:
    """Return the block of a document, ``None`` for a part that does not say where it is."""
    values = {key: optional(part.get(key), key) for key in _KINDS}
    key, value = next((pair for pair in values.items() if pair[1] is not None), ("", None))
    if value is None:
        return None
    inside = data_url(value) if key == "file_data" else None
    source = inside or MediaSource(_KINDS[key], value, from_data=True)
    title, detail = (optional(part.get(key), key) for key in ("filename", "detail"))
    return b.DocumentBlock(source, title, detail, cache)


_KINDS: Mapping[str, SourceKind] = {"file_data": "base64", "file_url": "url", "file_id": "file_id"}
