"""Media types: what the first bytes of an attachment tell, and what they may be declared to be."""

import re
from collections.abc import Mapping
from typing import TypeAlias

from promptdsl.foundation.errors import MediaError, OptionError
from promptdsl.foundation.unicode import exact

Kind: TypeAlias = str
"""What an attachment is, as its block names it: ``image``, ``audio``, ``document``, ``video``."""

EXAMPLES: Mapping[Kind, str] = {
    "image": "image/png",
    "audio": "audio/wav",
    "document": "application/pdf",
    "video": "video/mp4",
}

HEAD = 64
"""How many bytes are looked at."""


def sniff(data: bytes) -> str | None:
    """Return the media type that the first bytes tell, ``None`` when they tell none."""
    head = bytes(data[:HEAD])
    for offset, magic, media_type in _MAGIC:
        if head.startswith(magic, offset):
            return media_type
    return next((told for look in _LOOKS if (told := look(head))), None)


def media_type_of(data: bytes, declared: str | None, kind: Kind | None) -> str:
    """Return the media type of an attachment: the declared one, or what the bytes tell.

    A document of UTF-8 text is ``text/plain`` unless declared. Raises :class:`MediaError` when
    nothing tells the type, when bytes and declaration disagree, or when it is of another kind.
    """
    given, found = spelled(declared, kind), sniff(data)
    media_type = _believed(data, given, kind) if found is None else _told(found, given, kind)
    check_kind(media_type, kind)
    return media_type


def spelled(declared: str | None, kind: Kind | None) -> str | None:
    """Return a declared media type in its registered spelling, parameters left out.

    Raises :class:`MediaError` for what is no media type, :class:`OptionError` for no string.
    """
    if declared is None:
        return None
    fix = f'write it like media_type="{EXAMPLES[kind or "image"]}"'
    if not isinstance(declared, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise OptionError(f"media_type={declared!r}", fix=fix)
    text = exact(declared)
    bare = text.partition(";")[0].strip().lower()
    if not _FORM.fullmatch(bare):
        raise MediaError(f"{text[:60]!r} is no media type", fix=fix)
    return _SPELLINGS.get(bare, bare)


def check_kind(media_type: str | None, kind: Kind | None) -> None:
    """Raise :class:`MediaError` for a media type that is not of a kind, and say of which it is."""
    if media_type is None or kind is None or _kind_of(media_type) == kind:
        return
    fix = f"make it {_a(_kind_of(media_type))}"
    raise MediaError(f"{_a(kind)} cannot be {media_type}", fix=fix)


def _kind_of(media_type: str) -> str:
    family = media_type.partition("/")[0]
    return family if family in ("image", "audio", "video") else "document"


def _a(kind: str) -> str:
    """Return the component of a kind behind its article."""
    return f"{'an' if kind[0] in 'ai' else 'a'} {kind.capitalize()}"


def _told(found: str, given: str | None, kind: Kind | None) -> str:
    """Return the type of bytes that tell one."""
    twin = f"{kind}/{found.partition('/')[2]}"
    own = twin if twin in _ALSO.get(found, ()) else found
    check_kind(own, kind)
    if given is None and found in _ARCHIVES:
        raise MediaError(
            f"the bytes are {found}, which many documents are",
            fix=f'say which: media_type="{_ARCHIVES[found]}"',
        )
    if given is not None and not _may_be(found, given):
        raise MediaError(
            f"the attachment is declared {given}, but its bytes are {found}",
            fix=f'write media_type="{own}", or leave it out',
        )
    return given or own


def _may_be(found: str, given: str) -> bool:
    """Whether bytes of one type can be declared as another."""
    if found in _ARCHIVES:
        return given.startswith("application/") and given not in _UNMISTAKABLE
    return given == found or given in _ALSO.get(found, ())


def _believed(data: bytes, given: str | None, kind: Kind | None) -> str:
    """Return the type of bytes that tell none: the declared one, or that of text."""
    if given is None:
        if kind == "document" and _is_text(data):
            return "text/plain"
        raise MediaError(
            "the bytes do not tell their media type",
            fix=f'say it: media_type="{EXAMPLES[kind or "image"]}"',
        )
    if given.startswith("text/") and not _is_utf8(data):
        raise MediaError(
            f"the attachment is declared {given}, but its bytes are no UTF-8 text",
            fix="encode the text as UTF-8",
        )
    return given


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _is_text(data: bytes) -> bool:
    return _is_utf8(data) and len(data.translate(None, _CONTROLS)) == len(data)


# The control bytes that text holds are the ones that file(1) accepts in it.
_CONTROLS = bytes({*range(32), 127} - set(b"\a\b\t\n\f\r\x1b"))
_FORM = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,126}/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}")

_SPELLINGS = {
    "image/jpg": "image/jpeg",
    "image/pjpeg": "image/jpeg",
    "image/x-ms-bmp": "image/bmp",
    "audio/mp3": "audio/mpeg",
    "audio/x-mp3": "audio/mpeg",
    "audio/wave": "audio/wav",
    "audio/x-wav": "audio/wav",
    "audio/vnd.wave": "audio/wav",
    "audio/m4a": "audio/mp4",
    "audio/x-m4a": "audio/mp4",
    "audio/x-aac": "audio/aac",
    "audio/x-aiff": "audio/aiff",
    "audio/x-flac": "audio/flac",
    "application/ogg": "audio/ogg",
    "video/avi": "video/x-msvideo",
    "video/msvideo": "video/x-msvideo",
    "video/mov": "video/quicktime",
    "video/x-m4v": "video/mp4",
    "application/x-pdf": "application/pdf",
    "application/x-zip-compressed": "application/zip",
    "text/rtf": "application/rtf",
    "text/x-markdown": "text/markdown",
}

_ALSO: Mapping[str, tuple[str, ...]] = {
    "image/png": ("image/apng",),
    "image/heic": ("image/heif",),
    "image/heif": ("image/heic", "image/avif"),
    # A tag in front says ID3, whatever follows it.
    "audio/mpeg": ("audio/aac",),
    # These containers hold sound alone, too, and their first bytes do not tell.
    "audio/ogg": ("audio/opus", "video/ogg"),
    "video/mp4": ("audio/mp4",),
    "video/3gpp": ("audio/3gpp",),
    "video/3gpp2": ("audio/3gpp2",),
    "video/webm": ("audio/webm", "video/x-matroska"),
    "video/x-matroska": ("audio/x-matroska",),
}
"""What bytes of a type may also be declared to be."""

_ARCHIVES = {
    "application/zip": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "application/x-ole-storage": "application/msword",
}
"""Containers of office documents, each with a type that is kept in it."""

_UNMISTAKABLE = ("application/pdf", "application/rtf")

_MAGIC = (
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF87a", "image/gif"),
    (0, b"GIF89a", "image/gif"),
    (0, b"II*\x00", "image/tiff"),
    (0, b"MM\x00*", "image/tiff"),
    (0, b"%PDF-", "application/pdf"),
    (0, b"{\\rtf", "application/rtf"),
    (0, b"PK\x03\x04", "application/zip"),
    (0, b"PK\x05\x06", "application/zip"),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),
    (0, b"ID3\x02", "audio/mpeg"),
    (0, b"ID3\x03", "audio/mpeg"),
    (0, b"ID3\x04", "audio/mpeg"),
    (0, b"fLaC", "audio/flac"),
    (0, b"#!AMR", "audio/amr"),
    (0, b"\x00\x00\x01\xba", "video/mpeg"),
    (0, b"\x00\x00\x01\xb3", "video/mpeg"),
)


def _chunks(head: bytes) -> str | None:
    """Return the type of a file in chunks (RIFF, AIFF)."""
    return _CHUNKS.get((head[:4], head[8:12]))


_CHUNKS = {
    (b"RIFF", b"WEBP"): "image/webp",
    (b"RIFF", b"WAVE"): "audio/wav",
    (b"RF64", b"WAVE"): "audio/wav",
    (b"RIFF", b"AVI "): "video/x-msvideo",
    (b"FORM", b"AIFF"): "audio/aiff",
    (b"FORM", b"AIFC"): "audio/aiff",
}


def _boxes(head: bytes) -> str | None:
    """Return the type of a file in boxes (ISO/IEC 14496-12), told by its brand."""
    if head[:1] != b"\x00" or head[4:8] not in (b"ftyp", b"moov", b"mdat", b"wide"):
        return None
    if head[4:8] != b"ftyp":
        return "video/quicktime"
    size = min(int.from_bytes(head[:4], "big"), len(head))
    also = [head[place : place + 3] for place in range(16, size, 4)]
    brand = head[8:11]
    if brand in (b"mif", b"msf"):
        brand = next((name for name in also if name in (b"avi", b"hei", b"hev")), brand)
    return _BRANDS.get(brand, "video/mp4")


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
    b"3g2": "video/3gpp2",
}
"""By the first three letters of a brand; any other is MP4."""


def _frames(head: bytes) -> str | None:
    """Return the type of bare MPEG audio frames; of layer I none, as UTF-16 begins like it."""
    if len(head) < 3 or head[0] != 0xFF or head[1] & 0xE0 != 0xE0:
        return None
    version, layer = head[1] >> 3 & 3, head[1] >> 1 & 3
    if layer == 0:
        return "audio/aac" if version in (2, 3) and head[2] >> 2 & 15 < 13 else None
    legal = version != 1 and layer != 3 and head[2] >> 4 != 15 and head[2] >> 2 & 3 != 3
    return "audio/mpeg" if legal else None


def _bitmap(head: bytes) -> str | None:
    """Return the type of a bitmap; two letters alone would make one of many a text."""
    good = head[:2] == b"BM" and head[6:10] == bytes(4) and head[15:18] == bytes(3)
    return "image/bmp" if good and head[14] in (12, 40, 52, 56, 64, 108, 124) else None


def _streams(head: bytes) -> str | None:
    """Return the type of a container of streams (Ogg, Matroska)."""
    if head[:5] == b"OggS\x00":
        return "video/ogg" if b"\x80theora" in head else "audio/ogg"
    if head[:4] == b"\x1aE\xdf\xa3":
        return "video/webm" if b"webm" in head else "video/x-matroska"
    return None


_LOOKS = (_chunks, _boxes, _frames, _bitmap, _streams)
