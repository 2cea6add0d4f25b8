"""Read recorded Responses items, a payload or a response, as messages.

First come the functions for a payload, a response and a stream. Then come those that join items to
turns, and read an item and the parts of its content. The tables of the keys that are read are at
the end.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import cast

import attrs

from promptdsl.config.records import OPENAI_RESPONSES
from promptdsl.foundation.errors import DataError, nearest, shown_name
from promptdsl.foundation.frozen import EMPTY, FrozenDict, list_or_empty, mapping_or_empty
from promptdsl.foundation.json import JsonObject, JsonValue
from promptdsl.messages import (
    Block,
    ReasoningBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
)
from promptdsl.messages.details import NO_DETAILS, Details, Role
from promptdsl.messages.field_checks import Cache, optional_string
from promptdsl.messages.message import Message, message
from promptdsl.messages.prompt import Prompt
from promptdsl.providers.openai_responses.parts import (
    ORIGIN,
    REASONING_KEYS,
    origin_of,
    read_file,
    read_image,
    read_origin,
    read_settings,
    refuse_part,
)
from promptdsl.providers.shared.openai_parts import MARK
from promptdsl.providers.shared.reading import (
    ReadKeys,
    Shape,
    items,
    located_items,
    looks_like,
    mapping,
    openai_usage,
    owner_of_message,
    reply_message,
    required,
    shape,
    with_nulls,
)
from promptdsl.providers.shared.request import Param
from promptdsl.providers.shared.streamed import StreamedReply, merge, texts_in


def read(data: object) -> Prompt:
    """Return the prompt of a payload, or of a list of items.

    ``instructions`` become a leading system message. Items of the model in a row become a message.
    Raises :class:`DataError` with the location of what cannot be read.
    """
    if not isinstance(data, Mapping):
        data = {"input": items(data, "input")}
    payload = cast("JsonObject", data)
    for key, owner in (("messages", "openai"), ("contents", "gemini")):
        if key in payload and "input" not in payload:
            raise DataError("'input' is needed", fix=looks_like(owner))
    instructions = payload.get("instructions")
    turns: list[Message] = []
    if instructions is not None:
        turns += _read_items("instructions", "system", instructions)
    # With a stored conversation, the input may be missing.
    is_stored = any(payload.get(key) for key in ("previous_response_id", "conversation", "prompt"))
    input = payload.get("input", ()) if is_stored else required(payload, "input")
    turns += _read_items("input", "user", input)
    messages: list[Message] = []
    is_leading = True
    for turn in _joined_turns(turns):
        # A later system message becomes a developer message of kind ``recorded_system``.
        is_leading = is_leading and turn.role == "system"
        if turn.role == "system" and not is_leading:
            blocks, details = turn.content, turn._details
            messages.append(message("developer", blocks, kind="recorded_system", details=details))
        else:
            messages.append(turn)
    unpaired = ORIGIN if _are_unpaired(messages) else None
    return attrs.evolve(read_settings(payload), messages=tuple(messages), unpaired_at=unpaired)


def _are_unpaired(messages: Sequence[Message]) -> bool:
    """Return whether a result may come after later turns, or may answer a call of another kind.

    The service takes the result of an asynchronous call in any later request, and also the result
    of a tool search that the client ran (OpenAI, "Asynchronous tool calling", November 2026).
    """
    other_calls: list[object] = []
    results: list[str] = []
    for turn in messages:
        for block in turn.content:
            match block:
                case ToolUseBlock() if origin_of(block).get("async"):
                    return True
                case UnknownBlock():
                    other_calls.append(block.data.get("call_id"))
                case ToolResultBlock():
                    results.append(block.tool_use_id)
                case _:
                    pass
    return any(id in other_calls for id in results)


def read_response(data: object) -> Message:
    """Return the message of a response, with its finish reason and its token counts.

    It raises :class:`DataError` for a response with an error and no output, because an empty answer
    would hide the error.
    """
    response = mapping(data)
    output = [*_read_items("output", "", required(response, "output", list))]
    error = mapping(response.get("error") or {})
    if error and not output:
        problem = f"the response failed: {error.get('code')}: {error.get('message')}"
        raise DataError(problem, fix="read its error, and send the request again or change it")
    for index, turn in enumerate(output):
        if turn.role == "tool":
            # The result of a tool that the service ran stays unchanged, as an unknown block.
            block = UnknownBlock(mapping(response["output"][index]), ORIGIN)
            output[index] = message("assistant", (block,), kind="recorded")
        elif turn.role != "assistant":
            raise DataError(f"a response is a message of the model, not a {turn.role} message")
    answer = _joined_turn(output)
    status = response.get("status")
    if status == "incomplete":
        status = mapping(response.get("incomplete_details") or {}).get("reason") or status
    token_usage = openai_usage(response.get("usage"), "input", "output")
    extra = KEYS.unread_of_response(response, answer.extra)
    word = None if status is None else shown_name(status)
    return reply_message(answer.content, word, token_usage, extra=extra)


def add_event(reply: StreamedReply, event: Param) -> None:
    """Add an event of a stream to the reply so far. The last event has the complete response."""
    kind, index, delta = str(event.get("type")), event.get("output_index"), event.get("delta")
    pieces: dict[str, Param] = {
        "response.output_text.delta": {"type": "output_text", "text": delta},
        "response.output_text.annotation.added": {"annotations": [event.get("annotation")]},
        "response.refusal.delta": {"type": "refusal", "refusal": delta},
    }
    if kind in ("response.completed", "response.incomplete"):
        reply.response = mapping(event.get("response"))
        reply.ended = True
    elif kind == "response.created":
        # Keep the id and the model, because an interrupted stream has no complete response.
        started = mapping(event.get("response") or {})
        reply.response |= {key: started[key] for key in ("id", "model") if started.get(key)}
    elif kind in ("response.output_item.added", "response.output_item.done"):
        item = mapping(event.get("item"))
        if kind == "response.output_item.added":
            # An incomplete item has no id, so that the service takes it as a new item.
            item |= {"id": None, "status": "in_progress"}
        reply.part(index).clear()
        merge(reply.part(index), item)
    elif kind in _TEXTS_OF_CALLS:
        merge(reply.part(index), {_TEXTS_OF_CALLS[kind]: delta})
    elif kind in pieces:
        merge(reply.part(index), {_TEXTS: {str(event.get("content_index")): pieces[kind]}})
    if not (reply.ended and reply.response.get("output")):
        reply.response["output"] = [*map(_with_texts, reply.parts.values())]


def texts_so_far(reply: StreamedReply) -> list[str]:
    """Return the texts of a reply so far, in order, without refusals."""
    texts: list[str] = []
    for item in map(mapping_or_empty, list_or_empty(reply.response.get("output"))):
        if item.get("type") == "message":
            texts += texts_in(list_or_empty(item.get("content")), "output_text")
    return texts


_TEXTS = "texts"
"""The key of an item in a stream for its texts, by their index."""


def _with_texts(item: Param) -> Param:
    """Return an item whose content is the texts that were streamed."""
    if _TEXTS not in item:
        return item
    fields = {key: value for key, value in item.items() if key != _TEXTS}
    return {**fields, "content": [*item[_TEXTS].values()]}


_TEXTS_OF_CALLS: Mapping[str, str] = {
    "response.function_call_arguments.delta": "arguments",
    "response.custom_tool_call_input.delta": "input",
}
"""By type of event, the key of a call. The event adds to the text under this key."""


def _joined_turns(turns: Iterable[Message]) -> Iterator[Message]:
    """Yield turns. Turns of the model in a row become one message.

    Two neighbouring texts stay in two messages if an id is missing or if their ids are equal,
    because the writer would join the texts. A message without content stays a message, so that a
    hint reports it.
    """
    run: list[Message] = []
    for turn in turns:
        blocks = turn.content
        if turn.role == "assistant" and not blocks:
            yield turn
            continue
        joins = turn.role == "assistant"
        if joins and run:
            last, first = run[-1].content[-1], blocks[0]
            if isinstance(last, TextBlock) and isinstance(first, TextBlock):
                ids = [origin_of(last).get("id"), origin_of(first).get("id")]
                joins = None not in ids and ids[0] != ids[1]
        if run and not joins:
            yield _joined_turn(run)
            run = []
        if turn.role == "assistant":
            run.append(turn)
        else:
            yield turn
    if run:
        yield _joined_turn(run)


def _joined_turn(items: Sequence[Message]) -> Message:
    """Return the items of one answer as a message. Unread keys have the index of their item."""
    blocks = _with_reasoning_ids([block for item in items for block in item.content])
    extra = {f"[{n}].{key}": v for n, item in enumerate(items) for key, v in item.extra.items()}
    details = Details(extra=extra) if extra else NO_DETAILS
    return message("assistant", blocks, kind="recorded", details=details)


def _with_reasoning_ids(blocks: Sequence[Block]) -> tuple[Block, ...]:
    """Return blocks in which a block after reasoning has a note of the id of the reasoning.

    The service takes the id of the block only together with that reasoning.
    """
    linked: list[Block] = []
    reasoning_id: JsonValue = None
    for block in blocks:
        if isinstance(block, ReasoningBlock):
            reasoning_id = block.extra.get("id")
        elif (
            reasoning_id
            and isinstance(block, TextBlock | ToolUseBlock)
            and "id" in origin_of(block)
        ):
            item: JsonObject = {**origin_of(block), "reasoning": reasoning_id}
            linked.append(attrs.evolve(block, extra={**block.extra, "item": item}))
            continue
        linked.append(block)
    return tuple(linked)


def _read_items(path: str, role: str, data: object) -> Iterator[Message]:
    """Yield a message for each item. If ``data`` is a string, it is one message of ``role``."""
    if isinstance(data, str) and role:
        data = [{"role": role, "content": data}]
    return located_items(path, _read_item, data)


def _read_item(data: object) -> Message:
    """Return the message of an item. An item of an unknown type becomes an unknown block."""
    item = mapping(data)
    if owned := owner_of_message(item):
        what = f"{owned[0]!r} is no key of an item of Responses"
        raise DataError(what, fix=looks_like(owned[1]))
    kind = item.get("type")
    if kind is None and "role" in item:
        kind = "message"
    elif kind is None and isinstance(item.get("id"), str) and "object" not in item:
        kind = "item_reference"
    if not isinstance(kind, str):
        raise DataError("'type' or 'role' is needed", fix="an item is a message or has a type")
    role: Role = "assistant"
    if kind == "message":
        name = required(item, "role", str)
        if name not in _ROLES:
            raise DataError(f"unknown 'role' {name!r}", fix=nearest(name, _ROLES))
        role = _ROLES[name]
        extra = read_origin("message", item) if role == "assistant" else EMPTY
        content = read_content(required(item, "content"), extra)
        return message(role, content, kind="recorded", details=KEYS.details_of(item, _item_keys))
    if kind in _CALLS:
        key, missing, custom = _CALLS[kind]
        id, name = required(item, "call_id", str), required(item, "name", str)
        arguments = optional_string(item.get(key), "arguments")
        if arguments is None:
            arguments = missing
        extra = {**custom, **read_origin(kind, item)}
        block: Block = ToolUseBlock(id, name, arguments, extra=extra)
    elif kind in ("function_call_output", "custom_tool_call_output"):
        id = required(item, "call_id", str)
        output: JsonValue = required(item, "output")
        if not isinstance(output, str | list | tuple):
            problem = f"'output' must be a string or a list of parts, not {type(output).__name__}"
            raise DataError(problem)
        tool, extra = optional_string(item.get("name"), "name"), read_origin(kind, item)
        role, block = "tool", ToolResultBlock(id, read_content(output), tool, extra=extra)
    elif kind == "reasoning":
        # The summary of a reasoning item is the text of its block.
        texts = [*located_items("summary", _read_summary, item.get("summary") or ())]
        encrypted = optional_string(item.get("encrypted_content"), "encrypted_content")
        extra = {key: item[key] for key in REASONING_KEYS if item.get(key) is not None}
        block = ReasoningBlock("\n\n".join(texts), None, encrypted, ORIGIN, extra)
    else:
        refuse_part(item)
        block = UnknownBlock(item, ORIGIN)
        if OPENAI_RESPONSES.nulls.keys() & {str(kind), "computer_call"}:
            block = UnknownBlock(with_nulls(block.data, OPENAI_RESPONSES.nulls), ORIGIN)
    return message(role, (block,), kind="recorded", details=KEYS.details_of(item, _item_keys))


_CALLS: Mapping[str, tuple[str, str, JsonObject]] = {
    "function_call": ("arguments", "{}", EMPTY),
    "custom_tool_call": ("input", "", FrozenDict(custom=True)),
}
"""By type of a call: the key of its arguments, the text for missing ones, its block's ``extra``."""

_ROLES: Mapping[str, Role] = {
    "system": "system",
    "developer": "developer",
    "user": "user",
    "assistant": "assistant",
}


def _read_summary(data: object) -> str:
    return required(mapping(data), "text", str)


def read_content(content: object, extra: JsonObject = EMPTY) -> tuple[Block, ...]:
    """Return the blocks of a string or a list of parts. Each text also gets the keys ``extra``."""
    if content == "":
        return ()
    if isinstance(content, str):
        return (TextBlock(content, None, extra),)
    blocks = [*located_items("content", _read_part, content)]
    for index, block in enumerate(blocks):
        if isinstance(block, TextBlock):
            blocks[index] = attrs.evolve(block, extra={**block.extra, **extra})
    return tuple(blocks)


_TEXTS_OF_PARTS: Mapping[str, tuple[str, JsonObject]] = {
    **dict.fromkeys(("input_text", "output_text"), ("text", EMPTY)),
    "refusal": ("refusal", FrozenDict(refusal=True)),
}
"""By type of a part with a text: the key of the text, and the ``extra`` of its block."""


def _read_part(data: object) -> Block:
    part = mapping(data)
    kind = required(part, "type", str)
    cache: Cache | None = "default" if part.get(MARK) else None
    if kind in _TEXTS_OF_PARTS:
        key, extra = _TEXTS_OF_PARTS[kind]
        if part.get("annotations"):
            extra = {"annotations": part["annotations"]}
        return TextBlock(required(part, key, str), cache, extra)
    block: Block | None = None
    if kind == "input_image":
        block = read_image(part, cache)
    elif kind == "input_file":
        block = read_file(part, cache)
    if block is None:
        refuse_part(part)
        return UnknownBlock(part, ORIGIN)
    return block


_ADDRESSES = ("image_url", "file_id", "file_url", "file_data")
_TEXT = shape("type", "text", "annotations", MARK)
_TEXT_PARTS: Mapping[object, Shape] = {
    **dict.fromkeys(("input_text", "output_text"), _TEXT),
    "refusal": shape("type", "refusal", MARK),
}
_FILE = shape("type", "detail", "filename", MARK, *_ADDRESSES)


def _part_keys(part: Mapping[str, object]) -> Shape | None:
    kind = part.get("type")
    if kind not in ("input_image", "input_file"):
        return _TEXT_PARTS.get(kind)
    if any(part.get(key) is not None for key in _ADDRESSES):
        return _FILE
    return None


_CALL = ("type", "id", "call_id", "status", "caller", "namespace", "async", "name")
_OUTPUT = shape("type", "call_id", "status", "caller", "namespace", output=_part_keys)
_ITEMS: Mapping[object, Shape] = {
    "message": shape("type", "id", "role", "status", "phase", content=_part_keys),
    "function_call": shape(*_CALL, "arguments", "parsed_arguments"),
    "custom_tool_call": shape(*_CALL, "input"),
    "function_call_output": _OUTPUT,
    "custom_tool_call_output": _OUTPUT,
    "reasoning": shape("type", "id", "summary", "content", "encrypted_content", "status"),
}
_OTHER_MESSAGE = shape("type", "role", "status", content=_part_keys)
"""The keys of a message that the model did not write."""


def _item_keys(item: Mapping[str, object]) -> Shape | None:
    kind = item.get("type")
    if not kind and "role" in item:
        kind = "message"
    if kind == "message" and item.get("role") != "assistant":
        return _OTHER_MESSAGE
    return _ITEMS.get(kind)


_NO_CONTENT = (
    *("id", "object", "created_at", "completed_at", "model", "billing", "tool_usage", "logprobs"),
    *("moderation", "content_filters", "cost", "cost_details", "is_byok", "total_tokens"),
    *("parsed", "output_text"),
)
_REPEATED = (
    *("background", "conversation", "frequency_penalty", "instructions", "max_output_tokens"),
    *("max_tool_calls", "metadata", "parallel_tool_calls", "presence_penalty"),
    *("previous_response_id", "prompt", "prompt_cache_key", "prompt_cache_options"),
    *("prompt_cache_retention", "reasoning", "safety_identifier", "service_tier", "store"),
    *("temperature", "text", "tool_choice", "tools", "top_logprobs", "top_p", "truncation"),
    "user",
)
_USAGE = shape(
    *("input_tokens", "output_tokens", "total_tokens", *_NO_CONTENT),
    input_tokens_details=shape("cached_tokens", "cache_write_tokens", *_NO_CONTENT),
    output_tokens_details=shape("reasoning_tokens", *_NO_CONTENT),
)

KEYS = ReadKeys(
    {"instructions": _item_keys, "input": _item_keys},
    shape(
        *("output", "status", "error", *_NO_CONTENT, *_REPEATED),
        incomplete_details=shape("reason"),
        usage=_USAGE,
    ),
    _NO_CONTENT,
    _REPEATED,
)
