"""Reading: a recorded conversation becomes messages."""

from collections.abc import Mapping
from functools import partial
from typing import Any, cast

import attrs

from promptdsl import messages as b
from promptdsl.foundation.errors import DataError, nearest
from promptdsl.foundation.frozen import EMPTY
from promptdsl.foundation.json import JsonValue
from promptdsl.messages import Block, TextBlock, ToolResultBlock, ToolUseBlock
from promptdsl.messages.details import NO_DETAILS, Details
from promptdsl.messages.fast_path import text_block, tool_result_block, tool_use_block
from promptdsl.messages.field_checks import Cache, optional
from promptdsl.messages.message import Message, message, spoken
from promptdsl.messages.prompt import Prompt
from promptdsl.messages.roles import Role
from promptdsl.providers.openai_chat.media import MEDIA_READERS
from promptdsl.providers.openai_chat.rules import (
    AUDIO,
    ORIGIN,
    refuse_message,
    refuse_part,
    refuse_payload,
)
from promptdsl.providers.openai_chat.tools import read_settings
from promptdsl.providers.shared.checks import entry, items, located, located_items, mapping, usage
from promptdsl.providers.shared.openai_parts import MARK, unjoined


def read_content(entries: Mapping[str, Any]) -> tuple[Block, ...]:
    """Return the blocks of what stands under ``content``."""
    content = entries.get("content")
    if content is None and ("content" in entries or entries["role"] == "assistant"):
        return ()
    if isinstance(content, str):
        return (text_block(content),) if content else ()
    return unjoined(tuple(located_items("content", _part, entry(entries, "content"))))


def read_answer(entries: Mapping[str, Any], index: int) -> tuple[Block, ...]:
    """Return the blocks of an assistant's message, the ``index``-th of its conversation."""
    said = _noted([*read_content(entries)], entries.get("annotations"))
    if entries.get("refusal"):
        said.append(TextBlock(entry(entries, "refusal", str), extra={"refusal": True}))
    if entries.get("audio"):
        said.append(located("audio", _audio, entries["audio"]))
    calls = [*located_items("tool_calls", _call, entries.get("tool_calls") or ())]
    if entries.get("function_call"):
        legacy = {"id": f"function_call_{index}", "function": entries["function_call"]}
        calls.append(located("function_call", _call, legacy))
    return (*_thoughts(entries), *said, *calls)


def _thoughts(entries: Mapping[str, Any]) -> list[Block]:
    """Return what a server of another maker adds: which of them take it back differs."""
    found = [entries.get(key) for key in ("reasoning_content", "reasoning")]
    texts = [text for text in found if isinstance(text, str) and text]
    return [b.ReasoningBlock(text, origin="openai_compatible") for text in texts[:1]]


def _noted(said: list[Block], annotations: JsonValue) -> list[Block]:
    """Return blocks, the last text with the message's annotations."""
    last = said[-1] if said and annotations else None
    if isinstance(last, TextBlock):
        said[-1] = attrs.evolve(last, extra={**last.extra, "annotations": annotations})
    return said


def _audio(data: object) -> Block:
    """Return the block of a spoken answer: its transcript, where there is one."""
    audio = mapping(data)
    transcript = audio.get("transcript")
    if isinstance(transcript, str) and transcript:
        return TextBlock(transcript, extra={"audio": audio})
    return b.UnknownBlock({"type": AUDIO, "audio": audio}, ORIGIN)


def _call(data: object) -> ToolUseBlock:
    call = mapping(data)
    custom = call.get("type") == "custom"
    kind, key = ("custom", "input") if custom else ("function", "arguments")
    name, arguments = located(kind, partial(_made, key), call.get(kind))
    id = entry(call, "id", str)
    if custom:
        return ToolUseBlock(id, name, arguments, extra={"custom": True})
    return tool_use_block(id, name, arguments)


def _made(key: str, data: object) -> tuple[str, str]:
    made = mapping(data)
    return entry(made, "name", str), entry(made, key, str)


def _part(data: object) -> Block:
    part = mapping(data)
    kind = entry(part, "type", str)
    cache: Cache | None = "default" if part.get(MARK) else None
    if kind in ("text", "refusal"):
        extra = {"refusal": True} if kind == "refusal" else EMPTY
        return TextBlock(entry(part, kind, str), cache, extra)
    if kind in MEDIA_READERS:
        read = MEDIA_READERS[kind]
        return located(kind, lambda data: read(mapping(data), cache), part.get(kind))  # type: ignore[no-any-return]
    refuse_part(part)
    return b.UnknownBlock(part, ORIGIN)


_ROLES = ("system", "developer", "user", "assistant", "tool", "function")


def read(data: object) -> Prompt:
    """Return the prompt of a recorded conversation: a list of Chat messages, or a payload.

    A system message behind the leading run becomes a developer's that remembers what it was, and is
    written as a system message again. Raises :class:`DataError` with the message's index and the
    key that is wrong.
    """
    payload = cast("Mapping[str, Any]", data) if isinstance(data, Mapping) else {"messages": data}
    refuse_payload(payload)
    messages: list[Message] = []
    reader = partial(_message, messages)
    for index, item in enumerate(items(payload.get("messages"), "messages")):
        messages.append(_plain(item) or located(f"messages[{index}]", reader, item))
    if payload.keys() == {"messages"}:
        return Prompt(tuple(messages))
    return attrs.evolve(read_settings(payload), messages=tuple(messages))


def read_response(data: object) -> Message:
    """Return the message of a response: what the model said, why it stopped, what was counted.

    Of several choices it is the first. Raises :class:`DataError` for what is no response of Chat.
    """
    response = mapping(data)
    choices = entry(response, "choices", list)
    choice = mapping(choices[0] if choices else None)
    said: Message = located("choices[0]", partial(_message, []), choice.get("message"))
    counts = mapping(response.get("usage") or {})
    read, written = (mapping(counts.get(f"{key}_tokens_details") or {}) for key in _COUNTED)
    stopped = choice.get("finish_reason")
    return said.replace(
        finish_reason="refused"
        if mapping(choice["message"]).get("refusal")
        else _FINISHED.get(str(stopped), stopped),
        token_usage=usage(
            input=counts.get("prompt_tokens"),
            output=counts.get("completion_tokens"),
            cache_read=read.get("cached_tokens"),
            cache_write=read.get("cache_write_tokens"),
            reasoning=written.get("reasoning_tokens"),
        ),
    )


_COUNTED = ("prompt", "completion")
_FINISHED = {
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "content_filter": "filtered",
}


def _plain(entries: dict[str, Any]) -> Message | None:
    """Return the message of what most are: a role with one text, a tool's answer in one text."""
    if type(entries) is not dict:
        return None
    role, text = entries.get("role"), entries.get("content")
    if text is None and role == "assistant" and len(entries) == 3:
        return _plain_call(entries.get("tool_calls"))
    if type(text) is not str or not text:
        return None
    if len(entries) == 2 and role in ("user", "assistant"):
        return spoken(role, text, kind="recorded")
    id = entries.get("tool_call_id")
    if len(entries) == 3 and role == "tool" and type(id) is str:
        return message("tool", (tool_result_block(id, (text_block(text),)),), kind="recorded")
    return None


def _plain_call(calls: list[Any] | None) -> Message | None:
    """Return the message of one call of a function and nothing else."""
    call: dict[str, Any] | None = calls[0] if type(calls) is list and len(calls) == 1 else None
    if type(call) is not dict or len(call) != 3 or call.get("type") != "function":
        return None
    function: dict[str, Any] | None = call.get("function")
    if type(function) is not dict or len(function) != 2:
        return None
    id, name, arguments = call.get("id"), function.get("name"), function.get("arguments")
    if type(id) is str and type(name) is str and type(arguments) is str:
        return message("assistant", (tool_use_block(id, name, arguments),), kind="recorded")
    return None


def _message(before: list[Message], data: object) -> Message:
    entries = mapping(data)
    refuse_message(entries)
    role, name = entries.get("role"), optional(entries.get("name"), "name")
    if role not in _ROLES:
        raise DataError(f"unknown role {role!r}", fix=nearest(str(role), _ROLES))
    if role in ("tool", "function"):
        id = _legacy_id(before) if role == "function" else entry(entries, "tool_call_id", str)
        block = ToolResultBlock(id, read_content(entries), name)
        return message("tool", (block,), kind="recorded")
    answers = role == "assistant"
    content = read_answer(entries, len(before)) if answers else read_content(entries)
    details = NO_DETAILS if name is None else Details(name=name)
    if role == "system" and before and before[-1].role != "system":
        return message("developer", content, kind="recorded_system", details=details)
    return message(cast("Role", role), content, kind="recorded", details=details)


def _legacy_id(before: list[Message]) -> str:
    """Return the id of the call just made; results of the function role name none."""
    block = before[-1].content[-1] if before and before[-1].content else None
    return block.id if isinstance(block, ToolUseBlock) else "function_call"
