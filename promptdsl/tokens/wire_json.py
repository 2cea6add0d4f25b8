"""Values as the JSON text a provider makes of them, and what of an unknown one is never a token."""

import json
import re
from collections.abc import Collection, Mapping
from math import isfinite
from typing import Any, NamedTuple, cast

from promptdsl.foundation.json import write_json

SILENT = frozenset(
    {
        *(
            "type",
            "id",
            "call_id",
            "tool_use_id",
            "tool_call_id",
            "toolUseId",
            "approval_request_id",
        ),
        *("cache_control", "prompt_cache_breakpoint", "cachePoint", "status", "is_error"),
        *("signature", "thought_signature", "encrypted_content", "encrypted_index"),
        *("redactedContent", "citations", "caller"),
    }
)
"""Keys of parts that say nothing to the model: ids, marks, signatures and what is encrypted."""

_ENCODED = re.compile(r"data:[^,]{0,200};base64,|[A-Za-z0-9+/_-]{512}")
"""How bytes begin that stand in a text."""


# Built once: making a writer costs as much as writing a call's arguments with it.
_WRITER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str)


class Pruned(NamedTuple):
    """A value without what is silent, and the bytes that were in it."""

    value: Any
    held: list[str | bytes]


def compact(value: Any) -> str:
    """Return a value as JSON without white space; what is no JSON is written as its string.

    Raises :class:`DataError` for data nested deeper than 200 levels.
    """
    try:
        return _WRITER.encode(value)
    except (RecursionError, TypeError, ValueError):
        return write_json(pruned(value, ()).value)


def pruned(value: Any, silent: Collection[str] = SILENT) -> Pruned:
    """Return a copy of a value without the keys that are silent, and without bytes."""
    top: list[Any] = [None]
    held: list[str | bytes] = []
    waiting: list[tuple[Any, Any, Any]] = [(top, 0, value)]
    while waiting:
        into, key, item = waiting.pop()
        if isinstance(item, Mapping):
            said = _entries(item, silent)  # pyright: ignore[reportUnknownArgumentType]
            into[key] = made = dict.fromkeys(said)
            waiting += ((made, name, inner) for name, inner in said.items())
        elif isinstance(item, list | tuple):
            inner = cast("list[Any]", item)
            into[key] = row = [None] * len(inner)
            waiting += ((row, place, one) for place, one in enumerate(inner))
        else:
            into[key] = _leaf(item, held)
    return Pruned(top[0], held)


def _entries(item: Mapping[Any, Any], silent: Collection[str]) -> dict[str, Any]:
    return {str(key): inner for key, inner in item.items() if str(key) not in silent}


def _leaf(item: Any, held: list[str | bytes]) -> Any:
    if isinstance(item, bytes) or (isinstance(item, str) and _ENCODED.match(item)):
        held.append(item)
        return ""
    plain = item is None or isinstance(item, str | bool | int)
    return item if plain or (isinstance(item, float) and isfinite(item)) else str(item)
