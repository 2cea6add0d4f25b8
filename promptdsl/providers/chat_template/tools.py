"""Tools, and what a template cannot say of them and of the answer's form."""

from collections.abc import Mapping
from typing import Any

from promptdsl.foundation.frozen import thawed
from promptdsl.messages.field_checks import optional
from promptdsl.messages.loss import Loss
from promptdsl.messages.prompt import ToolDefinition
from promptdsl.providers.chat_template.names import mended_name
from promptdsl.providers.chat_template.request import ORIGIN, Templated
from promptdsl.providers.shared.checks import entry, mapping
from promptdsl.providers.shared.clean import json_copy
from promptdsl.providers.shared.request import Param
from promptdsl.providers.shared.tools import write_tools

_FUNCTION = ("name", "description", "parameters")


def tools_of(request: Templated) -> list[Param]:
    """Return the tools that a template shows."""
    if not request.abilities.tools:
        for tool in request.prompt.tools:
            why = "the template shows no tools"
            request.lose(tool, "content", f"tool {tool.name!r}", why)
        return []
    tools = write_tools(request, ORIGIN, _tool, inside="function")
    for mark in request.marks:
        request.lose(mark.subject, "hint", "cache mark", "a template has none")
    request.marks.clear()
    return tools


def _tool(request: Templated, tool: ToolDefinition) -> Param:
    # Templates walk through these keys without asking whether they are there.
    schema: Param = {"type": "object", "properties": Param(), **tool.input_schema}
    name = mended_name(request, tool, tool.name)
    said: Param = {"name": name, "description": tool.description or "", "parameters": schema}
    param: Param = json_copy({"type": "function", "function": thawed(said)})
    if request.abilities.described:
        _describe(param["function"]["parameters"]["properties"])
    return param


def _describe(properties: Any) -> None:
    found: list[Any] = [*properties.values()] if isinstance(properties, dict) else []
    for one in found:
        if isinstance(one, dict):
            one.setdefault("description", "")  # pyright: ignore[reportUnknownMemberType]


def lose_settings(request: Templated) -> None:
    """Record what no template has a form for: which tool is to be called, and the answer's."""
    choice, output = request.prompt.tool_choice, request.prompt.output
    if choice not in (None, "auto"):
        why = "a template cannot say it: the program that runs the model may"
        request.losses.append(Loss("hint", f"tool_choice {choice!r}", why))
    if output is not None:
        why = "a template cannot say it: the program that runs the model may hold it to a grammar"
        request.lose(output, "content", "output schema", why)


def read_tool(data: object) -> ToolDefinition:
    """Return the definition of a tool, bare or under ``function``."""
    entries = mapping(data)
    bare = "function" not in entries
    function = entries if bare else mapping(entry(entries, "function"))
    name = entry(function, "name", str)
    schema: Mapping[str, Any] = mapping(function.get("parameters") or {})
    extra = {key: value for key, value in function.items() if key not in _FUNCTION}
    if bare:
        extra.pop("type", None)
    description = optional(function.get("description"), "description")
    return ToolDefinition(name, description, schema, None, extra, origin=ORIGIN)
