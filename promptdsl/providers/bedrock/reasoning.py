"""Reasoning, both ways: replayed to the byte, and only where the bytes before it still stand."""

from collections.abc import Mapping
from typing import Any

from promptdsl.messages import ReasoningBlock
from promptdsl.messages.field_checks import optional
from promptdsl.providers.bedrock.binary import decoded, encoded
from promptdsl.providers.bedrock.request import Converse
from promptdsl.providers.shared.checks import entry, mapping
from promptdsl.providers.shared.reasoning import is_sendable
from promptdsl.providers.shared.request import Param, Place


def reasoning_param(request: Converse, place: Place, block: ReasoningBlock) -> Param | None:
    """Return reasoning as a block on the wire, ``None`` (a hint) where it cannot be replayed."""
    mine = place.message.role == "assistant" and block.origin == "bedrock"
    value: Param = {}
    if mine and place.number >= request.stale:
        redacted = decoded(block.encrypted) if block.encrypted else None
        if redacted:
            value = {"redactedContent": redacted}
        elif block.signature and not block.encrypted:
            value = {"reasoningText": {"text": block.text, "signature": block.signature}}
    if not value:
        why = "not signed by this provider, or bound to other bytes"
        request.lose(place, "hint", "reasoning", why)
        return None
    sendable = is_sendable(request, place, block.text, block.signature)
    return {"reasoningContent": value} if sendable else None


def read_reasoning(value: Mapping[str, Any]) -> ReasoningBlock:
    """Return the block of reasoning that was recorded."""
    if "redactedContent" in value:
        text = encoded(value["redactedContent"], "redactedContent")
        return ReasoningBlock("", encrypted=text, origin="bedrock")
    said = mapping(entry(value, "reasoningText"))
    signature = optional(said.get("signature"), "signature")
    return ReasoningBlock(entry(said, "text", str), signature, origin="bedrock")
