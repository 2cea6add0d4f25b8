"""Reading: a recorded list of items becomes messages."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

import attrs

from promptdsl import messages as b
from promptdsl.foundation.errors import DataError, nearest
from promptdsl.foundation.frozen import EMPTY
from promptdsl.messages import Block, ReasoningBlock, TextBlock, ToolResultBlock, ToolUseBlock
from promptdsl.messages.details import Details
from promptdsl.messages.fast_path import text_block
from promptdsl.messages.field_checks import Cache, optional
from promptdsl.messages.message import Message, message
from promptdsl.messages.prompt import Prompt
from promptdsl.messages.roles import Role
from promptdsl.providers.openai_responses.media import read_file, read_image
from promptdsl.providers.openai_responses.reasoning import read_reasoning
from promptdsl.providers.openai_responses.request import origin_of, read_origin
from promptdsl.providers.openai_responses.rules import (
    ORIGIN,
    refuse_message,
    refuse_part,
    refuse_payload,
)
from promptdsl.providers.openai_responses.tools import read_settings
from promptdsl.providers.shared.checks import entry, items, located_items, mapping, usage
from promptdsl.providers.shared.openai_parts import MARK, unjoined


def read_content(value: object, extra: Mapping[str, Any] = EMPTY) -> tuple[Block, ...]:
    """Return the blocks of a content: a string, or a list of parts; ``extra`` is for its texts."""
    if not isinstance(value, str):
        parts = unjoined(tuple(located_items("content", _part, value)))
        return tuple(_with(part, extra) if extra else part for part in parts)
    if not value:
        return ()
    return (TextBlock(value, None, extra) if extra else text_block(value),)


def _with(block: Block, extra: Mapping[str, Any]) -> Block:
    if not isinstance(block, TextBlock):
        return block
    return TextBlock(block.text, block.cache, {**block.extra, **extra})


def _part(data: object) -> Block:
    part = mapping(data)
    kind = entry(part, "type", str)
    cache: Cache | None = "default" if part.get(MARK) else None
    if kind in ("input_text", "output_text", "refusal"):
        extra = {"refusal": True} if kind == "refusal" else EMPTY
        if part.get("annotations"):
            extra = {"annotations": part["annotations"]}
        return TextBlock(entry(part, "refusal" if kind == "refusal" else "text", str), cache, extra)
    media = _MEDIA[kind](part, cache) if kind in _MEDIA else None
    if media is None:
        refuse_part(part)
        return b.UnknownBlock(part, ORIGIN)
    return media


_MEDIA: Mapping[str, Callable[[Mapping[str, Any], Cache | None], Block | None]] = {
    "input_image": read_image,
    "input_file": read_file,
}


def read_block(kind: str, entries: dict[str, Any]) -> Block:
    """Return the block of an item that is no message, of one nobody knows as it came."""
    return _READERS.get(kind, _read_unknown)(kind, entries)


def _read_call(kind: str, entries: dict[str, Any]) -> Block:
    id, name = (entry(entries, key, str) for key in ("call_id", "name"))
    custom = kind == "custom_tool_call"
    extra = {"custom": True} if custom else {}
    said = entry(entries, "input" if custom else "arguments", str)
    return ToolUseBlock(id, name, said, None, {**extra, **read_origin(kind, entries)})


def _read_result(kind: str, entries: dict[str, Any]) -> Block:
    id, output = entry(entries, "call_id", str), entry(entries, "output")
    if not isinstance(output, str | list | tuple):
        raise DataError(f"'output' is a string or a list of parts, not {type(output).__name__}")
    name = optional(entries.get("name"), "name")
    content, extra = read_content(cast("object", output)), read_origin(kind, entries)
    return ToolResultBlock(id, content, name, extra=extra)


def _read_reasoning(_: str, entries: dict[str, Any]) -> Block:
    return read_reasoning(entries)


def _read_unknown(_: str, entries: dict[str, Any]) -> Block:
    refuse_part(entries)
    return b.UnknownBlock(entries, ORIGIN)


_READERS: Mapping[str, Callable[[str, dict[str, Any]], Block]] = {
    **dict.fromkeys(("function_call", "custom_tool_call"), _read_call),
    **dict.fromkeys(("function_call_output", "custom_tool_call_output"), _read_result),
    "reasoning": _read_reasoning,
}

_ROLES = ("system", "developer", "user", "assistant")


def read(data: object) -> Prompt:
    """Return the prompt of a payload or of a list of items, which are recorded ones.

    ``instructions`` are a leading system message. Items that follow one another on the model's side
    are one message. Raises :class:`DataError` that names the index and the key of what cannot be
    read.
    """
    if isinstance(data, Mapping):
        payload = cast("Mapping[str, Any]", data)
    else:
        payload = {"input": items(data, "input")}
    refuse_payload(payload)
    told = payload.get("instructions")
    first = [*_items("instructions", "system", told)] if told is not None else []
    found = [*first, *_items("input", "user", entry(payload, "input"))]
    return attrs.evolve(read_settings(payload), messages=tuple(_remembering(_turns(found))))


def read_response(data: object) -> Message:
    """Return the message of a response: what the model said, why it stopped, what was counted.

    Raises :class:`DataError` for what is no response of Responses.
    """
    entries = mapping(data)
    output = entry(entries, "output", list)
    said = [*_items("output", "", output)]
    if other := next((item.role for item in said if item.role != "assistant"), None):
        raise DataError(f"a response is what the model said, not a {other} message")
    content = _linked([b for item in said for b in item.content])
    counts = mapping(entries.get("usage") or {})
    read, written = (mapping(counts.get(f"{key}_tokens_details") or {}) for key in _COUNTED)
    details = Details(
        finish_reason=_finished(entries, content),
        token_usage=usage(
            input=counts.get("input_tokens"),
            output=counts.get("output_tokens"),
            cache_read=read.get("cached_tokens"),
            cache_write=read.get("cache_write_tokens"),
            reasoning=written.get("reasoning_tokens"),
        ),
    )
    return message("assistant", content, kind="recorded", details=details)


_COUNTED = ("input", "output")
_CUT = {"max_output_tokens": "length", "content_filter": "filtered"}


def _finished(entries: Mapping[str, Any], content: Iterable[Block]) -> str | None:
    status = entries.get("status")
    if status == "incomplete":
        reason = mapping(entries.get("incomplete_details") or {}).get("reason")
        return _CUT.get(str(reason), str(reason or status))
    if status != "completed":
        return None if status is None else str(status)
    if any(isinstance(block, ToolUseBlock) for block in content):
        return "tool_use"
    refused = (isinstance(block, TextBlock) and block.extra.get("refusal") for block in content)
    return "refused" if any(refused) else "stop"


# Items.


def _items(place: str, role: str, data: object) -> Iterator[Message]:
    """Yield a message for each item; a string is one of ``role``."""
    if isinstance(data, str) and role:
        data = [{"role": role, "content": data}]
    return located_items(place, _item, data)


def _item(data: object) -> Message:
    entries = mapping(data)
    refuse_message(entries)
    kind = entries.get("type", "message" if "role" in entries else None)
    if not isinstance(kind, str):
        raise DataError("'type' or 'role' is needed", fix="an item is a message or has a type")
    if kind == "message":
        return _said(entries)
    block = read_block(kind, entries)
    role: Role = "tool" if block.type == "tool_result" else "assistant"
    return message(role, (block,), kind="recorded")


def _said(entries: Mapping[str, Any]) -> Message:
    role = entry(entries, "role", str)
    if role not in _ROLES:
        raise DataError(f"unknown 'role' {role!r}", fix=nearest(role, _ROLES))
    content = entry(entries, "content")
    if role != "assistant":
        return message(cast("Role", role), read_content(content), kind="recorded")
    blocks = read_content(content, read_origin("message", entries))
    return message("assistant", blocks, kind="recorded")


# Messages.


def _turns(found: Iterable[Message]) -> Iterator[Message]:
    """Yield messages, those of the model that follow one another as one.

    Two texts stay two messages unless their ids tell them apart: they would be joined.
    """
    run: list[Block] = []
    for said in found:
        blocks = said.content
        if run and (said.role != "assistant" or (blocks and not _apart(run[-1], blocks[0]))):
            yield message("assistant", _linked(run), kind="recorded")
            run = []
        if said.role == "assistant":
            run += blocks
        else:
            yield said
    if run:
        yield message("assistant", _linked(run), kind="recorded")


def _apart(one: Block, two: Block) -> bool:
    if not (isinstance(one, TextBlock) and isinstance(two, TextBlock)):
        return True
    ids = [origin_of(block).get("id") for block in (one, two)]
    return None not in ids and ids[0] != ids[1]


def _linked(blocks: Sequence[Block]) -> tuple[Block, ...]:
    """Return blocks, those behind reasoning with its id: theirs is sent only together with it."""
    linked: list[Block] = []
    thought: object = None
    for block in blocks:
        if isinstance(block, ReasoningBlock):
            thought = block.extra.get("id")
        linked.append(_behind(block, thought))
    return tuple(linked)


def _behind(block: Block, thought: object) -> Block:
    if not thought or not isinstance(block, TextBlock | ToolUseBlock):
        return block
    item = {**origin_of(block), "reasoning": thought}
    return attrs.evolve(block, extra={**block.extra, "item": item}) if "id" in item else block


def _remembering(messages: Iterable[Message]) -> Iterator[Message]:
    """Yield messages, a system's behind the leading run as a developer's that remembers it."""
    leading = True
    for said in messages:
        leading = leading and said.role == "system"
        if leading or said.role != "system":
            yield said
        else:
            yield message("developer", said.content, kind="recorded_system")
