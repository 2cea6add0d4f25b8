"""Read recorded Chat messages, a payload or a response, as messages.

First come the functions for a payload, a response and a stream. Then come those for a message, the
blocks of its content, and a call. The tables of the keys that are read are at the end.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from itertools import count
from typing import Any, cast

import attrs

from promptdsl import messages as b
from promptdsl.config.model_facts import ModelFacts
from promptdsl.config.models import facts_for
from promptdsl.config.records import OPENAI
from promptdsl.foundation.errors import DataError, nearest, shown
from promptdsl.foundation.frozen import (
    EMPTY,
    FrozenDict,
    is_list,
    is_mapping,
    mapping_or_empty,
    text_or_empty,
)
from promptdsl.foundation.json import JsonObject, write_json
from promptdsl.messages import Block, TextBlock, ToolResultBlock, ToolUseBlock
from promptdsl.messages.details import Role
from promptdsl.messages.field_checks import Cache, optional_string
from promptdsl.messages.message import Message, message, spoken
from promptdsl.messages.prompt import Prompt
from promptdsl.messages.read_blocks import text_block, tool_result_block, tool_use_block
from promptdsl.providers.openai_chat.parts import AUDIO, MEDIA_READERS, read_settings
from promptdsl.providers.openai_chat.reasoning import (
    CALL_KEYS,
    STATE_KEYS,
    add_state,
    read_call_keys,
    read_reasoning,
    read_tagged,
    text_after_reasoning,
)
from promptdsl.providers.shared.blocks import ITEM
from promptdsl.providers.shared.openai_parts import LASTING_MARK, MARK
from promptdsl.providers.shared.reading import (
    FUNCTION,
    MESSAGE_KEYS,
    ReadKeys,
    Shape,
    call_keys,
    items,
    joined_answers,
    located,
    located_items,
    looks_like,
    mapping,
    openai_usage,
    payload_of,
    read_mark,
    refuse_part,
    reply_message,
    required,
    shape,
)
from promptdsl.providers.shared.request import Param
from promptdsl.providers.shared.streamed import (
    StreamedReply,
    add_parts,
    are_complete,
    index_of,
    merge,
    replace,
    texts_in,
)

_ROLES = ("system", "developer", "user", "assistant", "tool", "function")
_PAYLOAD_KEYS = {"system": "anthropic", "contents": "gemini", "input": "openai_responses"}
"""By a key that only another provider's payload has, this provider."""


def read(data: object, facts: ModelFacts | None = None) -> Prompt:
    """Return the prompt of a recorded conversation: a list of Chat messages, or a payload.

    A system message after a message of another role becomes a developer message of kind
    ``recorded_system``, which is written as a system message. Raises :class:`DataError` with the
    index of a message that cannot be read.
    """
    payload = payload_of(data)
    for key, owner in _PAYLOAD_KEYS.items():
        if payload.get(key):
            raise DataError(f"a Chat payload has no key {key!r}", fix=looks_like(owner))
    messages: list[Message] = []
    facts = facts or facts_for(None, OPENAI.name)
    reader = partial(_read_message, messages, facts)
    is_tagged = facts.thinking_tags is not None
    for index, fields in enumerate(items(payload.get("messages"), "messages")):
        plain = None if is_tagged else _read_plain(fields)
        messages.append(plain or located(f"messages[{index}]", reader, fields))
    turns = tuple(joined_answers(messages))
    return attrs.evolve(read_settings(payload, facts.wire), messages=turns)


def read_response(data: object, facts: ModelFacts | None = None) -> Message:
    """Return the message of the first choice of a response."""
    response = mapping(data)
    choices = required(response, "choices", list)
    if not choices:
        raise DataError("a response without choices", fix="read its error, if it has one")
    choice = mapping(choices[0])
    facts = facts or facts_for(None, OPENAI.name)
    answer = located("choices[0]", partial(_read_message, [], facts), choice.get("message"))
    reason = optional_string(choice.get("finish_reason"), "finish_reason")
    token_usage = openai_usage(response.get("usage"))
    extra = KEYS.unread_of_response(response, answer.extra)
    return reply_message(answer.content, reason, token_usage, name=answer.name, extra=extra)


def add_event(reply: StreamedReply, event: Param, facts: ModelFacts) -> None:
    """Add a chunk of a stream to the reply so far. ``facts`` are the facts of its server."""
    (answer,) = reply.response.setdefault("choices", [{"message": {"role": "assistant"}}])
    if "type" in event and "choices" not in event:
        # An event of a helper of the SDK repeats the content of the chunks.
        return
    replace(reply.response, {key: value for key, value in event.items() if key != "choices"})
    for choice in map(mapping, items(event.get("choices") or (), "choices")):
        delta = {**mapping(choice.pop("delta", None) or {}), "role": None}
        add_parts(answer["message"], delta.pop("content", None))
        add_state(answer["message"], delta, facts.kept_keys)
        for call in map(mapping, items(delta.pop("tool_calls", None) or (), "tool_calls")):
            call["function"] = mapping(call.get("function") or {})
            keys = dict.fromkeys((*CALL_KEYS, *facts.kept_keys))
            further_keys = {key: call.pop(key, None) for key in keys}
            call_so_far = _call_of(reply, call.pop("index", None), call)
            merge(call_so_far, call)
            replace(call_so_far, further_keys)
        merge(answer["message"], delta)
        replace(answer, choice)
    reply.ended = bool(answer.get("finish_reason"))
    calls = map(_with_arguments, reply.calls) if reply.ended else reply.calls
    answer["message"]["tool_calls"] = [*calls]


def texts_so_far(reply: StreamedReply, facts: ModelFacts) -> list[str]:
    """Return the texts of a reply so far, in order, without refusals.

    A text that may be reasoning between tags is left out until its closing tag.
    """
    choices: Any = reply.response.get("choices") or [{}]  # Any: JSON
    answer = mapping_or_empty(choices[0].get("message"))
    content: Any = answer.get("content")
    texts: list[str] = []
    if isinstance(content, str):
        texts = [content]
    elif is_list(content):
        texts = texts_in(content, "text")
    if facts.thinking_tags and texts:
        texts[0] = text_after_reasoning(texts[0], facts.thinking_tags)
    transcript = mapping_or_empty(answer.get("audio")).get("transcript")
    if isinstance(transcript, str):
        texts.append(transcript)
    return texts


def _with_arguments(call: Param) -> Param:
    """Return a call in which an empty object replaces missing arguments."""
    function = mapping(call["function"])
    return {**call, "function": {**function, "arguments": function.get("arguments") or "{}"}}


def _call_of(reply: StreamedReply, index: object, delta: Param) -> Param:
    """Return the call that a delta continues, or a new call if the delta begins one.

    A call is recognised by its id. Some servers send no index, or an index only in the first delta
    of a call, or the same index for all calls. So a new id begins a call, and a name after complete
    arguments begins a call. Any other delta continues the call with its index, or else the last.
    """
    id, function = delta.get("id"), delta["function"]
    text_id = text_or_empty(id)
    if text_id in reply.call_by_id:
        return reply.call_by_id[text_id]
    calls = reply.last_call_by_index
    key = None if index is None else index_of(index)
    call = calls.get(key)
    if not (id or function.get("name")):
        call = call or calls.get(None)
    if call is None or _begins_another(call, id, function):
        call = {"id": "", "function": {"name": "", "arguments": ""}}
        reply.calls.append(call)
        calls[None] = call
    calls[key] = call
    if text_id:
        reply.call_by_id[text_id] = call
    return call


def _begins_another(call: Param, id: object, function: Param) -> bool:
    """Return whether a delta begins a new call although ``call`` has its index."""
    if id and call["id"]:
        return True
    name, function_so_far = function.get("name"), call["function"]
    if not name or not function_so_far["name"]:
        return False
    if name != function_so_far["name"]:
        return True
    return bool(function.get("arguments")) and are_complete(function_so_far["arguments"])


def _read_plain(fields: Any) -> Message | None:  # Any: JSON
    """Return a message that is one text, one result or one call, ``None`` for any other.

    Most messages are like this. Without this shortcut, an agent of 100 steps is read 1 ms slower.
    """
    match fields:
        case {"role": "user" | "assistant" as role, "content": str() as text} if len(fields) == 2:
            return spoken(role, text, kind="recorded") if text else None
        case {"role": "tool", "content": str() as text, "tool_call_id": str() as id}:
            if len(fields) == 3 and id and text:
                block = tool_result_block(id, (text_block(text),))
                return message("tool", (block,), kind="recorded")
        case {"role": "assistant", "content": None, "tool_calls": [call]} if len(fields) == 3:
            return _read_plain_call(call)
        case _:
            pass
    return None


def _read_plain_call(call: Any) -> Message | None:  # Any: JSON
    """Return the message with a call that has no further keys, ``None`` for any other call."""
    match call:
        case {
            "type": "function",
            "id": str() as id,
            "function": {"name": str() as name, "arguments": str() as arguments} as function,
        }:
            if len(call) == 3 and len(function) == 2 and id and name:
                block = tool_use_block(id, name, arguments)
                return message("assistant", (block,), kind="recorded")
        case _:
            pass
    return None


def _read_message(earlier: list[Message], facts: ModelFacts, data: object) -> Message:
    """Return a message. ``earlier`` are the messages before it in the conversation."""
    fields = mapping(data)
    if "parts" in fields:
        raise DataError("a Chat message has no key 'parts'", fix=looks_like("gemini"))
    role, name = fields.get("role"), optional_string(fields.get("name"), "name")
    if role not in _ROLES:
        fix = nearest(role, _ROLES)
        if role is None and "message" in fields:
            fix = "it is a choice of a reply: give its message, choice['message']"
        raise DataError(f"unknown role {shown(role)}", fix=fix)
    if role == "assistant":
        content = read_answer(fields, len(earlier), facts)
    else:
        content = read_content(fields, facts.wire.provider_format)
    if role == "tool":
        content = (_read_result(fields, required(fields, "tool_call_id", str), content, name),)
    elif role == "function":
        # This legacy role has no id: it is the result of the last call.
        role, content = "tool", (_read_result(fields, _last_call(earlier), content, name),)
    details = KEYS.details_of(fields, _keys_of_messages(facts.own_keys), name)
    if role == "system" and earlier and earlier[-1].role != "system":
        return message("developer", content, kind="recorded_system", details=details)
    return message(cast("Role", role), content, kind="recorded", details=details)


def _read_result(
    fields: Param, id: str, content: tuple[Block, ...], name: str | None
) -> ToolResultBlock:
    """Return the result in a tool message. With an error, it is the result of a failed call.

    Other libraries write the keys ``error`` and ``error_type``. If the message has no content, the
    text of the error becomes the content.
    """
    error, error_type = fields.get("error"), fields.get("error_type")
    error_text = text_or_empty(error)
    if error_text and not content:
        content = (text_block(error_text),)
    return ToolResultBlock(
        id,
        content,
        name,
        is_error=bool(error or error_type or fields.get("is_error") is True),
        error_type=text_or_empty(error_type) or None,
    )


def _last_call(earlier: list[Message]) -> str:
    """Return the id of the call at the end of the last message, or a fixed id without one."""
    if earlier and earlier[-1].content:
        block = earlier[-1].content[-1]
        if isinstance(block, ToolUseBlock):
            return block.id
    return "function_call"


def read_content(fields: Param, origin: str) -> tuple[Block, ...]:
    """Return the blocks under the key ``content``."""
    content = fields.get("content")
    if content is None and ("content" in fields or fields["role"] == "assistant"):
        return ()
    if content == "":
        return ()
    if isinstance(content, str):
        return (text_block(content),)
    read_part = partial(_read_part, origin)
    return tuple(located_items("content", read_part, required(fields, "content")))


def read_answer(fields: Param, index: int, facts: ModelFacts) -> tuple[Block, ...]:
    """Return the blocks of an assistant message; ``index`` is the index of the message."""
    origin = facts.wire.provider_format
    blocks = read_reasoning(fields, facts)
    content = read_tagged(read_content(fields, origin), facts)
    text_blocks = [block for block in content if isinstance(block, TextBlock)]
    if fields.get("annotations") and text_blocks:
        last = text_blocks[-1]
        extra = {**last.extra, "annotations": fields["annotations"]}
        content[content.index(last)] = attrs.evolve(last, extra=extra)
    blocks += content
    if fields.get("images"):
        blocks += located_items("images", partial(_read_part, origin), fields["images"])
    if fields.get("refusal"):
        blocks.append(TextBlock(required(fields, "refusal", str), extra={"refusal": True}))
    # Some servers send all keys of an answer, with empty texts for missing audio.
    audio = fields.get("audio")
    if audio and not (is_mapping(audio) and not any(audio.values())):
        blocks.append(located("audio", partial(_read_recording, origin), audio))
    if fields.get("tool_calls"):
        read_call = partial(_read_call, count(), facts)
        calls = located_items("tool_calls", read_call, fields["tool_calls"])
        blocks += (call for call in calls if call.name)
    function = fields.get("function_call")
    if is_mapping(function) and function.get("name"):
        legacy = {"id": f"function_call_{index}", "function": function}
        blocks.append(located("function_call", partial(_read_call, count(), facts), legacy))
    return tuple(blocks)


def _read_recording(origin: str, data: object) -> Block:
    """Return the block of a spoken answer: its transcript, or an unknown block without one."""
    audio = mapping(data)
    transcript = audio.get("transcript")
    if isinstance(transcript, str) and transcript:
        return TextBlock(transcript, extra={"audio": audio})
    return b.UnknownBlock({"type": AUDIO, "audio": audio}, origin)


def _read_call(numbers: "count[int]", facts: ModelFacts, data: object) -> ToolUseBlock:
    """Return a call. Some servers send no id: then the next of ``numbers`` makes the id."""
    call = mapping(data)
    if call.get("type") == "custom":
        read_input = partial(_read_function, "input", "")
        name, text = located("custom", read_input, call.get("custom"))
        id = optional_string(call.get("id"), "id") or f"call_{next(numbers)}"
        extra = {"custom": True, **read_call_keys(call, facts)}
        return ToolUseBlock(id, name, text, extra=extra)
    if "name" in call and "function" not in call:
        return _read_flat_call(call, facts)
    read_function = partial(_read_function, "arguments", "{}")
    name, text = located("function", read_function, call.get("function"))
    id = optional_string(call.get("id"), "id") or f"call_{next(numbers)}"
    return ToolUseBlock(id, name, text, extra=read_call_keys(call, facts))


def _read_flat_call(call: Param, facts: ModelFacts) -> ToolUseBlock:
    """Return a call without the key ``function``, as other libraries write it.

    If it has a ``call_id``, that is the id of the call.
    """
    id_key, extra = "id", read_call_keys(call, facts)
    if call.get("call_id") is not None:
        id_key = "call_id"
        if call.get("id"):
            extra = {ITEM: {"id": call["id"]}, **extra}
    id = required(call, id_key, str)
    return ToolUseBlock(id, *_read_function("arguments", "{}", call), extra=extra)


def _read_function(key: str, missing: str, data: object) -> tuple[str, str]:
    """Return the name of a function and its arguments, which are under ``key``.

    Servers leave out the arguments of a tool without parameters. Then ``missing`` is returned for
    them. Mistral's SDK takes an object instead of a text.
    """
    function = mapping(data)
    name, arguments = required(function, "name", str), function.get(key)
    if arguments is None:
        return name, missing
    if is_mapping(arguments):
        return name, write_json(arguments)
    return name, required(function, key, str)


_EXTRAS: Mapping[str, JsonObject] = {"text": EMPTY, "refusal": FrozenDict(refusal=True)}
"""By the type of a part with a text, the ``extra`` of its block."""


def _read_part(origin: str, data: object) -> Block:
    part = mapping(data)
    kind = required(part, "type", str)
    cache: Cache | None = "default" if part.get(MARK) else read_mark(part.get(LASTING_MARK))
    if kind in _EXTRAS:
        return TextBlock(required(part, kind, str), cache, _EXTRAS[kind])
    if kind in MEDIA_READERS:
        reader, attachment = MEDIA_READERS[kind], part.get(kind)
        if kind == "image_url" and isinstance(attachment, str):
            # Mistral also takes the address itself instead of an object.
            attachment = {"url": attachment}
        return located(kind, lambda data: reader(mapping(data), cache), attachment)
    refuse_part(part, origin)
    return b.UnknownBlock(part, origin)


_PART = ("type", MARK, LASTING_MARK)
_PARTS: Mapping[object, Shape] = {
    "text": shape(*_PART, "text"),
    "refusal": shape(*_PART, "refusal"),
    "image_url": shape(*_PART, image_url=shape("url", "detail")),
    "input_audio": shape(*_PART, input_audio=shape("data", "format")),
    "file": shape(*_PART, file=shape("file_id", "file_data", "filename")),
}


def _part_keys(part: Mapping[str, object]) -> Shape | None:
    return _PARTS.get(part.get("type"))


_CHAT_CALL_KEYS = {key: shape(rest=True) for key in CALL_KEYS}


def _call_keys(call: Mapping[str, Any]) -> Shape:
    return call_keys(call).also(**_CHAT_CALL_KEYS)


@lru_cache(maxsize=256)
def _keys_of_messages(own_keys: tuple[str, ...]) -> Callable[[Mapping[str, object]], Shape]:
    """Return the function that returns the keys of a message.

    ``own_keys`` are keys of answers and calls that only this server has.
    """
    if not own_keys:
        return _message_keys

    def own_call(call: Mapping[str, Any]) -> Shape:
        return _call_keys(call).also(*own_keys)

    def own_message(fields: Mapping[str, object]) -> Shape:
        keys = _message_keys(fields)
        if fields.get("role") != "assistant":
            return keys
        return keys.also(*own_keys, tool_calls=own_call)

    return own_message


def keys_of(own_keys: tuple[str, ...]) -> ReadKeys:
    """Return the table of keys of a server, with the keys that only this server has."""
    return KEYS._replace(payload={"messages": _keys_of_messages(own_keys)})


_ANSWER_WITHOUT_TEXT = shape(
    *(*MESSAGE_KEYS, *STATE_KEYS, "refusal", "audio", "parsed"),
    reasoning_content=shape(),
    reasoning_text=shape(),
    reasoning=shape(),
    content=_part_keys,
    images=_part_keys,
    tool_calls=_call_keys,
    function_call=FUNCTION,
)
_ANSWER = _ANSWER_WITHOUT_TEXT.also("annotations")
_OTHER_MESSAGE = shape(*MESSAGE_KEYS, content=_part_keys)
_MESSAGES: Mapping[object, Shape] = {
    "assistant": _ANSWER,
    "tool": _OTHER_MESSAGE.also("tool_call_id", "error_type", "is_error"),
}
_FAILED = _OTHER_MESSAGE.also("tool_call_id", "error_type", "is_error", "error")


def _has_text(content: object) -> bool:
    if is_list(content):
        return any(is_mapping(part) and part.get("type") in ("text", "refusal") for part in content)
    return bool(content)


def _message_keys(fields: Mapping[str, object]) -> Shape:
    if fields.get("annotations") and not _has_text(fields.get("content")):
        # The annotations belong to no text, so they are unread.
        return _ANSWER_WITHOUT_TEXT
    if fields.get("role") == "tool" and _shows_error(fields):
        return _FAILED
    return _MESSAGES.get(fields.get("role"), _OTHER_MESSAGE)


def _shows_error(fields: Mapping[str, object]) -> bool:
    """Return whether the block of a tool message will contain the text of its ``error``.

    Only then is the key ``error`` read.
    """
    error, content = fields.get("error"), fields.get("content")
    return not isinstance(error, str) or not content or error in str(content)


_NO_CONTENT = (
    *("id", "object", "created", "model", "index", "logprobs", "system_fingerprint"),
    *("service_tier", "obfuscation", "moderation", "prompt_filter_results"),
    *("content_filter_results", "content_filter_offsets", "audio_tokens", "image_tokens"),
    *("video_tokens", "accepted_prediction_tokens", "rejected_prediction_tokens"),
    # Keys of servers.
    *("provider", "native_finish_reason", "stop_reason", "token_ids", "prompt_token_ids", "seed"),
    *("request_id", "x_groq", "time_info", "usage_breakdown", "cost", "cost_details", "is_byok"),
    *("queue_time", "prompt_time", "completion_time", "total_time", "cached_tokens"),
    *("num_cached_tokens", "server_tool_use_details", "estimated_cost", "prompt_logprobs"),
    *("kv_transfer_params", "matched_stop"),
)
_DETAILS = ("cached_tokens", "cache_write_tokens", "reasoning_tokens", *_NO_CONTENT)
_USAGE = shape(
    *("prompt_tokens", "completion_tokens", "total_tokens", *_NO_CONTENT),
    prompt_tokens_details=shape(*_DETAILS),
    completion_tokens_details=shape(*_DETAILS),
)

KEYS = ReadKeys(
    {"messages": _message_keys},
    shape(
        *("error", *_NO_CONTENT),
        choices=shape("message", "finish_reason", *_NO_CONTENT),
        usage=_USAGE,
    ),
    _NO_CONTENT,
)
