"""The sources of attachments: base64 text, an address, a path or a file id."""

import re
from collections.abc import Mapping
from typing import Literal, TypeAlias, get_args

import attrs

MediaKind: TypeAlias = Literal["image", "audio", "document", "video"]
"""The kind of an attachment, which is also the type of its block."""

MEDIA_KINDS: tuple[MediaKind, ...] = get_args(MediaKind)

SourceKind: TypeAlias = Literal["base64", "url", "path", "file_id", "s3", "gcs"]
"""The kind of a source: the bytes themselves, or where they are."""


@attrs.frozen
class MediaSource:
    """The source of an attachment: its bytes, or where they are.

    ``value`` is the base64 text, the address, the path or the file id, depending on ``kind``.
    ``from_data`` is true for a path that came in data, not in code; such a path is read only under
    a declared media root.

    >>> from promptdsl import MediaSource
    >>> MediaSource("url", "https://example.com/a.png").to_dict()
    {'type': 'url', 'url': 'https://example.com/a.png'}
    """

    kind: SourceKind
    value: str
    media_type: str | None = None
    from_data: bool = attrs.field(default=False, eq=False)

    def to_dict(self) -> dict[str, str]:
        """Return ``{"type": kind, ...}``, the value under the kind's own key."""
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
"""By kind of source, its key in dictionaries."""

URL = re.compile(
    r"data:|(?:https?|gs|s3)://[^/?#\x00-\x1f\x7f][^\x00-\x1f\x7f]*\Z", re.IGNORECASE | re.ASCII
)
"""An address of a scheme that providers fetch."""

SHORTHANDS = ("type", *dict.fromkeys(SOURCE_KEYS.values()), "media_type")
"""Keys of a source in dictionaries; all but ``type`` may be directly in the media block."""


def plain_type(media_type: str | None) -> str | None:
    """Return a media type for comparison: in lower case, with one name, without parameters."""
    bare = (media_type or "").partition(";")[0].strip().lower()
    return "image/jpeg" if bare == "image/jpg" else bare or None


def data_url(url: str) -> MediaSource | None:
    """Return the source in a base64 ``data:`` address, ``None`` for any other text."""
    head, comma, data = url.partition(",")
    first, *rest = head[5:].split(";")
    if not comma or head[:5].lower() != "data:" or not rest or rest[-1].lower() != "base64":
        return None
    return MediaSource("base64", data, first.lower() or None, from_data=True)


def is_address(source: MediaSource) -> bool:
    """Return whether a source is an address of the web or of a store, from which bytes come."""
    value = source.value
    elsewhere = source.kind in ("url", "s3", "gcs") and value[:5].lower() != "data:"
    return elsewhere and URL.match(value) is not None
