"""A request of Chat, its tools, the choice of a tool, and the form of the answer, both ways."""

from collections.abc import Mapping
from functools import partial

import attrs

from promptdsl.config.wire import Wire
from promptdsl.config.wires import wire_of
from promptdsl.foundation.errors import DataError
from promptdsl.messages.field_checks import optional
from promptdsl.messages.prompt import OutputSchema, Prompt, ToolDefinition
from promptdsl.providers.shared.checks import entry, located_items, mapping
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
    return {"type": "function", "function": json_copy({"name": name, **description, **schema})}


def settings_of(request: ChatRequest) -> Param:
    """Return the keys ``tool_choice`` and ``response_format``, where the prompt has these."""
    settings: Param = {}
    choice, name = chosen(request)
    if name is not None:
        tools = request.prompt.tools
        custom = any(tool.raw is not None and tool.name == name for tool in tools)
        kind = "custom" if custom else "function"
        settings["tool_choice"] = {"type": kind, kind: {"name": name}}
    elif choice:
        settings["tool_choice"] = request.dialect.choices[choice]
    if output := sendable_output(request, "this target takes no output schema"):
        form = form_param(request, output)
        settings["response_format"] = {"type": "json_schema", "json_schema": form}
    return settings


def read_settings(payload: Mapping[str, object], dialect: Wire) -> Prompt:
    """Return the tools, the choice of a tool and the form of the answer in a payload."""
    read_tool = partial(_read_tool, dialect.form)
    return Prompt(
        tools=tuple(located_items("tools", read_tool, payload.get("tools") or ())),
        tool_choice=_read_choice(payload.get("tool_choice"), dialect.choices),
        output=_read_output(mapping(payload.get("response_format") or {})),
    )


def _read_tool(origin: str, data: object) -> ToolDefinition:
    entries = mapping(data)
    kind = entry(entries, "type", str)
    if kind != "function":
        name = str(mapping(entries.get(kind) or {}).get("name", kind))
        return ToolDefinition(name, raw=entries, origin=origin)
    function = mapping(entry(entries, "function"))
    name = entry(function, "name", str)
    known = {key: function.pop(key, None) for key in ("name", "description", "parameters")}
    description = optional(known["description"], "description")
    schema = mapping(known["parameters"] or {})
    return ToolDefinition(name, description, schema, None, function, origin=origin)


def _read_choice(choice: object, words: Mapping[str, str]) -> str | None:
    for ours, sent in words.items():
        if choice == sent:
            return ours
    if choice is None:
        return None
    entries = mapping(choice)
    kind = entries.get("type")
    if kind not in ("function", "custom"):
        raise DataError(f"unknown 'tool_choice' {kind!r}", fix="name a function")
    return checked_choice(entry(mapping(entry(entries, kind)), "name", str))


def _read_output(form: Mapping[str, object]) -> OutputSchema | None:
    kind = form.get("type")
    if not form or kind == "text":
        return None
    if kind != "json_schema":
        raise DataError(f"unknown 'response_format' {kind!r}", fix="a 'json_schema' is read")
    output = mapping(entry(form, "json_schema"))
    return read_form_param({**output, "schema": mapping(output.get("schema") or {})})
