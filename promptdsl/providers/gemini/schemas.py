"""Translate schemas of Gemini's own dialect, which is OpenAPI's, into JSON schemas."""

import re

from promptdsl.foundation.json import JsonValue
from promptdsl.messages.schemas import parts_of
from promptdsl.providers.shared.checks import mapping
from promptdsl.providers.shared.clean import json_copy

_SNAKE = re.compile(r"(?<=[a-z])_([a-z])")
_COUNTS = frozenset(
    f"{end}{what}" for end in ("min", "max") for what in ("Items", "Length", "Properties")
)


def json_schema(schema: object) -> dict[str, JsonValue]:
    """Return a schema with types in capitals and ``nullable`` as a JSON schema."""
    whole: dict[str, JsonValue] = json_copy(mapping(schema))
    for part in parts_of(whole):
        translated = _translated(part)
        part.clear()
        part.update(translated)
    return whole


def _translated(schema: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Return one schema, without those in it, in the keywords of JSON schema."""
    order: JsonValue = None
    nullable: JsonValue = None
    translated: dict[str, JsonValue] = {}
    for spelled, value in schema.items():
        # The service's own JSON spells keywords as JSON schema does: ``anyOf``.
        key = _SNAKE.sub(lambda letter: letter[1].upper(), spelled)
        key = f"${key}" if key in ("ref", "defs") else key
        if key == "propertyOrdering":
            order = value
        elif key == "nullable":
            nullable = value
        elif key in _COUNTS:
            # The service's JSON has numbers of 64 bits as text.
            translated[key] = value
            if isinstance(value, str) and value.isdecimal():
                translated[key] = int(value)
        elif key == "example":
            translated["examples"] = [value]
        elif key == "type" and isinstance(value, list):
            translated["type"] = [it.lower() if isinstance(it, str) else it for it in value]
        elif key == "type" and isinstance(value, str):
            translated |= {} if value == "TYPE_UNSPECIFIED" else {"type": value.lower()}
        elif key == "$ref" and isinstance(value, str) and value.startswith("#/defs/"):
            translated[key] = f"#/${value[2:]}"
        elif key != "format" or value != "enum":
            translated[key] = value
    # Properties are written in their own order.
    properties = translated.get("properties")
    if isinstance(properties, dict) and isinstance(order, list):
        names = [name for name in order if isinstance(name, str) and name in properties]
        first = {name: properties[name] for name in names}
        translated["properties"] = {**first, **properties}
    return _with_null(translated) if nullable is True else translated


def _with_null(schema: dict[str, JsonValue]) -> dict[str, JsonValue]:
    kind, values, choices = (schema.get(key) for key in ("type", "enum", "anyOf"))
    null: dict[str, JsonValue] = {"type": "null"}
    if isinstance(kind, str) and kind != "null":
        schema["type"] = [kind, "null"]
    if isinstance(values, list) and None not in values:
        schema["enum"] = [*values, None]
    if isinstance(choices, list):
        nulls = [choice for choice in choices if isinstance(choice, dict)]
        if not any(str(choice.get("type")).lower() == "null" for choice in nulls):
            schema["anyOf"] = [*choices, null]
    if "const" in schema or not schema.keys() & {"type", "enum", "anyOf"}:
        return {"anyOf": [schema, null]}
    return schema
