"""Tools, which of them has to be called, and the form of the answer, both ways."""

import re
from collections.abc import Mapping
from functools import partial
from typing import Any, cast

from promptdsl.adapters.gemini.spelling import entries_of
from promptdsl.blocks import optional
from promptdsl.errors import DataError
from promptdsl.json_text import exact
from promptdsl.losses import Loss
from promptdsl.prompts import OutputSchema, Prompt, ToolDefinition
from promptdsl.wire.entries import entry, items, located, mapping
from promptdsl.wire.names import tool_name
from promptdsl.wire.request import Param, Request
from promptdsl.wire.text import json_copy
from promptdsl.wire.tools import chosen, write_tools

NO_MARKS = "a request has none: caching is implicit, or an object of its own"

_MISFIT = re.compile(r"^[^a-zA-Z_]|[^a-zA-Z0-9_.:-]")
_MODES = {"auto": "AUTO", "none": "NONE", "required": "ANY", "tool": "ANY"}
_CHOICES = {"AUTO": "auto", "VALIDATED": "auto", "NONE": "none", "ANY": "required"}


def sent_name(request: Request, name: str, definition: ToolDefinition | None = None) -> str:
    """Return the name a tool is sent with, which starts with a letter or an underscore."""
    return tool_name(request, name, longest=128, misfit=_MISFIT, definition=definition)


def tools_of(request: Request) -> list[Param]:
    """Return the tools of a request: the service's own, then all functions in one.

    That is the order in which the client sends them. No mark stands behind one.
    """
    params = write_tools(request, "gemini", partial(_tool, request))
    for mark in request.marks:
        request.lose("hint", "cache mark", NO_MARKS, subject=mark.subject)
    request.marks.clear()
    functions = [param for param in params if "name" in param]
    own = [param for param in params if "name" not in param]
    return [*own, {"function_declarations": functions}] if functions else own


def _tool(request: Request, tool: ToolDefinition) -> Param:
    param: Param = {"name": sent_name(request, tool.name, tool)}
    if tool.description is not None:
        param["description"] = tool.description
    own = tool.origin in (None, "gemini")
    if tool.input_schema and not (own and "parameters" in tool.extra):
        param["parameters_json_schema"] = dict(tool.input_schema)
    return cast("Param", json_copy(param))


def settings_of(request: Request, tools: list[Param]) -> Param:
    """Return the keys for the choice of tools and the form of the answer, where it says them.

    Only functions can be chosen: without one that fits the choice is a hint.
    """
    settings: Param = {}
    choice, name = chosen(request)
    functions = [item["name"] for tool in tools for item in tool.get("function_declarations", ())]
    if choice and functions and name in (None, *functions):
        named = {} if name is None else {"allowed_function_names": [name]}
        settings["tool_config"] = {"function_calling_config": {"mode": _MODES[choice], **named}}
    elif choice:
        what = f"tool_choice {request.prompt.tool_choice!r}"
        request.losses.append(Loss("hint", what, "there is no such function to call"))
    output = request.prompt.output
    if output is not None and not request.facts.schema_output:
        request.lose("content", "output schema", "this model takes none", subject=output)
    elif output is not None:
        settings["response_mime_type"] = "application/json"
        settings["response_json_schema"] = json_copy(dict(output.schema))
    return settings


def read_settings(settings: Mapping[str, Any]) -> Prompt:
    """Return what a payload says beside its contents."""
    found = enumerate(items(settings.get("tools", ()), "tools"))
    tools = [tool for n, data in found for tool in located(f"tools[{n}]", _read_tools, data)]
    schema = settings.get("response_json_schema")
    if schema is None:
        schema = _json_schema(settings.get("response_schema"))
    return Prompt(
        tools=tuple(tools),
        tool_choice=_read_choice(entries_of(settings.get("tool_config") or {})),
        output=None if schema is None else OutputSchema(json_copy(mapping(schema))),
    )


def _read_tools(data: object) -> list[ToolDefinition]:
    """Return the tools of one on the wire, which holds any number of functions."""
    entries = entries_of(data)
    found = enumerate(items(entries.pop("function_declarations", ()), "function_declarations"))
    tools = [located(f"function_declarations[{n}]", _read_function, item) for n, item in found]
    own = [str(key) for key in entries][:1]
    return [*(ToolDefinition(name, raw=entries, origin="gemini") for name in own), *tools]


def _read_function(data: object) -> ToolDefinition:
    entries = entries_of(data)
    name = entry(entries, "name", str)
    description = optional(entries.get("description"), "description")
    given: Any = entries.get("parameters_json_schema")
    if given is None:
        given = _json_schema(entries.get("parameters"))
    known = ("name", "description", "parameters_json_schema")
    extra = json_copy({key: value for key, value in entries.items() if key not in known})
    schema = json_copy(mapping({} if given is None else given))
    return ToolDefinition(exact(name), description, schema, None, extra, origin="gemini")


def _json_schema(schema: object) -> Any:
    """Return a schema of Gemini's own dialect, whose types are in capitals, as a JSON schema."""
    found = None if schema is None else json_copy(mapping(schema))
    waiting: list[Any] = [found]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            entries = cast("dict[str, Any]", item)
            kind = entries.get("type")
            if isinstance(kind, str):
                entries["type"] = kind.lower()
            waiting += entries.values()
        elif isinstance(item, list):
            waiting += item
    return found


def _read_choice(entries: Mapping[str, Any]) -> str | None:
    config = entries_of(entries.get("function_calling_config") or {})
    if "mode" not in config:
        return None
    mode = str(exact(entry(config, "mode", str))).upper()
    if mode == "MODE_UNSPECIFIED":
        return None
    names = items(config.get("allowed_function_names", ()), "allowed_function_names")
    if mode == "ANY" and len(names) == 1:
        return optional(names[0], "allowed_function_names")
    if mode not in _CHOICES:
        raise DataError(f"unknown 'mode' {mode!r}", fix="AUTO, ANY, NONE or VALIDATED")
    return _CHOICES[mode]
