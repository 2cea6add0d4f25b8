"""Read a recorded Anthropic conversation, or a response, as messages."""

from collections.abc import Callable, Mapping
from typing import cast

import attrs

from promptdsl import messages as b
from promptdsl.foundation.errors import DataError
from promptdsl.foundation.frozen import is_list, is_mapping
from promptdsl.messages.field_checks import optional
from promptdsl.messages.message import Message
from promptdsl.messages.prompt import Prompt
from promptdsl.messages.read_blocks import contents
from promptdsl.providers.anthropic.media import BASE64, read_source
from promptdsl.providers.anthropic.tools import read_settings
from promptdsl.providers.shared.checks import entry, located_items, mapping, read_mark, total, usage
from promptdsl.providers.shared.other_providers import refuse_part
from promptdsl.providers.shared.read_keys import REST, ReadKeys, Shape, shape
from promptdsl.providers.shared.read_turns import read_turns, reply_message
from promptdsl.providers.shared.request import Param
from promptdsl.providers.shared.streamed import StreamedReply, merge, parse_input

EXTRA: Mapping[str, tuple[str, ...]] = {
    "text": ("citations",),
    "image": ("transformations",),
    "document": ("context", "citations"),
    "tool_use": ("caller", "toolset_name"),
    "tool_result": ("toolset_name",),
}
"""The block types that have a block of ours, each with the keys that it keeps as they came."""

_STRINGS = {"text": ("text",), "tool_use": ("id", "name"), "tool_result": ("tool_use_id",)}


def read_block(data: object) -> b.Block:
    """Return the block of a dictionary; an unknown type is kept as it came."""
    entries = mapping(data)
    if entry(entries, "type", str) != "tool_result":
        return _read_flat(data)
    content = read_content(entries.pop("content", None), reader=_read_within)
    return attrs.evolve(cast("b.ToolResultBlock", _read_flat(entries)), content=content)


def read_content(
    value: object, *, reader: Callable[[object], b.Block] = read_block
) -> tuple[b.Block, ...]:
    """Return the blocks of a content: a string, or a list of blocks."""
    return tuple(located_items("content", reader, value)) if is_list(value) else contents(value)


def _read_within(data: object) -> b.Block:
    """Return a block of a result, which may not contain another result."""
    if mapping(data).get("type") == "tool_result":
        raise DataError("a 'tool_result' block contains no 'tool_result' block")
    return _read_flat(data)


def _read_flat(data: object) -> b.Block:
    entries = mapping(data)
    kind = entry(entries, "type", str)
    if kind == "thinking":
        signature = optional(entries.get("signature"), "signature")
        return b.ReasoningBlock(entry(entries, kind, str), signature, origin="anthropic")
    if kind == "redacted_thinking":
        return b.ReasoningBlock("", encrypted=entry(entries, "data", str), origin="anthropic")
    refuse_part(entries, "anthropic")
    source = read_source(entries.get("source"))
    if kind not in EXTRA or (kind in BASE64 and source is None) or "content" in entries:
        return b.UnknownBlock(entries, "anthropic")
    for key in _STRINGS.get(kind, ()):
        entry(entries, key, str)
    entries["source"] = source
    entries["cache"] = read_mark(entries.pop("cache_control", None))
    return b.block_from_dict({key: value for key, value in entries.items() if value is not None})


def read(data: object) -> Prompt:
    """Return the prompt of a payload or of a list of recorded messages."""
    return read_turns(data, read_content, read_settings)


def read_response(data: object) -> Message:
    """Return the message of a response: its content, why the model stopped, the token counts."""
    entries = mapping(data)
    content = read_content(entry(entries, "content", list))
    reason = optional(entries.get("stop_reason"), "stop_reason")
    counts = mapping(entries.get("usage") or {})
    read, written = (counts.get(f"cache_{key}_input_tokens") for key in ("read", "creation"))
    fresh = counts.get("input_tokens")
    token_usage = usage(
        input=None if fresh is None else total(fresh, read, written),
        output=counts.get("output_tokens"),
        cache_read=read,
        cache_write=written,
        reasoning=mapping(counts.get("output_tokens_details") or {}).get("thinking_tokens"),
    )
    return reply_message(content, reason, token_usage)


def add_event(reply: StreamedReply, event: Param) -> None:
    """Add an event of a stream to the reply so far."""
    kind, number = event.get("type"), event.get("index")
    if kind == "message_start":
        merge(reply.response, mapping(event.get("message")))
    elif kind == "message_delta":
        merge(reply.response, {**mapping(event.get("delta")), "usage": event.get("usage")})
        reply.ended = reply.response.get("stop_reason") is not None
    elif kind == "content_block_start":
        block = mapping(event.get("content_block"))
        if block.get("input") == {}:
            block["input"] = ""  # the JSON text follows
        merge(reply.part(number), block)
    elif kind == "content_block_delta":
        delta = mapping(event.get("delta"))
        name = delta.pop("type", None)
        if name in ("text_delta", "thinking_delta", "signature_delta", "compaction_delta"):
            merge(reply.part(number), delta)
        elif name == "input_json_delta":
            merge(reply.part(number), {"input": delta.get("partial_json")})
        elif name == "citations_delta":
            merge(reply.part(number), {"citations": [delta.get("citation")]})
    elif kind == "content_block_stop":
        parse_input(reply.part(number))
    reply.response["content"] = [*reply.parts.values()]


_CONTROL = shape("type", "ttl")
_OPEN = shape(REST, cache_control=_CONTROL)
_SOURCE = shape("type", "media_type", "data", "url", "file_id")


def _block_keys(block: Mapping[str, object]) -> Shape | None:
    kind, source = block.get("type"), block.get("source")
    if kind == "thinking":
        return shape("type", "thinking", "signature")
    if kind == "redacted_thinking":
        return shape("type", "data")
    if kind in ("image", "document"):
        # Other sources are kept as they came.
        is_read = is_mapping(source) and source.get("type") in ("base64", "text", "url", "file")
        return {**_OPEN, "source": _SOURCE} if is_read else None
    return {**_OPEN, "content": _block_keys} if kind == "tool_result" else _OPEN


_REPLY = (
    *("id", "type", "model", "usage", "container", "context_management", "stop_details"),
    "diagnostics",
)
_TURN = shape("role", *_REPLY, "stop_reason", "stop_sequence", content=_block_keys)
_INSTRUCTION = shape("type", "text", cache_control=_CONTROL)


KEYS = ReadKeys({"system": _INSTRUCTION, "messages": _TURN})
