"""Blocks of the wire as ours: what each block of a recorded content was."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, cast

import attrs

from promptdsl import blocks as b
from promptdsl.adapters.bedrock.entries import without_bytes
from promptdsl.adapters.bedrock.marks import POINT, marked_items
from promptdsl.adapters.bedrock.media import FORMATS, read_source
from promptdsl.adapters.bedrock.reasoning import read_reasoning
from promptdsl.errors import DataError
from promptdsl.json_text import write_json
from promptdsl.wire.entries import entry, items, located, mapping

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


def _marked(place: str, block: b.Block, cache: b.Cache | None) -> b.Block:
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
    return b.ToolUseBlock(**given, arguments=said if isinstance(said, str) else write_json(said))


def _media(kind: str, entries: Mapping[str, Any]) -> b.Block:
    known = ("name", "format", "source")
    found = read_source(kind, entries.get("format"), entries.get("source"))
    if found is None:
        return _kept(kind, entries)
    source, further = found
    further |= {key: value for key, value in entries.items() if key not in known}
    title = b.optional(entries.get("name"), "name")
    return cast("b.Block", cast("Any", b.CLASSES[kind])(source, title, extra=further))


def _cited(entries: Mapping[str, Any]) -> b.Block:
    """Return an answer with its citations: text, so that other providers take it, too.

    Citations without text, such as those of Nova's searches, are kept as they came.
    """
    said = [mapping(part).get("text") for part in items(entries.get("content") or (), "content")]
    text = "".join(part for part in said if isinstance(part, str))
    if not text or not all(isinstance(part, str) for part in said):
        return _kept("citationsContent", entries)
    return b.TextBlock(text, extra={"citationsContent": entries.get("citations") or []})
