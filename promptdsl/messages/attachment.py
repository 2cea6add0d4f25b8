"""Attachments from bytes, base64 text, a URL, a path or a file id; URLs are never fetched.

The file begins with the size of a picture, which is read from its header. Then come the functions
``of_...``, which make the sources of attachments.
"""

import base64
import os
import struct
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from promptdsl.foundation.errors import MediaError
from promptdsl.foundation.files import SMALLER_ADVICE, read_file
from promptdsl.messages.media_type import (
    URL,
    MediaKind,
    MediaSource,
    SourceKind,
    check_kind,
    data_url,
    media_type_of,
    sniff,
    spelled,
    type_of_file,
)

# The size of a picture in pixels, from its header: nothing is decompressed.

Size: TypeAlias = tuple[int, int]

LONGEST_HEADER = 1024 * 1024
"""The maximum of bytes, or base64 characters, that are read for a header; a multiple of four."""

MAXIMUM_SEGMENTS = 1_000
"""The maximum of segments of a JPEG that are skipped; profiles and thumbnails have some dozens."""


def image_size(data: bytes) -> Size | None:
    """Return width and height in pixels, as stored: a rotation in EXIF is not applied.

    ``None`` for other formats than PNG, JPEG, GIF, WebP and BMP, and for data that ends before the
    size.
    """
    read = _READERS.get(sniff(data) or "")
    try:
        width, height = (read and read(data)) or (0, 0)
    except (struct.error, IndexError):
        return None
    return (width, height) if width and height else None


def size_of(source: MediaSource) -> Size | None:
    """Return the width and height of a picture in base64, in pixels; ``None`` if unknown."""
    if source.kind != "base64":
        return None
    try:
        return image_size(base64.b64decode(source.value[:LONGEST_HEADER]))
    except ValueError:  # no base64
        return None


def _png(data: bytes) -> Size | None:
    """PNG, third edition, 11.2.1: the header is the first chunk."""
    name, width, height = struct.unpack_from(">4sII", data, 12)
    return (width, height) if name == b"IHDR" else None


def _gif(data: bytes) -> Size | None:
    """GIF89a, section 18: the logical screen."""
    width, height = struct.unpack_from("<HH", data, 6)
    return width, height


def _bmp(data: bytes) -> Size | None:
    """Windows bitmaps: the header's size shows its version; a negative height means top-down."""
    struct_format = "<HH" if data[14] == 12 else "<ii"
    width, height = struct.unpack_from(struct_format, data, 18)
    return abs(width), abs(height)


def _webp(data: bytes) -> Size | None:
    """RFC 9649: the first chunk is lossy, lossless or extended; each has the size elsewhere."""
    match data[12:16]:
        case b"VP8 ":
            # RFC 6386, 9.1: a key frame begins with its start code; the upper bits are a scale.
            start, width, height = struct.unpack_from("<3sHH", data, 23)
            return (width & 0x3FFF, height & 0x3FFF) if start == b"\x9d\x01\x2a" else None
        case b"VP8L":
            # 3.4: a signature byte, then 14 bits for each side, minus one.
            signature, bits = struct.unpack_from("<BI", data, 20)
            return ((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1) if signature == 0x2F else None
        case b"VP8X":
            # 2.7: 24 bits for each side of the canvas, minus one.
            width, width_rest, height, height_rest = struct.unpack_from("<HBHB", data, 24)
            return (width_rest << 16 | width) + 1, (height_rest << 16 | height) + 1
        case _:
            return None


def _jpeg(data: bytes) -> Size | None:
    """ITU-T T.81, B.2: segments with their lengths, up to the frame header, which has the size."""
    offset = 2
    for _ in range(MAXIMUM_SEGMENTS):
        marker, code, length = struct.unpack_from(">BBH", data, offset)
        if marker != 0xFF or code in _JPEG_END_OF_HEADERS:
            return None
        if code in _JPEG_FRAMES:
            height, width = struct.unpack_from(">HH", data, offset + 5)
            return width, height
        # A fill byte may be before a marker; a marker without a segment has no length.
        offset += 1 if code == 0xFF else 2 if code in _JPEG_WITHOUT_LENGTH else 2 + length
    return None


# The codes of markers in a JPEG: frame headers, markers without a segment, and markers after which
# no frame header can be.
_JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_JPEG_WITHOUT_LENGTH = frozenset({0x01, *range(0xD0, 0xD9)})
_JPEG_END_OF_HEADERS = frozenset({0x00, 0xD9, 0xDA})

_READERS: Mapping[str, Callable[[bytes], Size | None]] = {
    "image/png": _png,
    "image/jpeg": _jpeg,
    "image/gif": _gif,
    "image/webp": _webp,
    "image/bmp": _bmp,
}


# The sources of attachments.

MAX_BYTES = 32 * 1024 * 1024
"""The maximum size of an attachment in bytes: the largest request of any provider (Anthropic)."""

SCHEMES = ("http://", "https://", "data:", "gs://", "s3://")

STORES: Mapping[str, SourceKind] = {"gs://": "gcs", "s3://": "s3"}
"""By scheme of an address in cloud storage, the kind of its source."""

_WHITE_SPACE = b" \t\n\v\f\r"


def of_bytes(
    data: bytes, media_type: str | None = None, *, kind: MediaKind | None = None
) -> MediaSource:
    """Return the source of an attachment from its bytes.

    Raises :class:`MediaError` for no bytes, for too many bytes, and for bytes that contradict the
    media type or ``kind``; :class:`OptionError` for a media type that is not a string.
    """
    if not data:
        raise MediaError("the attachment is empty", fix="give its bytes")
    _check_size(len(data))
    checked_type = media_type_of(data, media_type, kind)
    return MediaSource("base64", base64.b64encode(data).decode("ascii"), checked_type)


def _check_size(size: int) -> None:
    if size > MAX_BYTES:
        raise MediaError(
            f"the attachment has {size:,} bytes, the limit is {MAX_BYTES:,}", fix=SMALLER_ADVICE
        )


def of_base64(
    text: str | bytes, media_type: str | None = None, *, kind: MediaKind | None = None
) -> MediaSource:
    """Return the source of an attachment from base64 text; white space in it is ignored.

    Raises :class:`MediaError` for a text that is not base64, and the errors of :func:`of_bytes`.
    """
    try:
        encoded = text if isinstance(text, bytes) else text.encode("ascii")
        compact = encoded.translate(None, _WHITE_SPACE)
        # Before decoding: the limit prevents a large decoded copy.
        _check_size(len(compact) * 3 // 4 - compact[-2:].count(b"="))
        data = base64.b64decode(compact, validate=True)
    except MediaError:
        raise
    except ValueError as error:
        reason = "not ASCII" if isinstance(error, UnicodeError) else str(error)
        fix = "give the text of base64.b64encode(data), or the bytes themselves to from_bytes()"
        if text[:5].lower() in ("data:", b"data:"):
            fix = "write from_url() for a data: address"
        raise MediaError(f"{text[:60]!r} is not base64: {reason}", fix=fix) from None
    return of_bytes(data, media_type, kind=kind)


def check_url(url: str) -> str:
    """Return an address with a scheme that providers fetch; :class:`MediaError` for others."""
    if URL.match(url):
        return url
    scheme = next((scheme for scheme in SCHEMES if url[:8].lower().startswith(scheme)), None)
    if scheme is None:
        raise MediaError(
            f"{url[:60]!r} is not an address that a provider fetches",
            fix=f"begin it with one of {', '.join(SCHEMES)}; use from_path() for a file",
        )
    raise MediaError(
        f"{url[:60]!r} is not a complete address",
        fix=f"write it like {scheme}example/a, without line ends",
    )


def of_url(
    url: str, media_type: str | None = None, *, kind: MediaKind | None = None
) -> MediaSource:
    """Return the source of an attachment at an address; a ``data:`` address has its bytes.

    Raises :class:`MediaError` for an address that no provider fetches, and for a ``data:`` address
    that contradicts the media type or ``kind``.
    """
    # Most addresses are of the web, and have no declared type.
    if media_type is None and url.startswith("http") and URL.match(url):
        return MediaSource("url", url)
    scheme = check_url(url)[:5].lower()
    if scheme != "data:":
        return _source(STORES.get(scheme, "url"), url, media_type, kind)
    source = data_url(url)
    if source is None:
        raise MediaError(
            f"{url[:60]!r} has no base64 text",
            fix="write data:image/png;base64,... or from_bytes()",
        )
    declared, in_url = spelled(media_type, kind), spelled(source.media_type, kind)
    if declared is not None and in_url is not None and declared != in_url:
        raise MediaError(
            f"the attachment is declared {declared}, but its address says {in_url}",
            fix=f'write media_type="{in_url}", or leave it out',
        )
    return of_base64(source.value, declared or in_url, kind=kind)


def of_file_id(
    id: str, media_type: str | None = None, *, kind: MediaKind | None = None
) -> MediaSource:
    """Return the source of an attachment that is already uploaded to the provider.

    Raises :class:`MediaError` for an empty id, and for a media type of another ``kind``.
    """
    if not id or id.isspace():
        raise MediaError("the file id is empty", fix="write the id that the upload returned")
    return _source("file_id", id, media_type, kind)


def of_path(
    path: str, media_type: str | None = None, *, kind: MediaKind | None = None
) -> MediaSource:
    """Return the source of an attachment in a file, which is read when the prompt is rendered.

    Raises :class:`MediaError` for an empty path, and for a media type of another ``kind``.
    """
    if not path:
        raise MediaError("the path is empty", fix="give the path of a file")
    return _source("path", path, media_type, kind)


def _source(
    source_kind: SourceKind, value: str, media_type: str | None, kind: MediaKind | None
) -> MediaSource:
    checked_type = spelled(media_type, kind)
    check_kind(checked_type, kind)
    return MediaSource(source_kind, value, checked_type)


def read_path(
    source: MediaSource, roots: Iterable[str | os.PathLike[str]], kind: MediaKind | None = None
) -> MediaSource:
    """Return the source with the bytes of its file instead of the path.

    A path that comes from data must be in one of the folders ``roots`` after links are resolved.
    Raises :class:`MediaError` for a path in another folder, for a file that cannot be read, and for
    bytes that are too many or contradict the type.
    """
    allowed = roots if source.from_data else None
    data = read_file(source.value, limit=MAX_BYTES, roots=allowed)
    return of_file(source, data, kind)


def of_file(source: MediaSource, data: bytes, kind: MediaKind | None) -> MediaSource:
    """Return the source with the bytes of the file at its path or its address.

    Without a declared type, the extension decides the type of a text or an office document.
    """
    media_type = source.media_type or type_of_file(data, source.value, kind)
    return of_bytes(data, media_type, kind=kind)
