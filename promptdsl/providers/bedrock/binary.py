"""Bytes of a Converse payload, which are base64 text in blocks."""

import base64

from promptdsl.foundation.errors import DataError
from promptdsl.foundation.frozen import Around, json_leaf, plain
from promptdsl.foundation.json import JsonObject, JsonValue
from promptdsl.providers.shared.request import Param


def encoded(data: object, key: str) -> str:
    """Return bytes as base64 text, and text as it is; :class:`DataError` for any other value."""
    if isinstance(data, bytes | bytearray):
        return base64.b64encode(data).decode("ascii")
    if not isinstance(data, str):
        raise DataError(f"{key!r} is bytes or their base64 text, not {type(data).__name__}")
    return data


def decoded(text: str) -> bytes | None:
    """Return the bytes of a base64 text, ``None`` for any other text."""
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        return None


def without_bytes(data: object) -> JsonObject:
    """Return an object with base64 text for the bytes in it, at any depth, as blocks keep it.

    Raises :class:`DataError` for any other value that is not JSON.
    """
    entries: JsonObject = plain(data, "data", _text_leaf)
    return entries


def _text_leaf(item: object, around: Around, key: object) -> object:
    if isinstance(item, bytes | bytearray):
        return encoded(item, "bytes")
    return json_leaf(item, around, key)


_ANY_JSON = ("input", "json")
"""The keys whose value is any JSON data, in which ``bytes`` is a key like others."""


def put_bytes(param: Param) -> None:
    """Replace the base64 text of every source in a block by its bytes, at any depth."""
    waiting: list[JsonValue] = [param]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            source = value.get("source")
            if isinstance(source, dict) and isinstance(text := source.get("bytes"), str):
                source["bytes"] = decoded(text) or text
            waiting += [inner for key, inner in value.items() if key not in _ANY_JSON]
        elif isinstance(value, list):
            waiting += value
