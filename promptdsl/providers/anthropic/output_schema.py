"""JSON schemas as structured outputs take them: closed objects, and few keys.

The rules are those of the SDK's own transformation (``anthropic.lib._parse``).
"""

import json

from promptdsl.messages.schemas import parts_of
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


def supported(schema: Param) -> tuple[Param, list[str]]:
    """Return a schema that structured outputs take, changed in place, and the keys that changed."""
    moved: dict[str, None] = {}
    for part in parts_of(schema):
        if "anyOf" not in part and "oneOf" in part:
            part["anyOf"] = part.pop("oneOf")
        # A key that is not supported goes into the description.
        texts: list[str] = []
        for key in sorted(part):
            value = part[key]
            if key == "format":
                is_kept = value in _FORMATS
            else:
                is_kept = key in _KEPT or (key == "minItems" and value in (0, 1))
            if not is_kept:
                del part[key]
                text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
                texts.append(f"{key}: {text}")
                moved[key] = None
        if texts:
            description = [str(part["description"])] if part.get("description") else []
            part["description"] = "\n\n".join([*description, f"{{{', '.join(texts)}}}"])
        types = part.get("type")
        is_object = "object" in types if isinstance(types, list) else types == "object"
        if is_object and part.get("additionalProperties") is not False:
            part["additionalProperties"] = False
            moved["additionalProperties"] = None
    return schema, [*moved]
