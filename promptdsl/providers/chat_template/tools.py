"""Write and read tool definitions, and record the settings that templates do not print."""

from promptdsl.foundation.frozen import thawed
from promptdsl.foundation.json import JsonValue
from promptdsl.messages.field_checks import optional
from promptdsl.messages.loss import hint
from promptdsl.messages.prompt import ToolDefinition
from promptdsl.providers.chat_template.names import mended_name
from promptdsl.providers.chat_template.request import ORIGIN, Templated
from promptdsl.providers.chat_template.run import tool_param
from promptdsl.providers.shared.checks import mapping, required
from promptdsl.providers.shared.clean import json_copy
from promptdsl.providers.shared.request import Param
from promptdsl.providers.shared.tools import lose_tool_marks, write_tools

_FUNCTION_KEYS = ("name", "description", "parameters")


def tools_of(request: Templated) -> list[Param]:
    """Return the tools of a request that the template prints."""
    if not request.abilities.tools:
        for tool in request.prompt.tools:
            reason = "the template shows no tools"
            request.lose(tool, "content", f"tool {tool.name!r}", reason)
        return []
    tools = write_tools(request, ORIGIN, _write_tool, inside="function")
    lose_tool_marks(request, "a template has no cache marks")
    return tools


def _write_tool(request: Templated, tool: ToolDefinition) -> Param:
    # Templates loop over these keys without checking that they exist.
    schema: Param = {"type": "object", "properties": Param(), **tool.input_schema}
    name = mended_name(request, tool, tool.name)
    param: Param = json_copy(thawed(tool_param(name, tool.description or "", schema)))
    properties: JsonValue = param["function"]["parameters"]["properties"]
    if request.abilities.described and isinstance(properties, dict):
        for argument in properties.values():
            if isinstance(argument, dict):
                argument.setdefault("description", "")
    return param


def lose_settings(request: Templated) -> None:
    """Record settings that templates do not print: the choice of a tool, the output schema."""
    choice, output = request.prompt.tool_choice, request.prompt.sent_output
    if choice not in (None, "auto"):
        reason = "a template cannot express it: the program that runs the model may"
        request.losses.append(hint("tool_choice", f"tool_choice {choice!r}", reason))
    if output is not None:
        reason = "a template cannot express it: the program that runs the model may enforce it"
        request.lose(output, "content", "output schema", reason)


def read_tool(data: object) -> ToolDefinition:
    """Return the definition of a tool, with its keys at the top or under ``function``."""
    fields = mapping(data)
    is_bare = "function" not in fields
    function = fields if is_bare else mapping(required(fields, "function"))
    name = required(function, "name", str)
    schema = mapping(function.get("parameters") or {})
    extra = {key: value for key, value in function.items() if key not in _FUNCTION_KEYS}
    if is_bare:
        extra.pop("type", None)
    description = optional(function.get("description"), "description")
    return ToolDefinition(name, description, schema, None, extra, origin=ORIGIN)
