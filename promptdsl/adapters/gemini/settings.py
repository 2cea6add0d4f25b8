"""Which tools have to be called, and the form of the answer, both ways."""

from collections.abc import Mapping
from typing import Any

from promptdsl.adapters.gemini.schemas import json_schema
from promptdsl.adapters.gemini.spelling import entries_of
from promptdsl.adapters.gemini.tools import read_tools
from promptdsl.blocks import optional
from promptdsl.errors import DataError
from promptdsl.json_text import exact
from promptdsl.losses import Loss
from promptdsl.prompts import OutputSchema, Prompt, ToolDefinition
from promptdsl.wire.entries import entry, items, mapping
from promptdsl.wire.forms import form_schema
from promptdsl.wire.request import Param, Request
from promptdsl.wire.text import json_copy
from promptdsl.wire.tools import chosen

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
        request.lose("content", "output schema", "this model takes none", subject=output)
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
            request.lose("hint", f"output {key} {value!r}", "there is none here", subject=output)
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
