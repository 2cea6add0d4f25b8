"""Tools, both ways: functions, and what only the service has."""

import re
from functools import partial
from typing import Any, cast

from promptdsl.adapters.gemini.schemas import json_schema
from promptdsl.adapters.gemini.spelling import entries_of
from promptdsl.blocks import optional
from promptdsl.json_text import exact
from promptdsl.prompts import ToolDefinition
from promptdsl.wire.entries import entry, items, located, mapping
from promptdsl.wire.names import tool_name
from promptdsl.wire.request import Param, Request
from promptdsl.wire.text import json_copy
from promptdsl.wire.tools import write_tools

NO_MARKS = "a request has none: caching is implicit, or an object of its own"

_MISFIT = re.compile(r"^[^a-zA-Z_]|[^a-zA-Z0-9_.:-]")


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


def read_tools(data: object) -> list[ToolDefinition]:
    """Return the tools of a list on the wire."""
    found = enumerate(items(data, "tools"))
    return [tool for n, item in found for tool in located(f"tools[{n}]", _read_tools, item)]


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
        own = entries.get("parameters")
        given = None if own is None else json_schema(own)
    known = ("name", "description", "parameters_json_schema")
    extra = json_copy({key: value for key, value in entries.items() if key not in known})
    schema = json_copy(mapping({} if given is None else given))
    return ToolDefinition(exact(name), description, schema, None, extra, origin="gemini")
