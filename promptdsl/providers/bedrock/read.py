"""Reading: a recorded conversation becomes messages."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, cast

import attrs

from promptdsl import messages as b
from promptdsl.foundation.errors import DataError
from promptdsl.foundation.json import write_json
from promptdsl.messages.blocks import CLASSES
from promptdsl.messages.details import Details
from promptdsl.messages.field_checks import Cache, optional
from promptdsl.messages.message import Message, message
from promptdsl.messages.prompt import Prompt
from promptdsl.providers.bedrock.binary import without_bytes
from promptdsl.providers.bedrock.marks import POINT, marked_items
from promptdsl.providers.bedrock.media import FORMATS, read_source
from promptdsl.providers.bedrock.reasoning import read_reasoning
from promptdsl.providers.bedrock.tools import read_settings
from promptdsl.providers.shared.checks import entry, items, located, located_items, mapping, usage
from promptdsl.providers.shared.read_turns import read_turn

Reader: TypeAlias = Callable[[object], b.Block]

NOTHING: Mapping[str, Any] = {"json": {}}
"""What a result says that has no content: some models refuse an empty list, all a blank text."""


def read_block(data: object) -> b.Block:
    """Return the block a dictionary of the wire describes, what nobody knows as it came."""
    kind, value = _only(data)
    if kind == "toolResult" and _has_only(value, "toolUseId", "content", "status"):
        entries = mapping(value)
        id, failed = entry(entries, "toolUseId", str), entries.get("status") == "error"
        if entries.get("content") == [NOTHING] and not failed:
            return b.ToolResultBlock(id)
        content = read_content(entry(entries, "content"), reader=_within)
        return b.ToolResultBlock(id, content, is_error=failed)
    return _flat(kind, value)


def read_content(value: object, *, reader: Reader = read_block) -> tuple[b.Block, ...]:
    """Return the blocks of a list of the wire, each with the mark behind it."""
    found = marked_items(value, "content")
    return tuple(
        _marked(place, located(place, reader, item), cache) for place, item, cache in found
    )


def _marked(place: str, block: b.Block, cache: Cache | None) -> b.Block:
    if cache is None:
        return block
    if isinstance(block, b.UnknownBlock):
        ttl = {} if cache == "default" else {"ttl": cache}
        return b.UnknownBlock({**block.data, POINT: {"type": "default", **ttl}}, "bedrock")
    if isinstance(block, b.ReasoningBlock):
        raise DataError(f"{place}: no {POINT!r} may stand behind reasoning")
    return cast("b.Block", attrs.evolve(cast("Any", block), cache=cache))


def _only(data: object) -> tuple[str, Any]:
    """Return the only key of a block and its value, which is what a block is."""
    entries = mapping(data)
    if len(entries) != 1:
        keys = ", ".join(map(repr, entries)) or "none"
        raise DataError(f"a block has one key, not {keys[:60]}", fix='write {"text": ...}')
    return next(iter(entries.items()))


def _has_only(value: object, *keys: str) -> bool:
    return isinstance(value, Mapping) and set(cast("Any", value)) <= set(keys)


def _within(data: object) -> b.Block:
    """Return a block of a result, which holds no other result."""
    kind, value = _only(data)
    if kind == "toolResult":
        raise DataError("a 'toolResult' block holds no 'toolResult' block")
    if kind == "json":
        # As text other providers take it, too.
        return b.TextBlock(write_json(value), extra={"json": True})
    return _flat(kind, value)


def _flat(kind: str, value: Any) -> b.Block:
    """Return a block that holds no other."""
    if kind == "text":
        return b.TextBlock(entry({"text": value}, "text", str))
    if kind in FORMATS:
        return _media(kind, mapping(value))
    if kind == "toolUse" and _has_only(value, "toolUseId", "name", "input"):
        return _call(mapping(value))
    if kind == "reasoningContent":
        return read_reasoning(mapping(value))
    if kind == "citationsContent" and _has_only(value, "content", "citations"):
        return _cited(mapping(value))
    return _kept(kind, value)


def _kept(kind: str, value: object) -> b.UnknownBlock:
    return b.UnknownBlock(without_bytes({kind: value}), "bedrock")


def _call(entries: Mapping[str, Any]) -> b.Block:
    """Return a call; arguments that are no object are kept as text, so that the reply is not lost.

    Of a malformed call botocore leaves out an input that is ``null``.
    """
    given = {"id": entry(entries, "toolUseId", str), "name": entry(entries, "name", str)}
    said = entries.get("input")
    if isinstance(said, Mapping):
        made = {"type": "tool_use", **given, "input": cast("object", said)}
        return b.block_from_dict(made)
    text = said if isinstance(said, str) else write_json(said)
    return b.ToolUseBlock(given["id"], given["name"], text)


def _media(kind: str, entries: Mapping[str, Any]) -> b.Block:
    known = ("name", "format", "source")
    found = read_source(kind, entries.get("format"), entries.get("source"))
    if found is None:
        return _kept(kind, entries)
    source, further = found
    further |= {key: value for key, value in entries.items() if key not in known}
    title = optional(entries.get("name"), "name")
    return cast("b.Block", cast("Any", CLASSES[kind])(source, title, extra=further))


def _cited(entries: Mapping[str, Any]) -> b.Block:
    """Return an answer with its citations: text, so that other providers take it, too.

    Citations without text, such as those of Nova's searches, are kept as they came.
    """
    said = [mapping(part).get("text") for part in items(entries.get("content") or (), "content")]
    text = "".join(part for part in said if isinstance(part, str))
    if not text or not all(isinstance(part, str) for part in said):
        return _kept("citationsContent", entries)
    return b.TextBlock(text, extra={"citationsContent": entries.get("citations") or []})


def read(data: object) -> Prompt:
    """Return the prompt of a payload or of a list of messages, which are recorded ones.

    Bytes may be base64 text, as in the body of a request. Raises :class:`DataError` that names the
    index and the key of what cannot be read.
    """
    payload: Mapping[str, Any] = {"messages": data}
    if isinstance(data, Mapping):
        payload = cast("Mapping[str, Any]", data)
    leading = located("system", read_content, payload.get("system") or ())
    found = [message("system", leading, kind="recorded")] if leading else []
    for said in located_items("messages", _said, entry(payload, "messages")):
        found += said
    return attrs.evolve(read_settings(payload), messages=tuple(found))


def read_response(data: object) -> Message:
    """Return the message of a response: what the model said, why it stopped, what was counted.

    Raises :class:`DataError` for what is no response of Converse.
    """
    entries = mapping(data)
    said = mapping(entry(mapping(entry(entries, "output")), "message"))
    counts = mapping(entries.get("usage") or {})
    reason = optional(entries.get("stopReason"), "stopReason")
    read, written = (counts.get(f"cache{key}InputTokens") for key in ("Read", "Write"))
    cached = [count for count in (read, written) if type(count) is int]
    fresh = counts.get("inputTokens")
    details = Details(
        finish_reason=_FINISHED.get(reason or "", reason),
        token_usage=usage(
            input=fresh + sum(cached) if type(fresh) is int else None,
            output=counts.get("outputTokens"),
            cache_read=read,
            cache_write=written,
        ),
    )
    content = read_content(entry(said, "content"))
    return message("assistant", content, kind="recorded", details=details)


_FINISHED = {
    **dict.fromkeys(("end_turn", "stop_sequence"), "stop"),
    **dict.fromkeys(("max_tokens", "model_context_window_exceeded"), "length"),
    **dict.fromkeys(("guardrail_intervened", "content_filtered"), "filtered"),
}


def _said(data: object) -> list[Message]:
    return read_turn(data, read_content)
