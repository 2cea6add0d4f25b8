"""Which tools have to be called, and the form of the answer, both ways."""

import re
from collections.abc import Mapping
from typing import Any

from promptdsl.foundation.errors import DataError
from promptdsl.foundation.unicode import exact
from promptdsl.messages.field_checks import optional
from promptdsl.messages.loss import Loss
from promptdsl.messages.prompt import OutputSchema, Prompt, ToolDefinition
from promptdsl.providers.gemini.schemas import json_schema
from promptdsl.providers.gemini.spelling import entries_of
from promptdsl.providers.shared.checks import entry, items, located, mapping
from promptdsl.providers.shared.clean import json_copy
from promptdsl.providers.shared.ids import tool_name
from promptdsl.providers.shared.request import Param, Place, Request
from promptdsl.providers.shared.tools import chosen, form_schema, write_tools

NO_MARKS = "a request has none: caching is implicit, or an object of its own"

_MISFIT = re.compile(r"^[^a-zA-Z_]|[^a-zA-Z0-9_.:-]")


def sent_name(request: Request, subject: Place | ToolDefinition, name: str) -> str:
    """Return the name a tool is sent with, which starts with a letter or an underscore."""
    return tool_name(request, subject, name, longest=128, misfit=_MISFIT)


def tools_of(request: Request) -> list[Param]:
    """Return the tools of a request: the service's own, then all functions in one.

    That is the order in which the client sends them. No mark stands behind one.
    """
    params = write_tools(request, "gemini", _tool)
    for mark in request.marks:
        request.lose(mark.subject, "hint", "cache mark", NO_MARKS)
    request.marks.clear()
    functions = [param for param in params if "name" in param]
    own = [param for param in params if "name" not in param]
    return [*own, {"function_declarations": functions}] if functions else own


def _tool(request: Request, tool: ToolDefinition) -> Param:
    param: Param = {"name": sent_name(request, tool, tool.name)}
    if tool.description is not None:
        param["description"] = tool.description
    own = tool.origin in (None, "gemini")
    if tool.input_schema and not (own and "parameters" in tool.extra):
        param["parameters_json_schema"] = dict(tool.input_schema)
    return json_copy(param)


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


_JSON = "application/json"
_MODES = {"auto": "AUTO", "none": "NONE", "required": "ANY", "tool": "ANY"}
_CHOICES = {"AUTO": "auto", "NONE": "none", "ANY": "required"}
_APART = "or read the 'contents' alone"


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
        request.lose(output, "content", "output schema", "this model takes none")
    elif output is not None:
        settings["response_mime_type"] = _JSON
        settings["response_json_schema"] = _form(request, output)
    return settings


def _form(request: Request, output: OutputSchema) -> Param:
    """Return the schema of an answer; what Gemini has no word for is a hint."""
    default = OutputSchema({})
    for key in ("name", "description", "strict"):
        value = getattr(output, key)
        if value != getattr(default, key):
            request.lose(output, "hint", f"output {key} {value!r}", "there is none here")
    return form_schema(request, output)


def read_settings(settings: Mapping[str, Any]) -> Prompt:
    """Return what a payload says beside its contents."""
    tools = read_tools(settings.get("tools", ()))
    choice = _read_choice(entries_of(settings.get("tool_config") or {}), tools)
    return Prompt(tools=tuple(tools), tool_choice=choice, output=_read_output(settings))


def _read_output(settings: Mapping[str, Any]) -> OutputSchema | None:
    """Return the form of the answer; JSON of no form, and one word of several, are none of ours."""
    schema, own = settings.get("response_json_schema"), settings.get("response_schema")
    media_type = settings.get("response_mime_type", _JSON)
    has_form = schema is not None or own is not None
    if media_type != _JSON and (has_form or media_type != "text/plain"):
        what = f"unknown 'response_mime_type' {media_type!r}"
        raise DataError(what, fix=f"{_JSON}, {_APART}")
    if not has_form and "response_mime_type" in settings and media_type == _JSON:
        what = f"'response_mime_type' {_JSON!r} without a schema"
        raise DataError(what, fix=f"give 'response_json_schema', {_APART}")
    if not has_form:
        return None
    return OutputSchema(json_copy(mapping(schema)) if schema is not None else json_schema(own))


def _read_choice(entries: Mapping[str, Any], tools: list[ToolDefinition]) -> str | None:
    config = entries_of(entries.get("function_calling_config") or {})
    mode = str(exact(entry(config, "mode", str))).upper() if "mode" in config else ""
    if mode in ("", "MODE_UNSPECIFIED"):
        return None
    if mode not in _CHOICES:
        raise DataError(f"unknown 'mode' {mode!r}", fix=f"AUTO, ANY or NONE, {_APART}")
    names = items(config.get("allowed_function_names", ()), "allowed_function_names")
    if mode != "ANY" or not names:
        return _CHOICES[mode]
    if len(names) == 1:
        return optional(names[0], "allowed_function_names")
    functions = {tool.name for tool in tools if tool.raw is None}
    if not functions or not functions <= {name for name in names if isinstance(name, str)}:
        raise DataError("several functions are allowed, not all", fix=f"allow one, {_APART}")
    return _CHOICES[mode]
