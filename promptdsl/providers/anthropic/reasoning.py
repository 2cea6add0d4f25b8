"""Reasoning, both ways: replayed to the byte, and only where the bytes before it still stand."""

from collections.abc import Mapping
from typing import Any

from promptdsl.messages import ReasoningBlock
from promptdsl.messages.field_checks import optional
from promptdsl.providers.shared.checks import entry
from promptdsl.providers.shared.reasoning import is_sendable
from promptdsl.providers.shared.request import Param, Place
from promptdsl.providers.shared.two_sided import Turns

THINKING: Mapping[str, str] = {"thinking": "thinking", "redacted_thinking": "data"}
"""The block types of reasoning, each with the key it cannot be without."""


def reasoning_param(request: Turns, place: Place, block: ReasoningBlock) -> Param | None:
    """Return reasoning as a block on the wire, ``None`` (a hint) where it cannot be replayed."""
    mine = place.message.role == "assistant" and block.origin == "anthropic"
    if mine and not is_sendable(request, place, block.text, block.signature, block.encrypted):
        return None
    if mine and place.number >= request.stale and block.encrypted:
        return {"type": "redacted_thinking", "data": block.encrypted}
    if mine and place.number >= request.stale and block.signature:
        return {"type": "thinking", "thinking": block.text, "signature": block.signature}
    signed = mine and (block.encrypted or block.signature)
    by = "a budget" if request.prompt.trimmed else "request-only content"
    why = f"{by} changed the bytes it is bound to" if signed else _FOREIGN
    request.lose(place, "hint", "reasoning", why)
    return None


_FOREIGN = "not signed by this provider"


def read_reasoning(kind: str, entries: Mapping[str, Any]) -> ReasoningBlock:
    """Return the block of reasoning that was recorded."""
    text = entry(entries, THINKING[kind], str)
    if kind == "redacted_thinking":
        return ReasoningBlock("", encrypted=text, origin="anthropic")
    return ReasoningBlock(text, optional(entries.get("signature"), "signature"), origin="anthropic")
