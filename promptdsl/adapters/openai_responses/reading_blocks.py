"""Items and parts as blocks: what each was."""

from collections.abc import Callable, Mapping
from typing import Any, cast

from promptdsl import blocks as b
from promptdsl.adapters.openai_responses.keys import ORIGIN, refuse_part
from promptdsl.adapters.openai_responses.media import read_file, read_image
from promptdsl.adapters.openai_responses.names import read_origin
from promptdsl.adapters.openai_responses.reasoning import read_reasoning
from promptdsl.blocks import EMPTY, Block, TextBlock, ToolResultBlock, ToolUseBlock, text_block
from promptdsl.errors import DataError
from promptdsl.wire.entries import entry, located_items, mapping
from promptdsl.wire.parts import MARK, unjoined


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
    cache: b.Cache | None = "default" if part.get(MARK) else None
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


_MEDIA: Mapping[str, Callable[[Mapping[str, Any], b.Cache | None], Block | None]] = {
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
    name = b.optional(entries.get("name"), "name")
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
