"""The sources of attachments: base64 text, an address, a path or a file id."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

import attrs

from promptdsl.foundation.json import JsonDict

SourceKind: TypeAlias = Literal["base64", "url", "path", "file_id", "s3", "gcs"]
"""The form of a source: the bytes themselves, or the place to find them."""


@attrs.frozen
class MediaSource:
    """The source of an attachment: its bytes, or the place to find them.

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

    def to_dict(self) -> JsonDict:
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

SHORTHANDS = ("type", "path", "url", "data", "file_id", "uri", "media_type")
"""Keys that a media block may have itself instead of in a ``source``."""


_SAME = {"image/jpg": "image/jpeg"}


def plain_type(media_type: str | None) -> str | None:
    """Return a media type for comparison: in lower case, with one name, without parameters."""
    bare = (media_type or "").partition(";")[0].strip().lower()
    return _SAME.get(bare, bare) or None


def data_url(url: str) -> MediaSource | None:
    """Return the source in a base64 ``data:`` address, ``None`` for any other text."""
    head, comma, data = url.partition(",")
    first, *rest = head[5:].split(";")
    if not comma or head[:5].lower() != "data:" or not rest or rest[-1].lower() != "base64":
        return None
    return MediaSource("base64", data, first.lower() or None, from_data=True)
