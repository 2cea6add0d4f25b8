"""Schemas of Gemini's own dialect, which is OpenAPI's, as JSON schemas."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from promptdsl.providers.gemini.spelling import camel
from promptdsl.providers.shared.checks import mapping
from promptdsl.providers.shared.clean import json_copy

_BY_NAME = ("properties", "$defs", "patternProperties")
_IN_LISTS = ("anyOf", "allOf", "oneOf", "prefixItems")
_ALONE = ("items", "additionalProperties", "not")
_COUNTED = ("Items", "Length", "Properties")
_COUNTS = frozenset(f"{end}{what}" for end in ("min", "max") for what in _COUNTED)


def json_schema(schema: object) -> dict[str, Any]:
    """Return a schema of types in capitals, which says ``nullable``, as a JSON schema.

    Raises :class:`DataError` for what is no mapping.
    """
    whole: dict[str, Any] = json_copy(mapping(schema))
    waiting = [whole]
    while waiting:
        part = waiting.pop()
        said = {
            f"${key}" if key in ("ref", "defs") else camel(key): value
            for key, value in part.items()
        }
        part.clear()
        part.update(_translated(said))
        waiting += _parts(part)
    return whole


def _translated(said: dict[str, Any]) -> dict[str, Any]:
    """Return the keywords of one schema in JSON schema's words."""
    order, null = said.pop("propertyOrdering", None), said.pop("nullable", None)
    found: dict[str, Any] = {}
    for key, value in said.items():
        if key in _COUNTS:
            # The service's JSON has numbers of 64 bits as text.
            is_text = isinstance(value, str) and value.isdecimal()
            found[key] = int(value) if is_text else value
        elif key == "example":
            found["examples"] = [value]
        elif key == "type":
            found |= {} if value == "TYPE_UNSPECIFIED" else {"type": _lowered(value)}
        elif key == "$ref" and isinstance(value, str) and value.startswith("#/defs/"):
            found[key] = f"#/${value[2:]}"
        elif key != "format" or value != "enum":
            found[key] = value
    _order(found.get("properties"), order)
    return _nullable(found) if null is True else found


def _lowered(kind: object) -> object:
    kinds = cast("list[object]", kind) if isinstance(kind, list) else [kind]
    low = [one.lower() if isinstance(one, str) else one for one in kinds]
    return low if isinstance(kind, list) else low[0]


def _order(properties: Any, order: Any) -> None:
    """Put properties in the order they are to be written in, which elsewhere is their own."""
    if isinstance(properties, dict) and isinstance(order, list):
        entries = cast("dict[str, Any]", properties)
        names = [name for name in cast("list[object]", order) if isinstance(name, str)]
        first = {name: entries[name] for name in names if name in entries}
        rest = {name: value for name, value in entries.items() if name not in first}
        entries.clear()
        entries.update(first | rest)


def _nullable(said: dict[str, Any]) -> dict[str, Any]:
    """Return a schema that takes null, too."""
    kind, values, choices = (cast("object", said.get(key)) for key in ("type", "enum", "anyOf"))
    if isinstance(kind, str) and kind != "null":
        said["type"] = [kind, "null"]
    if isinstance(values, list) and None not in values:
        said["enum"] = [*cast("list[object]", values), None]
    null = {"type": "null"}
    if isinstance(choices, list) and not any(map(_is_null, cast("list[object]", choices))):
        said["anyOf"] = [*cast("list[object]", choices), null]
    if "const" in said or not said.keys() & {"type", "enum", "anyOf"}:
        return {"anyOf": [said, null]}
    return said


def _is_null(choice: object) -> bool:
    return isinstance(choice, dict) and str(cast("Any", choice).get("type")).lower() == "null"


def _parts(schema: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the schemas directly in one; a value under ``enum`` or ``default`` is none."""
    for keys, held in _HELD:
        for key in keys:
            found: Any = held(schema.get(key))
            yield from (one for one in found if isinstance(one, dict))


def _one(value: object) -> list[object]:
    return [value]


def _many(value: object) -> Any:
    return value if isinstance(value, list) else ()  # pyright: ignore[reportUnknownVariableType]


def _values(value: object) -> Any:
    return value.values() if isinstance(value, dict) else ()  # pyright: ignore[reportUnknownVariableType]


_HELD: tuple[tuple[tuple[str, ...], Callable[[object], Any]], ...] = (
    (_BY_NAME, _values),
    (_IN_LISTS, _many),
    (_ALONE, _one),
)
