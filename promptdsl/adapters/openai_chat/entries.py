"""What a recording holds, checked: each error names where it stands and the key that is wrong."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from promptdsl.errors import DataError


def items(value: object, where: str) -> Sequence[Any]:
    """Return the items of a list; :class:`DataError` when it is none."""
    if not isinstance(value, list | tuple):
        raise DataError(f"{where} is a list, not {type(value).__name__}")
    return cast("Sequence[Any]", value)


def mapping(value: object, where: str) -> Mapping[str, Any]:
    """Return a mapping; :class:`DataError` when it is none."""
    if type(value) is not dict and not isinstance(value, Mapping):
        raise DataError(f"{where} is a mapping, not {type(value).__name__}")
    return cast("Mapping[str, Any]", value)


def string(entries: Mapping[str, Any], key: str, where: str) -> str:
    """Return the string under a key; :class:`DataError` when it is missing or no string."""
    value = entries.get(key)
    if not isinstance(value, str):
        keys = ", ".join(map(str, entries))
        raise DataError(f"{where} needs {key!r}, a string", fix=f"it has {keys}")
    return value


def optional(entries: Mapping[str, Any], key: str, where: str) -> str | None:
    """Return the string under a key, ``None`` when it is missing or ``None``."""
    return None if entries.get(key) is None else string(entries, key, where)
