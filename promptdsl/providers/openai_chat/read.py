"""Read recorded Chat messages, a payload or a response, as messages."""

from collections.abc import Mapping
from functools import partial
from itertools import count
from typing import cast

import attrs

from promptdsl import messages as b
from promptdsl.config.wire import Wire
from promptdsl.config.wires.openai import WIRE
from promptdsl.foundation.errors import DataError, nearest
from promptdsl.foundation.frozen import EMPTY
from promptdsl.messages import Block, TextBlock, ToolResultBlock, ToolUseBlock
from promptdsl.messages.details import NO_DETAILS, Details
from promptdsl.messages.fast_path import text_block, tool_result_block, tool_use_block
from promptdsl.messages.field_checks import Cache, optional
from promptdsl.messages.message import Message, message, spoken
from promptdsl.messages.prompt import Prompt
from promptdsl.messages.roles import Role
from promptdsl.providers.openai_chat.media import AUDIO, MEDIA_READERS
from promptdsl.providers.openai_chat.tools import read_settings
from promptdsl.providers.shared.blocks import ITEM
from promptdsl.providers.shared.checks import (
    entry,
    items,
    located,
    located_items,
    mapping,
    openai_usage,
)
from promptdsl.providers.shared.openai_parts import MARK, unjoined
from promptdsl.providers.shared.other_providers import looks_like, refuse_part
from promptdsl.providers.shared.read_keys import (
    FUNCTION,
    REASONED,
    SAID,
    ReadKeys,
    Shape,
    call_keys,
    shape,
)
from promptdsl.providers.shared.read_turns import payload_of, reply_message
from promptdsl.providers.shared.request import Param
from promptdsl.providers.shared.streamed import StreamedReply, merge, number_of

_ROLES = ("system", "developer", "user", "assistant", "tool", "function")
_PAYLOAD_KEYS = {"system": "anthropic", "contents": "gemini", "input": "openai_responses"}
"""The keys of payloads that other providers have."""


def read_content(entries: Param, origin: str) -> tuple[Block, ...]:
    """Return the blocks under the key ``content``."""
    content = entries.get("content")
    if content is None and ("content" in entries or entries["role"] == "assistant"):
        return ()
    if isinstance(content, str):
        return (text_block(content),) if content else ()
    read_part = partial(_read_part, origin)
    return unjoined(tuple(located_items("content", read_part, entry(entries, "content"))))


def read_answer(entries: Param, index: int, origin: str) -> tuple[Block, ...]:
    """Return the blocks of an assistant's message, the ``index``-th of its conversation."""
    blocks: list[Block] = []
    # Servers of other makers add reasoning; they differ in whether they take it back.
    for key in ("reasoning_content", "reasoning"):
        text = entries.get(key)
        if not blocks and isinstance(text, str) and text:
            blocks.append(b.ReasoningBlock(text, origin="openai_compatible"))
    content = [*read_content(entries, origin)]
    last = content[-1] if content else None
    if entries.get("annotations") and isinstance(last, TextBlock):
        extra = {**last.extra, "annotations": entries["annotations"]}
        content[-1] = attrs.evolve(last, extra=extra)
    blocks += content
    if entries.get("refusal"):
        blocks.append(TextBlock(entry(entries, "refusal", str), extra={"refusal": True}))
    if entries.get("audio"):
        blocks.append(located("audio", partial(_read_recording, origin), entries["audio"]))
    calls = entries.get("tool_calls") or ()
    blocks += located_items("tool_calls", partial(_read_call, count()), calls)
    if entries.get("function_call"):
        legacy = {"id": f"function_call_{index}", "function": entries["function_call"]}
        blocks.append(located("function_call", partial(_read_call, count()), legacy))
    return tuple(blocks)


def _read_recording(origin: str, data: object) -> Block:
    """Return the block of a spoken answer: its transcript, where there is one."""
    audio = mapping(data)
    transcript = audio.get("transcript")
    if isinstance(transcript, str) and transcript:
        return TextBlock(transcript, extra={"audio": audio})
    return b.UnknownBlock({"type": AUDIO, "audio": audio}, origin)


def _read_call(numbers: "count[int]", data: object) -> ToolUseBlock:
    call = mapping(data)
    custom = call.get("type") == "custom"
    kind, key = ("custom", "input") if custom else ("function", "arguments")

    def read_function(data: object) -> tuple[str, str]:
        function = mapping(data)
        return entry(function, "name", str), entry(function, key, str)

    if "name" in call and kind not in call and not custom:
        # Other libraries write calls flat; their `call_id` is the id of the call, if there is one.
        id_key = "id" if call.get("call_id") is None else "call_id"
        extra = {ITEM: {"id": call["id"]}} if id_key == "call_id" and call.get("id") else EMPTY
        return ToolUseBlock(entry(call, id_key, str), *read_function(call), extra=extra)
    name, arguments = located(kind, read_function, call.get(kind))
    id = entry(call, "id", str) or f"call_{next(numbers)}"  # some servers send an empty one
    if custom:
        return ToolUseBlock(id, name, arguments, extra={"custom": True})
    return tool_use_block(id, name, arguments)


def _read_part(origin: str, data: object) -> Block:
    part = mapping(data)
    kind = entry(part, "type", str)
    cache: Cache | None = "default" if part.get(MARK) else None
    if kind in ("text", "refusal"):
        extra = {"refusal": True} if kind == "refusal" else EMPTY
        return TextBlock(entry(part, kind, str), cache, extra)
    if kind in MEDIA_READERS:
        reader = MEDIA_READERS[kind]
        return located(kind, lambda data: reader(mapping(data), cache), part.get(kind))
    refuse_part(part, origin)
    return b.UnknownBlock(part, origin)


def read(data: object, dialect: Wire = WIRE) -> Prompt:
    """Return the prompt of a recorded conversation: a list of Chat messages, or a payload.

    A system message after the first ones becomes a developer's that remembers its role, and is
    written as a system message again.
    """
    payload = payload_of(data)
    for key, owner in _PAYLOAD_KEYS.items():
        if payload.get(key):
            raise DataError(f"a Chat payload has no key {key!r}", fix=looks_like(owner))
    messages: list[Message] = []
    reader = partial(_read_message, messages, dialect.form)
    for index, item in enumerate(items(payload.get("messages"), "messages")):
        messages.append(_read_plain(item) or located(f"messages[{index}]", reader, item))
    if [*payload] == ["messages"]:
        return Prompt(tuple(messages))
    return attrs.evolve(read_settings(payload, dialect), messages=tuple(messages))


def read_response(data: object, dialect: Wire = WIRE) -> Message:
    """Return the message of a response, the first of several choices."""
    response = mapping(data)
    choices = entry(response, "choices", list)
    if not choices:
        raise DataError("a response without choices", fix="read its error, if it has one")
    choice = mapping(choices[0])
    answer = located("choices[0]", partial(_read_message, [], dialect.form), choice.get("message"))
    reason = optional(choice.get("finish_reason"), "finish_reason")
    token_usage = openai_usage(response.get("usage"))
    return reply_message(answer.content, reason, token_usage, name=answer.name)


def add_event(reply: StreamedReply, event: Param) -> None:
    """Add a chunk of a stream to the reply so far."""
    (answer,) = reply.response.setdefault("choices", [{"message": {"role": "assistant"}}])
    merge(reply.response, {key: event.get(key) for key in ("id", "model", "usage")})
    for choice in map(mapping, items(event.get("choices") or (), "choices")):
        delta = {**mapping(choice.get("delta") or {}), "role": None}
        for call in map(mapping, items(delta.pop("tool_calls", None) or (), "tool_calls")):
            # Some servers do not number the calls, or give all of them one number: a new id begins
            # a call, and what comes without one goes on with the last call of its number.
            index, id = call.pop("index", None), call.get("id")
            number = -1 if index is None else number_of(index)
            part = reply.last.get(number)
            if part is None or (id and part["id"] and part["id"] != id):
                part = reply.last[number] = reply.part(len(reply.parts))
                merge(part, {"id": "", "function": {"name": "", "arguments": ""}})
            merge(part, call)
        merge(answer, {"message": delta, "finish_reason": choice.get("finish_reason")})
    answer["message"]["tool_calls"] = [*reply.parts.values()]
    reply.ended = bool(answer.get("finish_reason"))


def _read_plain(entries: Param) -> Message | None:
    """Return a message of one text, one result or one call, ``None`` for any other.

    Most messages are of these forms: a conversation is read in a third of the time.
    """
    if type(entries) is not dict:
        return None
    role, text = entries.get("role"), entries.get("content")
    if text is None and role == "assistant" and len(entries) == 3:
        return _read_plain_call(entries.get("tool_calls"))
    if type(text) is not str or not text:
        return None
    if len(entries) == 2 and role in ("user", "assistant"):
        return spoken(role, text, kind="recorded")
    id = entries.get("tool_call_id")
    if len(entries) == 3 and role == "tool" and type(id) is str and id:
        return message("tool", (tool_result_block(id, (text_block(text),)),), kind="recorded")
    return None


def _read_plain_call(calls: list[Param] | None) -> Message | None:
    """Return the message of one call of a function and nothing else."""
    call: Param | None = calls[0] if type(calls) is list and len(calls) == 1 else None
    if type(call) is not dict or len(call) != 3 or call.get("type") != "function":
        return None
    function: Param | None = call.get("function")
    if type(function) is not dict or len(function) != 2:
        return None
    id, name, arguments = call.get("id"), function.get("name"), function.get("arguments")
    if type(id) is str and id and type(name) is str and type(arguments) is str:
        return message("assistant", (tool_use_block(id, name, arguments),), kind="recorded")
    return None


def _read_message(before: list[Message], origin: str, data: object) -> Message:
    entries = mapping(data)
    if "parts" in entries:
        raise DataError("a Chat message has no key 'parts'", fix=looks_like("gemini"))
    role, name = entries.get("role"), optional(entries.get("name"), "name")
    if role not in _ROLES:
        raise DataError(f"unknown role {role!r}", fix=nearest(str(role), _ROLES))
    if role == "tool":
        block = ToolResultBlock(
            entry(entries, "tool_call_id", str), read_content(entries, origin), name
        )
        return message("tool", (block,), kind="recorded")
    if role == "function":
        # The legacy role names no call: it answers the last one.
        call = before[-1].content[-1] if before and before[-1].content else None
        id = call.id if isinstance(call, ToolUseBlock) else "function_call"
        block = ToolResultBlock(id, read_content(entries, origin), name)
        return message("tool", (block,), kind="recorded")
    if role == "assistant":
        content = read_answer(entries, len(before), origin)
    else:
        content = read_content(entries, origin)
    details = NO_DETAILS if name is None else Details(name=name)
    if role == "system" and before and before[-1].role != "system":
        return message("developer", content, kind="recorded_system", details=details)
    return message(cast("Role", role), content, kind="recorded", details=details)


_PARTS: Mapping[object, Shape] = {
    "text": shape("type", "text", MARK),
    "refusal": shape("type", "refusal", MARK),
    "image_url": shape("type", MARK, image_url=shape("url", "detail")),
    "input_audio": shape("type", MARK, input_audio=shape("data", "format")),
    "file": shape("type", MARK, file=shape("file_id", "file_data", "filename")),
}


def _part_keys(part: Mapping[str, object]) -> Shape | None:
    return _PARTS.get(part.get("type"))


_ANSWER = shape(
    *(*SAID, *REASONED, "annotations", "audio", "parsed"),
    content=_part_keys,
    tool_calls=call_keys,
    function_call=FUNCTION,
)
_OTHERS = shape(*SAID, content=_part_keys)
_MESSAGES: Mapping[object, Shape] = {
    "assistant": _ANSWER,
    "tool": {**_OTHERS, "tool_call_id": None},
}


def _message_keys(entries: Mapping[str, object]) -> Shape:
    return _MESSAGES.get(entries.get("role"), _OTHERS)


KEYS = ReadKeys({"messages": _message_keys})
