"""Attachments, both ways: where pictures, recordings, films and documents come from."""

import re
from collections.abc import Mapping
from typing import Any

from promptdsl import messages as b
from promptdsl.messages.field_checks import optional, string
from promptdsl.messages.media.source import MediaSource, SourceKind
from promptdsl.providers.gemini.spelling import base64_text, entries_of, is_base64, standard
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
"""The media types that are taken, by block type, in the words of Google's documentation."""

RESULT_TYPES = ("image/png", "image/jpeg", "image/webp", "application/pdf", "text/plain")
"""The media types that a result may hold, as Google's documentation of Gemini 3 has them."""

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
"""Where files that were uploaded before are; the service knows their types."""

_YOUTUBE = re.compile(r"https?://(www\.|m\.)?(youtube\.com|youtu\.be)/", re.IGNORECASE)
_CLASSES: Mapping[str, Any] = {"image": b.ImageBlock, "audio": b.AudioBlock, "video": b.VideoBlock}


def source_param(kind: str, source: MediaSource) -> Param | None:
    """Return a source on the wire, ``None`` for one or a media type that is not taken."""
    source = with_bytes(source)
    value = utf8(source.value)
    media_type = _media_type(kind, source.media_type or _told(kind, value))
    if source.kind == "base64":
        fits = bool(media_type and value) and is_base64(value)
        return {"inline_data": {"mime_type": media_type, "data": standard(value)}} if fits else None
    if media_type is None or not value.lower().startswith(_ADDRESSES.get(source.kind, ("\0",))):
        return None
    typed = {"mime_type": media_type} if media_type else {}
    return {"file_data": {"file_uri": value, **typed}}


def _media_type(kind: str, given: str | None) -> str | None:
    """Return the service's name for a media type, ``None`` for one that is not taken."""
    if not given:
        return given
    found = _SAME.get(given.lower(), given.lower())
    # Of texts only plain ones have a name here, and each is one.
    if kind == "document" and found.startswith("text/"):
        found = "text/plain"
    return found if found in TYPES[kind] else None


def _told(kind: str, address: str) -> str | None:
    """Return the media type an address tells, empty where none is needed."""
    if kind == "video" and _YOUTUBE.match(address):
        return "video/mp4"
    path = re.split(r"[?#]", address, maxsplit=1)[0]
    found = _SUFFIXES.get(path.rpartition(".")[2].lower())
    return found or ("" if address.lower().startswith(_UPLOADED) else None)


def _family(media_type: str | None, address: str) -> str:
    """Return what an attachment is, as its media type tells it, or else its address."""
    told = media_type or (_told("video" if _YOUTUBE.match(address) else "", address) or "")
    return told.partition("/")[0].lower()


def read_media(key: str, data: object, extra: Mapping[str, Any]) -> b.Block | None:
    """Return the block of ``inline_data`` or ``file_data``, ``None`` for what is no known one."""
    held = entries_of(data)
    value = base64_text(held.pop("data" if key == "inline_data" else "file_uri", None))
    media_type = optional(held.pop("mime_type", None), "mime_type")
    title = optional(held.pop("display_name", None), "display_name")
    if held or not isinstance(value, str):
        return None
    address = string(value, key)
    kind = "base64" if key == "inline_data" else _address_kind(address.lower())
    family = _family(media_type, "" if kind == "base64" else address)
    # One for any film says no more than that it is one.
    told = None if (media_type or "").endswith("/*") else media_type
    value = standard(address) if kind == "base64" else address
    source = MediaSource(kind, value, told, from_data=True)
    block: b.Block = _CLASSES.get(family, b.DocumentBlock)(source, title, extra=extra)
    return block


def _address_kind(address: str) -> SourceKind:
    if address.startswith("gs://"):
        return "gcs"
    other = address.startswith(("https://", "http://")) and not address.startswith(_UPLOADED)
    return "url" if other else "file_id"
