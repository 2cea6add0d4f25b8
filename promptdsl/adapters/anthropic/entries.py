"""What a recording holds, checked: each error names the key that is wrong, and where it stands."""

from collections.abc import Mapping
from typing import Any, cast

from promptdsl.errors import DataError, nearest


def located(place: str, reader: Any, data: object) -> Any:
    """Return what a reader makes of data; its :class:`DataError` names the place."""
    try:
        return reader(data)
    except DataError as error:
        raise DataError(f"{place}: {error.what}", fix=error.fix) from None


def mapping(data: object) -> dict[str, Any]:
    """Return a mapping as a dictionary of its own; :class:`DataError` when it is none."""
    if type(data) is not dict and not isinstance(data, Mapping):
        # The SDK's own response objects may stand in its lists of messages.
        to_dict = getattr(data, "to_dict", None)
        if to_dict is None:
            raise DataError(f"a dictionary is needed, not {type(data).__name__}")
        data = to_dict()
    return dict(cast("Mapping[str, Any]", data))


def entry(entries: Mapping[str, Any], key: str, types: type = object) -> Any:
    """Return the value under a key; :class:`DataError` when it is missing or of another type."""
    if not isinstance(entries.get(key), types) or key not in entries:
        raise DataError(f"{key!r} is needed", fix=nearest(key, map(str, entries)))
    return entries[key]
