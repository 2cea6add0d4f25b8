"""What a recording holds, checked: each error names the key that is wrong, and where it stands."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from promptdsl.errors import DataError, nearest


def located(place: str, reader: Any, data: object) -> Any:
    """Return what a reader makes of data; its :class:`DataError` names the place."""
    try:
        return reader(data)
    except DataError as error:
        raise DataError(f"{place}: {error.what}", fix=error.fix) from None


def located_items(place: str, reader: Any, data: object) -> Iterator[Any]:
    """Yield what a reader makes of each item of a list; errors name ``place[index]``."""
    for index, item in enumerate(items(data, place)):
        yield located(f"{place}[{index}]", reader, item)


def items(data: object, place: str) -> Sequence[Any]:
    """Return the items of a list; :class:`DataError` when it is none."""
    if not isinstance(data, list | tuple):
        raise DataError(f"{place!r} is a list, not {type(data).__name__}")
    return cast("Sequence[Any]", data)


def mapping(data: object) -> dict[str, Any]:
    """Return a mapping as a dictionary of its own; :class:`DataError` when it is none.

    The response objects of SDKs, which may stand among recorded messages, are dumped.
    """
    if type(data) is not dict and not isinstance(data, Mapping):
        data = _dumped(data)
    return dict(cast("Mapping[str, Any]", data))


def _dumped(data: object) -> object:
    for name, options in (("to_dict", {}), ("model_dump", {"mode": "json", "exclude_none": True})):
        dump = getattr(data, name, None)
        found: object = dump(**options) if callable(dump) else None
        if isinstance(found, Mapping):
            return found  # pyright: ignore[reportUnknownVariableType]
    raise DataError(f"a dictionary is needed, not {type(data).__name__}")


def entry(entries: Mapping[str, Any], key: str, types: type = object) -> Any:
    """Return the value under a key; :class:`DataError` when it is missing or of another type."""
    if not isinstance(entries.get(key), types) or key not in entries:
        raise DataError(f"{key!r} is needed", fix=nearest(key, map(str, entries)))
    return entries[key]
