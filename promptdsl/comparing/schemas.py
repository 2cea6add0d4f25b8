"""The schema of a tool's input as lines: a property each."""

import json
import re
from collections.abc import Mapping
from typing import Any, cast

from promptdsl.comparing.shown_texts import ShownTexts

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_TYPES = ("string", "integer", "number", "boolean", "array", "object", "null")


def schema_text(schema: object, texts: ShownTexts) -> str:
    r"""Return a JSON schema as text: a line for each property, the other keys as JSON.

    >>> city = {"type": "string", "description": "A city.\nBy name."}
    >>> print(schema_text({"type": "object", "properties": {"city": city}}, ShownTexts({})))
    city (string): A city.⟦LF⟧By name.
    """
    keys: dict[str, Any] = dict(cast("Mapping[str, object]", schema))  # Any: JSON data
    if not isinstance(keys.get("properties"), dict) or keys.get("type") != "object":
        return texts.data(json_text(keys))
    properties = cast("Mapping[str, object]", keys["properties"])
    required: list[object] = keys.get("required", [])
    needed = [name for name in properties if name in required]
    if "required" in keys and (not needed or needed != list(required)):
        needed = []  # in an order of its own, or empty: it stays in the rest
    else:
        keys.pop("required", None)
    del keys["type"], keys["properties"]
    lines: list[str] = []
    for name, value in properties.items():
        kind, more, said = _property(value)
        words = [kind, "required"] if name in needed else [kind]
        shown = name if _NAME.fullmatch(name) else json_text(name)
        typed = texts.line(f"{shown} ({', '.join(words)})")
        lines.append(typed + texts.data(more) + texts.name(said))
    lines += [texts.data(json_text(keys))] if keys or not lines else []
    return "\n".join(lines)


def _property(schema: object) -> tuple[str, str, str]:
    """Return the type of a property, the other keys of its schema, and its description."""
    if not isinstance(schema, dict):
        return "schema", f" {json_text(schema)}", ""
    rest = dict(cast("Mapping[str, object]", schema))  # Any: JSON data
    description = rest.get("description")
    described = isinstance(description, str)
    if described:
        del rest["description"]
    kind = " or ".join(_types(rest.get("type")))
    if kind:
        del rest["type"]
    more = f" {json_text(rest)}" if rest else ""
    said = f": {description}" if described else ""
    return kind or "any", more, said


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
