"""Write and read attachments: pictures and documents."""

from collections.abc import Mapping

from promptdsl import messages as b
from promptdsl.foundation.json import JsonObject
from promptdsl.messages.field_checks import Cache, optional
from promptdsl.messages.media.source import MediaSource, SourceKind, is_address
from promptdsl.providers.shared.clean import with_bytes
from promptdsl.providers.shared.openai_parts import (
    IMAGE_DETAILS,
    file_data,
    picture_url,
    read_file_data,
    read_picture,
)
from promptdsl.providers.shared.request import Param


def media_part(block: b.MediaBlock) -> Param | None:
    """Return an attachment as a part, ``None`` if its source or its media type is not taken."""
    source, is_image = with_bytes(block.source), block.is_image
    part: Param = {"type": "input_image" if is_image else "input_file"}
    url = picture_url(source)
    if source.kind == "file_id":
        part["file_id"] = source.value
    elif url and (is_image or source.kind == "url"):
        part["image_url" if is_image else "file_url"] = url
    elif not is_image and (file := file_data(source, block.title)):
        part |= file
    else:
        return None
    if is_image:
        part["detail"] = block.detail if block.detail in IMAGE_DETAILS else "auto"
    elif block.detail in ("low", "high"):
        part["detail"] = block.detail
    return part


def needs_bytes(block: b.MediaBlock, role: str) -> bool:
    """Return whether the address of an attachment is refused, but its bytes may be taken."""
    return role != "assistant" and is_address(block.source) and media_part(block) is None


def read_image(part: JsonObject, cache: Cache | None) -> b.Block | None:
    """Return the block of a picture, ``None`` for a part without an address or an id."""
    url, id = (optional(part.get(key), key) for key in ("image_url", "file_id"))
    detail = optional(part.get("detail"), "detail")
    if url is not None:
        source = read_picture(url)
    elif id is not None:
        source = MediaSource("file_id", id, from_data=True)
    else:
        return None
    return b.ImageBlock(source, detail=None if detail == "auto" else detail, cache=cache)


def read_file(part: JsonObject, cache: Cache | None) -> b.Block | None:
    """Return the block of a document, ``None`` for a part without data, an address or an id."""
    values = {key: optional(part.get(key), key) for key in _KINDS}
    key, value = next((pair for pair in values.items() if pair[1] is not None), ("", None))
    if value is None:
        return None
    source = MediaSource(_KINDS[key], value, from_data=True)
    if key == "file_data":
        source = read_file_data(value)
    title, detail = (optional(part.get(key), key) for key in ("filename", "detail"))
    return b.DocumentBlock(source, title, detail, cache)


_KINDS: Mapping[str, SourceKind] = {"file_data": "base64", "file_url": "url", "file_id": "file_id"}
