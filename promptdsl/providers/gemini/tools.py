"""Write and read the tools, the choice of a tool and the output schema of a request.

A recorded schema may be in Gemini's dialect, which is that of OpenAPI.
"""

import re
from collections.abc import Iterable

import attrs

from promptdsl.config.wires.gemini import WIRE
from promptdsl.foundation.errors import shown, shown_name
from promptdsl.foundation.frozen import is_list
from promptdsl.foundation.json import JsonObject, JsonValue
from promptdsl.foundation.unicode import exact
from promptdsl.messages.field_checks import optional
from promptdsl.messages.loss import hint
from promptdsl.messages.prompt import OutputSchema, Prompt, RawSetting, ToolDefinition
from promptdsl.messages.schemas import parts_of
from promptdsl.providers.gemini.spelling import fields_of, items_or_one
from promptdsl.providers.shared.blocks import ITEM
from promptdsl.providers.shared.checks import items, located_items, mapping, required
from promptdsl.providers.shared.clean import json_copy
from promptdsl.providers.shared.ids import tool_name
from promptdsl.providers.shared.request import Location, Param, Request
from promptdsl.providers.shared.tools import (
    chosen,
    lose_tool_marks,
    named_choice,
    nameless_schema,
    raw_choice,
    recorded_choice,
    recorded_output,
    recorded_prompt,
    sendable_output,
    write_tools,
)

NO_MARKS = "Gemini takes no cache marks: it caches by itself, or in an object of its own"

_MISFIT = re.compile(r"^[^a-zA-Z_]|[^a-zA-Z0-9_.:-]")


def sent_name(request: Request, subject: Location | ToolDefinition, name: str) -> str:
    """Return the name with which a tool is sent; it starts with a letter or an underscore."""
    return tool_name(request, subject, name, misfit=_MISFIT)


def tools_of(request: Request) -> list[Param]:
    """Return the tools without cache marks: first the tools of the service, then all functions.

    Tools that were recorded in another order or in other objects stay unchanged.
    """
    params = write_tools(request, "gemini", _function_param)
    lose_tool_marks(request, NO_MARKS)
    locations = [tool.extra.get(ITEM) for tool in request.prompt.tools]
    if all(is_list(location) for location in locations):
        return _as_recorded(locations, params)
    functions = [param for param in params if "name" in param]
    service_tools = [param for param in params if "name" not in param]
    return [*service_tools, {"function_declarations": functions}] if functions else service_tools


def _as_recorded(locations: Iterable[JsonValue], params: Iterable[Param]) -> list[Param]:
    """Return tools in the objects in which they were recorded, by the location of each object."""
    tools: dict[str, Param] = {}
    for location, param in zip(locations, params, strict=True):
        tool = tools.setdefault(str(location), {})
        if "name" in param:
            tool.setdefault("function_declarations", []).append(param)
        else:
            tool |= param
    return [*tools.values()]


def _function_param(request: Request, tool: ToolDefinition) -> Param:
    param: Param = {"name": sent_name(request, tool, tool.name)}
    if tool.description is not None:
        param["description"] = tool.description
    # A schema in the dialect of Gemini is in the ``extra`` of its tool.
    is_recorded_here = tool.origin in (None, *request.facts.origins)
    if tool.input_schema and not (is_recorded_here and "parameters" in tool.extra):
        param["parameters_json_schema"] = dict(tool.input_schema)
    return json_copy(param)


_JSON = "application/json"
_CHOICES = {sent: choice for choice, sent in WIRE.choices.items() if choice != "tool"}
_MEANINGS = {**_CHOICES, "VALIDATED": "auto"}
"""The choice by mode. With ``VALIDATED``, calls must follow the schemas."""
_OUTPUT_KEYS = ("response_mime_type", "response_json_schema", "response_schema")


def settings_of(request: Request, tools: list[Param]) -> Param:
    """Return the keys for the choice of a function and for the output schema of a prompt."""
    settings: Param = {}
    choice, name = chosen(request)
    raw = recorded_choice(request, request.facts.origins, choice)
    functions = [item["name"] for tool in tools for item in tool.get("function_declarations", ())]
    if raw is not None:
        settings["tool_config"] = raw
    elif choice and functions and name in (None, *functions):
        named = {} if name is None else {"allowed_function_names": [name]}
        settings["tool_config"] = {
            "function_calling_config": {"mode": WIRE.choices[choice], **named}
        }
    elif choice:
        what = f"tool_choice {request.prompt.tool_choice!r}"
        request.losses.append(hint("tool_choice", what, "there is no such function to call"))
    output = sendable_output(request)
    raw = recorded_output(request, request.facts.origins, output)
    if raw is not None:
        settings |= raw
    elif output:
        settings["response_mime_type"] = _JSON
        settings["response_json_schema"] = nameless_schema(request, output)
    return settings


def read_settings(settings: JsonObject) -> Prompt:
    """Return the tools, the choice of a tool and the output schema of a payload."""
    # Each tool of the list may contain several functions.
    groups = located_items("tools", _read_tools, items_or_one(settings.get("tools", ()), "tools"))
    placed = [(location, tool) for location, group in enumerate(groups) for tool in group]
    tools = [tool for _, tool in placed]
    functions = {location for location, tool in placed if tool.raw is None}
    others = {location for location, tool in placed if tool.raw is not None}
    if len(functions) > 1 or (functions and others and max(others) >= max(functions)):
        tools = [
            attrs.evolve(tool, extra={**tool.extra, ITEM: [location]}) for location, tool in placed
        ]
    choice, output = _read_choice(settings.get("tool_config")), _read_output(settings)
    return recorded_prompt(tools, choice, output)


def _read_tools(data: object) -> list[ToolDefinition]:
    fields = fields_of(data)
    functions = fields.pop("function_declarations", ())
    tools = [*located_items("function_declarations", _read_function, functions)]
    service_tools = [
        ToolDefinition(shown_name(key), raw=fields, origin="gemini") for key in [*fields][:1]
    ]
    return [*service_tools, *tools]


def _read_function(data: object) -> ToolDefinition:
    fields = fields_of(data)
    name = required(fields, "name", str)
    description = optional(fields.get("description"), "description")
    schema = fields.get("parameters_json_schema")
    if schema is None and fields.get("parameters") is not None:
        schema = json_schema(fields["parameters"])
    known = ["name", "description"]
    # An empty schema is kept in ``extra``, because a function may have one, or none.
    if schema != {}:
        known.append("parameters_json_schema")
    extra = json_copy({key: value for key, value in fields.items() if key not in known})
    schema = json_copy(mapping({} if schema is None else schema))
    return ToolDefinition(exact(name), description, schema, None, extra, origin="gemini")


def _read_choice(data: object) -> RawSetting | str | None:
    """Return the choice of a ``tool_config``."""
    if not data:
        return None
    config = fields_of(data)
    choice = fields_of(config.get("function_calling_config") or {})
    mode = exact(optional(choice.get("mode"), "mode") or "MODE_UNSPECIFIED").upper()
    names = items(choice.get("allowed_function_names") or (), "allowed_function_names")
    meaning = _MEANINGS.get(mode)
    further = [key for key in config if key != "function_calling_config"]
    further += [key for key in choice if key not in ("mode", "allowed_function_names")]
    if further:
        return raw_choice(config, "gemini", meaning, f"{shown(further[0])} of tool_config")
    if len(names) == 1 and mode == "ANY":
        return named_choice(
            config, "gemini", required({"name": names[0]}, "name", str), is_all=True
        )
    if names:
        return raw_choice(config, "gemini", meaning, "a choice among several functions")
    if mode == "MODE_UNSPECIFIED":
        return None
    return (
        meaning if mode in _CHOICES else raw_choice(config, "gemini", meaning, f"the mode {mode}")
    )


def _read_output(settings: JsonObject) -> RawSetting | None:
    """Return the output format as it was recorded, with its output schema if there is one."""
    raw = {key: settings[key] for key in _OUTPUT_KEYS if settings.get(key) is not None}
    schema, openapi_schema = raw.get("response_json_schema"), raw.get("response_schema")
    media_type = raw.get("response_mime_type", "text/plain")
    if schema is not None:
        output = OutputSchema(json_copy(mapping(schema)))
        return RawSetting({**raw, "response_json_schema": output.schema}, "gemini", output)
    if openapi_schema is not None:
        return RawSetting(json_copy(raw), "gemini", OutputSchema(json_schema(openapi_schema)))
    unsayable = "" if media_type == "text/plain" else f"response_mime_type {shown(media_type)}"
    return RawSetting(raw, "gemini", None, unsayable) if raw else None


_SNAKE = re.compile(r"(?<=[a-z])_([a-z])")
_COUNTS = frozenset(
    f"{end}{what}" for end in ("min", "max") for what in ("Items", "Length", "Properties")
)


def json_schema(schema: object) -> dict[str, JsonValue]:
    """Return a schema of OpenAPI, with types in capitals and ``nullable``, as a JSON schema."""
    converted: dict[str, JsonValue] = json_copy(mapping(schema))
    for subschema in parts_of(converted):
        translated = _translated(subschema)
        subschema.clear()
        subschema.update(translated)
    return converted


def _translated(schema: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Return a schema with the keywords of JSON schema. Schemas in it are not changed."""
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
            translated["type"] = [name.lower() if isinstance(name, str) else name for name in value]
        elif key == "type" and isinstance(value, str):
            translated |= {} if value == "TYPE_UNSPECIFIED" else {"type": value.lower()}
        elif key == "$ref" and isinstance(value, str) and value.startswith("#/defs/"):
            translated[key] = f"#/${value[2:]}"
        elif key != "format" or value != "enum":
            translated[key] = value
    # Properties are in the order that the schema names.
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
