"""Write and read attachments: the media types and the addresses that Gemini takes."""

import re
from collections.abc import Callable, Mapping

from promptdsl import messages as b
from promptdsl.foundation.json import JsonObject
from promptdsl.messages.field_checks import optional, string
from promptdsl.messages.media.media_type import type_by_extension
from promptdsl.messages.media.source import MediaSource, SourceKind, is_address
from promptdsl.providers.gemini.spelling import base64_text, fields_of, is_base64, standard_base64
from promptdsl.providers.shared.clean import utf8, with_bytes
from promptdsl.providers.shared.request import Param

TYPES: Mapping[str, tuple[str, ...]] = {
    "image": ("image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"),
    "audio": ("audio/wav", "audio/mp3", "audio/aiff", "audio/aac", "audio/ogg", "audio/flac"),
    "video": (
        *("video/mp4", "video/mpeg", "video/mov", "video/avi", "video/x-flv", "video/mpg"),
        *("video/webm", "video/wmv", "video/3gpp"),
    ),
    "document": ("application/pdf", "text/plain"),
}
"""The media types that are taken, by type of block (Google's documentation)."""

RESULT_TYPES = ("image/png", "image/jpeg", "image/webp", "application/pdf", "text/plain")
"""The media types that a result may contain (Google's documentation of Gemini 3)."""

_SAME: Mapping[str, str] = {
    **{"image/jpg": "image/jpeg", "audio/mpeg": "audio/mp3", "audio/x-wav": "audio/wav"},
    **{"video/quicktime": "video/mov", "video/x-msvideo": "video/avi"},
    "video/x-ms-wmv": "video/wmv",
}
_SUFFIXES: Mapping[str, str] = {
    **{media_type.partition("/")[2]: media_type for kind in TYPES.values() for media_type in kind},
    **{"jpg": "image/jpeg", "txt": "text/plain", "flv": "video/x-flv", "3gp": "video/3gpp"},
    "aif": "audio/aiff",
}
_ADDRESSES: Mapping[str, tuple[str, ...]] = {
    **{"url": ("https://",), "gcs": ("gs://",), "file_id": ("https://", "gs://")},
}
_UPLOADED = "https://generativelanguage.googleapis.com/"
"""The beginning of addresses of uploaded files, whose types the service knows."""

_YOUTUBE = re.compile(r"https?://(www\.|m\.)?(youtube\.com|youtu\.be)/", re.IGNORECASE)
_CLASSES: Mapping[str, Callable[..., b.MediaBlock]] = {
    **{"image": b.ImageBlock, "audio": b.AudioBlock, "video": b.VideoBlock}
}


def source_param(kind: str, source: MediaSource) -> Param | None:
    """Return the source of an attachment, ``None`` if it or its media type is not taken."""
    source = with_bytes(source)
    value, media_type = utf8(source.value), sent_type(kind, source)
    if media_type and media_type not in TYPES[kind]:
        return None
    if source.kind == "base64":
        if not (media_type and value and is_base64(value)):
            return None
        return {"inline_data": {"mime_type": media_type, "data": standard_base64(value)}}
    if media_type is None or not value.lower().startswith(_ADDRESSES.get(source.kind, ("\0",))):
        return None
    typed = {"mime_type": media_type} if media_type else {}
    return {"file_data": {"file_uri": value, **typed}}


def sent_type(kind: str, source: MediaSource) -> str | None:
    """Return the media type to send, empty if none is needed, ``None`` if it is unknown."""
    media_type = source.media_type or _media_type_of(kind, utf8(source.value))
    media_type = _SAME.get(media_type.lower(), media_type.lower()) if media_type else media_type
    # Every text is a document, but Gemini has a media type for plain text only.
    is_text = kind == "document" and (media_type or "").startswith("text/")
    return "text/plain" if is_text else media_type


def needs_bytes(block: b.MediaBlock, role: str) -> bool:
    """Return whether the address of an attachment is refused, but its bytes may be taken.

    Attachments that a model made are sent as bytes, never as an address.
    """
    if not is_address(block.source):
        return False
    return role == "assistant" or source_param(block.type, block.source) is None


def _media_type_of(kind: str, address: str) -> str | None:
    """Return the media type that an address shows, empty if none is needed, or ``None``."""
    if kind == "video" and _YOUTUBE.match(address):
        return "video/mp4"
    path = re.split(r"[?#]", address, maxsplit=1)[0]
    media_type = _SUFFIXES.get(path.rpartition(".")[2].lower()) or type_by_extension(address)
    return media_type or ("" if address.lower().startswith(_UPLOADED) else None)


def read_media(key: str, data: object, extra: JsonObject) -> b.Block | None:
    """Return the block of ``inline_data`` or ``file_data``, ``None`` if it has unknown keys."""
    fields = fields_of(data)
    value = base64_text(fields.pop("data" if key == "inline_data" else "file_uri", None))
    media_type = optional(fields.pop("mime_type", None), "mime_type")
    title = optional(fields.pop("display_name", None), "display_name")
    if fields or not isinstance(value, str):
        return None
    value = string(value, key)
    address = value.lower()
    kind: SourceKind = "file_id"
    if key == "inline_data":
        kind, value, address = "base64", standard_base64(value), ""
    elif address.startswith("gs://"):
        kind = "gcs"
    elif address.startswith(("https://", "http://")) and not address.startswith(_UPLOADED):
        kind = "url"
    # The class of the block, by its media type or its address.
    family = media_type or _media_type_of("video" if _YOUTUBE.match(address) else "", address)
    block_class = _CLASSES.get((family or "").partition("/")[0].lower(), b.DocumentBlock)
    # ``video/*`` adds nothing to the class of the block.
    exact_type = None if (media_type or "").endswith("/*") else media_type
    source = MediaSource(kind, value, exact_type, from_data=True)
    return block_class(source, title, extra=extra)
