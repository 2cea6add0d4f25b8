"""Attachments: what their bytes are, and reading them from files. Nothing is ever fetched."""

import base64
import binascii
import os
import stat
from collections.abc import Iterable
from pathlib import Path

from promptdsl.errors import MediaError
from promptdsl.sources import MediaSource, data_url

MAX_BYTES = 32 * 1024 * 1024
"""The largest attachment read, in bytes: the largest request a provider takes (Anthropic)."""

CHECK = "check the path of the attachment"

SCHEMES = ("http://", "https://", "data:", "gs://", "s3://")


def sniff(data: bytes) -> str | None:
    """Return the media type that the first bytes tell, ``None`` when they tell none."""
    for offset, magic, media_type in _MAGIC:
        if data[offset : offset + len(magic)] == magic:
            return media_type
    if data[:4] == b"RIFF":
        return {b"WEBP": "image/webp", b"WAVE": "audio/wav"}.get(data[8:12])
    return None


_MAGIC = (
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF87a", "image/gif"),
    (0, b"GIF89a", "image/gif"),
    (0, b"%PDF-", "application/pdf"),
    (0, b"ID3", "audio/mpeg"),
    (0, b"\xff\xfb", "audio/mpeg"),
    (0, b"OggS", "audio/ogg"),
    (0, b"fLaC", "audio/flac"),
    (4, b"ftypavif", "image/avif"),
    (4, b"ftypheic", "image/heic"),
    (4, b"ftyp", "video/mp4"),
)


def of_bytes(data: bytes, media_type: str | None = None) -> MediaSource:
    """Return the source of an attachment given as bytes.

    Raises :class:`MediaError` when the type is neither given nor told by the bytes, when both
    disagree, when there are no bytes, or more than 32 MB.
    """
    if not data:
        raise MediaError("the attachment is empty", fix="give its bytes")
    if len(data) > MAX_BYTES:
        raise MediaError(f"the attachment has {len(data):,} bytes, the limit is {MAX_BYTES:,}")
    found = sniff(data)
    declared = "image/jpeg" if media_type == "image/jpg" else media_type
    if declared is None and found is None:
        raise MediaError(
            "the bytes do not tell their media type", fix='say it: media_type="image/png"'
        )
    if declared is not None and found is not None and found != declared:
        raise MediaError(
            f"the attachment is declared {declared}, but its bytes are {found}",
            fix=f'write media_type="{found}", or leave it out',
        )
    return MediaSource("base64", base64.b64encode(data).decode("ascii"), declared or found)


def read_path(source: MediaSource, roots: Iterable[str | os.PathLike[str]]) -> MediaSource:
    """Return the source with the bytes of its file in it.

    A path that came in data is read only under one of ``roots``, with links resolved. Raises
    :class:`MediaError` for a path that is refused, is missing, or is no regular file.
    """
    try:
        real = Path(source.value).resolve()
        allowed = not source.from_data or any(
            real.is_relative_to(Path(root).resolve()) for root in roots
        )
    except (OSError, RuntimeError, ValueError) as error:
        raise MediaError(f"cannot read {source.value!r}: {error}", fix=CHECK) from None
    # Asked before the file is, so that data cannot find out which files there are.
    if not allowed:
        raise MediaError(
            f"the path {source.value!r} came in data and lies under no declared media root",
            fix="declare the folder: render(..., media_roots=[folder])",
        )
    return of_bytes(_read_file(real, source.value), source.media_type)


def _read_file(real: Path, name: str) -> bytes:
    """Return the bytes of a regular file; its size is taken from the open descriptor."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        descriptor = os.open(real, flags | getattr(os, "O_BINARY", 0))
    except OSError as error:
        raise MediaError(f"cannot read {name!r}: {error.strerror}", fix=CHECK) from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise MediaError(f"{name!r} is not a regular file")
        if status.st_size > MAX_BYTES:
            raise MediaError(f"{name!r} has {status.st_size:,} bytes, the limit is {MAX_BYTES:,}")
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(MAX_BYTES + 1)
    finally:
        os.close(descriptor)


def check_url(url: str) -> str:
    """Return an address of a scheme that providers fetch, else raise :class:`MediaError`."""
    if not url[:8].lower().startswith(SCHEMES):
        raise MediaError(
            f"{url[:60]!r} is not an address a provider fetches",
            fix=f"it starts with one of {', '.join(SCHEMES)}; use from_path() for a file",
        )
    return url


def of_url(url: str) -> MediaSource:
    """Return the source of an attachment at an address; a ``data:`` address holds its bytes.

    Raises :class:`MediaError` for an address of another scheme, and for bytes that are refused.
    """
    if check_url(url)[:5].lower() != "data:":
        return MediaSource("url", url)
    held = data_url(url)
    if held is None:
        raise MediaError(
            f"{url[:60]!r} holds no base64", fix="write data:image/png;base64,... or from_bytes()"
        )
    try:
        data = base64.b64decode(held.value, validate=True)
    except (binascii.Error, ValueError):
        raise MediaError(
            f"{url[:60]!r} holds no base64", fix="give the bytes themselves: from_bytes()"
        ) from None
    return of_bytes(data, held.media_type)
