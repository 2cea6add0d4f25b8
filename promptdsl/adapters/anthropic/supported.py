"""JSON schemas as structured outputs take them: closed objects, and few bounds.

The rules are those of the SDK's own transformation (``anthropic.lib._parse``).
"""

from collections.abc import Iterator
from typing import Any, cast

from promptdsl.wire.request import Param

_BOUNDS = frozenset(
    {
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
        *("minLength", "maxLength", "maxItems", "uniqueItems", "minProperties", "maxProperties"),
    }
)
_NAMED = ("properties", "$defs", "definitions")
"""The keys whose values are schemas by name."""
_LISTED = ("anyOf", "oneOf", "allOf", "prefixItems")


def supported(schema: Param) -> tuple[Param, list[str]]:
    """Return a schema that structured outputs take, and the keys that were moved or changed.

    ``schema`` is changed: it is the caller's own.
    """
    moved: dict[str, None] = {}
    waiting = [schema]
    while waiting:
        one = waiting.pop()
        waiting += reversed([*_below(one)])
        bounds = {key: one.pop(key) for key in sorted(one.keys() & _BOUNDS)}
        if one.get("minItems", 0) not in (0, 1):
            bounds["minItems"] = one.pop("minItems")
        if bounds:
            said = ", ".join(f"{key}: {value}" for key, value in bounds.items())
            one["description"] = "\n\n".join(filter(None, (one.get("description"), f"{{{said}}}")))
            moved |= dict.fromkeys(bounds)
        if one.get("type") == "object" and one.get("additionalProperties") is not False:
            one["additionalProperties"] = False
            moved["additionalProperties"] = None
    return schema, [*moved]


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
