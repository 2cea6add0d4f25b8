"""Write and read the tools, the choice of a tool and the output schema of a request."""

from collections.abc import Mapping
from functools import partial

from promptdsl.config.wires.bedrock import WIRE
from promptdsl.foundation.errors import DataError, shown
from promptdsl.foundation.frozen import is_mapping, plain
from promptdsl.foundation.json import JsonObject, read_json, write_json
from promptdsl.messages.field_checks import Cache, optional
from promptdsl.messages.loss import hint
from promptdsl.messages.prompt import OutputSchema, Prompt, RawSetting, ToolDefinition
from promptdsl.providers.bedrock.request import Converse, marked_items
from promptdsl.providers.shared.checks import located, mapping, required
from promptdsl.providers.shared.clean import json_copy, utf8
from promptdsl.providers.shared.ids import tool_name
from promptdsl.providers.shared.request import Param
from promptdsl.providers.shared.tools import (
    chosen,
    fitted_output,
    named_choice,
    raw_choice,
    recorded_choice,
    recorded_output,
    recorded_prompt,
    sendable_output,
    sent_schema,
    write_tools,
)

PLACEHOLDER: JsonObject = {
    "toolSpec": {
        "name": "no_tool",
        "description": "Not a tool: nothing can be called.",
        "inputSchema": {"json": {"type": "object", "properties": {}}},
    }
}
"""The tool for a request with calls but no tools, which Converse would refuse. It never changes."""

_KEYS = frozenset({"name", "description", "inputSchema", "strict"})
_READ_CHOICES = {sent: choice for choice, sent in WIRE.choices.items()}


def tools_of(request: Converse) -> list[Param]:
    """Return the tools of a request, without the further keys that Converse refuses."""
    params = write_tools(request, "bedrock", _tool_param, inside="toolSpec")
    sent = (
        tool
        for tool in request.prompt.tools
        if tool.raw is None or tool.origin in request.facts.origins
    )
    for tool, param in zip(sent, params, strict=True):
        if tool.raw is not None:
            continue
        spec: Param = param["toolSpec"]
        for key in sorted(spec.keys() - _KEYS):
            del spec[key]
            request.hint(tool, "unsent_key", f"key {key!r}", "a toolSpec has no such key")
    return params


def _tool_param(request: Converse, tool: ToolDefinition) -> Param:
    spec: Param = {"name": tool_name(request, tool, tool.name)}
    if tool.description and not tool.description.isspace():
        spec["description"] = tool.description
    elif tool.description:
        request.hint(tool, "white_space", "description", "only white space")
    schema = tool.input_schema
    # A schema without a type is refused.
    kind = {} if "type" in schema else {"type": "object"}
    spec["inputSchema"] = {"json": {**kind, **schema}}
    return {"toolSpec": json_copy(spec)}


def settings_of(request: Converse, tools: list[Param]) -> Param:
    """Return the keys ``toolConfig`` and ``outputConfig`` of a prompt that needs them."""
    settings: Param = {}
    # The choice of a tool. Converse cannot express "none", so the model may still call one.
    choice, name = chosen(request)
    raw = recorded_choice(request, request.facts.origins, choice)
    specs = (spec for tool in tools for spec in tool.values() if is_mapping(spec))
    names = [None, *(spec.get("name") for spec in specs)]
    is_known = choice in WIRE.choices and bool(tools) and name in names
    sent_choice: Param = {}
    if raw is not None:
        sent_choice = {"toolChoice": raw}
    elif choice is not None and is_known:
        named = {} if name is None else {"name": name}
        sent_choice = {"toolChoice": {WIRE.choices[choice]: named}}
    elif choice is not None:
        unsayable = tools and name is None
        reason = "Converse cannot express it" if unsayable else "there is no such tool"
        what = f"tool_choice {request.prompt.tool_choice!r}"
        request.losses.append(hint("tool_choice", what, reason))
    # The tools, or a placeholder if there are only calls.
    if tools:
        settings["toolConfig"] = {"tools": tools, **sent_choice}
    elif request.calls_tools:
        settings["toolConfig"] = {"tools": [json_copy(PLACEHOLDER)]}
        reason = "calls need a tool in the request, so a placeholder is sent"
        request.losses.append(hint("no_tools", "there are no tools", reason))
    # The output schema.
    output = sendable_output(request)
    raw = recorded_output(request, request.facts.origins, output)
    if raw is not None:
        settings["outputConfig"] = raw
    elif output:
        fit = fitted_output(request, output)
        schema = sent_schema(request, output, output.name, output.description, fit=fit)
        definition = {"schema": write_json(schema), "name": utf8(output.name)}
        if output.description is not None:
            definition["description"] = utf8(output.description)
        output_format = {"type": "json_schema", "structure": {"jsonSchema": definition}}
        settings["outputConfig"] = {"textFormat": output_format}
        if not output.strict:
            reason = "Converse makes every answer follow its schema"
            request.hint(output, "strict_schema", "strict=False", reason)
    return settings


def read_settings(payload: Mapping[str, object]) -> Prompt:
    """Return the tools, the choice of a tool and the output schema of a payload."""
    config = mapping(payload.get("toolConfig") or {})
    listed = config.get("tools") or ()
    marked = () if listed == [PLACEHOLDER] else marked_items(listed, "tools")
    tools = tuple(located(path, partial(_read_tool, cache), item) for path, item, cache in marked)
    choice = None if config.get("toolChoice") is None else _read_choice(config["toolChoice"])
    output = _read_output(mapping(payload.get("outputConfig") or {}))
    return recorded_prompt(tools, choice, output)


def _read_choice(data: object) -> RawSetting | str:
    choice = mapping(data)
    kind = next(iter(choice), "")
    if kind == "tool":
        name = required(mapping(choice[kind] or {}), "name", str)
        is_all = choice == {"tool": {"name": name}}
        return named_choice(choice, "bedrock", name, is_all=is_all)
    meaning = _READ_CHOICES.get(kind)
    if meaning is not None and choice == {kind: {}}:
        return meaning
    return raw_choice(choice, "bedrock", meaning, "" if meaning else f"toolChoice {shown(kind)}")


def _read_output(config: Mapping[str, object]) -> RawSetting | None:
    """Return the output schema, which Converse has as JSON text."""
    if config.get("textFormat") is None:
        return None
    output_format = mapping(config["textFormat"])
    raw = plain(config, "outputConfig")
    definition = mapping(mapping(output_format.get("structure") or {}).get("jsonSchema") or {})
    if not definition:
        return RawSetting(raw, "bedrock", None, f"textFormat {shown(output_format.get('type'))}")
    schema = read_json(required(definition, "schema", str))
    if not isinstance(schema, Mapping):
        raise DataError("'schema' is the JSON text of an object")
    name = optional(definition.get("name"), "name")
    description = optional(definition.get("description"), "description")
    output = OutputSchema(schema, "output" if name is None else name, description)
    return RawSetting(raw, "bedrock", output)


def _read_tool(cache: Cache | None, data: object) -> ToolDefinition:
    fields = mapping(data)
    if [*fields] != ["toolSpec"]:
        kind, value = next(iter(fields.items()), ("tool", None))
        name = value.get("name") if is_mapping(value) else None
        name = name if isinstance(name, str) else kind
        return ToolDefinition(name, cache=cache, raw=fields, origin="bedrock")
    spec = mapping(fields["toolSpec"])
    name = required(spec, "name", str)
    schema = required(mapping(required(spec, "inputSchema")), "json", Mapping)
    description = optional(spec.get("description"), "description")
    known = ("name", "description", "inputSchema")
    extra = {key: value for key, value in spec.items() if key not in known}
    return ToolDefinition(name, description, schema, cache, extra, origin="bedrock")
