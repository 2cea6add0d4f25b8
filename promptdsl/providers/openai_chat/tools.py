"""A request of Chat, its tools, the choice of a tool, and the form of the answer, both ways."""

from collections.abc import Mapping
from functools import partial

import attrs

from promptdsl.config.wire import Wire
from promptdsl.config.wires import wire_of
from promptdsl.foundation.frozen import is_mapping
from promptdsl.messages.field_checks import optional
from promptdsl.messages.prompt import Prompt, RawSetting, ToolDefinition
from promptdsl.providers.shared.blocks import ITEM
from promptdsl.providers.shared.checks import entry, located_items, mapping, read_mark
from promptdsl.providers.shared.clean import json_copy
from promptdsl.providers.shared.ids import tool_name
from promptdsl.providers.shared.openai_parts import LASTING_MARK
from promptdsl.providers.shared.request import Param, Request
from promptdsl.providers.shared.tools import (
    chosen,
    form_param,
    lose_tool_marks,
    named_choice,
    raw_choice,
    read_output,
    recorded_prompt,
    recorded_setting,
    sendable_output,
    write_tools,
)

ORIGIN = "openai"
"""The provider whose dialect is the usual one."""


@attrs.define(eq=False)
class ChatRequest(Request):
    """A request of Chat; ``spoken`` is the index of the last message sent as its recording."""

    takes_lists = True
    spoken: int = -1

    @property
    def dialect(self) -> Wire:
        """The record of the provider: its words for choices, its ids, its own parts."""
        return wire_of(self.facts.provider or ORIGIN)


def tools_of(request: ChatRequest) -> list[Param]:
    """Return the tools of a request."""
    if not request.facts.chat_tools:
        reason = "this model takes tools in Responses only: render for openai_responses"
        for tool in request.prompt.tools:
            request.lose(tool, "content", f"tool {tool.name!r}", reason)
        return []
    tools = write_tools(request, request.dialect.form, _tool_param, inside="function", closes=True)
    if not request.facts.lasting_marks:
        lose_tool_marks(request)
    return tools


def _tool_param(request: ChatRequest, tool: ToolDefinition) -> Param:
    name = tool_name(request, tool, tool.name)
    description = {} if tool.description is None else {"description": tool.description}
    schema = {"parameters": dict(tool.input_schema)} if tool.input_schema else {}
    function = json_copy({"name": name, **description, **schema})
    beside = tool.extra.get(ITEM)
    return {**(dict(beside) if is_mapping(beside) else {"type": "function"}), "function": function}


def settings_of(request: ChatRequest) -> Param:
    """Return the keys ``tool_choice`` and ``response_format``, where the prompt has these."""
    settings: Param = {}
    form = request.dialect.form
    choice, name = chosen(request)
    raw = recorded_setting(request, "tool_choice", form, sendable=choice)
    if raw is not None:
        settings["tool_choice"] = raw
    elif name is not None:
        tools = request.prompt.tools
        custom = any(tool.raw is not None and tool.name == name for tool in tools)
        kind = "custom" if custom else "function"
        settings["tool_choice"] = {"type": kind, kind: {"name": name}}
    elif choice:
        settings["tool_choice"] = request.dialect.choices[choice]
    output = sendable_output(request, "this target takes no output schema")
    raw = recorded_setting(request, "output", form, sendable=output)
    if raw is not None:
        settings["response_format"] = raw
    elif output:
        schema = form_param(request, output)
        settings["response_format"] = {"type": "json_schema", "json_schema": schema}
    return settings


def read_settings(payload: Mapping[str, object], dialect: Wire) -> Prompt:
    """Return the tools, the choice of a tool and the form of the answer in a payload."""
    read_tool = partial(_read_tool, dialect.form)
    choice = _read_choice(payload.get("tool_choice"), dialect)
    output = read_output(payload.get("response_format"), "response_format", dialect.form)
    tools = located_items("tools", read_tool, payload.get("tools") or ())
    return recorded_prompt(tools, choice, output)


def _read_tool(origin: str, data: object) -> ToolDefinition:
    entries = mapping(data)
    cache = read_mark(entries.pop(LASTING_MARK, None))
    kind = optional(entries.get("type"), "type")
    function = entries.get("function")
    if kind not in (None, "function") or function is None:
        name = mapping(entries.get(kind or "") or {}).get("name")
        if not isinstance(name, str):
            name = kind or next(iter(entries), "tool")
        return ToolDefinition(name, cache=cache, raw=entries, origin=origin)
    function = mapping(function)
    name = entry(function, "name", str)
    known = {key: function.pop(key, None) for key in ("name", "description", "parameters")}
    description = optional(known["description"], "description")
    schema = mapping(known["parameters"] or {})
    beside = {key: value for key, value in entries.items() if key != "function"}
    if beside != {"type": "function"}:
        # Mistral's SDK sends no type.
        function[ITEM] = beside
    return ToolDefinition(name, description, schema, cache, function, origin=origin)


_MODES = ("auto", "required")
"""The modes of a choice among several tools."""


def _read_choice(choice: object, dialect: Wire) -> RawSetting | None:
    origin = dialect.form
    ours = next((ours for ours, sent in dialect.choices.items() if choice == sent), None)
    if choice is None or ours is not None:
        return None if ours is None else raw_choice(choice, origin, ours, what="")
    if isinstance(choice, str):
        # Mistral's word.
        means = "required" if choice == "any" else None
        return raw_choice(choice, origin, means, "" if means else f"tool_choice {choice!r}")
    entries = mapping(choice)
    kind = str(entries.get("type"))
    named = mapping(entries.get(kind) or {})
    if kind in ("function", "custom"):
        return named_choice(choice, origin, entry(named, "name", str))
    means = named.get("mode") if named.get("mode") in _MODES else None
    return raw_choice(choice, origin, means, f"tool_choice {kind!r}")
