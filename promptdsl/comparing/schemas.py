"""The schema of a tool's input as lines: a property each."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_TYPES = ("string", "integer", "number", "boolean", "array", "object", "null")


def schema_text(schema: object, line: Callable[[str], str]) -> str:
    r"""Return a JSON schema as text: a line for each property, the other keys as JSON.

    ``line`` returns a text as it is shown on one line.

    >>> city = {"type": "string", "description": "A city.\nBy name."}
    >>> print(schema_text({"type": "object", "properties": {"city": city}}, repr))
    'city (string): A city.\nBy name.'
    """
    data: dict[str, Any] = dict(cast("Mapping[str, Any]", schema))  # Any: JSON data
    if not isinstance(data.get("properties"), dict) or data.get("type") != "object":
        return line(json_text(data))
    properties = cast("Mapping[str, object]", data["properties"])
    required: list[object] = data.get("required", [])
    needed = [name for name in properties if name in required]
    if "required" in data and (not needed or needed != list(required)):
        needed = []  # in an order of its own, or empty: it stays in the rest
    else:
        data.pop("required", None)
    del data["type"], data["properties"]
    lines = [line(_property(name, value, name in needed)) for name, value in properties.items()]
    lines += [line(json_text(data))] if data or not lines else []
    return "\n".join(lines)


def _property(name: str, schema: object, required: bool) -> str:
    name = name if _NAME.fullmatch(name) else json_text(name)
    if not isinstance(schema, dict):
        return f"{name} ({', '.join(_words(None, required))}) {json_text(schema)}"
    rest = dict(cast("Mapping[str, Any]", schema))  # Any: JSON data
    description = rest.get("description")
    described = isinstance(description, str)
    if described:
        del rest["description"]
    kind = " or ".join(_types(rest.get("type")))
    if kind:
        del rest["type"]
    more = f" {json_text(rest)}" if rest else ""
    said = f": {description}" if described else ""
    return f"{name} ({', '.join(_words(kind, required))}){more}{said}"


def _words(kind: str | None, required: bool) -> Iterator[str]:
    yield "schema" if kind is None else kind or "any"
    if required:
        yield "required"


def _types(kind: object) -> list[str]:
    """Return the names of types, none where they are not a name or a list of several."""
    if isinstance(kind, list):
        kinds = cast("list[object]", kind)
        names = [name for name in kinds if isinstance(name, str) and name in _TYPES]
        return names if 1 < len(names) == len(kinds) else []
    return [kind] if isinstance(kind, str) and kind in _TYPES else []


def json_text(value: object) -> str:
    """Return a value as JSON on one line."""
    return json.dumps(value, ensure_ascii=False)
