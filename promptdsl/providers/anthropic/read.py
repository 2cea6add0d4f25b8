"""Read a recorded Anthropic conversation, or a response, as messages.

First come blocks, then payloads, responses and streams. The tables of the keys that are read are at
the end.
"""

from collections.abc import Callable, Mapping
from typing import cast

import attrs

from promptdsl import messages as b
from promptdsl.config.records import ANTHROPIC
from promptdsl.foundation.errors import DataError
from promptdsl.foundation.frozen import is_list, is_mapping, plain
from promptdsl.messages.field_checks import optional_string
from promptdsl.messages.message import Message
from promptdsl.messages.prompt import Prompt
from promptdsl.messages.read_blocks import contents
from promptdsl.providers.anthropic.parts import BASE64, read_settings, read_source
from promptdsl.providers.shared.reading import (
    ReadKeys,
    Shape,
    located_items,
    mapping,
    read_mark,
    read_turns,
    refuse_part,
    reply_message,
    required,
    shape,
    total,
    usage,
    with_nulls,
)
from promptdsl.providers.shared.request import Param
from promptdsl.providers.shared.streamed import (
    StreamedReply,
    merge,
    parse_input,
    replace,
    texts_in,
)

EXTRA: Mapping[str, tuple[str, ...]] = {
    "text": ("citations",),
    "image": ("transformations",),
    "document": ("context", "citations"),
    "tool_use": ("caller", "toolset_name"),
    "tool_result": ("toolset_name",),
}
"""The types of blocks that promptdsl also has, each with the keys that stay unchanged."""

_STRINGS = {"text": ("text",), "tool_use": ("id", "name"), "tool_result": ("tool_use_id",)}


def read_block(data: object) -> b.Block:
    """Return the block of a dictionary. A block of an unknown type stays unchanged."""
    fields = mapping(data)
    if required(fields, "type", str) != "tool_result":
        return _read_flat(data)
    content = read_content(fields.pop("content", None), reader=_read_within)
    return attrs.evolve(cast("b.ToolResultBlock", _read_flat(fields)), content=content)


def read_content(
    value: object, *, reader: Callable[[object], b.Block] = read_block
) -> tuple[b.Block, ...]:
    """Return the blocks of a content: a string, or a list of blocks."""
    return tuple(located_items("content", reader, value)) if is_list(value) else contents(value)


def _read_within(data: object) -> b.Block:
    """Return a block in a result, which may not contain another result."""
    if mapping(data).get("type") == "tool_result":
        raise DataError("a 'tool_result' block may not contain another one")
    return _read_flat(data)


def _read_flat(data: object) -> b.Block:
    """Return a block that contains no other blocks."""
    fields = mapping(data)
    kind = required(fields, "type", str)
    if kind == "thinking":
        # Other libraries store signed reasoning without a text (danny-avila/LibreChat#13888).
        text, signature = (optional_string(fields.get(key), key) for key in (kind, "signature"))
        return b.ReasoningBlock(text or "", signature, origin="anthropic")
    if kind == "redacted_thinking":
        encrypted = optional_string(fields.get("data"), "data")
        return b.ReasoningBlock("", encrypted=encrypted, origin="anthropic")
    refuse_part(fields, "anthropic")
    source = read_source(fields.get("source"))
    if kind not in EXTRA or (kind in BASE64 and source is None) or "content" in fields:
        return b.UnknownBlock(fields, "anthropic")
    for key in _STRINGS.get(kind, ()):
        required(fields, key, str)
    if kind == "tool_use" and fields.get("input") is None:
        fields["input"] = {}
    fields["source"] = source
    fields["cache"] = read_mark(fields.pop("cache_control", None))
    if fields.get("citations"):
        fields["citations"] = with_nulls(plain(fields["citations"], "citations"), ANTHROPIC.nulls)
    return b.block_from_dict({key: value for key, value in fields.items() if value is not None})


def read(data: object) -> Prompt:
    """Return the prompt of a payload or of a list of recorded messages."""
    return read_turns(data, read_content, read_settings, KEYS)


_INPUT = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
"""The keys of the counts of input tokens."""


def read_response(data: object) -> Message:
    """Return the message of a response: content, finish reason and token counts."""
    fields = mapping(data)
    content = read_content(required(fields, "content", list))
    reason = optional_string(fields.get("stop_reason"), "stop_reason")
    counts = mapping(fields.get("usage") or {})
    cache_read, cache_written = (
        counts.get(f"cache_{key}_input_tokens") for key in ("read", "creation")
    )
    fresh, output = counts.get("input_tokens"), counts.get("output_tokens")
    # The tokens of a compaction are not in the other counts (``BetaUsage`` of the SDK).
    steps = [*located_items("iterations", mapping, counts.get("iterations") or ())]
    compactions = [step for step in steps if step.get("type") == "compaction"]
    compaction_counts = [step.get(key) for step in compactions for key in _INPUT]
    token_usage = usage(
        input=None
        if fresh is None
        else total(fresh, cache_read, cache_written, *compaction_counts),
        output=None
        if output is None
        else total(output, *(step.get("output_tokens") for step in compactions)),
        cache_read=cache_read,
        cache_write=cache_written,
        reasoning=mapping(counts.get("output_tokens_details") or {}).get("thinking_tokens"),
    )
    extra = KEYS.unread_of_response(fields)
    return reply_message(content, reason, token_usage, extra=extra)


def add_event(reply: StreamedReply, event: Param) -> None:
    """Add an event of a stream to the reply so far."""
    kind, index = event.get("type"), event.get("index")
    if kind == "message_start":
        replace(reply.response, mapping(event.get("message")))
        reply.response["usage"] = mapping(reply.response.get("usage") or {})
    elif kind == "message_delta":
        further = {key: value for key, value in event.items() if key not in ("type", "delta")}
        counts = mapping(further.pop("usage", None) or {})
        replace(reply.response, {**mapping(event.get("delta")), **further})
        replace(reply.response.setdefault("usage", {}), counts)
        reply.ended = reply.response.get("stop_reason") is not None
    elif kind == "content_block_start":
        block = mapping(event.get("content_block"))
        if block.get("input") == {}:
            block["input"] = ""  # the JSON text follows
        merge(reply.part(index), block)
    elif kind == "content_block_delta":
        delta = mapping(event.get("delta"))
        name = delta.pop("type", None)
        if name == "input_json_delta":
            delta = {"input": delta.get("partial_json")}
        elif name == "citations_delta":
            delta = {"citations": [delta.get("citation")]}
        merge(reply.part(index), delta)
    elif kind == "content_block_stop":
        parse_input(reply.part(index))
    reply.response["content"] = [*reply.parts.values()]


def texts_so_far(reply: StreamedReply) -> list[str]:
    """Return the texts of a reply so far, in order."""
    return texts_in(reply.parts.values(), "text")


_CONTROL = shape("type", "ttl")
_OPEN = shape(rest=True, cache_control=_CONTROL)
_SOURCE = shape("type", "media_type", "data", "url", "file_id")


_THINKING = shape("type", "thinking", "signature")
_REDACTED = shape("type", "data")
_ATTACHMENT = _OPEN.also(source=_SOURCE)


def _block_keys(block: Mapping[str, object]) -> Shape | None:
    kind, source = block.get("type"), block.get("source")
    if kind == "thinking":
        return _THINKING
    if kind == "redacted_thinking":
        return _REDACTED
    if kind in ("image", "document"):
        # Blocks with other sources stay unchanged, with all keys.
        is_read = is_mapping(source) and source.get("type") in ("base64", "text", "url", "file")
        return _ATTACHMENT if is_read else None
    return _RESULT if kind == "tool_result" else _OPEN


_RESULT = _OPEN.also(content=_block_keys)
_NO_CONTENT = (
    *("id", "model", "stop_sequence", "stop_details", "container", "context_management"),
    *("diagnostics", "cache_creation", "server_tool_use", "service_tier", "inference_geo"),
)
_USAGE = shape(
    *("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"),
    *(*_NO_CONTENT, "iterations"),
    output_tokens_details=shape("thinking_tokens"),
)
# A complete reply may be among the messages.
_TURN = shape("role", "type", "stop_reason", "usage", *_NO_CONTENT, content=_block_keys)
_INSTRUCTION = shape("type", "text", cache_control=_CONTROL)


KEYS = ReadKeys(
    {"system": _INSTRUCTION, "messages": _TURN},
    _TURN.also("error", usage=_USAGE),
    _NO_CONTENT,
)
