"""Parts as blocks: what each part, call and answer of a recorded message was."""

from collections.abc import Mapping
from typing import Any

from promptdsl import blocks as b
from promptdsl.adapters.openai_chat.entries import items, mapping, string
from promptdsl.adapters.openai_chat.marks import MARK
from promptdsl.adapters.openai_chat.media import MEDIA_READERS
from promptdsl.blocks import EMPTY, Block, TextBlock, ToolUseBlock, text_block, tool_use_block


def read_content(where: str, entries: Mapping[str, Any]) -> tuple[Block, ...]:
    """Return the blocks of what stands under ``content``."""
    content = entries.get("content")
    if content is None and ("content" in entries or entries["role"] == "assistant"):
        return ()
    if isinstance(content, str):
        return (text_block(content),) if content else ()
    parts = enumerate(items(content, f"{where}: content"))
    return tuple(_part(f"{where}: content[{index}]", part) for index, part in parts)


def read_answer(where: str, entries: Mapping[str, Any], index: int) -> tuple[Block, ...]:
    """Return what only an assistant's message holds: a refusal, a spoken reply, calls."""
    blocks: list[Block] = []
    if entries.get("refusal"):
        blocks.append(TextBlock(string(entries, "refusal", where), extra={"refusal": True}))
    if entries.get("audio"):
        blocks.append(b.UnknownBlock({"type": "chat_audio", "audio": entries["audio"]}))
    for number, call in enumerate(items(entries.get("tool_calls") or (), f"{where}: tool_calls")):
        blocks.append(_call(f"{where}: tool_calls[{number}]", call))
    if entries.get("function_call"):
        legacy = {"id": f"function_call_{index}", "function": entries["function_call"]}
        blocks.append(_call(f"{where}: function_call", legacy))
    return tuple(blocks)


def _call(where: str, data: object) -> ToolUseBlock:
    call = mapping(data, where)
    custom = call.get("type") == "custom"
    kind, key = ("custom", "input") if custom else ("function", "arguments")
    within = f"{where}: {kind}"
    made = mapping(call.get(kind), within)
    name, arguments = string(made, "name", within), string(made, key, within)
    id = string(call, "id", where)
    if custom:
        return ToolUseBlock(id, name, arguments, extra={"custom": True})
    return tool_use_block(id, name, arguments)


def _part(where: str, data: object) -> Block:
    part = mapping(data, where)
    kind = string(part, "type", where)
    cache: b.Cache | None = "default" if part.get(MARK) else None
    if kind in ("text", "refusal"):
        extra = {"refusal": True} if kind == "refusal" else EMPTY
        return TextBlock(string(part, kind, where), cache, extra)
    if kind not in MEDIA_READERS:
        return b.UnknownBlock(dict(part))
    within = f"{where}: {kind}"
    return MEDIA_READERS[kind](within, mapping(part.get(kind), within), cache)
