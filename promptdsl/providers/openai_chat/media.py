"""Attachments, both ways: pictures, recordings and documents."""

from collections.abc import Callable, Mapping
from typing import Any

from promptdsl import messages as b
from promptdsl.messages.field_checks import Cache, optional
from promptdsl.messages.media.source import MediaSource, data_url, plain_type
from promptdsl.providers.shared.attachments import file_name, with_bytes
from promptdsl.providers.shared.checks import entry
from promptdsl.providers.shared.request import Param

_IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/webp", "image/gif"})
_IMAGE_DETAILS = ("auto", "low", "high", "original")
_AUDIO_FORMATS = {
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/mpeg": "mp3",
    "audio/mp3": "mp3",
}
_FETCHED = ("http://", "https://")
_AUDIO_TYPES = {"wav": "audio/wav", "mp3": "audio/mpeg"}


def media_part(block: b.MediaBlock) -> Param | None:
    """Return an attachment as a part, ``None`` for a source or a media type that is not taken."""
    return _WRITERS[block.type](block) if block.type in _WRITERS else None


def _image(block: b.MediaBlock) -> Param | None:
    source = with_bytes(block.source)
    kind, url = plain_type(source.media_type), source.value
    if source.kind == "base64" and kind in _IMAGE_TYPES:
        url = f"data:{kind};base64,{url}"
    elif source.kind != "url" or not url[:8].lower().startswith(_FETCHED):
        return None
    image = {"url": url}
    if block.detail in _IMAGE_DETAILS:
        image["detail"] = block.detail
    return {"type": "image_url", "image_url": image}


def _audio(block: b.MediaBlock) -> Param | None:
    source = with_bytes(block.source)
    format = _AUDIO_FORMATS.get(plain_type(source.media_type) or "")
    if source.kind != "base64" or format is None:
        return None
    return {"type": "input_audio", "input_audio": {"data": source.value, "format": format}}


def _document(block: b.MediaBlock) -> Param | None:
    source = with_bytes(block.source)
    if source.kind == "file_id":
        return {"type": "file", "file": {"file_id": source.value}}
    kind = plain_type(source.media_type) or "application/pdf"
    if source.kind != "base64" or "," in kind:
        return None
    data, name = f"data:{kind};base64,{source.value}", file_name(block.title, kind)
    return {"type": "file", "file": {"file_data": data, "filename": name}}


_WRITERS: Mapping[str, Callable[[b.MediaBlock], Param | None]] = {
    "image": _image,
    "audio": _audio,
    "document": _document,
}


def _read_image(image: Mapping[str, Any], cache: Cache | None) -> b.ImageBlock:
    source = _source(url := entry(image, "url", str))
    if plain_type(source.media_type) not in _IMAGE_TYPES:
        source = MediaSource("url", url, from_data=True)
    return b.ImageBlock(source, detail=optional(image.get("detail"), "detail"), cache=cache)


def _read_audio(audio: Mapping[str, Any], cache: Cache | None) -> b.AudioBlock:
    format = entry(audio, "format", str)
    media_type = _AUDIO_TYPES.get(format, f"audio/{format}")
    source = MediaSource("base64", entry(audio, "data", str), media_type, from_data=True)
    return b.AudioBlock(source, cache=cache)


def _read_file(file: Mapping[str, Any], cache: Cache | None) -> b.DocumentBlock:
    if "file_id" in file:
        source = MediaSource("file_id", entry(file, "file_id", str), from_data=True)
    else:
        source = _source(entry(file, "file_data", str))
    title = optional(file.get("filename"), "filename")
    return b.DocumentBlock(source, title=title, cache=cache)


def _source(url: str) -> MediaSource:
    """Return the source a data URL holds; what is none is taken for bare base64."""
    return data_url(url) or MediaSource("base64", url, from_data=True)


MEDIA_READERS: Mapping[str, Callable[[Mapping[str, Any], Cache | None], b.Block]] = {
    "image_url": _read_image,
    "input_audio": _read_audio,
    "file": _read_file,
}
"""By a part's type, what reads the mapping under that key."""
