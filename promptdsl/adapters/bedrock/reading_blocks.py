"""Blocks of the wire as ours: what each block of a recorded content was."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, cast

import attrs

from promptdsl import blocks as b
from promptdsl.adapters.bedrock.entries import encoded
from promptdsl.adapters.bedrock.marks import POINT, marked_items
from promptdsl.adapters.bedrock.media import FORMATS, read_source
from promptdsl.adapters.bedrock.reasoning import read_reasoning
from promptdsl.errors import DataError
from promptdsl.json_text import write_json
from promptdsl.wire.entries import entry, items, located, mapping

Reader: TypeAlias = Callable[[object], b.Block]


def read_block(data: object) -> b.Block:
    """Return the block a dictionary of the wire describes, what nobody knows as it came."""
    kind, value = _only(data)
    if kind == "toolResult" and _has_only(value, "toolUseId", "content", "status"):
        entries = mapping(value)
        content = read_content(entry(entries, "content"), reader=_within)
        failed = entries.get("status") == "error"
        return b.ToolResultBlock(entry(entries, "toolUseId", str), content, is_error=failed)
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
        return b.UnknownBlock({**block.data, POINT: {"type": "default", **ttl}})
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
        given = {"id": entry(value, "toolUseId", str), "name": entry(value, "name", str)}
        given["input"] = entry(value, "input", Mapping)
        return b.block_from_dict({"type": "tool_use", **given})
    if kind == "reasoningContent":
        return read_reasoning(mapping(value))
    if kind == "citationsContent" and _has_only(value, "content", "citations"):
        return _cited(mapping(value))
    return b.UnknownBlock({kind: _guarded(value) if kind == "guardContent" else value})


def _media(kind: str, entries: Mapping[str, Any]) -> b.Block:
    known = ("name", "format", "source")
    found = read_source(kind, entries.get("format"), entries.get("source"))
    if found is None:
        return b.UnknownBlock({kind: entries})
    source, further = found
    further |= {key: value for key, value in entries.items() if key not in known}
    title = b.optional(entries.get("name"), "name")
    return cast("b.Block", cast("Any", b.CLASSES[kind])(source, title, extra=further))


def _cited(entries: Mapping[str, Any]) -> b.Block:
    """Return an answer with its citations: text, so that other providers take it, too."""
    said = items(entry(entries, "content"), "content")
    text = "".join(entry(mapping(part), "text", str) for part in said)
    return b.TextBlock(text, extra={"citationsContent": entries.get("citations") or []})


def _guarded(value: Any) -> Any:
    """Return what is to be guarded, with base64 text for bytes: blocks hold JSON values."""
    match value:
        case {"image": {"format": form, "source": {"bytes": data}}}:
            return {"image": {"format": form, "source": {"bytes": encoded(data, "bytes")}}}
        case _:
            return value
