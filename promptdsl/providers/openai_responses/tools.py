"""Write and read the tools, the choice of a tool and the output schema of a request."""

from functools import partial

from promptdsl.foundation.json import JsonObject
from promptdsl.messages.field_checks import optional
from promptdsl.messages.prompt import (
    CHOICES,
    Prompt,
    RawSetting,
    StoredConversation,
    ToolDefinition,
)
from promptdsl.providers.openai_responses.items import ORIGIN
from promptdsl.providers.shared.checks import located, located_items, mapping, required
from promptdsl.providers.shared.clean import json_copy
from promptdsl.providers.shared.ids import tool_name
from promptdsl.providers.shared.request import Param, Request
from promptdsl.providers.shared.tools import (
    chosen,
    lose_tool_marks,
    named_choice,
    output_param,
    pop_function,
    raw_choice,
    read_output,
    recorded_choice,
    recorded_output,
    recorded_prompt,
    sendable_output,
    write_tools,
)

_NAME_KEYS = {"function": "name", "custom": "name", "mcp": "server_label"}
"""By type of a tool, the key of its name in a choice. Other tools are chosen by their type."""


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
    # By default it is true, and other schemas than strict ones would be refused.
    param["strict"] = False
    return json_copy(param)


def settings_of(request: Request) -> Param:
    """Return the keys ``tool_choice`` and ``text`` of a prompt that needs them."""
    settings: Param = {}
    choice, name = chosen(request)
    own_origins = request.facts.origins
    raw = recorded_choice(request, own_origins, choice)
    if raw is not None:
        settings["tool_choice"] = raw
    elif name is not None:
        own_tools = [tool for tool in request.prompt.tools if tool.origin in own_origins]
        kinds = {tool.name: str(tool.raw.get("type")) for tool in own_tools if tool.raw}
        kind = kinds.get(name, "function")
        named = {_NAME_KEYS[kind]: name} if kind in _NAME_KEYS else {}
        settings["tool_choice"] = {"type": kind, **named}
    elif choice:
        settings["tool_choice"] = choice
    output = sendable_output(request)
    raw = recorded_output(request, own_origins, output)
    if raw is not None:
        settings["text"] = {"format": raw}
    elif output:
        settings["text"] = {"format": {"type": "json_schema", **output_param(request, output)}}
    return settings


def read_settings(payload: JsonObject) -> Prompt:
    """Return the tools, the choice of a tool and the output schema of a payload."""
    tools = tuple(located_items("tools", _read_tool, payload.get("tools") or ()))
    choice = located("tool_choice", _read_choice, payload.get("tool_choice"))
    output_format = mapping(payload.get("text") or {}).get("format")
    output = located(
        "text.format", partial(read_output, path="format", origin=ORIGIN), output_format
    )
    stored = None
    if payload.get("previous_response_id") or payload.get("conversation"):
        stored = StoredConversation(ORIGIN, bool(payload.get("instructions")))
    return recorded_prompt(tools, choice, output, stored)


def _read_tool(data: object) -> ToolDefinition:
    fields = mapping(data)
    kind = optional(fields.get("type"), "type")
    if kind != "function":
        name = fields.get("server_label" if kind == "mcp" else "name", kind)
        name = optional(name, "name") or kind or "tool"
        return ToolDefinition(name, raw=fields, origin=ORIGIN)
    del fields["type"]
    name, description, schema = pop_function(fields)
    # By default it is true. It is sent as null, which means the same.
    fields.setdefault("strict", None)
    extra = {key: value for key, value in fields.items() if (key, value) != ("strict", False)}
    return ToolDefinition(name, description, schema, None, extra, origin=ORIGIN)


def _read_choice(choice: object) -> RawSetting | str | None:
    if choice is None or (isinstance(choice, str) and choice in CHOICES):
        return choice
    if isinstance(choice, str):
        return raw_choice(choice, ORIGIN, None, f"tool_choice {choice!r}")
    fields = mapping(choice)
    kind, mode = required(fields, "type", str), fields.get("mode")
    # A name cannot express a choice among several tools, or of one tool of a server.
    if kind == "allowed_tools":
        meaning = mode if mode in ("auto", "required") else None
        return raw_choice(choice, ORIGIN, meaning, f"tool_choice {kind!r}")
    if kind == "mcp" and fields.get("name") is not None:
        return raw_choice(choice, ORIGIN, None, "the choice of one tool of a server")
    key = _NAME_KEYS.get(kind)
    name = kind if key is None else required(fields, key, str)
    is_all = fields == ({"type": kind} if key is None else {"type": kind, key: name})
    return named_choice(choice, ORIGIN, name, is_all=is_all)
