"""Parts and calls as blocks: what each part of a recorded message was."""

from collections.abc import Mapping
from typing import Any

from promptdsl import blocks as b
from promptdsl.adapters.chat_template.media import read_media
from promptdsl.adapters.chat_template.request import ORIGIN
from promptdsl.blocks import Block, ToolUseBlock, optional, text_block
from promptdsl.json_text import write_json
from promptdsl.wire.entries import entry, located_items, mapping

_THOUGHTS = ("reasoning_content", "thinking", "reasoning")
"""What templates and servers call what was thought; the first is the one they share."""


def read_content(content: object) -> tuple[Block, ...]:
    """Return the blocks of what stands under ``content``: nothing, a text, or parts."""
    if content is None or content == "":
        return ()
    if isinstance(content, str):
        return (text_block(content),)
    return tuple(located_items("content", _part, content))


def read_said(entries: Mapping[str, Any], before: int) -> tuple[Block, ...]:
    """Return the blocks of an answer: thoughts, text, calls; ``before`` is how many came before."""
    thoughts = filter(None, (optional(entries.get(key), key) for key in _THOUGHTS))
    calls = list(located_items("tool_calls", _call, entries.get("tool_calls") or ()))
    named = [
        ToolUseBlock(f"call_{before + number}" if id is None else id, name, arguments)
        for number, (id, name, arguments) in enumerate(calls)
    ]
    # The same is said under two names by those who ask for either.
    thinking = [b.ReasoningBlock(thought, origin=ORIGIN) for thought in dict.fromkeys(thoughts)]
    refusal = optional(entries.get("refusal"), "refusal")
    refused = (b.TextBlock(refusal, extra={"refusal": True}),) if refusal else ()
    return (*thinking, *read_content(entries.get("content")), *refused, *named)


def _call(data: object) -> tuple[str | None, str, str]:
    call = mapping(data)
    # Some templates take calls without the envelope.
    function = mapping(call["function"]) if "function" in call else call
    arguments = function.get("arguments")
    text = arguments if isinstance(arguments, str) else write_json(arguments or {})
    return optional(call.get("id"), "id"), entry(function, "name", str), text


def _part(data: object) -> Block:
    if isinstance(data, str):
        return text_block(data)
    part = mapping(data)
    if part.get("type", "text") == "text":
        return text_block(entry(part, "text", str))
    return read_media(part) or b.UnknownBlock(part, ORIGIN)
