"""Sizes in pixels: what the header of a picture says."""

import base64
import struct
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import ImageBlock, MediaSource
from tests.internals import LONGEST_HEADER, described, image_size


def segment(code: int, content: bytes) -> bytes:
    """Return a segment of a JPEG."""
    return struct.pack(">BBH", 0xFF, code, len(content) + 2) + content


def webp(name: bytes, content: bytes) -> bytes:
    """Return a WebP of one chunk."""
    chunk = name + struct.pack("<I", len(content)) + content
    return b"RIFF" + struct.pack("<I", len(chunk) + 4) + b"WEBP" + chunk


def bmp(header: bytes) -> bytes:
    """Return a bitmap with a header, which tells its own length first."""
    size = struct.pack("<I", len(header) + 4)
    return b"BM" + struct.pack("<IHHI", 58, 0, 0, 54) + size + header


START = b"\xff\xd8"
FRAME = struct.pack(">BHHB", 8, 480, 640, 3) + bytes(9)
EXIF = segment(0xE1, b"Exif\x00\x00" + b"\xff\xc0\x00\x11\x08\x00\x01\x00\x01" + bytes(50_000))
PNG = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 640, 480) + bytes(5)
JPEG = START + segment(0xE0, b"JFIF\x00" + bytes(9)) + segment(0xC0, FRAME)

SIZES = {
    "png": (PNG, (640, 480)),
    "a png of one dot": (PNG[:16] + struct.pack(">II", 1, 1), (1, 1)),
    "gif": (b"GIF89a" + struct.pack("<HH", 640, 480), (640, 480)),
    "jpeg": (JPEG, (640, 480)),
    "a progressive jpeg": (START + segment(0xC2, FRAME), (640, 480)),
    "a jpeg with EXIF in front": (START + EXIF + segment(0xC0, FRAME), (640, 480)),
    "a jpeg with profiles in front": (
        START + segment(0xE2, bytes(65_000)) * 9 + segment(0xC1, FRAME),
        (640, 480),
    ),
    "a jpeg with tables in front": (
        START + segment(0xC4, FRAME[:4]) + segment(0xDB, bytes(65)) + segment(0xC0, FRAME),
        (640, 480),
    ),
    "a jpeg with fill bytes": (START + b"\xff\xff" + segment(0xC0, FRAME), (640, 480)),
    "a jpeg with a bare marker": (START + b"\xff\x01" + segment(0xC0, FRAME), (640, 480)),
    "lossy webp": (
        webp(b"VP8 ", b"\x10\x00\x00\x9d\x01\x2a" + struct.pack("<HH", 640 | 0x4000, 480)),
        (640, 480),
    ),
    "lossless webp": (webp(b"VP8L", b"\x2f" + struct.pack("<I", 639 | 479 << 14)), (640, 480)),
    "extended webp": (
        webp(b"VP8X", bytes(4) + b"\x7f\x02\x01" + b"\xdf\x01\x00"),
        (65_536 + 640, 480),
    ),
    "bmp": (bmp(struct.pack("<ii", 640, 480) + bytes(28)), (640, 480)),
    "a bmp from the top down": (bmp(struct.pack("<ii", 640, -480) + bytes(28)), (640, 480)),
    "a bmp of OS/2": (bmp(struct.pack("<HHHH", 640, 480, 1, 24)), (640, 480)),
}


@pytest.mark.parametrize(("data", "size"), SIZES.values(), ids=SIZES)
def test_a_header_tells_the_size(data: bytes, size: tuple[int, int]) -> None:
    """Width and height are told by the header alone, width first."""
    assert size == image_size(data)


NONE = {
    "nothing": b"",
    "a pdf": b"%PDF-1.7",
    "a tiff": b"II*\x00" + bytes(60),
    "a png without a header": b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 4, b"CgBI", 1, 1),
    "a png of no width": PNG[:16] + struct.pack(">II", 0, 480),
    "a jpeg that is data at once": START + segment(0xDA, FRAME) + segment(0xC0, FRAME),
    "a jpeg that ends at once": START + b"\xff\xd9\x00\x00" + segment(0xC0, FRAME),
    "a jpeg with something between": START + b"\xff\xe0\x00\x02\x00\x00\x00\x00",
    "a jpeg of no height": START + segment(0xC0, struct.pack(">BHH", 8, 0, 640)),
    "a webp of another chunk": webp(b"ICCP", bytes(20)),
    "a lossy webp that is no key frame": webp(b"VP8 ", bytes(10)),
    "a lossless webp without its mark": webp(b"VP8L", bytes(10)),
}


@pytest.mark.parametrize("data", NONE.values(), ids=NONE)
def test_other_bytes_tell_no_size(data: bytes) -> None:
    """What is no picture, or has no size in its header, has none here."""
    assert image_size(data) is None


@given(st.binary())
def test_any_bytes_have_a_size_or_none(data: bytes) -> None:
    """Whatever the bytes are, nothing is raised."""
    assert image_size(data) is None or min(image_size(data) or ()) > 0


@given(st.sampled_from(list(SIZES)), st.data())
def test_any_part_of_a_picture_has_its_size_or_none(name: str, draw: st.DataObject) -> None:
    """A picture that is cut off anywhere has the size it had, or none."""
    data, size = SIZES[name]
    cut = draw.draw(st.integers(0, min(len(data), 200)))
    assert image_size(data[:cut]) in (None, size)


@given(st.sampled_from(list(SIZES)), st.binary(max_size=80))
def test_any_bytes_behind_a_first_few(name: str, rest: bytes) -> None:
    """Garbage that begins like a picture raises nothing either."""
    size = image_size(SIZES[name][0][:14] + rest)
    assert size is None or min(size) > 0


def test_the_work_has_an_end() -> None:
    """A JPEG of nothing but empty segments is given up, however many there are."""
    few, many = (
        START + segment(0xE0, b"") * count + segment(0xC0, FRAME) for count in (500_000, 5_000_000)
    )
    assert (None, None) == (image_size(few), image_size(many))
    times = [min(seconds(data) for _ in range(3)) for data in (few, many)]
    assert times[1] < 4 * max(times[0], 0.001)


def seconds(data: bytes) -> float:
    """Return how long the size of a picture is looked for."""
    began = time.process_time()
    image_size(data)
    return time.process_time() - began


# As people see it.


def held(data: bytes, media_type: str | None) -> MediaSource:
    """Return a source with bytes in it."""
    return MediaSource("base64", base64.b64encode(data).decode(), media_type)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (held(PNG, "image/png"), "(base64) image/png 640x480"),
        (held(JPEG, None), "(base64) 640x480"),
        (held(b"%PDF-1.7", "application/pdf"), "(base64) application/pdf"),
        (held(PNG + bytes(LONGEST_HEADER), "image/png"), "(base64) image/png 640x480"),
        (MediaSource("base64", "no base64!", "image/png"), "(base64) image/png"),
        (MediaSource("base64", "\ud800", "image/png"), "(base64) image/png"),
        (MediaSource("url", "https://e.org/a.png"), "(url)"),
        (MediaSource("path", "a.png", "image/png"), "(path) image/png"),
        (MediaSource("s3", "s3://b/a.png"), "(s3)"),
    ],
)
def test_a_source_is_described(source: MediaSource, said: str) -> None:
    """A source is described by how it is given, its type and its size, where they are known."""
    assert f"image {said}" == described(ImageBlock(source))
