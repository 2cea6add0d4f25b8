"""What a recording holds, checked: each error names the key that is wrong, and where it stands."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from promptdsl.foundation.errors import DataError, nearest


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
    # What was parsed to a type of the user's own is no part of the SDK's, which would warn of it.
    plain = {"mode": "json", "exclude_none": True, "by_alias": True, "warnings": False}
    ways: Mapping[str, Mapping[str, Any]] = {"model_dump": plain, "to_dict": {}}
    for name, options in ways.items() if not isinstance(data, type) else ():
        dump = getattr(data, name, None)
        try:
            found: object = dump(**options) if callable(dump) else None
        except Exception as error:
            raise DataError(f"{type(data).__name__} cannot be read: {error}") from None
        if isinstance(found, Mapping):
            return found  # pyright: ignore[reportUnknownVariableType]
    raise DataError(f"a dictionary is needed, not {type(data).__name__}")


def entry(entries: Mapping[str, Any], key: str, types: type = object) -> Any:
    """Return the value under a key; :class:`DataError` when it is missing or of another type."""
    if key not in entries:
        raise DataError(f"{key!r} is needed", fix=nearest(key, map(str, entries)))
    if not isinstance(entries[key], types):
        found = type(entries[key]).__name__
        raise DataError(f"{key!r} is {_NAMES[types]}, not {found}")
    return entries[key]


_NAMES: Mapping[type, str] = {str: "a string", list: "a list", Mapping: "a dictionary"}


def usage(**counts: object) -> Mapping[str, int] | None:
    """Return the counts that a response tells, in tokens, ``None`` when it tells none.

    ``input`` is all that was read, cached or not; ``cache_read`` and ``cache_write`` are the parts
    of it that came from a cache and went into one; ``output`` is all that was written,
    ``reasoning`` the part of it that was thought.
    """
    found = {name: count for name, count in counts.items() if type(count) is int}
    return found or None


def total(*counts: object) -> int | None:
    """Return the sum of the counts that are told, ``None`` when none is."""
    told = [count for count in counts if type(count) is int]
    return sum(told) if told else None
