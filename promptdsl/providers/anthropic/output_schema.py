"""JSON schemas as structured outputs take them: closed objects, and few keys.

The rules are those of the SDK's own transformation (``anthropic.lib._parse``).
"""

import json
from collections.abc import Iterator
from typing import Any, cast

from promptdsl.providers.shared.request import Param

_KEPT = frozenset(
    {
        *("$defs", "definitions", "$ref", "type", "anyOf", "allOf", "enum", "const"),
        *("description", "title", "properties", "additionalProperties", "required", "items"),
    }
)
_FORMATS = frozenset(
    {
        *("date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6"),
        "uuid",
    }
)
_NAMED = ("properties", "$defs", "definitions")
"""The keys whose values are schemas by name."""
_LISTED = ("anyOf", "allOf")


def supported(schema: Param) -> tuple[Param, list[str]]:
    """Return a schema that structured outputs take, and the keys that were moved or changed.

    ``schema`` is changed: it is the caller's own.
    """
    moved: dict[str, None] = {}
    waiting = [schema]
    while waiting:
        one = waiting.pop()
        if "anyOf" not in one and "oneOf" in one:
            one["anyOf"] = one.pop("oneOf")
        waiting += reversed([*_below(one)])
        others = {key: one.pop(key) for key in sorted(one) if not _is_kept(key, one[key])}
        if others:
            said = ", ".join(f"{key}: {_shown(value)}" for key, value in others.items())
            told = str(one["description"]) if one.get("description") else ""
            one["description"] = "\n\n".join(filter(None, (told, f"{{{said}}}")))
            moved |= dict.fromkeys(others)
        types: Any = one.get("type")
        is_object = "object" in types if isinstance(types, list) else types == "object"
        if is_object and one.get("additionalProperties") is not False:
            one["additionalProperties"] = False
            moved["additionalProperties"] = None
    return schema, [*moved]


def _is_kept(key: str, value: object) -> bool:
    if key == "format":
        return value in _FORMATS
    return key in _KEPT or (key == "minItems" and value in (0, 1))


def _shown(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _below(schema: Param) -> Iterator[Param]:
    """Yield the schemas that stand directly in one."""
    for key in _NAMED:
        named: Any = schema.get(key)
        yield from _schemas(named.values() if isinstance(named, dict) else ())
    for key in _LISTED:
        listed: Any = schema.get(key)
        yield from _schemas(listed if isinstance(listed, list) else ())
    yield from _schemas((schema.get("items"),))


def _schemas(values: Any) -> Iterator[Param]:
    yield from (cast("Param", value) for value in values if isinstance(value, dict))
