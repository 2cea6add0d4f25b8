"""Write and read what a request has besides its texts: attachments, tools, output schema.

The class of a request, ``ChatRequest``, is between the attachments and the tools.
"""

from collections.abc import Callable, Mapping
from functools import partial

import attrs

from promptdsl import messages as b
from promptdsl.config.wire import Wire
from promptdsl.config.wires import wire_of
from promptdsl.foundation.errors import shown_name
from promptdsl.foundation.frozen import is_mapping, new_dict, new_list
from promptdsl.messages.field_checks import Cache, optional_string
from promptdsl.messages.media_type import MediaSource, is_address, plain_type
from promptdsl.messages.prompt import Prompt, RawSetting, ToolDefinition
from promptdsl.providers.shared.blocks import ITEM, file_name, json_copy, with_bytes
from promptdsl.providers.shared.openai_parts import (
    IMAGE_DETAILS,
    LASTING_MARK,
    ChatLike,
    file_data,
    picture_url,
    read_file_data,
    read_picture,
)
from promptdsl.providers.shared.reading import located_items, mapping, owner_of, read_mark, required
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
from promptdsl.providers.shared.two_sided import tool_name, valid_reasoning_from

# OpenAI's Chat Completions: write and read attachments, and recognise parts of other providers.
#
# The functions here record no losses: ``write.py`` compares a part with its block, and reports what
# the part lacks, such as a ``detail``. Each source that is read here has ``from_data=True``, as in
# every reader, because it came in a payload, not from the author's code.

AUDIO = "chat_audio"
"""The type of an unknown block with the audio of an answer. The audio is outside of the content."""
_READ_TYPES = frozenset(
    {"text", "refusal", "image_url", "input_audio", "file", "function", "custom", AUDIO}
)
"""The types of parts and calls for which promptdsl has a block."""

_AUDIO_FORMATS = {
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/mpeg": "mp3",
    "audio/mp3": "mp3",
}
_AUDIO_TYPES = {"wav": "audio/wav", "mp3": "audio/mpeg"}


def media_part(block: b.MediaBlock, *, url_key: str | None = None) -> Param | None:
    """Return the part of an attachment, ``None`` if its source or its media type is refused.

    Chat has no part for a video. ``url_key`` is the key in a ``file`` for the URL of a document,
    ``None`` if a URL is refused. LiteLLM takes a URL in ``file_id``, and servers with Chat's format
    take one in ``file_data``. A ``detail`` that Chat does not know is left out, and the caller
    reports it.
    """
    # A base64 ``data:`` URL contains bytes, so it becomes a source of the kind ``base64``.
    source = with_bytes(block.source)
    if block.type == "image":
        url = picture_url(source)
        detail = {"detail": block.detail} if block.detail in IMAGE_DETAILS else {}
        return {"type": "image_url", "image_url": {"url": url, **detail}} if url else None
    if block.type == "audio":
        format = _AUDIO_FORMATS.get(plain_type(source.media_type) or "")
        if source.kind != "base64" or format is None:
            return None
        return {"type": "input_audio", "input_audio": {"data": source.value, "format": format}}
    if block.type == "document":
        file = _file_fields(source, block.title, url_key)
        return {"type": "file", "file": file} if file else None
    return None


def _file_fields(source: MediaSource, title: str | None, url_key: str | None) -> Param | None:
    """Return the fields of a document under the key ``file``, ``None`` for a refused source."""
    if source.kind == "file_id":
        return {"file_id": source.value}
    if source.kind != "url":
        # It has the keys ``file_data`` and ``filename``. It is ``None`` for a source without bytes.
        return file_data(source, title)
    if url_key is None:
        return None
    if url_key == "file_id":
        return {url_key: source.value}
    name = file_name(title, source.media_type or "application/pdf")
    return {url_key: source.value, "filename": name}


def needs_bytes(block: b.MediaBlock, role: str) -> bool:
    """Return whether the address of an attachment is refused, but its bytes may be taken.

    ``role`` is the role of the message. Chat takes no attachments of the assistant, with or without
    bytes. The URL of a document counts as refused here, so do not call this for a document if the
    target takes such URLs (the fact ``file_addresses``).
    """
    return role != "assistant" and is_address(block.source) and media_part(block) is None


def _read_image(image: Mapping[str, object], cache: Cache | None) -> b.ImageBlock:
    source = read_picture(required(image, "url", str))
    return b.ImageBlock(source, detail=optional_string(image.get("detail"), "detail"), cache=cache)


def _read_audio(audio: Mapping[str, object], cache: Cache | None) -> b.AudioBlock:
    format = required(audio, "format", str)
    media_type = _AUDIO_TYPES.get(format, f"audio/{format}")
    data = required(audio, "data", str)
    source = read_file_data(data, media_type)
    if source.media_type != media_type:
        # A data URL that names another type, or none, such as ``data:audio/ogg;base64,T2dn`` with
        # the format ``wav``, is kept as the value, so that it is sent back unchanged. Its type is
        # that of ``format``.
        source = MediaSource("base64", data, media_type, from_data=True)
    return b.AudioBlock(source, cache=cache)


def _read_file(file: Mapping[str, object], cache: Cache | None) -> b.DocumentBlock:
    if "file_id" in file:
        source = MediaSource("file_id", required(file, "file_id", str), from_data=True)
    else:
        source = read_file_data(required(file, "file_data", str))
    title = optional_string(file.get("filename"), "filename")
    return b.DocumentBlock(source, title=title, cache=cache)


MEDIA_READERS: Mapping[str, Callable[[Mapping[str, object], Cache | None], b.Block]] = {
    "image_url": _read_image,
    "input_audio": _read_audio,
    "file": _read_file,
}
"""The functions that read an attachment, by the type of its part.

A part has its content under its type: ``{"type": "file", "file": {...}}``.
"""


def reads_back_as_unknown(data: Mapping[str, object], origin: str) -> bool:
    """Return whether a part, once sent, would be read as an unknown block again.

    The data of an unknown block is sent only if this is true. The reader makes another block of a
    part whose type Chat knows, and refuses a part that only another provider than ``origin`` has.
    """
    kind = data.get("type")
    return isinstance(kind, str) and kind not in _READ_TYPES and owner_of(data, origin) is None


# A request of Chat; write and read its tools, the choice of a tool and the output schema.

ORIGIN = "openai"
"""The provider whose dialect is the usual one."""


@attrs.define(eq=False)
class ChatRequest(ChatLike):
    """A request of Chat."""

    takes_lists = True
    last_audio_message: int = -1
    """The index of the last message that is sent as audio, or -1."""
    last_calling_message: int = -1
    """The index of the last message with a call, or -1."""
    called_tools: dict[str, str] = attrs.field(factory=new_dict)
    """By the id of a call in the payload, the name of its tool in the payload."""
    first_valid_reasoning: int = attrs.field(init=False)
    """The index of the first message whose signed reasoning is still valid."""
    text_signatures: list[str] = attrs.field(factory=new_list)
    """The signatures of Gemini on the texts of the current answer."""
    message_mark: str | None = None
    """The cache mark of the current message, if the mark is not on a part."""

    def __attrs_post_init__(self) -> None:
        ChatLike.__attrs_post_init__(self)
        self.first_valid_reasoning = (
            valid_reasoning_from(self.prompt) if self.facts.binds_reasoning else 0
        )

    def depends(self, stop: int) -> tuple[object, ...]:
        """Return all that the writing of the first ``stop`` messages depends on, except these."""
        return (*ChatLike.depends(self, stop), min(self.first_valid_reasoning, stop))

    @property
    def dialect(self) -> Wire:
        """The record of the provider: its words for choices, its ids, its special parts."""
        return self.facts.wire if self.facts.provider else wire_of(ORIGIN)


def tools_of(request: ChatRequest) -> list[Param]:
    """Return the tools of a request."""
    if not request.facts.chat_tools:
        reason = "this model takes tools in Responses only: render for openai_responses"
        for tool in request.prompt.tools:
            request.lose(tool, "content", f"tool {tool.name!r}", reason)
        return []
    tools = write_tools(
        request, request.dialect.provider_format, _tool_param, inner_key="function", closes=True
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
    type_key = {"type": "function"} if request.facts.typed_tools else {}
    return {**type_key, **dict(outer_keys), "function": function}


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
    kind = optional_string(fields.get("type"), "type")
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
        words = {wire_word: choice_word for choice_word, wire_word in dialect.choices.items()}
        if choice in words:
            return words[choice]
        # A server's own word, such as Mistral's ``any``, is sent to this server only.
        meaning = "required" if choice == "any" else None
        lost_setting = "" if meaning else f"tool_choice {choice!r}"
        return raw_choice(choice, dialect.name, meaning, lost_setting)
    fields = mapping(choice)
    kind = optional_string(fields.get("type"), "type") or ""
    inner = mapping(fields.get(kind) or fields)
    if kind in ("function", "custom"):
        name = required(inner, "name", str)
        is_all = fields == {"type": kind, kind: {"name": name}}
        return named_choice(choice, dialect.provider_format, name, is_all=is_all)
    meaning = inner.get("mode") if inner.get("mode") in _MODES else None
    return raw_choice(choice, dialect.provider_format, meaning, f"tool_choice {kind!r}")
