"""The sources of attachments, and their media types: declared, or recognized by the first bytes."""

import os
import re
from collections.abc import Mapping
from typing import Literal, TypeAlias, get_args

import attrs

from promptdsl.foundation.errors import MediaError, OptionError, shown, with_article
from promptdsl.foundation.unicode import exact

# The sources of attachments: base64 text, an address, a path or a file id.

MediaKind: TypeAlias = Literal["image", "audio", "document", "video"]
"""The kind of an attachment, which is also the type of its block."""

MEDIA_KINDS: tuple[MediaKind, ...] = get_args(MediaKind)

SourceKind: TypeAlias = Literal["base64", "url", "path", "file_id", "s3", "gcs"]
"""The kind of a source: the bytes themselves, or where they are."""


@attrs.frozen
class MediaSource:
    """The source of an attachment: its bytes, or where they are.

    ``value`` is the base64 text, the address, the path or the file id, depending on ``kind``.
    ``from_data`` is true for a path that comes from data, not from code: this file is read only if
    it is in a folder of ``media_roots``.

    >>> from promptdsl import MediaSource
    >>> MediaSource("url", "https://example.com/a.png").to_dict()
    {'type': 'url', 'url': 'https://example.com/a.png'}
    """

    kind: SourceKind
    value: str
    media_type: str | None = None
    from_data: bool = attrs.field(default=False, eq=False)

    def to_dict(self) -> dict[str, str]:
        """Return ``{"type": kind, ...}`` with the value and, if there is one, the media type."""
        data: dict[str, str] = {"type": self.kind, SOURCE_KEYS[self.kind]: self.value}
        return data if self.media_type is None else {**data, "media_type": self.media_type}


SOURCE_KEYS: Mapping[SourceKind, str] = {
    "base64": "data",
    "url": "url",
    "path": "path",
    "file_id": "file_id",
    "s3": "uri",
    "gcs": "uri",
}
"""By kind of source, the key of its value in dictionaries."""

URL = re.compile(
    r"data:|(?:https?|gs|s3)://[^/?#\x00-\x1f\x7f][^\x00-\x1f\x7f]*\Z", re.IGNORECASE | re.ASCII
)
"""An address of a scheme that providers fetch."""

VALUE_KEYS = tuple(dict.fromkeys(SOURCE_KEYS.values()))
"""The keys of the value of a source in dictionaries, each once."""

KEYS_IN_BLOCK = (*VALUE_KEYS, "media_type")
"""The keys of a source that may also be directly in the dictionary of the media block."""

SHORTHANDS = ("type", *KEYS_IN_BLOCK)
"""All keys of a source in dictionaries."""


def plain_type(media_type: str | None) -> str | None:
    """Return a media type for comparison: in lower case, without parameters, JPEG with one name."""
    name = (media_type or "").partition(";")[0].strip().lower()
    return "image/jpeg" if name == "image/jpg" else name or None


def data_url(url: str) -> MediaSource | None:
    """Return the source in a base64 ``data:`` address, ``None`` for any other text."""
    head, comma, data = url.partition(",")
    first, *rest = head[5:].split(";")
    if not comma or head[:5].lower() != "data:" or not rest or rest[-1].lower() != "base64":
        return None
    return MediaSource("base64", data, first.lower() or None, from_data=True)


def is_address(source: MediaSource) -> bool:
    """Return whether a source is an address of the web or of a store, whose bytes can be loaded."""
    value = source.value
    is_remote = source.kind in ("url", "s3", "gcs") and value[:5].lower() != "data:"
    return is_remote and URL.match(value) is not None


# The media type of an attachment: declared, or recognized by its first bytes.

EXAMPLES: Mapping[MediaKind, str] = {
    "image": "image/png",
    "audio": "audio/wav",
    "document": "application/pdf",
    "video": "video/mp4",
}
"""By kind of attachment, an example of a media type for the advice of errors."""

HEAD_LENGTH = 64
"""The number of bytes that :func:`sniff` reads."""


def sniff(data: bytes) -> str | None:
    """Return the media type that the first bytes show, ``None`` for an unknown format."""
    head = bytes(data[:HEAD_LENGTH])
    for magic, media_type in _MAGIC.items():
        if head.startswith(magic):
            return media_type
    # Files in chunks (RIFF, AIFF): the name of the container and of its content.
    in_chunks = _CHUNKS.get((head[:4], head[8:12]))
    if in_chunks is not None:
        return in_chunks
    # Files in boxes (ISO/IEC 14496-12): the brand; an unknown brand is MP4.
    if head[:1] == b"\x00" and head[4:8] == b"ftyp":
        return _BRANDS.get(head[8:11], "video/mp4")
    # Bitmaps: many texts begin with the same two letters, so the header is compared further.
    is_bitmap = head[:2] == b"BM" and head[6:10] == bytes(4) and head[15:18] == bytes(3)
    if is_bitmap and head[14] in (12, 40, 52, 56, 64, 108, 124):
        return "image/bmp"
    # Matroska.
    if head.startswith(b"\x1aE\xdf\xa3"):
        return "video/webm" if b"webm" in head else "video/x-matroska"
    # Frames of MPEG audio without a container. Layer I is ignored, as UTF-16 begins like it.
    if len(head) < 3 or head[0] != 0xFF or head[1] & 0xE0 != 0xE0:
        return None
    version, layer = head[1] >> 3 & 3, head[1] >> 1 & 3
    if layer == 0:
        return "audio/aac" if version in (2, 3) and head[2] >> 2 & 15 < 13 else None
    legal = version != 1 and layer != 3 and head[2] >> 4 != 15 and head[2] >> 2 & 3 != 3
    return "audio/mpeg" if legal else None


def media_type_of(data: bytes, declared: str | None, kind: MediaKind | None) -> str:
    """Return the media type of an attachment: the declared type, or the type of its first bytes.

    A document of UTF-8 text without a declared type is ``text/plain``. Raises :class:`MediaError`
    if the bytes contradict the declared type or ``kind``, and for an unknown type.
    """
    declared_type, sniffed = spelled(declared, kind), sniff(data)
    if sniffed is None:
        media_type = _declared_or_text(data, declared_type, kind)
        check_kind(media_type, kind)
        return media_type
    # The same container may have another kind of content, such as sound in an MP4 file.
    same_container = f"{kind}/{sniffed.partition('/')[2]}"
    actual = same_container if same_container in _SAME_FIRST_BYTES.get(sniffed, ()) else sniffed
    check_kind(actual, kind)
    if sniffed in _ARCHIVES:
        if declared_type is None:
            raise MediaError(
                f"the bytes are {sniffed}, which documents of several types are",
                fix=f'declare the type: media_type="{_ARCHIVES[sniffed]}"',
            )
        agrees = declared_type.startswith("application/") and declared_type not in (
            "application/pdf",
            "application/rtf",
        )
    else:
        agrees = declared_type in (None, sniffed, *_SAME_FIRST_BYTES.get(sniffed, ()))
    if not agrees:
        raise MediaError(
            f"the attachment is declared {declared_type}, but its bytes are {sniffed}",
            fix=f'write media_type="{actual}", or leave it out',
        )
    check_kind(declared_type, kind)
    return declared_type or actual


def _declared_or_text(data: bytes, declared: str | None, kind: MediaKind | None) -> str:
    """Return the media type of bytes of an unknown format: the declared type, or plain text.

    Raises :class:`MediaError` without a declared type, unless the bytes are a document of text, and
    for a declared type whose files have other first bytes.
    """
    try:
        data.decode()
        is_utf8 = True
    except UnicodeDecodeError:
        is_utf8 = False
    if declared is None:
        is_text = is_utf8 and len(data.translate(None, _CONTROLS)) == len(data)
        if is_text and kind == "document":
            return "text/plain"
        if is_text and not data.lstrip().startswith(b"<"):  # a picture may be written as XML
            fix = "write the text itself, Document.from_path(path) or Document.from_bytes(data)"
            what = f"these bytes are text, not {with_article(kind or 'attachment')}"
            raise MediaError(what, fix=fix)
        raise MediaError(
            "the media type of these bytes is unknown",
            fix=f'declare it: media_type="{EXAMPLES[kind or "image"]}"',
        )
    if declared.startswith("text/") and not is_utf8:
        raise MediaError(
            f"the attachment is declared {declared}, but its bytes are not UTF-8 text",
            fix="encode the text as UTF-8",
        )
    if declared in _ALWAYS_RECOGNIZED:
        raise MediaError(
            f"the attachment is declared {declared}, but its bytes begin with {bytes(data[:12])!r}",
            fix="give the bytes of the picture; the server may have sent an error page",
        )
    return declared


def spelled(declared: str | None, kind: MediaKind | None) -> str | None:
    """Return a declared media type in its registered spelling, without parameters.

    Raises :class:`MediaError` for a text that is not a media type, and :class:`OptionError` for a
    value that is not a text.
    """
    if declared is None:
        return None
    fix = f'write it like media_type="{EXAMPLES[kind or "image"]}"'
    if not isinstance(declared, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise OptionError(f"media_type={shown(declared)}", fix=fix)
    text = exact(declared)
    name = text.partition(";")[0].strip().lower()
    if not _SYNTAX.fullmatch(name):
        raise MediaError(f"{text[:60]!r} is not a media type", fix=fix)
    return _SPELLINGS.get(name, name)


def check_kind(media_type: str | None, kind: MediaKind | None) -> None:
    """Raise :class:`MediaError` for a media type of another kind, and name that kind."""
    if media_type is None or kind is None:
        return
    actual = kind_of_type(media_type)
    if actual != kind:
        fix = f"make it {with_article(actual.capitalize())}"
        raise MediaError(f"{with_article(kind.capitalize())} cannot be {media_type}", fix=fix)


def kind_of_type(media_type: str) -> MediaKind:
    """Return the kind of attachment of a media type: image, audio, video; otherwise document."""
    family = media_type.partition("/")[0]
    kinds: list[MediaKind] = [kind for kind in MEDIA_KINDS if kind == family]
    return kinds[0] if kinds else "document"


def type_by_extension(address: str) -> str | None:
    """Return the media type for the extension of a path or an address, or ``None``.

    The type is a guess. If the bytes show a known format, the type of the bytes counts.
    """
    _, dot, extension = file_name(address)[-16:].rpartition(".")  # no extension is longer
    return _EXTENSIONS.get(extension.lower()) if dot else None


def file_name(address: str) -> str:
    """Return the last part of a path or of an address, without the query of an address."""
    if "://" in address[:8]:
        from urllib.parse import unquote

        path = address.partition("?")[0].partition("#")[0].partition("://")[2]
        return unquote(path.rpartition("/")[2]) if "/" in path else ""
    return os.path.basename(address)


def type_of_file(data: bytes, name: str, kind: MediaKind | None) -> str | None:
    """Return the type of a text or an office document by its extension, ``None`` for other files.

    The first bytes of other files show their type.
    """
    by_name, sniffed = type_by_extension(name) or "", sniff(data)
    if kind != "document" or by_name in ("text/plain", "application/pdf", "application/rtf"):
        return None
    family = "text/" if sniffed is None else "application/" if sniffed in _ARCHIVES else "\0"
    return by_name if by_name.startswith(family) else None


# The control bytes that file(1) does not accept in text.
_CONTROLS = bytes({*range(32), 127} - set(b"\a\b\t\n\f\r\x1b"))
_SYNTAX = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,126}/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}")

_SPELLINGS = {
    "image/jpg": "image/jpeg",
    "audio/mp3": "audio/mpeg",
    "audio/wave": "audio/wav",
    "audio/x-wav": "audio/wav",
    "audio/m4a": "audio/mp4",
    "audio/x-m4a": "audio/mp4",
    "audio/x-aiff": "audio/aiff",
    "audio/x-flac": "audio/flac",
    "application/ogg": "audio/ogg",
    "video/avi": "video/x-msvideo",
    "video/mov": "video/quicktime",
    "application/x-pdf": "application/pdf",
    "text/rtf": "application/rtf",
    "text/x-markdown": "text/markdown",
}

_ALWAYS_RECOGNIZED = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""The types whose files all begin with bytes that :func:`sniff` knows."""

_SAME_FIRST_BYTES: Mapping[str, tuple[str, ...]] = {
    "image/png": ("image/apng",),
    "image/heic": ("image/heif",),
    "image/heif": ("image/heic", "image/avif"),
    # An ID3 tag may be before either format.
    "audio/mpeg": ("audio/aac",),
    # These containers may have only sound, with the same first bytes.
    "audio/ogg": ("audio/opus", "video/ogg"),
    "video/mp4": ("audio/mp4",),
    "video/3gpp": ("audio/3gpp",),
    "video/webm": ("audio/webm", "video/x-matroska"),
    "video/x-matroska": ("audio/x-matroska",),
}
"""By the type that :func:`sniff` returns, the other types that may be declared for these bytes."""

_OPEN_XML = "application/vnd.openxmlformats-officedocument"
_ARCHIVES = {
    "application/zip": f"{_OPEN_XML}.wordprocessingml.document",
    "application/x-ole-storage": "application/msword",
}
"""Containers of office documents, each with an example of a type inside."""

_MAGIC = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
    b"II*\x00": "image/tiff",
    b"MM\x00*": "image/tiff",
    b"%PDF-": "application/pdf",
    b"{\\rtf": "application/rtf",
    b"PK\x03\x04": "application/zip",
    b"PK\x05\x06": "application/zip",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "application/x-ole-storage",
    b"ID3\x02": "audio/mpeg",
    b"ID3\x03": "audio/mpeg",
    b"ID3\x04": "audio/mpeg",
    b"fLaC": "audio/flac",
    b"OggS\x00": "audio/ogg",
    b"\x00\x00\x01\xba": "video/mpeg",
    b"\x00\x00\x01\xb3": "video/mpeg",
}

_CHUNKS = {
    (b"RIFF", b"WEBP"): "image/webp",
    (b"RIFF", b"WAVE"): "audio/wav",
    (b"RIFF", b"AVI "): "video/x-msvideo",
    (b"FORM", b"AIFF"): "audio/aiff",
}

_BRANDS = {
    b"avi": "image/avif",
    b"hei": "image/heic",
    b"hev": "image/heic",
    b"mif": "image/heif",
    b"msf": "image/heif",
    b"M4A": "audio/mp4",
    b"M4B": "audio/mp4",
    b"qt ": "video/quicktime",
    b"3gp": "video/3gpp",
}
"""By the first three letters of a brand; any other brand is MP4."""

_TEXTS = ("txt", "text", "log", "json", "jsonl", "xml", "yaml", "yml", "toml", "tsv", "rst")
_EXTENSIONS: Mapping[str, str] = {
    **{
        subtype: f"image/{subtype}"
        for subtype in ("png", "jpeg", "gif", "webp", "bmp", "tiff", "avif")
    },
    **{subtype: f"image/{subtype}" for subtype in ("heic", "heif")},
    **{"jpg": "image/jpeg", "tif": "image/tiff", "svg": "image/svg+xml"},
    **{subtype: f"audio/{subtype}" for subtype in ("wav", "aac", "flac", "ogg", "opus", "aiff")},
    **{"mp3": "audio/mpeg", "m4a": "audio/mp4", "aif": "audio/aiff"},
    **{subtype: f"video/{subtype}" for subtype in ("mp4", "webm", "mpeg")},
    **{"mov": "video/quicktime", "mkv": "video/x-matroska", "mpg": "video/mpeg"},
    **{"avi": "video/x-msvideo", "flv": "video/x-flv", "wmv": "video/x-ms-wmv"},
    **{"3gp": "video/3gpp", "pdf": "application/pdf", "rtf": "application/rtf"},
    **dict.fromkeys(_TEXTS, "text/plain"),
    **{"csv": "text/csv", "html": "text/html", "htm": "text/html"},
    **{"md": "text/markdown", "markdown": "text/markdown"},
    **{"doc": "application/msword", "docx": f"{_OPEN_XML}.wordprocessingml.document"},
    **{"xls": "application/vnd.ms-excel", "xlsx": f"{_OPEN_XML}.spreadsheetml.sheet"},
    **{"ppt": "application/vnd.ms-powerpoint"},
    **{"pptx": f"{_OPEN_XML}.presentationml.presentation"},
}
"""The media types by extension; a text format that is not listed counts as plain text."""
