"""Reasoning, both ways: replayed to the byte, and only where the bytes before it still stand."""

from collections.abc import Mapping, Sequence
from typing import Any

from promptdsl.adapters.anthropic.entries import entry
from promptdsl.adapters.anthropic.request import SPOKEN, Param, Request
from promptdsl.blocks import ReasoningBlock, optional
from promptdsl.encoding import is_whole
from promptdsl.messages import FLEETING, Message

THINKING: Mapping[str, str] = {"thinking": "thinking", "redacted_thinking": "data"}
"""The block types of reasoning, each with the key it cannot be without."""


def stale_before(messages: Sequence[Message]) -> int:
    """Return the index before which reasoning is bound to bytes that no longer stand."""
    requests = [n for n, m in enumerate(messages) if m.kind in FLEETING]
    if not requests:
        return 0
    asked = max((n for n, m in enumerate(messages) if _asks(m)), default=-1)
    return len(messages) if requests[-1] > asked else asked


def _asks(said: Message) -> bool:
    if said.role != "user" or said.kind not in SPOKEN:
        return False
    return said.plain is not None or all(block.type != "tool_result" for block in said.content)


def reasoning_param(request: Request, block: ReasoningBlock) -> Param | None:
    """Return reasoning as a block on the wire, ``None`` (a hint) where it cannot be replayed."""
    mine = request.message.role == "assistant" and block.origin == "anthropic"
    sent = (block.text, block.signature or "", block.encrypted or "")
    if mine and not all(map(is_whole, sent)):
        request.lose("hint", "reasoning", "it holds a lone surrogate, which cannot be sent")
        return None
    if mine and request.index >= request.stale and block.encrypted:
        return {"type": "redacted_thinking", "data": block.encrypted}
    if mine and request.index >= request.stale and block.signature:
        return {"type": "thinking", "thinking": block.text, "signature": block.signature}
    request.lose("hint", "reasoning", "not signed by this provider, or bound to other bytes")
    return None


def read_reasoning(kind: str, entries: Mapping[str, Any]) -> ReasoningBlock:
    """Return the block of reasoning that was recorded."""
    text = entry(entries, THINKING[kind], str)
    if kind == "redacted_thinking":
        return ReasoningBlock("", encrypted=text, origin="anthropic")
    return ReasoningBlock(text, optional(entries.get("signature"), "signature"), origin="anthropic")
