"""OpenAI's Chat Completions: write and read attachments, and recognise the parts of others.

The functions here record no losses: ``write.py`` compares the part with its block, and reports what
is missing in it, such as a ``detail``. The sources that are read here are ``from_data``: they came
in data, not in code. Every reader says so; of a path, it decides where the file may be read from.
"""

from collections.abc import Callable, Mapping

from promptdsl import messages as b
from promptdsl.messages.field_checks import Cache, optional
from promptdsl.messages.media.source import MediaSource, is_address, plain_type
from promptdsl.providers.shared.checks import required
from promptdsl.providers.shared.clean import file_name, with_bytes
from promptdsl.providers.shared.openai_parts import (
    IMAGE_DETAILS,
    file_data,
    picture_url,
    read_file_data,
    read_picture,
)
from promptdsl.providers.shared.other_providers import owner_of
from promptdsl.providers.shared.request import Param

AUDIO = "chat_audio"
"""The type of an unknown block with the audio of an answer, which is not sent in its content."""
_KNOWN_TYPES = frozenset(
    {"text", "refusal", "image_url", "input_audio", "file", "function", "custom", AUDIO}
)
"""The types of parts, and of calls, that are read as a block of their own."""

_AUDIO_FORMATS = {
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/mpeg": "mp3",
    "audio/mp3": "mp3",
}
_AUDIO_TYPES = {"wav": "audio/wav", "mp3": "audio/mpeg"}


def media_part(block: b.MediaBlock, *, url_key: str | None = None) -> Param | None:
    """Return an attachment as a part, ``None`` if its source or its media type is refused.

    ``url_key`` is the key in a ``file`` for the URL of a document, ``None`` if a URL is refused.
    LiteLLM takes a URL in ``file_id``, and servers with Chat's format take one in ``file_data``.
    A ``detail`` that Chat does not know is left out, and the caller reports it.
    """
    # A ``data:`` URL contains the bytes, so it is sent like base64.
    source = with_bytes(block.source)
    if block.type == "image":
        url = picture_url(source)
        detail = {"detail": block.detail} if block.detail in IMAGE_DETAILS else {}
        return {"type": "image_url", "image_url": {"url": url, **detail}} if url else None
    if block.type == "audio":
        format = _AUDIO_FORMATS.get(plain_type(source.media_type) or "")
        if source.kind != "base64" or format is None:
            return None
        return {"type": "input_audio", "input_audio": {"data": source.value, "format": format}}
    if url_key is not None and block.is_document and source.kind == "url":
        if url_key == "file_id":
            return {"type": "file", "file": {url_key: source.value}}
        name = file_name(block.title, source.media_type or "application/pdf")
        return {"type": "file", "file": {url_key: source.value, "filename": name}}
    if block.type == "document":
        is_uploaded = source.kind == "file_id"
        # ``file_data()`` returns the keys ``file_data`` and ``filename``, ``None`` without bytes.
        file = {"file_id": source.value} if is_uploaded else file_data(source, block.title)
        return {"type": "file", "file": file} if file else None
    return None


def needs_bytes(block: b.MediaBlock, role: str) -> bool:
    """Return whether the address of an attachment is refused, but its bytes may be taken.

    ``role`` is that of the message: Chat takes no attachments of the assistant, with or without
    bytes. The caller does not ask about the URL of a document where a server takes it (the
    ``url_key`` above).
    """
    return role != "assistant" and is_address(block.source) and media_part(block) is None


def _read_image(image: Mapping[str, object], cache: Cache | None) -> b.ImageBlock:
    source = read_picture(required(image, "url", str))
    return b.ImageBlock(source, detail=optional(image.get("detail"), "detail"), cache=cache)


def _read_audio(audio: Mapping[str, object], cache: Cache | None) -> b.AudioBlock:
    format = required(audio, "format", str)
    media_type = _AUDIO_TYPES.get(format, f"audio/{format}")
    data = required(audio, "data", str)
    source = read_file_data(data, media_type)
    if source.media_type != media_type:
        # A data URL that names another type, or none, such as ``data:audio/ogg;base64,T2dn`` with
        # the format ``wav``, is kept as the value, so that it is sent back unchanged. Its type is
        # that of ``format``.
        source = MediaSource("base64", data, media_type, from_data=True)
    return b.AudioBlock(source, cache=cache)


def _read_file(file: Mapping[str, object], cache: Cache | None) -> b.DocumentBlock:
    if "file_id" in file:
        source = MediaSource("file_id", required(file, "file_id", str), from_data=True)
    else:
        source = read_file_data(required(file, "file_data", str))
    title = optional(file.get("filename"), "filename")
    return b.DocumentBlock(source, title=title, cache=cache)


MEDIA_READERS: Mapping[str, Callable[[Mapping[str, object], Cache | None], b.Block]] = {
    "image_url": _read_image,
    "input_audio": _read_audio,
    "file": _read_file,
}
"""The functions that read an attachment, by the type of its part.

A part has its content under its type: ``{"type": "file", "file": {...}}``.
"""


def is_sendable_part(data: Mapping[str, object], origin: str) -> bool:
    """Return whether a part of an unknown type may be sent unchanged.

    Chat does not know its type, and no provider but ``origin`` has such a part. So when it is read
    again, it is an unknown block once more.
    """
    kind = data.get("type")
    return isinstance(kind, str) and kind not in _KNOWN_TYPES and owner_of(data, origin) is None
