"""The tools, the choice of a tool and the output schema of a request, both ways."""

from promptdsl.foundation.errors import DataError
from promptdsl.foundation.json import JsonObject
from promptdsl.messages.field_checks import optional
from promptdsl.messages.prompt import CHOICES, OutputSchema, Prompt, ToolDefinition
from promptdsl.providers.openai_responses.items import ORIGIN
from promptdsl.providers.shared.checks import entry, located, located_items, mapping
from promptdsl.providers.shared.clean import json_copy
from promptdsl.providers.shared.ids import tool_name
from promptdsl.providers.shared.request import Param, Request
from promptdsl.providers.shared.tools import (
    checked_choice,
    chosen,
    form_param,
    lose_tool_marks,
    read_form_param,
    sendable_output,
    write_tools,
)

_NAME_KEYS = {"function": "name", "custom": "name", "mcp": "server_label"}
"""By type of a tool, the key of its name in a choice; other tools are chosen by their type."""


def tools_of(request: Request) -> list[Param]:
    """Return the tools of a request, without cache marks."""
    tools = write_tools(request, ORIGIN, _tool_param, closes=True)
    lose_tool_marks(request)
    return tools


def _tool_param(request: Request, tool: ToolDefinition) -> Param:
    name = tool_name(request, tool, tool.name)
    param: Param = {"type": "function", "name": name}
    if tool.description is not None:
        param["description"] = tool.description
    param["parameters"] = dict(tool.input_schema) or None
    # Left out it would be true, and a schema that is not written for it is refused.
    param["strict"] = False
    return json_copy(param)


def settings_of(request: Request) -> Param:
    """Return the keys ``tool_choice`` and ``text`` of a prompt that needs them."""
    settings: Param = {}
    choice, name = chosen(request)
    if name is not None:
        own = [tool for tool in request.prompt.tools if tool.origin == ORIGIN]
        kinds = {tool.name: str(tool.raw["type"]) for tool in own if tool.raw}
        kind = kinds.get(name, "function")
        named = {_NAME_KEYS[kind]: name} if kind in _NAME_KEYS else {}
        settings["tool_choice"] = {"type": kind, **named}
    elif choice:
        settings["tool_choice"] = choice
    if output := sendable_output(request):
        settings["text"] = {"format": {"type": "json_schema", **form_param(request, output)}}
    return settings


def read_settings(payload: JsonObject) -> Prompt:
    """Return the tools, the choice of a tool and the output schema of a payload."""
    tools = tuple(located_items("tools", _read_tool, payload.get("tools") or ()))
    form = mapping(mapping(payload.get("text") or {}).get("format") or {})
    return Prompt(
        tools=tools,
        tool_choice=located("tool_choice", _read_choice, payload.get("tool_choice")),
        output=located("text.format", _read_format, form) if form else None,
    )


def _read_tool(data: object) -> ToolDefinition:
    entries = mapping(data)
    kind = entry(entries, "type", str)
    if kind != "function":
        name = entries.get("server_label" if kind == "mcp" else "name", kind)
        return ToolDefinition(optional(name, "name") or kind, raw=entries, origin=ORIGIN)
    name = entry(entries, "name", str)
    known = {key: entries.pop(key, None) for key in ("name", "description", "parameters", "type")}
    extra = {key: value for key, value in entries.items() if (key, value) != ("strict", False)}
    schema = mapping(known["parameters"] or {})
    description = optional(known["description"], "description")
    return ToolDefinition(name, description, schema, None, extra, origin=ORIGIN)


def _read_choice(choice: object) -> str | None:
    if choice is None or (isinstance(choice, str) and choice in CHOICES):
        return choice
    entries = mapping(choice)
    kind = entry(entries, "type", str)
    if kind == "allowed_tools":
        raise DataError(f"{kind!r} names several tools", fix="name one, or give fewer tools")
    if kind == "mcp" and entries.get("name") is not None:
        raise DataError("a choice of one tool of a server", fix="leave 'name' out")
    return checked_choice(entry(entries, _NAME_KEYS[kind], str) if kind in _NAME_KEYS else kind)


def _read_format(form: JsonObject) -> OutputSchema | None:
    kind = form.get("type")
    if kind == "text":
        return None
    if kind != "json_schema":
        raise DataError(f"unknown 'type' {kind!r}", fix="a 'json_schema' is read")
    return read_form_param(form)
