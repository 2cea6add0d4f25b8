"""Write and read what a request has besides its texts: attachments, tools, output schema."""

import base64
from collections.abc import Mapping

from promptdsl.config.records import ANTHROPIC
from promptdsl.foundation.errors import shown
from promptdsl.foundation.frozen import plain
from promptdsl.messages import MediaBlock
from promptdsl.messages.field_checks import optional_string
from promptdsl.messages.media_type import MediaSource, is_address, plain_type
from promptdsl.messages.prompt import OutputSchema, Prompt, RawSetting, ToolDefinition
from promptdsl.providers.shared.blocks import TEXT_TYPE, json_copy, text_of_file, utf8, with_bytes
from promptdsl.providers.shared.reading import located_items, mapping, read_mark, required
from promptdsl.providers.shared.request import Param, Request
from promptdsl.providers.shared.tools import (
    chosen,
    named_choice,
    nameless_schema,
    raw_choice,
    recorded_choice,
    recorded_output,
    recorded_prompt,
    sendable_output,
)
from promptdsl.providers.shared.two_sided import tool_name

# Write and read attachments: the sources of images and documents.

BASE64: Mapping[str, tuple[str, ...]] = {
    "image": ("image/jpeg", "image/png", "image/gif", "image/webp"),
    "document": ("application/pdf",),
}
"""By type of block, the media types that the service takes as base64."""


def source_param(kind: str, source: MediaSource) -> Param | None:
    """Return the source of an attachment, ``None`` if the service refuses it or its media type."""
    source = with_bytes(source)
    value, media_type = utf8(source.value), source.media_type
    if source.kind == "url":
        is_web = value[:8].lower().startswith(("http://", "https://"))
        return {"type": "url", "url": value} if is_web else None
    if source.kind == "file_id":
        return {"type": "file", "file_id": value}
    if source.kind == "base64" and media_type in BASE64[kind]:
        return {"type": "base64", "media_type": media_type, "data": value}
    # Any text may be sent as ``text/plain``, the only media type of texts that the service takes.
    text = text_of_file(source) if kind == "document" else None
    return None if text is None else {"type": "text", "media_type": "text/plain", "data": text}


def needs_bytes(block: MediaBlock, role: str) -> bool:
    """Return whether the service refuses the address of an attachment, but may take its bytes.

    It takes only PDF documents at an address (``URLPDFSourceParam``), so a text is sent as bytes.
    """
    if role == "assistant" or not is_address(block.source):
        return False
    is_text = block.is_document and TEXT_TYPE.fullmatch(plain_type(block.media_type) or "")
    return bool(is_text) or source_param(block.type, block.source) is None


def read_source(source: object) -> Param | None:
    """Return the fields of the ``MediaSource`` of a recorded source, ``None`` for unknown ones."""
    match source:
        case {"type": "file", "file_id": str(id)}:
            return {"type": "file_id", "file_id": id}
        case {"type": "text", "data": str(text)}:
            data = base64.b64encode(utf8(text).encode()).decode()
            return {"type": "base64", "data": data, "media_type": "text/plain"}
        case {"type": "base64", "data": str(data), "media_type": str(media_type)}:
            return {"type": "base64", "data": data, "media_type": media_type}
        case {"type": "url", "url": str(url)}:
            return {"type": "url", "url": url}
        case _:
            return None


# Write and read tools, the choice of a tool and the output schema.


def tool_param(request: Request, tool: ToolDefinition) -> Param:
    """Return the param of a tool, with a name that the service takes."""
    name = tool_name(request, tool, tool.name)
    description = {} if tool.description is None else {"description": tool.description}
    # A tool without parameters needs a schema, too.
    schema = dict(tool.input_schema) or {"type": "object", "properties": {}}
    return json_copy({"name": name, **description, "input_schema": schema})


NEEDED = {
    "mcp_toolset": "mcp_servers, and the beta header of MCP",
    **dict.fromkeys(("mcp_tool_use", "mcp_tool_result"), "mcp_servers, and the beta header of MCP"),
}
"""By type of a tool or block, what the author must add to the request."""


def settings_of(request: Request) -> Param:
    """Return the keys ``tool_choice`` and ``output_config``, if the prompt has these settings."""
    settings: Param = {}
    choice, name = chosen(request)
    raw = recorded_choice(request, request.facts.origins, choice)
    if raw is not None:
        settings["tool_choice"] = raw
    elif choice:
        name_key = {} if name is None else {"name": name}
        settings["tool_choice"] = {"type": ANTHROPIC.choices[choice], **name_key}
    is_known_model = request.facts.known
    reason = (
        "this model takes no output schema" if is_known_model else "name a model that takes one"
    )
    output = sendable_output(request, reason)
    raw = recorded_output(request, request.facts.origins, output)
    if raw is not None:
        settings["output_config"] = {"format": raw}
    elif output:
        schema = nameless_schema(request, output)
        settings["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
    return settings


def read_settings(payload: Mapping[str, object]) -> Prompt:
    """Return the tools, the choice of a tool and the output schema in a payload."""
    tools = located_items("tools", _read_tool, payload.get("tools") or ())
    output_format = mapping(payload.get("output_config") or {}).get("format")
    output = None if output_format is None else _read_output(mapping(output_format))
    return recorded_prompt(tools, _read_choice(payload.get("tool_choice")), output)


def _read_output(output_format: Param) -> RawSetting:
    kind = output_format.get("type", "json_schema")
    if kind != "json_schema":
        lost_setting = f"output_config.format {shown(kind)}"
        return RawSetting(plain(output_format, "format"), "anthropic", None, lost_setting)
    output = OutputSchema(required(output_format, "schema", Mapping))
    return RawSetting({**output_format, "schema": output.schema}, "anthropic", output)


def _read_choice(choice: object) -> RawSetting | str | None:
    if choice is None:
        return None
    fields = mapping(choice)
    kind = required(fields, "type", str)
    choice_word = {
        wire_word: choice_word for choice_word, wire_word in ANTHROPIC.choices.items()
    }.get(kind)
    further = next((key for key in fields if key not in ("type", "name")), None)
    if kind == "tool" and further is None:
        return named_choice(choice, "anthropic", required(fields, "name", str), is_all=True)
    if kind == "tool":
        choice_word = required(fields, "name", str)
    if further is not None:
        return raw_choice(choice, "anthropic", choice_word, f"{shown(further)} of tool_choice")
    return choice_word or raw_choice(choice, "anthropic", None, f"tool_choice {kind!r}")


def _read_tool(data: object) -> ToolDefinition:
    fields = mapping(data)
    kind = str(fields.get("type", "custom"))
    cache = read_mark(fields.pop("cache_control", None))
    if kind != "custom":
        # The name of a tool may differ from its type. A toolset has the name of its server.
        name = fields.get("name", fields.get("mcp_server_name"))
        name = name if isinstance(name, str) else kind
        return ToolDefinition(name, cache=cache, raw=fields, origin="anthropic")
    name = required(fields, "name", str)
    function_fields = {
        key: fields.pop(key, None) for key in ("name", "description", "input_schema")
    }
    description = optional_string(function_fields["description"], "description")
    schema = required(function_fields, "input_schema", Mapping)
    return ToolDefinition(name, description, schema, cache, fields, origin="anthropic")
