"""Read a recorded Converse conversation, or a response, as messages.

First come payloads, responses and streams, then blocks. The tables of the keys that are read are at
the end.
"""

from collections.abc import Callable, Mapping
from typing import cast

import attrs

from promptdsl import messages as b
from promptdsl.foundation.errors import DataError
from promptdsl.foundation.frozen import Around, is_mapping, json_leaf, plain
from promptdsl.foundation.json import JsonObject, JsonValue, write_json
from promptdsl.messages.blocks import CLASSES
from promptdsl.messages.field_checks import optional_string
from promptdsl.messages.message import Message
from promptdsl.messages.prompt import Prompt
from promptdsl.providers.bedrock.parts import (
    FORMATS,
    POINT,
    base64_text,
    marked_items,
    read_settings,
    read_source,
)
from promptdsl.providers.shared.blocks import JSON
from promptdsl.providers.shared.reading import (
    ReadKeys,
    Shape,
    items,
    located,
    mapping,
    read_turns,
    reply_message,
    required,
    shape,
    usage,
)
from promptdsl.providers.shared.request import Carrier, Param
from promptdsl.providers.shared.streamed import (
    StreamedReply,
    merge,
    parse_input,
    replace,
    texts_in,
)

EMPTY_RESULT: JsonObject = {"json": {}}
"""The content of an empty result. Some models refuse an empty list, and all refuse a blank text."""


def read(data: object) -> Prompt:
    """Return the prompt of a payload, or of a list of messages; bytes may be base64 text."""
    return read_turns(data, read_content, read_settings, KEYS)


def read_response(data: object) -> Message:
    """Return the message of a response, with its finish reason and its token counts."""
    response = mapping(data)
    answer = mapping(required(mapping(required(response, "output")), "message"))
    # ``inputTokens`` has only the new input. Input from a cache is counted separately.
    counts = mapping(response.get("usage") or {})
    cache_read, cache_written = (counts.get(f"cache{key}InputTokens") for key in ("Read", "Write"))
    cached = [count for count in (cache_read, cache_written) if type(count) is int]
    fresh = counts.get("inputTokens")
    reason = optional_string(response.get("stopReason"), "stopReason")
    token_usage = usage(
        total=counts.get("totalTokens"),
        input=fresh + sum(cached) if type(fresh) is int else None,
        output=counts.get("outputTokens"),
        cache_read=cache_read,
        cache_write=cache_written,
    )
    extra = KEYS.unread_of_response(response, KEYS.unread(answer, _TURN))
    content = read_content(required(answer, "content"))
    return reply_message(content, reason, token_usage, extra=extra)


def add_event(reply: StreamedReply, event: Param) -> None:
    """Add an event of a stream to the reply so far."""
    for kind, value in event.items():
        if kind in ("messageStop", "metadata"):
            replace(reply.response, mapping(value or {}))
        elif not str(kind).startswith(("message", "contentBlock")):
            replace(reply.response, {kind: value})
    reply.ended = "stopReason" in reply.response
    for kind in ("contentBlockStart", "contentBlockDelta", "contentBlockStop"):
        if kind in event:
            data = mapping(event[kind])
            block = reply.part(data.get("contentBlockIndex"))
            delta = mapping(data.get("start") or data.get("delta") or {})
            if "citation" in delta:
                delta = {"citations": [delta["citation"]]}
            elif "toolResult" in delta and kind == "contentBlockDelta":
                delta = {"toolResult": {"content": delta["toolResult"]}}
            elif "toolUse" in block and kind == "contentBlockStop":
                merge(block, {"toolUse": {"input": ""}})
                parse_input(block["toolUse"])
            merge(block, delta)
    content = [_block(block) for block in reply.parts.values() if block]
    reply.response["output"] = {"message": {"content": content}}


def texts_so_far(reply: StreamedReply) -> list[str]:
    """Return the texts of a reply so far, in order."""
    return texts_in(reply.parts.values(), None)


def _block(block: Param) -> Param:
    """Return a block in the format of a response."""
    if "citations" in block:
        content = [{"text": block.get("text", "")}]
        return {"citationsContent": {"content": content, "citations": block["citations"]}}
    reasoning = mapping(block.get("reasoningContent") or {})
    if reasoning and "redactedContent" not in reasoning:
        return {"reasoningContent": {"reasoningText": {"text": "", **reasoning}}}
    return block


def read_block(data: object) -> b.Block:
    """Return the block of a dictionary. An unknown block stays unchanged."""
    kind, value = _kind_and_value(data)
    if kind == "toolResult" and _type_of(value) in _RESULTS_OF_THE_CLIENT:
        fields = mapping(value)
        id, is_error = required(fields, "toolUseId", str), fields.get("status") == "error"
        if fields.get("content") == [EMPTY_RESULT] and not is_error:
            return b.ToolResultBlock(id)
        content = read_content(required(fields, "content"), read=_read_block_in_result)
        return b.ToolResultBlock(id, content, is_error=is_error)
    return _read_flat_block(kind, value)


def read_content(
    content: object, *, read: Callable[[object], b.Block] = read_block
) -> tuple[b.Block, ...]:
    """Return the blocks of a list, each with the cache mark that follows it."""
    blocks: list[b.Block] = []
    for path, item, cache in marked_items(content, "content"):
        block: b.Block = located(path, read, item)
        if cache is not None and isinstance(block, b.UnknownBlock):
            ttl = {} if cache == "default" else {"ttl": cache}
            block = b.UnknownBlock({**block.data, POINT: {"type": "default", **ttl}}, "bedrock")
        elif cache is not None and isinstance(block, Carrier):
            block = attrs.evolve(block, cache=cache)
        elif cache is not None:
            raise DataError(f"{path}: a {POINT!r} may not follow reasoning")
        blocks.append(block)
    return tuple(blocks)


def _kind_and_value(data: object) -> tuple[str, object]:
    """Return the only key of a block, which is its kind, and the value under it."""
    fields = mapping(data)
    if len(fields) != 1:
        keys = ", ".join(map(repr, fields)) or "none"
        raise DataError(f"a block has one key, not {keys[:60]}", fix='write {"text": ...}')
    return next(iter(fields.items()))


_CITED = {"content", "citations"}


RUN_BY_SERVER = "server_tool_use"
"""The type of a call that AWS runs: the service model has no other type. The client runs others."""
_RESULTS_OF_THE_CLIENT = (None, "tool_result")
"""The types of results that the client sends. AWS sends results with other types."""


def _type_of(value: object) -> object:
    """Return the ``type`` of a call or a result. Data that is not a mapping counts as AWS's."""
    return value.get("type") if is_mapping(value) else RUN_BY_SERVER


def _read_block_in_result(data: object) -> b.Block:
    """Return a block in a result, which may not contain another result."""
    kind, value = _kind_and_value(data)
    if kind == "toolResult":
        raise DataError("a 'toolResult' block may not contain another one")
    if kind == "json":
        # Other providers take it as text, too.
        return b.TextBlock(write_json(value), extra={JSON: True})
    return _read_flat_block(kind, value)


def _read_flat_block(kind: str, value: object) -> b.Block:
    """Return a block that contains no other blocks."""
    if kind == "text":
        return b.TextBlock(required({"text": value}, "text", str))
    if kind in FORMATS:
        return _read_attachment(kind, value)
    if kind == "toolUse" and _type_of(value) != RUN_BY_SERVER:
        call = mapping(value)
        id, name = (required(call, key, str) for key in ("toolUseId", "name"))
        # A call may lack arguments. Arguments that are not an object are kept as text.
        input: JsonValue = call.get("input") or {}
        if isinstance(input, Mapping):
            return b.block_from_dict({"type": "tool_use", "id": id, "name": name, "input": input})
        arguments = input if isinstance(input, str) else write_json(input)
        return b.ToolUseBlock(id, name, arguments)
    if kind == "reasoningContent":
        reasoning = mapping(value)
        if "redactedContent" in reasoning:
            encrypted = base64_text(reasoning["redactedContent"], "redactedContent")
            return b.ReasoningBlock("", encrypted=encrypted, origin="bedrock")
        reasoning_text = mapping(reasoning.get("reasoningText") or {})
        text, signature = (
            optional_string(reasoning_text.get(key), key) for key in ("text", "signature")
        )
        return b.ReasoningBlock(text or "", signature, origin="bedrock")
    if kind == "citationsContent" and is_mapping(value) and value.keys() <= _CITED:
        # A text with citations becomes a text block, because other providers take a text. Citations
        # without text, such as those of Nova's searches, stay an unknown block.
        cited = mapping(value)
        parts = items(cited.get("content") or (), "content")
        texts: list[JsonValue] = [part.get("text") for part in map(mapping, parts)]
        text = "".join(text for text in texts if isinstance(text, str))
        is_text = all(part.keys() == {"text"} for part in map(mapping, parts))
        if text and is_text and all(isinstance(text, str) for text in texts):
            citations: JsonValue = cited.get("citations") or ()
            return b.TextBlock(text, extra={"citationsContent": citations})
    return b.UnknownBlock(_without_bytes({kind: value}), "bedrock")


def _read_attachment(kind: str, value: object) -> b.Block:
    fields = mapping(value)
    source_and_extra = read_source(kind, fields.get("format"), fields.get("source"))
    if source_and_extra is None:
        return b.UnknownBlock(_without_bytes({kind: fields}), "bedrock")
    source, extra = source_and_extra
    title = optional_string(fields.get("name"), "name")
    read_keys = ("name", "format", "source")
    extra |= {key: value for key, value in fields.items() if key not in read_keys}
    media_class = cast("Callable[..., b.MediaBlock]", CLASSES[kind])
    return media_class(source, title, extra=extra)


def _without_bytes(data: object) -> JsonObject:
    """Return an object in which base64 text replaces all bytes, at any depth."""
    fields: JsonObject = plain(data, "data", _text_leaf)
    return fields


def _text_leaf(item: object, enclosing: Around, key: object) -> object:
    """Return the base64 text of bytes, and the JSON of any other value."""
    if isinstance(item, bytes | bytearray):
        return base64_text(item, "bytes")
    return json_leaf(item, enclosing, key)


def _tool_use_keys(call: Mapping[str, object]) -> Shape | None:
    return None if call.get("type") == RUN_BY_SERVER else _CALL


def _tool_result_keys(result: Mapping[str, object]) -> Shape | None:
    return _RESULT if result.get("type") in _RESULTS_OF_THE_CLIENT else None


_CALL = shape("type", "toolUseId", "name", "input")
_UNION = shape(
    rest=True,
    reasoningContent=shape("redactedContent", reasoningText=shape("text", "signature")),
    cachePoint=shape("type", "ttl"),
    toolUse=_tool_use_keys,
    toolResult=_tool_result_keys,
)
"""The shapes of some kinds of blocks. Blocks of other kinds keep all their keys."""
_RESULT = shape("type", "toolUseId", "status", content=_UNION)

_NO_CONTENT = (
    *("metrics", "trace", "performanceConfig", "serviceTier", "cacheDetails", "ResponseMetadata"),
    *("cacheReadInputTokenCount", "cacheWriteInputTokenCount"),
)
_TURN = shape("role", content=_UNION)
_USAGE = shape(
    *("inputTokens", "outputTokens", "totalTokens", *_NO_CONTENT),
    *("cacheReadInputTokens", "cacheWriteInputTokens"),
)

KEYS = ReadKeys(
    {"system": _UNION, "messages": _TURN},
    shape("stopReason", *_NO_CONTENT, output=shape("message"), usage=_USAGE),
    _NO_CONTENT,
)
