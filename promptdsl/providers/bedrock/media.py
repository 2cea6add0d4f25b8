"""Attachments, both ways: their formats, where their bytes are, and how large they may be."""

import re
from collections.abc import Mapping
from typing import Any, cast

from promptdsl.messages import MediaBlock
from promptdsl.messages.media.image_size import image_size
from promptdsl.messages.media.source import MediaSource
from promptdsl.providers.bedrock.binary import decoded, encoded
from promptdsl.providers.bedrock.request import Converse
from promptdsl.providers.shared.clean import json_copy, utf8, with_bytes
from promptdsl.providers.shared.request import Param

_OFFICE = "application/vnd.openxmlformats-officedocument"
FORMATS: Mapping[str, Mapping[str, str]] = {
    "image": {f"image/{form}": form for form in ("png", "jpeg", "gif", "webp")},
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
        **{f"video/{form}": form for form in ("mp4", "webm", "mpeg")},
        "video/quicktime": "mov",
        "video/x-matroska": "mkv",
        "video/x-flv": "flv",
        "video/x-ms-wmv": "wmv",
        "video/3gpp": "three_gp",
    },
    "audio": {
        "audio/mpeg": "mp3",
        "audio/x-matroska": "mka",
        **{f"audio/{form}": form for form in ("wav", "aac", "flac", "mp4", "ogg", "opus")},
        **{f"audio/{form}": form for form in ("pcm", "webm")},
    },
}
"""By kind and media type, what Converse calls it (botocore's enumerations)."""

_ALIASES: Mapping[str, Mapping[str, str]] = {
    "image": {"jpg": "image/jpeg"},
    "video": {"mpg": "video/mpeg"},
    "audio": {
        **{"mkv": "audio/x-matroska", "x-aac": "audio/aac", "m4a": "audio/mp4"},
        **dict.fromkeys(("mpeg", "mpga"), "audio/mpeg"),
    },
}
_TYPES: Mapping[str, Mapping[str, str]] = {
    kind: {**_ALIASES.get(kind, {}), **{form: type for type, form in types.items()}}
    for kind, types in FORMATS.items()
}

MOST: Mapping[str, int] = {"image": 20, "document": 5}
"""How many of a kind a message may hold (``Message`` of AWS)."""

LARGEST: Mapping[str, int] = {
    "image": 3_932_160,
    "document": 4_718_592,
    "video": 19_660_800,
}
"""In bytes: 3.75 MB, 4.5 MB, and what is 25 MB as base64 text (``Message``, ``VideoSource``)."""

WIDEST = 8_000
"""The longest side of a picture, in pixels (``Message`` of AWS)."""

_S3 = re.compile(r"s3://[a-z0-9][.\-a-z0-9]{1,61}[a-z0-9](/.*)?", re.DOTALL)
_ENDING = re.compile(r"\.([A-Za-z0-9]{2,4})\Z")


def media_param(request: Converse, block: MediaBlock) -> Param | str:
    """Return format and source on the wire, or why there are none."""
    source, kind = block.source, block.type
    if kind not in request.facts.media:
        return "this model takes none"
    source = with_bytes(source)
    if source.kind not in ("base64", "s3"):
        return "it takes bytes and objects in S3 only"
    form = _format(kind, source) or block.extra.get("format")
    if not isinstance(form, str):
        return f"not one of the formats {', '.join(FORMATS[kind].values())}"
    place = _object(block, source) if source.kind == "s3" else _held(kind, source)
    if isinstance(place, str):
        return place
    return _too_many(request, kind) or {"format": form, "source": _as_read(block, place)}


def _format(kind: str, source: MediaSource) -> str | None:
    """Return what Converse calls a format; of texts only some have a name, and each is one."""
    media_type = source.media_type or ""
    ending = _ENDING.search(source.value) if source.kind == "s3" and not media_type else None
    if ending:
        named = {"jpg": "jpeg", "3gp": "three_gp"}.get(ending[1].lower(), ending[1].lower())
        return named if named in _TYPES[kind] else None
    plain = "txt" if kind == "document" and media_type.startswith("text/") else None
    return FORMATS[kind].get(media_type, plain)


def _object(block: MediaBlock, source: MediaSource) -> Param | str:
    if len(source.value) > 1024 or not _S3.fullmatch(source.value):
        return "not an address in S3"
    owner = block.extra.get("bucketOwner")
    owned = {"bucketOwner": owner} if isinstance(owner, str) else {}
    return {"s3Location": {"uri": source.value, **owned}}


def _held(kind: str, source: MediaSource) -> Param | str:
    data = decoded(source.value)
    if not data:
        return "it holds no bytes, or no base64 text of them"
    size = (image_size(data) if kind == "image" else None) or (0, 0)
    if max(size) > WIDEST:
        return f"over the limit of {WIDEST:,} pixels a side"
    if len(data) > LARGEST.get(kind, len(data)):
        return f"over the limit of {LARGEST[kind]:,} bytes"
    return {"bytes": data}


def _as_read(block: MediaBlock, place: Param) -> Param:
    """Return the source of a document that was read as text as that text, any other as it is."""
    is_text = block.is_document and (block.source.media_type or "").startswith("text/")
    text = _decoded_text(place) if is_text else None
    if text is None:
        return place
    if block.extra.get("text") is True:
        return {"text": text}
    parts = block.extra.get("content")
    return {"content": json_copy(parts)} if text == utf8(_joined(parts) or "") else place


def _decoded_text(place: Param) -> str | None:
    try:
        return str(place["bytes"], "utf-8") if "bytes" in place else None
    except UnicodeDecodeError:
        return None


def _joined(parts: object) -> str | None:
    """Return what a list of texts says, ``None`` for another value."""
    texts = [_only_text(part) for part in cast("Any", parts)] if isinstance(parts, list) else []
    known = [text for text in texts if text is not None]
    return "\n\n".join(known) if known and len(known) == len(texts) else None


def _only_text(part: Any) -> str | None:
    match part:
        case {"text": str(text)} if len(part) == 1:
            return text
        case _:
            return None


def _too_many(request: Converse, kind: str) -> str:
    """Count an attachment of the turn at hand; return why it is one too many, if it is."""
    turn = len(request.entries) + (request.role != "user")
    if turn != request.counted:
        request.counted, request.counts = turn, {}
    if request.counts.get(kind, 0) >= MOST.get(kind, 1 << 30):
        return f"over the limit of {MOST[kind]} in a message"
    request.counts[kind] = request.counts.get(kind, 0) + 1
    return ""


def read_source(kind: str, form: object, source: object) -> tuple[MediaSource, Param] | None:
    """Return a source of ours and the keys it has no word for, ``None`` for another value."""
    media_type = _TYPES[kind].get(form) if isinstance(form, str) else None
    further: Param = {} if form is None or media_type else {"format": form}
    given: Any = source
    match given:
        case {"bytes": data} if len(given) == 1:
            return MediaSource("base64", encoded(data, "bytes"), media_type), further
        case {"s3Location": {"uri": str(uri)} as place} if len(given) == 1:
            owner = {key: place[key] for key in place if key != "uri"}
            return MediaSource("s3", uri, media_type), further | owner
        case {"text": str(text)} if kind == "document" and len(given) == 1:
            return _text_source(text, media_type), {"text": True}
        case {"content": parts} if kind == "document" and len(given) == 1:
            said = _joined(parts)
            return None if said is None else (_text_source(said, media_type), {"content": parts})
        case _:
            return None


def _text_source(text: str, media_type: str | None) -> MediaSource:
    """Return a text as bytes, which other providers take, too."""
    is_text = media_type is not None and media_type.startswith("text/")
    return MediaSource(
        "base64", encoded(utf8(text).encode(), "text"), media_type if is_text else "text/plain"
    )
