"""A request of Chat; write and read its tools, the choice of a tool and the output schema."""

from collections.abc import Mapping
from functools import partial

import attrs

from promptdsl.config.wire import Wire
from promptdsl.config.wires import wire_of
from promptdsl.foundation.errors import shown_name
from promptdsl.foundation.frozen import is_mapping, new_dict, new_list
from promptdsl.messages.field_checks import optional
from promptdsl.messages.prompt import Prompt, RawSetting, ToolDefinition
from promptdsl.providers.shared.blocks import ITEM
from promptdsl.providers.shared.checks import located_items, mapping, read_mark, required
from promptdsl.providers.shared.clean import json_copy
from promptdsl.providers.shared.ids import tool_name
from promptdsl.providers.shared.openai_parts import LASTING_MARK, ChatLike
from promptdsl.providers.shared.request import Param
from promptdsl.providers.shared.tools import (
    chosen,
    lose_tool_marks,
    named_choice,
    output_param,
    pop_function,
    raw_choice,
    read_output,
    recorded_choice,
    recorded_output,
    recorded_prompt,
    sendable_output,
    write_tools,
)
from promptdsl.providers.shared.two_sided import valid_reasoning_from

ORIGIN = "openai"
"""The provider whose dialect is the usual one."""


@attrs.define(eq=False)
class ChatRequest(ChatLike):
    """A request of Chat. ``spoken`` is the index of the last message that is sent as audio."""

    takes_lists = True
    spoken: int = -1
    calling: int = -1
    """The index of the last message with a call."""
    called: dict[str, str] = attrs.field(factory=new_dict)
    """The sent name of the tool by the sent id of the call."""
    first_valid_reasoning: int = attrs.field(init=False)
    """The index of the first message whose signed reasoning is still valid."""
    text_signatures: list[str] = attrs.field(factory=new_list)
    """The signatures of Gemini on the texts of the answer that is being written."""
    message_mark: str | None = None
    """The cache mark of the message that is being written, if the mark is not on a part."""

    def __attrs_post_init__(self) -> None:
        ChatLike.__attrs_post_init__(self)
        self.first_valid_reasoning = (
            valid_reasoning_from(self.prompt) if self.facts.binds_reasoning else 0
        )

    def depends(self, stop: int) -> tuple[object, ...]:
        """Return all that the entries of the first ``stop`` messages depend on, except these."""
        return (*ChatLike.depends(self, stop), min(self.first_valid_reasoning, stop))

    @property
    def dialect(self) -> Wire:
        """The description of the provider: its words for choices, its ids, its special parts."""
        return self.facts.wire if self.facts.provider else wire_of(ORIGIN)


def tools_of(request: ChatRequest) -> list[Param]:
    """Return the tools of a request."""
    if not request.facts.chat_tools:
        reason = "this model takes tools in Responses only: render for openai_responses"
        for tool in request.prompt.tools:
            request.lose(tool, "content", f"tool {tool.name!r}", reason)
        return []
    tools = write_tools(
        request, request.dialect.provider_format, _tool_param, inside="function", closes=True
    )
    if not (request.facts.lasting_marks and request.facts.tool_marks):
        lose_tool_marks(request)
    return tools


def _tool_param(request: ChatRequest, tool: ToolDefinition) -> Param:
    name = tool_name(request, tool, tool.name)
    description = {} if tool.description is None else {"description": tool.description}
    schema = {"parameters": dict(tool.input_schema)} if tool.input_schema else {}
    function = json_copy({"name": name, **description, **schema})
    outer_keys = tool.extra.get(ITEM)
    if not is_mapping(outer_keys):
        return {"type": "function", "function": function}
    # Mistral's SDK sends no type.
    kind = {"type": "function"} if request.facts.typed_tools else {}
    return {**kind, **dict(outer_keys), "function": function}


def settings_of(request: ChatRequest) -> Param:
    """Return the keys ``tool_choice`` and ``response_format``, if the prompt has these settings."""
    settings: Param = {}
    origins = request.facts.origins
    choice, name = chosen(request)
    raw = recorded_choice(request, origins, choice)
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
    raw = recorded_output(request, origins, output)
    if raw is not None:
        settings["response_format"] = raw
    elif output:
        schema = output_param(request, output)
        settings["response_format"] = {"type": "json_schema", "json_schema": schema}
    return settings


def read_settings(payload: Mapping[str, object], dialect: Wire) -> Prompt:
    """Return the tools, the choice of a tool and the output schema in a payload."""
    read_tool = partial(_read_tool, dialect.provider_format)
    choice = _read_choice(payload.get("tool_choice"), dialect)
    output = read_output(payload.get("response_format"), "response_format", dialect.provider_format)
    tools = located_items("tools", read_tool, payload.get("tools") or ())
    return recorded_prompt(tools, choice, output)


def _read_tool(origin: str, data: object) -> ToolDefinition:
    fields = mapping(data)
    cache = read_mark(fields.pop(LASTING_MARK, None))
    kind = optional(fields.get("type"), "type")
    function = fields.get("function")
    if kind not in (None, "function") or function is None:
        name = mapping(fields.get(kind or "") or {}).get("name")
        if not isinstance(name, str):
            name = kind or shown_name(next(iter(fields), "tool"))
        return ToolDefinition(name, cache=cache, raw=fields, origin=origin)
    function = mapping(function)
    name, description, schema = pop_function(function)
    outer_keys = {key: value for key, value in fields.items() if key != "function"}
    if outer_keys != {"type": "function"}:
        # Mistral's SDK sends no type.
        function[ITEM] = outer_keys
    return ToolDefinition(name, description, schema, cache, function, origin=origin)


_MODES = ("auto", "required")
"""The modes of a choice among several tools."""


def _read_choice(choice: object, dialect: Wire) -> RawSetting | str | None:
    if choice is None:
        return None
    if isinstance(choice, str):
        words = {sent: ours for ours, sent in dialect.choices.items()}
        if choice in words:
            return words[choice]
        # A word of a server, such as Mistral's, is sent to such servers only.
        meaning = "required" if choice == "any" else None
        unsayable = "" if meaning else f"tool_choice {choice!r}"
        return raw_choice(choice, dialect.name, meaning, unsayable)
    fields = mapping(choice)
    kind = optional(fields.get("type"), "type") or ""
    inner = mapping(fields.get(kind) or fields)
    if kind in ("function", "custom"):
        name = required(inner, "name", str)
        is_all = fields == {"type": kind, kind: {"name": name}}
        return named_choice(choice, dialect.provider_format, name, is_all=is_all)
    meaning = inner.get("mode") if inner.get("mode") in _MODES else None
    return raw_choice(choice, dialect.provider_format, meaning, f"tool_choice {kind!r}")
