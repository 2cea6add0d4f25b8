"""Where the bytes of an attachment are: base64, an address, a path or a file id."""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, cast

import attrs

from promptdsl.foundation.errors import DataError, nearest
from promptdsl.foundation.unicode import exact

SourceKind: TypeAlias = Literal["base64", "url", "path", "file_id", "s3", "gcs"]
"""How an attachment is given: as its bytes, or as where they are."""


@attrs.frozen
class MediaSource:
    """Where the bytes of an attachment are.

    ``value`` is the base64 text, the address, the path or the file id, by ``kind``. ``from_data``
    is true of a path that came in data rather than in code; such a path is read only under a
    declared media root.
    """

    kind: SourceKind
    value: str
    media_type: str | None = None
    from_data: bool = attrs.field(default=False, eq=False)

    def to_dict(self) -> dict[str, Any]:
        """Return ``{"type": kind, ...}``, the value under the kind's own key."""
        data = {"type": self.kind, SOURCE_KEYS[self.kind]: self.value}
        return data if self.media_type is None else {**data, "media_type": self.media_type}


SOURCE_KEYS = {
    "base64": "data",
    "url": "url",
    "path": "path",
    "file_id": "file_id",
    "s3": "uri",
    "gcs": "uri",
}

SHORTHANDS = ("type", "path", "url", "data", "file_id", "uri", "media_type")
"""Keys a media block may carry itself instead of in a ``source``."""


def media_source(data: object) -> MediaSource:
    """Return the source a dictionary describes; the kind may be left out where its key tells it."""
    if not isinstance(data, Mapping):
        raise DataError(f"a source is a dictionary, not {type(data).__name__}")
    entries = cast("Mapping[str, Any]", data)
    kind = entries.get("type") or next((k for k in SOURCE_KEYS if SOURCE_KEYS[k] in entries), None)
    if not isinstance(kind, str) or kind not in SOURCE_KEYS:
        raise DataError(f"unknown source {kind!r}", fix=nearest(str(kind), SOURCE_KEYS))
    value = entries.get(SOURCE_KEYS[kind])
    if not isinstance(value, str):
        raise DataError(f"a {kind!r} source needs {SOURCE_KEYS[kind]!r}, a string")
    media_type = entries.get("media_type")
    if not (media_type is None or isinstance(media_type, str)):
        raise DataError(f"'media_type' is a string, not {type(media_type).__name__}")
    known = cast("SourceKind", exact(kind))
    return MediaSource(known, exact(value), exact(media_type), from_data=True)


_SAME = {"image/jpg": "image/jpeg"}


def plain_type(media_type: str | None) -> str | None:
    """Return a media type as it is compared: in lower case, by one name, without parameters."""
    found = (media_type or "").partition(";")[0].strip().lower()
    return _SAME.get(found, found) or None


def data_url(url: str) -> MediaSource | None:
    """Return the source in a base64 ``data:`` address, ``None`` for any other text."""
    head, found, data = url.partition(",")
    first, *rest = head[5:].split(";")
    if not found or head[:5].lower() != "data:" or not rest or rest[-1].lower() != "base64":
        return None
    return MediaSource("base64", data, first.lower() or None, from_data=True)
