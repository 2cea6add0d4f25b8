"""Bytes on the wire, which are base64 text in blocks."""

import base64
from typing import Any, cast

from promptdsl.foundation.errors import DataError
from promptdsl.foundation.frozen import Around, json_leaf, plain


def encoded(data: object, key: str) -> str:
    """Return bytes as base64 text, and text as it is; :class:`DataError` for anything else."""
    if isinstance(data, bytes | bytearray):
        return base64.b64encode(data).decode("ascii")
    if not isinstance(data, str):
        raise DataError(f"{key!r} is bytes or their base64 text, not {type(data).__name__}")
    return data


def decoded(text: str) -> bytes | None:
    """Return the bytes of a base64 text, ``None`` for another text."""
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        return None


def without_bytes(data: object) -> Any:
    """Return data with base64 text for the bytes in it, at any depth: blocks hold JSON values.

    Raises :class:`DataError` for what else JSON has no word for.
    """
    return plain(data, "data", _leaf)


def _leaf(item: Any, around: Around, key: Any) -> Any:
    if isinstance(item, bytes | bytearray):
        return encoded(item, "bytes")
    return json_leaf(item, around, key)


_JSON = ("input", "json")
"""Under these keys stands any JSON value, in which ``bytes`` is a key like others."""


def put_bytes(param: dict[str, Any]) -> None:
    """Put bytes for the base64 text of every source in a block, at any depth."""
    waiting: list[object] = [param]
    while waiting:
        held = waiting.pop()
        if isinstance(held, dict):
            entries = cast("dict[str, Any]", held)
            _put_source(entries.get("source"))
            waiting += [value for key, value in entries.items() if key not in _JSON]
        elif isinstance(held, list):
            waiting += cast("list[object]", held)


def _put_source(source: Any) -> None:
    match source:
        case {"bytes": str(text)}:
            source["bytes"] = decoded(text) or text
        case _:
            pass
