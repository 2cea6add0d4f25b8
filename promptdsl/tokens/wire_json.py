"""Values of payloads as JSON text, without the keys that the model does not read."""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from math import isfinite
from typing import Any, TypeAlias

from promptdsl.config.wires import of_all
from promptdsl.foundation.json import JsonValue, write_json

WireValue: TypeAlias = (
    "bool | int | float | str | bytes | Sequence[WireValue] | Mapping[str, WireValue] | None"
)
"""A value of a payload: JSON data, or bytes."""

WireObject: TypeAlias = Mapping[str, WireValue]
"""An object of a payload, or a complete payload."""

_NO_OBJECT: WireObject = {}


def object_at(value: WireObject, *keys: str) -> WireObject:
    """Return the value at the first key that exists, or an empty object if it is no object."""
    item = next((value[key] for key in keys if key in value), None)
    return item if isinstance(item, Mapping) else _NO_OBJECT


MARKS = frozenset(of_all(lambda wire: (wire.mark,) if wire.mark else ()))
"""The keys of cache marks."""

SILENT = frozenset({"type", *MARKS, *of_all(lambda wire: wire.silent)})
"""The keys of payload parts that the model does not read."""

_ENCODED = re.compile(r"data:[^,]{0,200};base64,|[A-Za-z0-9+/_-]{512}")
"""The beginning of a text that contains bytes."""

# Made once, because making a writer costs as much as writing the arguments of a call.
_WRITER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str)


def compact(value: WireValue) -> str:
    """Return a value as JSON without white space. A value that is not JSON becomes its string."""
    try:
        return _WRITER.encode(value)
    except (RecursionError, TypeError, ValueError):
        return write_json(pruned(value, ())[0])


def pruned(
    value: WireValue, silent: Collection[str] = SILENT
) -> tuple[JsonValue, list[str | bytes]]:
    """Return a copy of a value without its silent keys and bytes, and the list of these bytes."""
    encoded: list[str | bytes] = []
    top: list[JsonValue] = [None]
    # Any: a dict and its key, or a list and its index
    waiting: list[tuple[Any, Any, WireValue]] = [(top, 0, value)]
    while waiting:
        container, key, item = waiting.pop()
        if isinstance(item, Mapping):
            kept = {str(name): inner for name, inner in item.items() if str(name) not in silent}
            container[key] = copy = dict.fromkeys(kept)
            waiting += ((copy, name, inner) for name, inner in kept.items())
        elif isinstance(item, list | tuple):
            container[key] = row = [None] * len(item)
            waiting += ((row, index, inner) for index, inner in enumerate(item))
        elif isinstance(item, bytes) or (isinstance(item, str) and _ENCODED.match(item)):
            encoded.append(item)
            container[key] = ""
        else:
            plain = item is None or isinstance(item, str | bool | int)
            plain = plain or (isinstance(item, float) and isfinite(item))
            container[key] = item if plain else str(item)
    return top[0], encoded
