"""Attachments, both ways: pictures, recordings and documents."""

from collections.abc import Callable, Mapping
from typing import Any

from promptdsl import blocks as b
from promptdsl.adapters.openai_chat.entries import optional, string
from promptdsl.sources import MediaSource, data_url
from promptdsl.wire.media import file_name
from promptdsl.wire.request import Param

_IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/webp", "image/gif"})
_IMAGE_DETAILS = ("auto", "low", "high", "original")
_AUDIO_FORMATS = {
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/mpeg": "mp3",
    "audio/mp3": "mp3",
}
_FETCHED = ("data:image/", "http://", "https://")
_AUDIO_TYPES = {"wav": "audio/wav", "mp3": "audio/mpeg"}


def media_part(block: b.MediaBlock) -> Param | None:
    """Return an attachment as a part, ``None`` for a source or a media type that is not taken."""
    return _WRITERS[block.type](block) if block.type in _WRITERS else None


def _image(block: b.MediaBlock) -> Param | None:
    source = block.source
    if source.kind not in ("url", "base64"):
        return None
    held = data_url(source.value) if source.kind == "url" else source
    if held is not None and held.media_type not in _IMAGE_TYPES:
        return None
    url = source.value if held is None else _data_url(held)
    if not url[:11].lower().startswith(_FETCHED):
        return None
    image = {"url": url}
    if block.detail in _IMAGE_DETAILS:
        image["detail"] = block.detail
    return {"type": "image_url", "image_url": image}


def _audio(block: b.MediaBlock) -> Param | None:
    format = _AUDIO_FORMATS.get(block.source.media_type or "")
    if block.source.kind != "base64" or format is None:
        return None
    return {"type": "input_audio", "input_audio": {"data": block.source.value, "format": format}}


def _document(block: b.MediaBlock) -> Param | None:
    source = block.source
    name = file_name(block.title, source.media_type or "")
    if source.kind == "file_id":
        return {"type": "file", "file": {"file_id": source.value}}
    if source.kind != "base64":
        return None
    return {"type": "file", "file": {"file_data": _data_url(source), "filename": name}}


def _data_url(source: MediaSource) -> str:
    media_type = (source.media_type or "application/pdf").partition(";")[0].strip()
    return f"data:{media_type};base64,{source.value}"


_WRITERS: Mapping[str, Callable[[b.MediaBlock], Param | None]] = {
    "image": _image,
    "audio": _audio,
    "document": _document,
}


def _read_image(where: str, image: Mapping[str, Any], cache: b.Cache | None) -> b.ImageBlock:
    source = _source(url := string(image, "url", where))
    if source.media_type not in _IMAGE_TYPES:
        source = MediaSource("url", url, from_data=True)
    return b.ImageBlock(source, detail=optional(image, "detail", where), cache=cache)


def _read_audio(where: str, audio: Mapping[str, Any], cache: b.Cache | None) -> b.AudioBlock:
    format = string(audio, "format", where)
    media_type = _AUDIO_TYPES.get(format, f"audio/{format}")
    source = MediaSource("base64", string(audio, "data", where), media_type, from_data=True)
    return b.AudioBlock(source, cache=cache)


def _read_file(where: str, file: Mapping[str, Any], cache: b.Cache | None) -> b.DocumentBlock:
    if "file_id" in file:
        source = MediaSource("file_id", string(file, "file_id", where), from_data=True)
    else:
        source = _source(string(file, "file_data", where))
    return b.DocumentBlock(source, title=optional(file, "filename", where), cache=cache)


def _source(url: str) -> MediaSource:
    """Return the source a data URL holds; what is none is taken for bare base64."""
    return data_url(url) or MediaSource("base64", url, from_data=True)


MEDIA_READERS: Mapping[str, Callable[[str, Mapping[str, Any], b.Cache | None], b.Block]] = {
    "image_url": _read_image,
    "input_audio": _read_audio,
    "file": _read_file,
}
"""By a part's type, what reads the mapping under that key, told where it stands."""
