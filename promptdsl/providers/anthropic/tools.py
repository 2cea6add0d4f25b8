"""Tools, which of them has to be called, and the form of the answer, both ways."""

from collections.abc import Mapping
from typing import Any, cast

from promptdsl.foundation.errors import DataError
from promptdsl.messages.field_checks import optional
from promptdsl.messages.prompt import OutputSchema, Prompt, ToolDefinition
from promptdsl.providers.anthropic.marks import read_mark
from promptdsl.providers.anthropic.output_schema import supported
from promptdsl.providers.shared.checks import entry, located_items, mapping
from promptdsl.providers.shared.clean import json_copy
from promptdsl.providers.shared.ids import tool_name
from promptdsl.providers.shared.request import Param, Request
from promptdsl.providers.shared.tools import chosen, form_schema, write_tools

LONGEST_NAME = 128
_CHOICES = {"auto": "auto", "none": "none", "required": "any", "tool": "tool"}


def tools_of(request: Request) -> list[Param]:
    """Return the tools of a request."""
    return write_tools(request, "anthropic", _tool)


def _tool(request: Request, tool: ToolDefinition) -> Param:
    name = tool_name(request, tool, tool.name, longest=LONGEST_NAME)
    description = {} if tool.description is None else {"description": tool.description}
    # A tool that takes nothing has to say so.
    schema = dict(tool.input_schema) or {"type": "object", "properties": {}}
    param: Param = json_copy({"name": name, **description, "input_schema": schema})
    return param


def settings_of(request: Request) -> Param:
    """Return the keys ``tool_choice`` and ``output_config``, where the prompt says them."""
    settings: Param = {}
    choice, name = chosen(request)
    if choice:
        named = {} if name is None else {"name": name}
        settings["tool_choice"] = {"type": _CHOICES[choice], **named}
    output = request.prompt.output
    if output is not None and not request.facts.schema_output:
        why = "this model takes none" if request.facts.known else "name a model that takes one"
        request.lose(output, "content", "output schema", why)
    elif output is not None:
        form = {"type": "json_schema", "schema": _form(request, output)}
        settings["output_config"] = {"format": form}
    return settings


def _form(request: Request, output: OutputSchema) -> Param:
    """Return the schema of an answer; what Anthropic cannot say of it is a hint."""
    default = OutputSchema({})
    said = {"name": output.name, "description": output.description, "strict": output.strict}
    for key, value in said.items():
        if value != getattr(default, key):
            request.lose(output, "hint", f"output {key} {value!r}", "there is none here")
    schema, moved = supported(form_schema(request, output))
    for key in moved:
        why = "structured outputs refuse it: said in the description, or closed"
        request.lose(output, "hint", f"{key!r} in the output schema", why)
    return schema


def read_settings(payload: Mapping[str, Any]) -> Prompt:
    """Return what a payload says beside its messages."""
    tools = tuple(located_items("tools", _read_tool, payload.get("tools") or ()))
    choice = payload.get("tool_choice")
    form = mapping(payload.get("output_config") or {}).get("format")
    return Prompt(
        tools=tools,
        tool_choice=None if choice is None else _read_choice(mapping(choice)),
        output=None if form is None else OutputSchema(entry(mapping(form), "schema", Mapping)),
    )


def _read_tool(data: object) -> ToolDefinition:
    entries = mapping(data)
    name = entry(entries, "name", str)
    cache = read_mark(entries.pop("cache_control", None))
    if entries.get("type", "custom") != "custom":
        return ToolDefinition(name, cache=cache, raw=entries, origin="anthropic")
    known = {key: entries.pop(key, None) for key in ("name", "description", "input_schema")}
    description = optional(known["description"], "description")
    schema = cast("Mapping[str, Any]", entry(known, "input_schema", Mapping))
    return ToolDefinition(name, description, schema, cache, entries, origin="anthropic")


def _read_choice(entries: Mapping[str, Any]) -> str:
    kind = entry(entries, "type", str)
    if kind == "tool":
        return cast("str", entry(entries, "name", str))
    found = {sent: choice for choice, sent in _CHOICES.items()}
    if kind not in found:
        raise DataError(f"unknown 'tool_choice' {kind!r}", fix="auto, any, tool or none")
    return found[kind]
