"""Tools, which of them has to be called, and the form of the answer, both ways."""

from collections.abc import Mapping
from typing import Any

from promptdsl.foundation.errors import DataError
from promptdsl.messages.field_checks import optional
from promptdsl.messages.prompt import CHOICES, OutputSchema, Prompt, ToolDefinition
from promptdsl.providers.openai_responses.rules import ORIGIN
from promptdsl.providers.shared.checks import entry, located, located_items, mapping
from promptdsl.providers.shared.clean import json_copy
from promptdsl.providers.shared.ids import tool_name
from promptdsl.providers.shared.request import Param, Request
from promptdsl.providers.shared.tools import (
    chosen,
    form_param,
    lose_tool_marks,
    write_tools,
)

LONGEST_NAME = 64


def tools_of(request: Request) -> list[Param]:
    """Return the tools of a request; no mark stands behind one here."""
    tools = write_tools(request, ORIGIN, _tool, closes=True)
    lose_tool_marks(request)
    return tools


def _tool(request: Request, tool: ToolDefinition) -> Param:
    name = tool_name(request, tool, tool.name, longest=LONGEST_NAME)
    said = {} if tool.description is None else {"description": tool.description}
    schema = {"parameters": dict(tool.input_schema) or None}
    # Left out it would be true, and a schema that is not written for it is refused.
    strict = {"strict": False}
    param: Param = {"type": "function", "name": name, **said, **schema, **strict}
    return json_copy(param)


def settings_of(request: Request) -> Param:
    """Return the keys ``tool_choice`` and ``text``, where the prompt says them."""
    settings: Param = {}
    choice, name = chosen(request)
    if name is not None:
        settings["tool_choice"] = _choice(request.prompt, name)
    elif choice:
        settings["tool_choice"] = choice
    output = request.prompt.output
    if output is not None and not request.facts.schema_output:
        request.lose(output, "content", "output schema", "this model takes none")
    elif output is not None:
        settings["text"] = {"format": {"type": "json_schema", **form_param(request, output)}}
    return settings


def _choice(prompt: Prompt, name: str) -> Param:
    own = (tool for tool in prompt.tools if tool.raw and tool.origin == ORIGIN)
    kind = next((tool.raw["type"] for tool in own if tool.raw and tool.name == name), "function")
    if kind in ("function", "custom"):
        return {"type": kind, "name": name}
    return {"type": kind, "server_label": name} if kind == "mcp" else {"type": kind}


def read_settings(payload: Mapping[str, Any]) -> Prompt:
    """Return what a payload says beside its items."""
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
    if choice is None or choice in CHOICES:
        return choice
    entries = mapping(choice)
    kind = entry(entries, "type", str)
    if kind == "allowed_tools":
        raise DataError(f"{kind!r} names several tools", fix="name one, or give fewer tools")
    if kind == "mcp" and entries.get("name") is not None:
        raise DataError("a choice of one tool of a server", fix="leave 'name' out")
    key = _NAMED.get(kind)
    name = entry(entries, key, str) if key else kind
    if name in CHOICES:
        raise DataError(f"a tool called {name!r} cannot be chosen", fix="give it another name")
    return name


_NAMED = {"function": "name", "custom": "name", "mcp": "server_label"}


def _read_format(form: Mapping[str, Any]) -> OutputSchema | None:
    kind = form.get("type")
    if kind == "text":
        return None
    if kind != "json_schema":
        raise DataError(f"unknown 'type' {kind!r}", fix="a 'json_schema' is read")
    return OutputSchema(
        entry(form, "schema", Mapping),
        entry(form, "name", str),
        optional(form.get("description"), "description"),
        strict=form.get("strict") is True,
    )
