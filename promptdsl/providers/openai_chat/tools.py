"""Tools, which of them has to be called, and the form of the answer, both ways."""

from collections.abc import Mapping
from operator import itemgetter
from typing import Any, cast

from promptdsl.foundation.errors import DataError
from promptdsl.messages.field_checks import optional
from promptdsl.messages.prompt import CHOICES, OutputSchema, Prompt, ToolDefinition
from promptdsl.providers.openai_chat.rules import ORIGIN
from promptdsl.providers.shared.checks import entry, located_items, mapping
from promptdsl.providers.shared.clean import json_copy
from promptdsl.providers.shared.ids import tool_name
from promptdsl.providers.shared.request import Param, Request
from promptdsl.providers.shared.tools import (
    chosen,
    form_param,
    loosen,
    lose_tool_marks,
    write_tools,
)

LONGEST_NAME = 64


def tools_of(request: Request) -> list[Param]:
    """Return the tools of a request; no mark stands behind one here."""
    if not request.facts.chat_tools:
        why = "this model takes tools in Responses only: render for openai_responses"
        for tool in request.prompt.tools:
            request.lose(tool, "content", f"tool {tool.name!r}", why)
        return []
    tools = write_tools(request, ORIGIN, _tool, inside=itemgetter("function"))
    loosen(request, ORIGIN, tools, inside=itemgetter("function"))
    lose_tool_marks(request)
    return tools


def _tool(request: Request, tool: ToolDefinition) -> Param:
    name = tool_name(request, tool, tool.name, longest=LONGEST_NAME)
    said = {} if tool.description is None else {"description": tool.description}
    schema = {"parameters": dict(tool.input_schema)} if tool.input_schema else {}
    function: Param = json_copy({"name": name, **said, **schema})
    return {"type": "function", "function": function}


def settings_of(request: Request) -> Param:
    """Return the keys ``tool_choice`` and ``response_format``, where the prompt says them."""
    settings: Param = {}
    choice, name = chosen(request)
    if name is not None:
        tools = request.prompt.tools
        custom = any(tool.raw is not None and tool.name == name for tool in tools)
        kind = "custom" if custom else "function"
        settings["tool_choice"] = {"type": kind, kind: {"name": name}}
    elif choice:
        settings["tool_choice"] = choice
    output = request.prompt.output
    if output is not None and not request.facts.schema_output:
        request.lose(output, "content", "output schema", "this target takes none")
    elif output is not None:
        form = form_param(request, output)
        settings["response_format"] = {"type": "json_schema", "json_schema": form}
    return settings


def read_settings(payload: Mapping[str, Any]) -> Prompt:
    """Return what a payload says beside its messages."""
    tools = tuple(located_items("tools", _read_tool, payload.get("tools") or ()))
    form = mapping(payload.get("response_format") or {})
    return Prompt(
        tools=tools,
        tool_choice=_read_choice(payload.get("tool_choice")),
        output=_read_output(form) if form else None,
    )


def _read_tool(data: object) -> ToolDefinition:
    entries = mapping(data)
    if entry(entries, "type", str) != "function":
        name = str(mapping(entries.get(entries["type"]) or {}).get("name", entries["type"]))
        return ToolDefinition(name, raw=entries, origin=ORIGIN)
    function = mapping(entry(entries, "function"))
    name = entry(function, "name", str)
    known = {key: function.pop(key, None) for key in ("name", "description", "parameters")}
    description = optional(known["description"], "description")
    schema = mapping(known["parameters"] or {})
    return ToolDefinition(name, description, schema, None, function, origin=ORIGIN)


def _read_choice(choice: object) -> str | None:
    if choice is None or choice in CHOICES:
        return choice
    entries = mapping(choice)
    kind = entries.get("type")
    if kind not in ("function", "custom"):
        raise DataError(f"unknown 'tool_choice' {kind!r}", fix="name a function")
    name = cast("str", entry(mapping(entry(entries, kind)), "name", str))
    if name in CHOICES:
        raise DataError(f"a tool called {name!r} cannot be chosen", fix="give it another name")
    return name


def _read_output(form: Mapping[str, Any]) -> OutputSchema | None:
    kind = form.get("type")
    if kind == "text":
        return None
    if kind != "json_schema":
        raise DataError(f"unknown 'response_format' {kind!r}", fix="a 'json_schema' is read")
    said = mapping(entry(form, "json_schema"))
    return OutputSchema(
        mapping(said.get("schema") or {}),
        entry(said, "name", str),
        optional(said.get("description"), "description"),
        strict=said.get("strict") is True,
    )
