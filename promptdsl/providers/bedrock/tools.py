"""Tools, which of them has to be called, and the form of the answer, both ways."""

from collections.abc import Mapping
from functools import partial
from typing import Any, cast

from promptdsl.foundation.errors import DataError
from promptdsl.foundation.json import read_json, write_json
from promptdsl.messages.field_checks import Cache, optional
from promptdsl.messages.loss import Loss
from promptdsl.messages.prompt import OutputSchema, Prompt, ToolDefinition
from promptdsl.messages.schemas import is_closed
from promptdsl.providers.bedrock.marks import marked_items
from promptdsl.providers.bedrock.request import Converse
from promptdsl.providers.shared.checks import entry, located, mapping
from promptdsl.providers.shared.clean import json_copy, utf8
from promptdsl.providers.shared.ids import tool_name
from promptdsl.providers.shared.request import Param
from promptdsl.providers.shared.tools import chosen, form_schema, write_tools

LONGEST_NAME = 64

PLACEHOLDER: Mapping[str, Any] = {
    "toolSpec": {
        "name": "no_tool",
        "description": "Not a tool: nothing can be called.",
        "inputSchema": {"json": {"type": "object", "properties": {}}},
    }
}
"""What is sent where there are calls but no tools, which Converse refuses. It never changes."""

_KEYS = frozenset({"name", "description", "inputSchema", "strict"})
_CHOICES = {"auto": "auto", "required": "any", "tool": "tool"}


def tools_of(request: Converse) -> list[Param]:
    """Return the tools of a request."""
    tools = write_tools(request, "bedrock", _tool, inside="toolSpec")
    sent = (tool for tool in request.prompt.tools if tool.raw is None or tool.origin == "bedrock")
    for tool, param in zip(sent, tools, strict=True):
        if tool.raw is None:
            _settle_keys(request, tool, param["toolSpec"])
    return tools


def _settle_keys(request: Converse, tool: ToolDefinition, spec: Param) -> None:
    """Take out the further keys that cannot be sent; what was recorded here was taken once."""
    lost = dict.fromkeys(sorted(spec.keys() - _KEYS), "a toolSpec has none")
    strict = spec.get("strict") is True and tool.origin != "bedrock"
    if strict and not is_closed(spec["inputSchema"]["json"]):
        lost["strict"] = "its schema is not closed: not every object requires all it has"
    for key, why in lost.items():
        del spec[key]
        request.lose(tool, "hint", f"key {key!r} of tool {spec['name']!r}", why)


def _tool(request: Converse, tool: ToolDefinition) -> Param:
    name = tool_name(request, tool, tool.name, longest=LONGEST_NAME)
    said = (tool.description or "").strip()
    description = {"description": tool.description} if said else {}
    if tool.description and not said:
        request.lose(tool, "hint", "description", "only white space")
    # A schema that does not say it is of an object is refused.
    kind = {} if "type" in tool.input_schema else {"type": "object"}
    schema = {"json": {**kind, **tool.input_schema}}
    spec = {"name": name, **description, "inputSchema": schema}
    return {"toolSpec": json_copy(spec)}


def settings_of(request: Converse, tools: list[Param]) -> Param:
    """Return the keys ``toolConfig`` and ``outputConfig``, where the prompt says them."""
    settings: Param = {}
    choice = _choice(request, tools)
    if tools:
        settings["toolConfig"] = {"tools": tools, **choice}
    elif request.calls_tools:
        settings["toolConfig"] = {"tools": [json_copy(PLACEHOLDER)]}
        why = "calls need a tool beside them: a placeholder is sent"
        request.losses.append(Loss("hint", "there are no tools", why))
    output = request.prompt.output
    if output is not None and not request.facts.schema_output:
        request.lose(output, "content", "output schema", "this model takes none")
    elif output is not None:
        settings["outputConfig"] = {"textFormat": _format(request, output)}
        if not output.strict:
            why = "Converse holds every answer to its schema"
            request.lose(output, "hint", "strict=False", why)
    return settings


def _choice(request: Converse, tools: list[Param]) -> Param:
    """Return the choice; there is no word for none, so that the model may still call a tool."""
    choice, name = chosen(request)
    sent = {value.get("name") for tool in tools for value in tool.values()}
    if choice is None or (choice in _CHOICES and tools and (name is None or name in sent)):
        named = {} if name is None else {"name": name}
        return {} if choice is None else {"toolChoice": {_CHOICES[choice]: named}}
    why = "Converse has no form of it" if tools and name is None else "there is no such tool"
    request.losses.append(Loss("hint", f"tool_choice {request.prompt.tool_choice!r}", why))
    return {}


def _format(request: Converse, output: OutputSchema) -> Param:
    said = {} if output.description is None else {"description": utf8(output.description)}
    schema = write_json(form_schema(request, output, output.name, output.description))
    definition = {"schema": schema, "name": utf8(output.name), **said}
    return {"type": "json_schema", "structure": {"jsonSchema": definition}}


def read_settings(payload: Mapping[str, Any]) -> Prompt:
    """Return what a payload says beside its messages; the placeholder is no tool."""
    config = mapping(payload.get("toolConfig") or {})
    given = config.get("tools") or ()
    found = () if given == [PLACEHOLDER] else marked_items(given, "tools")
    tools = tuple(located(at, partial(_read_tool, cache), item) for at, item, cache in found)
    choice = config.get("toolChoice")
    form = mapping(payload.get("outputConfig") or {}).get("textFormat")
    return Prompt(
        tools=tools,
        tool_choice=None if choice is None else _read_choice(mapping(choice)),
        output=None if form is None else _read_output(mapping(form)),
    )


def _read_tool(cache: Cache | None, data: object) -> ToolDefinition:
    entries = mapping(data)
    if [*entries] != ["toolSpec"]:
        name = entry(mapping(next(iter(entries.values()), None)), "name", str)
        return ToolDefinition(name, cache=cache, raw=entries, origin="bedrock")
    spec = mapping(entries["toolSpec"])
    name = entry(spec, "name", str)
    schema = entry(mapping(entry(spec, "inputSchema")), "json", Mapping)
    description = optional(spec.get("description"), "description")
    known = ("name", "description", "inputSchema")
    extra = {key: value for key, value in spec.items() if key not in known}
    return ToolDefinition(name, description, schema, cache, extra, origin="bedrock")


def _read_choice(entries: Mapping[str, Any]) -> str:
    found = {sent: choice for choice, sent in _CHOICES.items()}
    kind = next(iter(entries), None)
    if len(entries) != 1 or kind not in found:
        raise DataError(f"unknown 'toolChoice' {kind!r}", fix="auto, any or tool")
    if kind == "tool":
        return entry(mapping(entries[kind]), "name", str)
    return found[kind]


def _read_output(form: Mapping[str, Any]) -> OutputSchema:
    said = mapping(entry(mapping(entry(form, "structure")), "jsonSchema"))
    schema = read_json(entry(said, "schema", str))
    if not isinstance(schema, dict):
        raise DataError("'schema' is the JSON text of an object")
    name = optional(said.get("name"), "name")
    description = optional(said.get("description"), "description")
    return OutputSchema(cast("Any", schema), "output" if name is None else name, description)
