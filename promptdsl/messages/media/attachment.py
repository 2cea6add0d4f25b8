"""Attachments given as bytes, base64 text, URL, path or file id; URLs are never fetched."""

import base64
import os
from collections.abc import Iterable, Mapping

from promptdsl.foundation.errors import MediaError
from promptdsl.foundation.files import SMALLER, read_file
from promptdsl.messages.media.media_type import check_kind, media_type_of, spelled, type_of_file
from promptdsl.messages.media.source import URL, MediaKind, MediaSource, SourceKind, data_url

MAX_BYTES = 32 * 1024 * 1024
"""The largest attachment in bytes: that is the largest request of any provider (Anthropic)."""

SCHEMES = ("http://", "https://", "data:", "gs://", "s3://")

STORES: Mapping[str, SourceKind] = {"gs://": "gcs", "s3://": "s3"}
"""By scheme of an address in cloud storage, the kind of its source."""

_WHITE_SPACE = b" \t\n\v\f\r"


def of_bytes(
    data: bytes, media_type: str | None = None, *, kind: MediaKind | None = None
) -> MediaSource:
    """Return the source of an attachment given as bytes; raise :class:`MediaError` for bad ones."""
    if not data:
        raise MediaError("the attachment is empty", fix="give its bytes")
    _check_size(len(data))
    checked_type = media_type_of(data, media_type, kind)
    return MediaSource("base64", base64.b64encode(data).decode("ascii"), checked_type)


def _check_size(size: int) -> None:
    if size > MAX_BYTES:
        raise MediaError(
            f"the attachment has {size:,} bytes, the limit is {MAX_BYTES:,}", fix=SMALLER
        )


def of_base64(
    text: str | bytes, media_type: str | None = None, *, kind: MediaKind | None = None
) -> MediaSource:
    """Return the source of an attachment given as base64 text; white space in it is skipped."""
    try:
        encoded = text if isinstance(text, bytes) else text.encode("ascii")
        bare = encoded.translate(None, _WHITE_SPACE)
        # Before decoding: the limit prevents a large decoded copy.
        _check_size(len(bare) * 3 // 4 - bare[-2:].count(b"="))
        data = base64.b64decode(bare, validate=True)
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
    """Return an address of a scheme that providers fetch, else raise :class:`MediaError`."""
    if URL.match(url):
        return url
    scheme = next((scheme for scheme in SCHEMES if url[:8].lower().startswith(scheme)), None)
    if scheme is None:
        raise MediaError(
            f"{url[:60]!r} is not an address a provider fetches",
            fix=f"begin it with one of {', '.join(SCHEMES)}; use from_path() for a file",
        )
    raise MediaError(
        f"{url[:60]!r} is not a complete address",
        fix=f"write it like {scheme}example/a, without line ends",
    )


def of_url(
    url: str, media_type: str | None = None, *, kind: MediaKind | None = None
) -> MediaSource:
    """Return the source of an attachment at an address; a ``data:`` address has its bytes."""
    # Most addresses are of the web, without a declared type.
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
    """Return the source of an attachment that was uploaded to the provider before."""
    if not id or id.isspace():
        raise MediaError("the file id is empty", fix="give the id the provider's upload returned")
    return _source("file_id", id, media_type, kind)


def of_path(
    path: str, media_type: str | None = None, *, kind: MediaKind | None = None
) -> MediaSource:
    """Return the source of an attachment in a file, read when the prompt is rendered."""
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

    A path that came in data is read only under one of ``roots``, with links resolved.
    """
    allowed = roots if source.from_data else None
    data = read_file(source.value, limit=MAX_BYTES, roots=allowed)
    return of_file(source, data, kind)


def of_file(source: MediaSource, data: bytes, kind: MediaKind | None) -> MediaSource:
    """Return the source with the bytes that its path or its address leads to.

    Where no type is declared, the extension decides for a text or an office document.
    """
    media_type = source.media_type or type_of_file(data, source.value, kind)
    return of_bytes(data, media_type, kind=kind)
