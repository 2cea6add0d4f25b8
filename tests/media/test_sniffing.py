"""Media types: what first bytes tell, and what may be declared."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import MediaError, OptionError, PromptError
from tests.errors import raised
from tests.internals import check_kind, media_type_of, sniff, spelled
from tests.searching import outcomes

PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)
PDF = b"%PDF-1.7\n"
ZIP = b"PK\x03\x04" + bytes(26)
MP4 = b"\x00\x00\x00\x18ftypisom\x00\x00\x02\x00isommp41"
M4A = b"\x00\x00\x00\x18ftypM4A \x00\x00\x00\x00M4A mp42"
WEBM = b"\x1aE\xdf\xa3\x9fB\x86\x81\x01B\x82\x84webm"
OGG = b"OggS\x00\x02" + bytes(22) + b"\x01\x1eOpusHead"
BMP = b"BM" + bytes(12) + b"\x28\x00\x00\x00"
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"

TOLD = {
    "png": (PNG, "image/png"),
    "jpeg": (b"\xff\xd8\xff\xe0", "image/jpeg"),
    "gif of 1987": (b"GIF87a....", "image/gif"),
    "gif of 1989": (b"GIF89a....", "image/gif"),
    "webp": (b"RIFF\x00\x00\x00\x00WEBPVP8 ", "image/webp"),
    "tiff, little end first": (b"II*\x00\x08\x00", "image/tiff"),
    "tiff, big end first": (b"MM\x00*\x00\x00", "image/tiff"),
    "bmp": (BMP, "image/bmp"),
    "avif": (b"\x00\x00\x00\x1cftypavif", "image/avif"),
    "heic": (b"\x00\x00\x00\x1cftypheic", "image/heic"),
    "heix": (b"\x00\x00\x00\x1cftypheix", "image/heic"),
    "heif": (b"\x00\x00\x00\x14ftypmif1\x00\x00\x00\x00mif1", "image/heif"),
    "wav": (b"RIFF\x00\x00\x00\x00WAVEfmt ", "audio/wav"),
    "aiff": (b"FORM\x00\x00\x00\x00AIFFCOMM", "audio/aiff"),
    "mp3 behind a tag": (b"ID3\x04", "audio/mpeg"),
    "mp3, version 1": (b"\xff\xfb\x90", "audio/mpeg"),
    "mp3 with a checksum": (b"\xff\xfa\x90", "audio/mpeg"),
    "mp3, version 2": (b"\xff\xf3\x40", "audio/mpeg"),
    "mp3, version 2.5": (b"\xff\xe3\x18", "audio/mpeg"),
    "mp2": (b"\xff\xfd\xa0", "audio/mpeg"),
    "aac": (b"\xff\xf1\x50\x80", "audio/aac"),
    "aac of mpeg-2": (b"\xff\xf9\x50\x80", "audio/aac"),
    "m4a": (M4A, "audio/mp4"),
    "ogg": (OGG, "audio/ogg"),
    "flac": (b"fLaC\x00", "audio/flac"),
    "mp4": (MP4, "video/mp4"),
    "quicktime": (b"\x00\x00\x00\x14ftypqt  ", "video/quicktime"),
    "3gp": (b"\x00\x00\x00\x18ftyp3gp5", "video/3gpp"),
    "avi": (b"RIFF\x00\x00\x00\x00AVI LIST", "video/x-msvideo"),
    "webm": (WEBM, "video/webm"),
    "matroska": (b"\x1aE\xdf\xa3\xa3B\x82\x88matroska", "video/x-matroska"),
    "mpeg": (b"\x00\x00\x01\xba\x44", "video/mpeg"),
    "pdf": (PDF, "application/pdf"),
    "rtf": (b"{\\rtf1\\ansi", "application/rtf"),
    "zip": (ZIP, "application/zip"),
    "old office": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),
    "svg": (b"<svg></svg>", None),
    "nothing": (b"", None),
    "cut off": (PNG[:7], None),
    "not at the start": (b" " + PNG, None),
    "UTF-16, little end first": (b"\xff\xfea\x00", None),
    "UTF-16, big end first": (b"\xfe\xff\x00a", None),
    "a frame of no legal rate": (b"\xff\xfb\xf0", None),
    "a frame of a reserved version": (b"\xff\xeb\x90", None),
    "an aac frame of no legal rate": (b"\xff\xf1\xf4", None),
    "half a frame": (b"\xff\xfb", None),
    "text that begins like a bitmap": (b"BMW and other makers of cars", None),
    "text that begins like a tag": (b"ID3 tags hold titles", None),
    "text with a box in it": (b"The wide road, the free way", None),
}


@pytest.mark.parametrize(("data", "expected"), TOLD.values(), ids=TOLD)
def test_bytes_tell_their_type(data: bytes, expected: str | None) -> None:
    """The first bytes tell what an attachment is, or nothing does."""
    assert expected == sniff(data)


@given(st.sampled_from([data for data, _ in TOLD.values()]), st.binary(max_size=200))
def test_only_the_first_bytes_matter(data: bytes, rest: bytes) -> None:
    """What stands behind the first 64 bytes changes nothing."""
    head = data.ljust(64, b"\x00")
    assert sniff(head) == sniff(head + rest)


@given(st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "Zs"]), min_size=1))
def test_documents_of_text_are_text(text: str) -> None:
    """Any document of letters and signs is plain text, but for what begins as another does."""
    data = (" " + text).encode()
    assert "text/plain" == media_type_of(data, None, "document")


@pytest.mark.parametrize(
    ("data", "declared", "kind", "expected"),
    [
        (PNG, None, "image", "image/png"),
        (PNG, "image/png", "image", "image/png"),
        (PNG, "IMAGE/PNG", "image", "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpg", "image", "image/jpeg"),
        (b"<svg/>", "image/svg+xml", "image", "image/svg+xml"),
        (b"\xff\xfb\x90", "audio/mp3", "audio", "audio/mpeg"),
        (b"ID3\x04", "audio/aac", "audio", "audio/aac"),
        (b"RIFF....WAVE", "audio/x-wav", "audio", "audio/wav"),
        (MP4, None, "video", "video/mp4"),
        (MP4, None, "audio", "audio/mp4"),
        (MP4, "audio/x-m4a", "audio", "audio/mp4"),
        (M4A, None, "audio", "audio/mp4"),
        (WEBM, None, "audio", "audio/webm"),
        (WEBM, "video/x-matroska", "video", "video/x-matroska"),
        (OGG, None, "audio", "audio/ogg"),
        (OGG, None, "video", "video/ogg"),
        (OGG, "application/ogg", "audio", "audio/ogg"),
        (PDF, None, "document", "application/pdf"),
        (ZIP, DOCX, "document", DOCX),
        (ZIP, "application/epub+zip", "document", "application/epub+zip"),
        (b"{\\rtf1", "text/rtf", "document", "application/rtf"),
        (b"a,b\n1,2\n", None, "document", "text/plain"),
        (b"a,b\n1,2\n", "text/csv", "document", "text/csv"),
        (b"# A", "text/x-markdown", "document", "text/markdown"),
        (b"\xc3\xa9\x1b[0m\f", None, "document", "text/plain"),
        (b"a\x00", "text/plain; charset=utf-8", "document", "text/plain"),
        (b"\x00\x01", "application/octet-stream", "document", "application/octet-stream"),
        (PNG, None, None, "image/png"),
    ],
)
def test_a_type_is_declared_or_told(
    data: bytes, declared: str | None, kind: Any, expected: str
) -> None:
    """A type may be left out where the bytes tell it, and is believed where they do not."""
    assert expected == media_type_of(data, declared, kind)


@pytest.mark.parametrize(
    ("given", "what", "fix"),
    [
        ((PDF, None, "image"), "an Image cannot be application/pdf", "make it a Document"),
        ((PDF, "application/pdf", "image"), "an Image cannot be application/pdf", "a Document"),
        ((PDF, "image/png", "image"), "an Image cannot be application/pdf", "make it a Document"),
        ((PNG, None, "audio"), "an Audio cannot be image/png", "make it an Image"),
        ((PNG, None, "document"), "a Document cannot be image/png", "make it an Image"),
        ((M4A, None, "video"), "a Video cannot be audio/mp4", "make it an Audio"),
        ((MP4, "video/mp4", "audio"), "an Audio cannot be video/mp4", "make it a Video"),
        ((b"x", "text/csv", "image"), "an Image cannot be text/csv", "make it a Document"),
        (
            (PNG, "application/pdf", "image"),
            "the attachment is declared application/pdf, but its bytes are image/png",
            'write media_type="image/png", or leave it out',
        ),
        (
            (ZIP, "text/csv", "document"),
            "the attachment is declared text/csv, but its bytes are application/zip",
            'media_type="application/zip"',
        ),
        ((ZIP, "application/pdf", "document"), "declared application/pdf, but", "leave it out"),
        (
            (ZIP, None, "document"),
            "the bytes are application/zip, which documents of several types are",
            DOCX,
        ),
        (
            (b"\xe9", None, "document"),
            "the media type of these bytes is unknown",
            '"application/pdf"',
        ),
        (
            (b"a\x00b", None, "document"),
            "the media type of these bytes is unknown",
            '"application/pdf"',
        ),
        ((b"a\x00b", None, "image"), "the media type of these bytes is unknown", '"image/png"'),
        ((b"a\x00b", None, "video"), "the media type of these bytes is unknown", '"video/mp4"'),
        ((b"hello", None, "image"), "these bytes are text, not an image", "write the text itself"),
        ((b"hello", None, "video"), "these bytes are text, not a video", "Document.from_bytes"),
        ((b"\xe9", "text/plain", "document"), "its bytes are not UTF-8 text", "as UTF-8"),
        (
            (PNG, "png", "image"),
            "'png' is not a media type",
            'write it like media_type="image/png"',
        ),
        ((PNG, "", "audio"), "'' is not a media type", 'write it like media_type="audio/wav"'),
        ((PNG, "image/png,x", "image"), "is not a media type", "write it like"),
        ((PNG, "image/png\nx", None), "is not a media type", "write it like"),
        ((PNG, "x/" + "y" * 200, "image"), "is not a media type", "write it like"),
    ],
)
def test_a_wrong_type_is_refused(given: tuple[bytes, str | None, Any], what: str, fix: str) -> None:
    """Bytes, declaration and component agree, or an error says what to write."""
    error = raised(MediaError, lambda: media_type_of(*given))
    assert (True, True) == (what in error.what, fix in error.fix)


def test_a_type_is_a_string() -> None:
    """A media type that is no string is an error of the option."""
    error = raised(OptionError, lambda: spelled(5, "image"))  # type: ignore[arg-type]
    assert ("media_type=5", 'write it like media_type="image/png"') == (error.what, error.fix)


def test_what_is_not_known_is_of_every_kind() -> None:
    """Without a type, or without a kind, there is nothing to disagree."""
    assert (None, None) == (check_kind(None, "image"), check_kind("image/png", None))  # type: ignore[func-returns-value]


_types = st.none() | st.sampled_from(["image/png", "audio/mp4", "text/plain", DOCX]) | st.text()
_kinds = st.sampled_from([None, "image", "audio", "document", "video"])


def verdict(attachment: tuple[bytes, Any, Any]) -> str:
    """Return whether an attachment has a media type, which is the same once it is declared."""
    data, declared, kind = attachment
    try:
        told = media_type_of(data, declared, kind)
    except PromptError as error:
        return "refused" if error.fix else "refused without advice"
    return "told" if told == media_type_of(data, told, kind) else "another one when declared"


@pytest.mark.hypothesis
def test_any_attachment_has_a_type_or_an_error() -> None:
    """Any bytes and declaration come to one media type, or to an error that says what to do."""
    data = st.binary() | st.sampled_from([data for data, _ in TOLD.values()])
    anything = st.tuples(data, _types, _kinds)
    assert {"told", "refused"} == outcomes(verdict, (PNG, None, "image"), anything)
