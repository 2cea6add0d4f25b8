"""OpenAI's Chat Completions: write and read attachments, and recognise the parts of others.

The functions here record no losses: ``write.py`` compares the part with its block, and reports what
is missing in it, such as a ``detail``. Each source that is read here has ``from_data=True``, as in
every reader: it came in a payload, not from the author's code.
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

    Chat has no part for a video. ``url_key`` is the key in a ``file`` for the URL of a document,
    ``None`` if a URL is refused. LiteLLM takes a URL in ``file_id``, and servers with Chat's format
    take one in ``file_data``. A ``detail`` that Chat does not know is left out, and the caller
    reports it.
    """
    # A base64 ``data:`` URL becomes a source of the kind ``base64``: it contains the bytes.
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
    if block.type == "document":
        file = _file_fields(source, block.title, url_key)
        return {"type": "file", "file": file} if file else None
    return None


def _file_fields(source: MediaSource, title: str | None, url_key: str | None) -> Param | None:
    """Return the fields of the ``file`` of a document, ``None`` if its source is refused."""
    if source.kind == "file_id":
        return {"file_id": source.value}
    if source.kind != "url":
        # The keys are ``file_data`` and ``filename``; ``None`` if the source is not ``base64``.
        return file_data(source, title)
    if url_key is None:
        return None
    if url_key == "file_id":
        return {url_key: source.value}
    name = file_name(title, source.media_type or "application/pdf")
    return {url_key: source.value, "filename": name}


def needs_bytes(block: b.MediaBlock, role: str) -> bool:
    """Return whether the address of an attachment is refused, but its bytes may be taken.

    ``role`` is that of the message: Chat takes no attachments of the assistant, with or without
    bytes. The URL of a document counts as refused here. So do not call this for one if the target
    takes it: if its fact ``file_addresses`` is true.
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


def reads_back_as_unknown(data: Mapping[str, object], origin: str) -> bool:
    """Return whether a part, once sent, would be read as an unknown block again.

    Only such a part of an unknown block is sent. Of a part whose type Chat knows, the reader would
    make another block. It would refuse a part that only another provider than ``origin`` has.
    """
    kind = data.get("type")
    return isinstance(kind, str) and kind not in _KNOWN_TYPES and owner_of(data, origin) is None
