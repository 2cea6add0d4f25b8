"""Reasoning, both ways: a part for each summary, under one id."""

from base64 import b64encode
from collections.abc import Mapping
from typing import Any

from promptdsl import Block, ReasoningBlock, UnknownBlock, block_from_dict, read_payload
from promptdsl.integrations.losses import Crossing
from promptdsl.integrations.values import RESPONSES, foreign, further, summaries

_KEPT = ("content", "status")


def written_thought(
    crossing: Crossing, block: ReasoningBlock, origin: str | None
) -> list[dict[str, Any]]:
    """Return the parts of a thought in a message of a provider, ``origin`` by our name."""
    redacted = block.origin == origin == "anthropic" and not (block.text or block.signature)
    if redacted and block.encrypted is not None:
        data = crossing.clean(block.encrypted, "encrypted")
        return [{"type": "non_standard", "value": {"type": "redacted_thinking", "data": data}}]
    responses = block.origin == RESPONSES
    if further(block, *(("id", *_KEPT) if responses else ())):
        crossing.lose("hint", "further keys of a block")
    id = block.extra.get("id") if responses else None
    named = {"id": crossing.clean(id, "an id")} if isinstance(id, str) else {}
    texts = [crossing.clean(text, "reasoning") for text in summaries(block)]
    parts: list[dict[str, Any]] = [
        {"type": "reasoning", "reasoning": text, **named} for text in texts
    ]
    extras = _extras(crossing, block, origin)
    parts[0] |= {"extras": extras} if extras else {}
    return parts


def _extras(crossing: Crossing, block: ReasoningBlock, origin: str | None) -> dict[str, Any]:
    responses = block.origin == RESPONSES
    encrypted = "encrypted_content" if responses else "encrypted"
    given = {
        "signature": crossing.name(block.signature, "signature"),
        encrypted: crossing.name(block.encrypted, "encrypted"),
    }
    told: dict[str, Any] = {key: text for key, text in given.items() if text is not None}
    if block.origin != origin:
        told["origin"] = crossing.name(block.origin, "origin")
    # As plain data that belongs to who asked for it.
    kept = {key: block.extra[key] for key in _KEPT if responses and key in block.extra}
    return {**told, **UnknownBlock({"type": "extra", "extra": kept}).to_dict()["extra"]}


def read_thought(part: Mapping[str, Any], origin: str | None) -> Block:
    """Return the thought that a part is: LangChain's, or an item of OpenAI Responses."""
    if "summary" in part:
        item = {key: value for key, value in part.items() if key != "index"}
        return read_payload({"input": [item]}, RESPONSES).messages[0].content[0]
    extras: dict[str, Any] = {**part, **(part.get("extras") or {})}
    origin = extras.get("origin", RESPONSES if "encrypted_content" in extras else origin)
    names = ("encrypted_content", "encrypted", "redacted_content")
    encrypted = next((extras[name] for name in names if extras.get(name) is not None), None)
    kept = ("id", *_KEPT) if origin == RESPONSES else ()
    return block_from_dict(
        {
            "type": "reasoning",
            "text": part.get("reasoning", ""),
            "signature": extras.get("signature"),
            "encrypted": _base64(encrypted) if isinstance(encrypted, bytes) else encrypted,
            "origin": origin,
            **{key: extras[key] for key in kept if extras.get(key) is not None},
        }
    )


def _base64(data: bytes) -> str:
    return b64encode(data).decode("ascii")


ROLE = "__openai_role__"
"""Where LangChain keeps that a system message is a developer's."""

SIGNATURES = "__gemini_function_call_thought_signatures__"
"""Where LangChain keeps the signatures of Gemini's calls, by id."""

PROVIDERS = {
    "anthropic": "anthropic",
    "openai_responses": "openai",
    "gemini": "google_genai",
    "bedrock": "bedrock_converse",
}
"""By our name of a provider, theirs."""

ORIGINS = {
    **{theirs: ours for ours, theirs in PROVIDERS.items()},
    "azure": "openai_responses",
    "azure_openai": "openai_responses",
    "bedrock": "bedrock",
    "google_vertexai": "gemini",
}
"""By their name of a provider, whose reasoning it is."""

NATIVE = ("anthropic", "openai_responses")
"""The providers whose blocks LangChain keeps as they came; those of others are its own."""


def langchain() -> Any:
    """Return LangChain's module of messages; :class:`PromptError` when it is not installed."""
    return foreign("langchain_core.messages", "langchain")
