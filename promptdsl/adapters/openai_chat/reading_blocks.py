"""Parts as blocks: what each part, call and answer of a recorded message was."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import attrs

from promptdsl import blocks as b
from promptdsl.adapters.openai_chat.keys import AUDIO, ORIGIN, refuse_part
from promptdsl.adapters.openai_chat.media import MEDIA_READERS
from promptdsl.blocks import EMPTY, Block, TextBlock, ToolUseBlock, text_block, tool_use_block
from promptdsl.wire.entries import entry, located, located_items, mapping
from promptdsl.wire.parts import MARK, unjoined


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


def _noted(said: list[Block], annotations: object) -> list[Block]:
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
    cache: b.Cache | None = "default" if part.get(MARK) else None
    if kind in ("text", "refusal"):
        extra = {"refusal": True} if kind == "refusal" else EMPTY
        return TextBlock(entry(part, kind, str), cache, extra)
    if kind in MEDIA_READERS:
        read = MEDIA_READERS[kind]
        return located(kind, lambda data: read(mapping(data), cache), part.get(kind))  # type: ignore[no-any-return]
    refuse_part(part)
    return b.UnknownBlock(part, ORIGIN)
