"""Write and read attachments: their formats, their sources and their limits."""

import base64
import re
from collections.abc import Mapping

from promptdsl.foundation.errors import DataError
from promptdsl.foundation.json import JsonValue
from promptdsl.messages import MediaBlock
from promptdsl.messages.media.image_size import image_size
from promptdsl.messages.media.source import MediaSource, is_address
from promptdsl.providers.bedrock.request import Converse
from promptdsl.providers.shared.clean import json_copy, utf8, with_bytes
from promptdsl.providers.shared.request import Param

_OFFICE = "application/vnd.openxmlformats-officedocument"
FORMATS: Mapping[str, Mapping[str, str]] = {
    "image": {
        f"image/{media_format}": media_format for media_format in ("png", "jpeg", "gif", "webp")
    },
    "document": {
        "application/pdf": "pdf",
        "text/csv": "csv",
        "application/msword": "doc",
        f"{_OFFICE}.wordprocessingml.document": "docx",
        "application/vnd.ms-excel": "xls",
        f"{_OFFICE}.spreadsheetml.sheet": "xlsx",
        "text/html": "html",
        "text/plain": "txt",
        "text/markdown": "md",
    },
    "video": {
        **{f"video/{media_format}": media_format for media_format in ("mp4", "webm", "mpeg")},
        "video/quicktime": "mov",
        "video/x-matroska": "mkv",
        "video/x-flv": "flv",
        "video/x-ms-wmv": "wmv",
        "video/3gpp": "three_gp",
    },
    "audio": {
        "audio/mpeg": "mp3",
        "audio/x-matroska": "mka",
        **{
            f"audio/{media_format}": media_format
            for media_format in ("wav", "aac", "flac", "mp4", "ogg", "opus")
        },
        **{f"audio/{media_format}": media_format for media_format in ("pcm", "webm")},
    },
}
"""The formats of Converse by kind and media type (botocore's enumerations)."""

_ALIASES: Mapping[str, Mapping[str, str]] = {
    "image": {"jpg": "image/jpeg"},
    "video": {"mpg": "video/mpeg"},
    "audio": {
        **{"mkv": "audio/x-matroska", "x-aac": "audio/aac", "m4a": "audio/mp4"},
        **dict.fromkeys(("mpeg", "mpga"), "audio/mpeg"),
    },
}
_TYPES: Mapping[str, Mapping[str, str]] = {
    kind: {**_ALIASES.get(kind, {}), **{media_format: type for type, media_format in types.items()}}
    for kind, types in FORMATS.items()
}
"""The media types by kind and format."""

MOST: Mapping[str, int] = {"image": 20, "document": 5}
"""The most attachments of a kind in a message (``Message`` of AWS)."""

LARGEST: Mapping[str, int] = {"image": 3_932_160, "document": 4_718_592, "video": 19_660_800}
"""In bytes: 3.75 MB, 4.5 MB, and 25 MB of base64 text (``Message``, ``VideoSource``)."""

WIDEST = 8_000
"""The longest side of a picture, in pixels (``Message`` of AWS)."""

_S3 = re.compile(r"s3://[a-z0-9][.\-a-z0-9]{1,61}[a-z0-9](/.*)?", re.DOTALL)
_ENDING = re.compile(r"\.([A-Za-z0-9]{2,4})\Z")


def base64_text(data: object, key: str) -> str:
    """Return bytes as base64 text, and text unchanged; raises :class:`DataError` for others."""
    if isinstance(data, bytes | bytearray):
        return base64.b64encode(data).decode("ascii")
    if not isinstance(data, str):
        raise DataError(f"{key!r} is bytes or their base64 text, not {type(data).__name__}")
    return data


def base64_bytes(text: str) -> bytes | None:
    """Return the bytes of a base64 text, ``None`` for any other text."""
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        return None


def needs_bytes(block: MediaBlock, role: str) -> bool:
    """Return whether an attachment has an address outside of S3, which Converse does not take."""
    return role != "assistant" and block.source.kind != "s3" and is_address(block.source)


def media_param(request: Converse, block: MediaBlock) -> Param | str:
    """Return the format and the source of an attachment, or the reason why it is not sent."""
    kind, source = block.type, with_bytes(block.source)
    if kind not in request.facts.media:
        return f"this model takes no {kind}"
    if source.kind == "s3" and not request.facts.s3_media:
        return "this model takes no address in S3"
    if source.kind not in ("base64", "s3"):
        return "Converse takes only bytes and objects in S3"
    media_format = _format_of(kind, source) or block.extra.get("format")
    if not isinstance(media_format, str):
        return f"not one of the formats {', '.join(FORMATS[kind].values())}"
    # An address in S3 may name the owner of its bucket.
    if source.kind == "s3":
        address = source.value[:5].lower() + source.value[5:]
        if len(address) > 1024 or not _S3.fullmatch(address):
            return "not an address in S3"
        owner = block.extra.get("bucketOwner")
        owned = {"bucketOwner": owner} if isinstance(owner, str) else {}
        location: Param = {"s3Location": {"uri": address, **owned}}
    else:
        data = base64_bytes(source.value)
        reason = _refusal_of(kind, data)
        if data is None or reason:
            return reason
        location = _as_recorded(block, data)
    # Count the attachments of the turn that this one goes to.
    turn = len(request.entries) + (request.role != "user")
    if turn != request.counted:
        request.counted, request.counts = turn, {}
    count = request.counts.get(kind, 0) + 1
    if count > MOST.get(kind, count):
        return f"over the limit of {MOST[kind]} in a message"
    request.counts[kind] = count
    return {"format": media_format, "source": location}


def _format_of(kind: str, source: MediaSource) -> str | None:
    """Return the format of an attachment, ``None`` for one that Converse does not take."""
    media_type = source.media_type or ""
    ending = _ENDING.search(source.value) if source.kind == "s3" and not media_type else None
    if ending:
        media_format = {"jpg": "jpeg", "3gp": "three_gp"}.get(ending[1].lower(), ending[1].lower())
        return media_format if media_format in _TYPES[kind] else None
    plain = "txt" if kind == "document" and media_type.startswith("text/") else None
    return FORMATS[kind].get(media_type, plain)


def _refusal_of(kind: str, data: bytes | None) -> str:
    """Return why the bytes of an attachment would be refused, empty if they are taken."""
    if not data:
        return "it has no bytes, or its text is not base64"
    size = (image_size(data) if kind == "image" else None) or (0, 0)
    if max(size) > WIDEST:
        return f"over the limit of {WIDEST:,} pixels a side"
    if len(data) > LARGEST.get(kind, len(data)):
        return f"over the limit of {LARGEST[kind]:,} bytes"
    return ""


def _as_recorded(block: MediaBlock, data: bytes) -> Param:
    """Return the source of an attachment with bytes, a text if it was recorded as a text."""
    if block.is_document and (block.source.media_type or "").startswith("text/"):
        try:
            text = data.decode()
        except UnicodeDecodeError:
            return {"bytes": data}
        parts = block.extra.get("content")
        if block.extra.get("text") is True:
            return {"text": text}
        if text == utf8(_joined_texts(parts) or ""):
            return {"content": json_copy(parts)}
    return {"bytes": data}


def _joined_texts(parts: JsonValue) -> str | None:
    """Return the texts of a document's ``content`` as one text, ``None`` for any other value."""
    texts: list[str] = []
    for part in parts if isinstance(parts, list) else ():
        match part:
            case {"text": str(text)} if len(part) == 1:
                texts.append(text)
            case _:
                return None
    return "\n\n".join(texts) if texts else None


def read_source(
    kind: str, media_format: object, source: JsonValue
) -> tuple[MediaSource, Param] | None:
    """Return a source and the keys that only Converse has, ``None`` for an unknown source."""
    media_type = _TYPES[kind].get(media_format) if isinstance(media_format, str) else None
    further: Param = {} if media_format is None or media_type else {"format": media_format}
    if not isinstance(source, Mapping) or len(source) != 1:
        return None
    # A text is kept as bytes, because other providers take bytes, too.
    is_text = media_type is not None and media_type.startswith("text/")
    text_type = media_type if is_text else "text/plain"
    match source:
        case {"bytes": data}:
            return MediaSource("base64", base64_text(data, "bytes"), media_type), further
        case {"s3Location": {"uri": str(uri), **rest}}:
            owner = {str(key): value for key, value in rest.items()}
            return MediaSource("s3", uri, media_type), further | owner
        case {"text": str(text)} if kind == "document":
            recorded: Param = {"text": True}
        case {"content": parts} if kind == "document" and _joined_texts(parts) is not None:
            text, recorded = _joined_texts(parts) or "", {"content": parts}
        case _:
            return None
    data = base64_text(utf8(text).encode(), "text")
    return MediaSource("base64", data, text_type), recorded
