"""Parts of messages: attachments both ways, and the parts that other providers have."""

from collections.abc import Callable, Mapping

from promptdsl import messages as b
from promptdsl.messages.field_checks import Cache, optional
from promptdsl.messages.media.source import MediaSource, data_url, plain_type
from promptdsl.providers.shared.checks import entry
from promptdsl.providers.shared.clean import file_name, with_bytes
from promptdsl.providers.shared.other_providers import ANTHROPIC, RESPONSES, Owners, owner_of
from promptdsl.providers.shared.request import Param

ORIGIN = "openai"
AUDIO = "chat_audio"
"""The type of an unknown block with an answer's recording, which is sent beside the content."""
FOREIGN: Owners = {**ANTHROPIC, **RESPONSES}
_KNOWN = frozenset(
    {"text", "refusal", "image_url", "input_audio", "file", "function", "custom", AUDIO}
)

_IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/webp", "image/gif"})
_IMAGE_DETAILS = ("auto", "low", "high", "original")
_AUDIO_FORMATS = {
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/mpeg": "mp3",
    "audio/mp3": "mp3",
}
_AUDIO_TYPES = {"wav": "audio/wav", "mp3": "audio/mpeg"}


def media_part(block: b.MediaBlock) -> Param | None:
    """Return an attachment as a part, ``None`` when its source or its media type is refused."""
    source = with_bytes(block.source)
    kind, value = plain_type(source.media_type), source.value
    if block.type == "image":
        if source.kind == "base64" and kind in _IMAGE_TYPES:
            value = f"data:{kind};base64,{value}"
        elif source.kind != "url" or not value[:8].lower().startswith(("http://", "https://")):
            return None
        detail = {"detail": block.detail} if block.detail in _IMAGE_DETAILS else {}
        return {"type": "image_url", "image_url": {"url": value, **detail}}
    if block.type == "audio":
        format = _AUDIO_FORMATS.get(kind or "")
        if source.kind != "base64" or format is None:
            return None
        return {"type": "input_audio", "input_audio": {"data": value, "format": format}}
    if block.type == "document":
        if source.kind == "file_id":
            return {"type": "file", "file": {"file_id": value}}
        kind = kind or "application/pdf"
        if source.kind != "base64" or "," in kind:
            return None
        data, name = f"data:{kind};base64,{value}", file_name(block.title, kind)
        return {"type": "file", "file": {"file_data": data, "filename": name}}
    return None


def _read_image(image: Mapping[str, object], cache: Cache | None) -> b.ImageBlock:
    source = _read_source(url := entry(image, "url", str))
    if plain_type(source.media_type) not in _IMAGE_TYPES:
        source = MediaSource("url", url, from_data=True)
    return b.ImageBlock(source, detail=optional(image.get("detail"), "detail"), cache=cache)


def _read_audio(audio: Mapping[str, object], cache: Cache | None) -> b.AudioBlock:
    format = entry(audio, "format", str)
    media_type = _AUDIO_TYPES.get(format, f"audio/{format}")
    source = MediaSource("base64", entry(audio, "data", str), media_type, from_data=True)
    return b.AudioBlock(source, cache=cache)


def _read_file(file: Mapping[str, object], cache: Cache | None) -> b.DocumentBlock:
    if "file_id" in file:
        source = MediaSource("file_id", entry(file, "file_id", str), from_data=True)
    else:
        source = _read_source(entry(file, "file_data", str))
    title = optional(file.get("filename"), "filename")
    return b.DocumentBlock(source, title=title, cache=cache)


def _read_source(url: str) -> MediaSource:
    """Return the source of a data URL; any other text is taken for bare base64."""
    return data_url(url) or MediaSource("base64", url, from_data=True)


MEDIA_READERS: Mapping[str, Callable[[Mapping[str, object], Cache | None], b.Block]] = {
    "image_url": _read_image,
    "input_audio": _read_audio,
    "file": _read_file,
}
"""The functions that read an attachment, by the type of its part: a key of the part, too."""


def is_own_part(data: Mapping[str, object]) -> bool:
    """Return whether a part of an unknown type may be sent as it is, and would be read again."""
    kind = data.get("type")
    return isinstance(kind, str) and kind not in _KNOWN and owner_of(data, FOREIGN) is None
