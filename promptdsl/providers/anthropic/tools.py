"""Tools, the choice of a tool, the form of the answer, and cache marks, both ways."""

import json
from collections.abc import Mapping

from promptdsl.config.wires.anthropic import WIRE
from promptdsl.foundation.errors import DataError
from promptdsl.messages.field_checks import optional
from promptdsl.messages.prompt import OutputSchema, Prompt, ToolDefinition
from promptdsl.messages.schemas import parts_of
from promptdsl.providers.shared.checks import entry, located_items, mapping, read_mark
from promptdsl.providers.shared.clean import json_copy
from promptdsl.providers.shared.ids import tool_name
from promptdsl.providers.shared.request import Param, Request
from promptdsl.providers.shared.tools import chosen, nameless_schema, sendable_output

# The rules are those of the SDK's own transformation (``anthropic.lib._parse``).
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


def tool_param(request: Request, tool: ToolDefinition) -> Param:
    """Return a tool as it is sent."""
    name = tool_name(request, tool, tool.name)
    description = {} if tool.description is None else {"description": tool.description}
    # A schema is required, also of a tool without parameters.
    schema = dict(tool.input_schema) or {"type": "object", "properties": {}}
    return json_copy({"name": name, **description, "input_schema": schema})


def settings_of(request: Request) -> Param:
    """Return the keys ``tool_choice`` and ``output_config``, where the prompt has these."""
    settings: Param = {}
    choice, name = chosen(request)
    if choice:
        named = {} if name is None else {"name": name}
        settings["tool_choice"] = {"type": WIRE.choices[choice], **named}
    known = request.facts.known
    reason = "this model takes no output schema" if known else "name a model that takes one"
    if output := sendable_output(request, reason):
        schema, moved = _supported(nameless_schema(request, output))
        for key in moved:
            reason = "structured outputs refuse it: the description has it, or the object is closed"
            request.hint(output, "output_schema", f"{key!r} in the output schema", reason)
        settings["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
    return settings


def _supported(schema: Param) -> tuple[Param, list[str]]:
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


def read_settings(payload: Mapping[str, object]) -> Prompt:
    """Return the tools, the choice of a tool and the form of the answer in a payload."""
    tools = tuple(located_items("tools", _read_tool, payload.get("tools") or ()))
    choice = None
    if payload.get("tool_choice") is not None:
        entries = mapping(payload["tool_choice"])
        kind = entry(entries, "type", str)
        choices = {sent: choice for choice, sent in WIRE.choices.items()}
        if kind not in choices:
            raise DataError(f"unknown 'tool_choice' {kind!r}", fix="auto, any, tool or none")
        choice = entry(entries, "name", str) if kind == "tool" else choices[kind]
    form = mapping(payload.get("output_config") or {}).get("format")
    output = None if form is None else OutputSchema(entry(mapping(form), "schema", Mapping))
    return Prompt(tools=tools, tool_choice=choice, output=output)


def _read_tool(data: object) -> ToolDefinition:
    entries = mapping(data)
    name = entry(entries, "name", str)
    cache = read_mark(entries.pop("cache_control", None))
    if entries.get("type", "custom") != "custom":
        return ToolDefinition(name, cache=cache, raw=entries, origin="anthropic")
    known = {key: entries.pop(key, None) for key in ("name", "description", "input_schema")}
    description = optional(known["description"], "description")
    schema = entry(known, "input_schema", Mapping)
    return ToolDefinition(name, description, schema, cache, entries, origin="anthropic")
