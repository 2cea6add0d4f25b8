"""The size of a picture in pixels, from its header alone: nothing is decompressed."""

import base64
import struct
from collections.abc import Callable, Mapping
from typing import TypeAlias

from promptdsl.messages.media.media_type import sniff
from promptdsl.messages.media.source import MediaSource

Size: TypeAlias = tuple[int, int]

LONGEST_HEADER = 1024 * 1024
"""The most bytes, or base64 characters, that are read for a header; a multiple of four."""

MOST_SEGMENTS = 1_000
"""The largest number of segments of a JPEG to skip; profiles and thumbnails take some dozens."""


def image_size(data: bytes) -> Size | None:
    """Return width and height in pixels, as stored: a rotation in EXIF is not applied.

    ``None`` for other formats than PNG, JPEG, GIF, WebP and BMP, and for data cut off before it.
    """
    read = _READERS.get(sniff(data) or "")
    try:
        width, height = (read and read(data)) or (0, 0)
    except (struct.error, IndexError):
        return None
    return (width, height) if width and height else None


def size_of(source: MediaSource) -> Size | None:
    """Return the pixels of a picture in base64, ``None`` where they are not known."""
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
    """RFC 9649: the first chunk is lossy, lossless or extended, each with a size of its own."""
    match data[12:16]:
        case b"VP8 ":
            # RFC 6386, 9.1: a key frame begins with its start code; the upper bits are a scale.
            start, width, height = struct.unpack_from("<3sHH", data, 23)
            return (width & 0x3FFF, height & 0x3FFF) if start == b"\x9d\x01\x2a" else None
        case b"VP8L":
            # 3.4: a signature byte, then 14 bits for each side, less one.
            signature, bits = struct.unpack_from("<BI", data, 20)
            return ((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1) if signature == 0x2F else None
        case b"VP8X":
            # 2.7: 24 bits for each side of the canvas, less one.
            width, rest, height, more = struct.unpack_from("<HBHB", data, 24)
            return (rest << 16 | width) + 1, (more << 16 | height) + 1
        case _:
            return None


def _jpeg(data: bytes) -> Size | None:
    """ITU-T T.81, B.2: segments with their lengths, up to the frame header, which has the size."""
    offset = 2
    for _ in range(MOST_SEGMENTS):
        marker, code, length = struct.unpack_from(">BBH", data, offset)
        if marker != 0xFF or code in _JPEG_DATA:
            return None
        if code in _JPEG_FRAMES:
            height, width = struct.unpack_from(">HH", data, offset + 5)
            return width, height
        # A marker may have a fill byte before it; one without a segment has no length.
        offset += 1 if code == 0xFF else 2 if code in _JPEG_BARE else 2 + length
    return None


_JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_JPEG_BARE = frozenset({0x01, *range(0xD0, 0xD9)})
_JPEG_DATA = frozenset({0x00, 0xD9, 0xDA})

_READERS: Mapping[str, Callable[[bytes], Size | None]] = {
    "image/png": _png,
    "image/jpeg": _jpeg,
    "image/gif": _gif,
    "image/webp": _webp,
    "image/bmp": _bmp,
}
