"""Write and read what a request has besides its texts: attachments, tools, output schema.

First comes the state of a request while it is written: its items, their ids and their types. Then
come attachments, tools and settings.
"""

import re
from collections.abc import Collection, Mapping
from functools import partial
from itertools import islice

import attrs

from promptdsl import messages as b
from promptdsl.foundation.errors import DataError
from promptdsl.foundation.frozen import EMPTY, new_dict, new_list, new_set
from promptdsl.foundation.json import JsonObject, JsonValue
from promptdsl.messages import TextBlock, ToolResultBlock, ToolUseBlock
from promptdsl.messages.field_checks import Cache, optional_string
from promptdsl.messages.media_type import MediaSource, SourceKind, is_address
from promptdsl.messages.pairing import OpenCalls, new_calls
from promptdsl.messages.prompt import (
    FIXED_CHOICES,
    Prompt,
    RawSetting,
    StoredConversation,
    ToolDefinition,
)
from promptdsl.providers.shared.blocks import json_copy, with_bytes
from promptdsl.providers.shared.openai_parts import (
    IMAGE_DETAILS,
    ChatLike,
    file_data,
    picture_url,
    read_file_data,
    read_picture,
)
from promptdsl.providers.shared.reading import (
    located,
    located_items,
    looks_like,
    mapping,
    owner_of,
    required,
)
from promptdsl.providers.shared.request import Location, Param, Request
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
from promptdsl.providers.shared.two_sided import fitting_id, tool_name

# The items of a Responses request while it is written: their state, ids and types.

ORIGIN = "openai_responses"

REASONING_KEYS = ("id", "summary", "content", "status")
"""The keys of a reasoning item that are kept next to the fields of its block."""

OPAQUE_ITEMS = re.compile(
    r"additional_tools|item_reference|compaction(_summary|_trigger)?|program(_output)?"
    r"|mcp_(list_tools|approval_re(quest|sponse)|call)|tool_search_(call|output)"
    r"|(apply_patch|computer|(local_)?shell)_call(_output)?"
    r"|(code_interpreter|file_search|image_generation|web_search)_call"
)
"""The types of items for which promptdsl has no block (``ResponseInputItemParam``)."""

_READ = re.compile(
    r"message|reasoning|(function_call|custom_tool_call)(_output)?"
    r"|input_(text|image|file)|output_text|refusal"
)
"""The types of items and parts for which promptdsl has a block."""

_PART = re.compile(r"(input|output)_.*")
"""The types of parts. No item has such a type."""


@attrs.define(eq=False)
class Items(ChatLike):
    """A request whose ``payload_messages`` are items."""

    ids: set[str] = attrs.field(factory=new_set)
    """The ids of items in the payload so far."""
    customs: set[str] = attrs.field(factory=new_set)
    """The ids, in the payload, of calls of custom tools. Their results have another type."""
    calls: OpenCalls[str] = attrs.field(factory=new_calls)
    """The calls without a result: by the id in the prompt, the id in the payload."""
    last_call_message: dict[str, int] = attrs.field(factory=new_dict)
    """By the id of a call in the prompt, the index of the message with the last call of this id."""
    uses: dict[str, int] = attrs.field(factory=new_dict)
    """How many calls of the prompt have each id; 0 for an id that only the payload has."""
    callers: dict[str, JsonValue] = attrs.field(factory=new_dict)
    """By the id of a call in the payload, its caller, such as a program. The result has it, too."""


@attrs.define(eq=False)
class ContentDraft:
    """The content of a message or of a tool result while it is written."""

    location: Location
    parts: list[Param] = attrs.field(factory=new_list)
    """The parts that will be sent as one item."""
    origin: JsonObject = EMPTY
    """The keys of the item in which these parts were recorded."""
    annotated: list[tuple[int, ...]] = attrs.field(factory=new_list)
    """The locations of the parts with annotations, as in :attr:`Request.at`."""
    pending_reasoning: list[tuple[Param, tuple[int, ...]]] = attrs.field(factory=new_list)
    """The reasoning items to be sent before the item that they produced, each with its location."""

    @property
    def pending_ids(self) -> list[object]:
        """The ids of the pending reasoning, ``None`` for reasoning without an id."""
        return [reasoning.get("id") for reasoning, _ in self.pending_reasoning]


MAX_ID = 64
"""The greatest number of characters in the id of a call."""
RECORDED_KEYS: Mapping[str, tuple[str, ...]] = {
    "message": ("id", "status", "phase"),
    "function_call": ("id", "status", "caller", "namespace", "async"),
    "custom_tool_call": ("id", "status", "caller", "namespace", "async"),
    "function_call_output": ("caller", "namespace"),
    "custom_tool_call_output": ("caller", "namespace"),
}
"""By type of item, the recorded keys to send in addition to the fields of its block."""

_ITEM_ID = {
    **{"message": re.compile(r"msg_[!-~]+"), "reasoning": re.compile(r"rs_[!-~]+")},
    **{"function_call": re.compile(r"fc_[!-~]+"), "custom_tool_call": re.compile(r"ctc_[!-~]+")},
}
"""By type of item, the pattern of its ids. The service refuses any other id."""


def call_id(request: Items, location: Location, id: str) -> str:
    """Return the id that a call has in the payload, and keep it for the result.

    The service pairs calls and results by the id only, and refuses a second result with an id. So
    the n-th call with an id gets the ending ``_n``.
    """
    count = request.uses.get(id, 0) + 1
    numbered = id if count == 1 else f"{id}_{count}"
    payload_id = fitting_id(numbered, MAX_ID, shortest=1)
    while payload_id in request.uses:
        count += 1
        payload_id = fitting_id(f"{id}_{count}", MAX_ID, shortest=1)
    request.uses[payload_id] = 0
    request.uses[id] = count
    if id in request.calls and not _is_in_one_answer(
        request, request.last_call_message[id], location.message_index
    ):
        del request.calls[id]
    request.calls.add(id, payload_id)
    request.last_call_message[id] = location.message_index
    return payload_id


def _is_in_one_answer(request: Items, first: int, last: int) -> bool:
    """Return whether the messages from ``first`` up to ``last`` are all from the model."""
    return all(message.role == "assistant" for message in islice(request.messages, first, last))


def result_id(request: Items, id: str) -> str:
    """Return the id that a result has in the payload: that of the first open call with this id."""
    return request.calls.answer(id) or fitting_id(id, MAX_ID, shortest=1)


def is_new_id(request: Items, kind: str, id: object) -> bool:
    """Return whether an item may have this id: an id of the service that the payload has not yet.

    Servers that take their reasoning back have other patterns of ids (DeepSeek, recorded), so the
    pattern is not checked for them.
    """
    if not isinstance(id, str) or id in request.ids or kind not in _ITEM_ID:
        return False
    return request.facts.reasoning_back != "never" or _ITEM_ID[kind].fullmatch(id) is not None


def origin_of(block: TextBlock | ToolUseBlock | ToolResultBlock) -> JsonObject:
    """Return the keys of the item in which a block was recorded, empty for an author's block."""
    item: JsonValue = block.extra.get("item")
    return item if isinstance(item, Mapping) else EMPTY


def keeps_id(
    request: Items, kind: str, origin: JsonObject, pending_ids: Collection[object] = ()
) -> bool:
    """Return whether an item is sent with its recorded id.

    The service refuses the id of an item if the reasoning before the item is missing. Without an
    id, it takes the item as a new one. ``pending_ids`` are the ids of reasoning that will be sent
    before the item.
    """
    reasoning_id = origin.get("reasoning")
    has_reasoning = (
        reasoning_id is None or reasoning_id in pending_ids or str(reasoning_id) in request.ids
    )
    return has_reasoning and is_new_id(request, kind, origin.get("id"))


def identity(request: Items, kind: str, origin: JsonObject) -> Param:
    """Return the recorded keys of an item to send; its id and status only if it keeps its id."""
    keys = {key: origin[key] for key in RECORDED_KEYS[kind] if origin.get(key) is not None}
    if keeps_id(request, kind, origin):
        request.ids.add(str(keys["id"]))
    else:
        keys = {key: value for key, value in keys.items() if key not in ("id", "status")}
    return json_copy(keys) if keys else {}


def read_origin(kind: str, item: JsonObject) -> JsonObject:
    """Return the ``extra`` of a block: the keys of the item in which it was recorded."""
    recorded_keys = {key: item[key] for key in RECORDED_KEYS[kind] if item.get(key) is not None}
    if "id" not in recorded_keys:
        recorded_keys.pop("status", None)
    return {"item": recorded_keys} if recorded_keys else EMPTY


def is_of_responses(data: JsonObject, *, as_item: bool) -> bool:
    """Return whether an unknown item or part may belong to Responses, so that it can be sent."""
    kind = data.get("type")
    if kind is None and as_item and "id" in data and data.keys() <= {"id", "type"}:
        kind = "item_reference"
    if not isinstance(kind, str) or _READ.fullmatch(kind) or _owner_of(data):
        return False
    excluded = _PART if as_item else OPAQUE_ITEMS
    return not excluded.fullmatch(kind)


def _owner_of(part: JsonObject) -> str | None:
    """Return the provider of a part that Responses does not have, ``None`` for its own parts."""
    is_text = part.get("type") == "text" and "text" in part
    return "openai" if is_text else owner_of(part, ORIGIN)


def refuse_part(part: JsonObject) -> None:
    """Raise :class:`DataError` for a part or an item that another provider has."""
    if owner := _owner_of(part):
        raise DataError(f"{part['type']!r} is not a type of Responses", fix=looks_like(owner))


# Write and read attachments: pictures and documents.


def media_part(block: b.MediaBlock) -> Param | None:
    """Return the part of an attachment, ``None`` if its source or its media type is refused."""
    source, is_image = with_bytes(block.source), block.is_image
    part: Param = {"type": "input_image" if is_image else "input_file"}
    url = picture_url(source)
    if source.kind == "file_id":
        part["file_id"] = source.value
    elif url and (is_image or source.kind == "url"):
        part["image_url" if is_image else "file_url"] = url
    elif not is_image and (file := file_data(source, block.title)):
        part |= file
    else:
        return None
    if is_image:
        part["detail"] = block.detail if block.detail in IMAGE_DETAILS else "auto"
    elif block.detail in ("low", "high"):
        part["detail"] = block.detail
    return part


def needs_bytes(block: b.MediaBlock, role: str) -> bool:
    """Return whether the service refuses the address of an attachment, but may take its bytes."""
    return role != "assistant" and is_address(block.source) and media_part(block) is None


def read_image(part: JsonObject, cache: Cache | None) -> b.Block | None:
    """Return the block of a picture, ``None`` for a part without an address or an id."""
    url, id = (optional_string(part.get(key), key) for key in ("image_url", "file_id"))
    detail = optional_string(part.get("detail"), "detail")
    if url is not None:
        source = read_picture(url)
    elif id is not None:
        source = MediaSource("file_id", id, from_data=True)
    else:
        return None
    return b.ImageBlock(source, detail=None if detail == "auto" else detail, cache=cache)


def read_file(part: JsonObject, cache: Cache | None) -> b.Block | None:
    """Return the block of a document, ``None`` for a part without data, an address or an id."""
    values = {key: optional_string(part.get(key), key) for key in _KINDS}
    key, value = next((pair for pair in values.items() if pair[1] is not None), ("", None))
    if value is None:
        return None
    source = MediaSource(_KINDS[key], value, from_data=True)
    if key == "file_data":
        source = read_file_data(value)
    title, detail = (optional_string(part.get(key), key) for key in ("filename", "detail"))
    return b.DocumentBlock(source, title, detail, cache)


_KINDS: Mapping[str, SourceKind] = {"file_data": "base64", "file_url": "url", "file_id": "file_id"}


# Write and read the tools, the choice of a tool and the output schema of a request.

_NAME_KEYS = {"function": "name", "custom": "name", "mcp": "server_label"}
"""By type of a tool, the key of its name in a choice. A choice names other tools by their type."""


def tools_of(request: Request) -> list[Param]:
    """Return the tools of a request, without cache marks."""
    tools = write_tools(request, ORIGIN, _tool_param, closes=True)
    lose_tool_marks(request)
    return tools


def _tool_param(request: Request, tool: ToolDefinition) -> Param:
    name = tool_name(request, tool, tool.name)
    param: Param = {"type": "function", "name": name}
    if tool.description is not None:
        param["description"] = tool.description
    param["parameters"] = dict(tool.input_schema) or None
    # Without the key, the service would use ``true`` and refuse schemas that are not strict.
    param["strict"] = False
    return json_copy(param)


def settings_of(request: Request) -> Param:
    """Return the keys ``tool_choice`` and ``text``, if the prompt has these settings."""
    settings: Param = {}
    choice, name = chosen(request)
    origins = request.facts.origins
    raw = recorded_choice(request, origins, choice)
    if raw is not None:
        settings["tool_choice"] = raw
    elif name is not None:
        raw_tools = [tool for tool in request.prompt.tools if tool.origin in origins]
        kinds = {tool.name: str(tool.raw.get("type")) for tool in raw_tools if tool.raw}
        kind = kinds.get(name, "function")
        name_key = {_NAME_KEYS[kind]: name} if kind in _NAME_KEYS else {}
        settings["tool_choice"] = {"type": kind, **name_key}
    elif choice:
        settings["tool_choice"] = choice
    output = sendable_output(request)
    raw = recorded_output(request, origins, output)
    if raw is not None:
        settings["text"] = {"format": raw}
    elif output:
        settings["text"] = {"format": {"type": "json_schema", **output_param(request, output)}}
    return settings


def read_settings(payload: JsonObject) -> Prompt:
    """Return the tools, the choice of a tool and the output schema of a payload."""
    tools = tuple(located_items("tools", _read_tool, payload.get("tools") or ()))
    choice = located("tool_choice", _read_choice, payload.get("tool_choice"))
    output_format = mapping(payload.get("text") or {}).get("format")
    output = located(
        "text.format", partial(read_output, path="format", origin=ORIGIN), output_format
    )
    stored = None
    if payload.get("previous_response_id") or payload.get("conversation"):
        stored = StoredConversation(ORIGIN, bool(payload.get("instructions")))
    return recorded_prompt(tools, choice, output, stored)


def _read_tool(data: object) -> ToolDefinition:
    fields = mapping(data)
    kind = optional_string(fields.get("type"), "type")
    if kind != "function":
        name = fields.get("server_label" if kind == "mcp" else "name", kind)
        name = optional_string(name, "name") or kind or "tool"
        return ToolDefinition(name, raw=fields, origin=ORIGIN)
    del fields["type"]
    name, description, schema = pop_function(fields)
    # Without the key, the service uses ``true``. Null is sent instead, which means the same.
    fields.setdefault("strict", None)
    extra = {key: value for key, value in fields.items() if (key, value) != ("strict", False)}
    return ToolDefinition(name, description, schema, None, extra, origin=ORIGIN)


def _read_choice(choice: object) -> RawSetting | str | None:
    if choice is None or (isinstance(choice, str) and choice in FIXED_CHOICES):
        return choice
    if isinstance(choice, str):
        return raw_choice(choice, ORIGIN, None, f"tool_choice {choice!r}")
    fields = mapping(choice)
    kind, mode = required(fields, "type", str), fields.get("mode")
    # The name of a tool cannot express a choice among several tools, or of one tool of a server.
    if kind == "allowed_tools":
        meaning = mode if mode in ("auto", "required") else None
        return raw_choice(choice, ORIGIN, meaning, f"tool_choice {kind!r}")
    if kind == "mcp" and fields.get("name") is not None:
        return raw_choice(choice, ORIGIN, None, "the choice of one tool of a server")
    key = _NAME_KEYS.get(kind)
    name = kind if key is None else required(fields, key, str)
    is_all = fields == ({"type": kind} if key is None else {"type": kind, key: name})
    return named_choice(choice, ORIGIN, name, is_all=is_all)
