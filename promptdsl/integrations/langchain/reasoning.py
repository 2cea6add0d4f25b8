"""Reasoning, both ways. LangChain has one part for each summary; they have the same id."""

from base64 import b64encode
from collections.abc import Mapping

from promptdsl import Block, ReasoningBlock, block_from_dict, read_payload
from promptdsl.foundation.frozen import thawed
from promptdsl.foundation.json import JsonObject, JsonValue
from promptdsl.integrations.losses import Conversion
from promptdsl.integrations.values import RESPONSES, further_keys, mapping_of, summaries

ROLE = "__openai_role__"
"""The key of LangChain's messages with the role of a developer message."""

SIGNATURES = "__gemini_function_call_thought_signatures__"
"""The key of LangChain's messages with the signatures of Gemini's calls, by call id."""

PROVIDERS = {
    "anthropic": "anthropic",
    "openai_responses": "openai",
    "gemini": "google_genai",
    "bedrock": "bedrock_converse",
}
"""LangChain's name of a provider, by our name."""

ORIGINS = {
    **{theirs: ours for ours, theirs in PROVIDERS.items()},
    "azure": "openai_responses",
    "azure_openai": "openai_responses",
    "bedrock": "bedrock",
    "google_vertexai": "gemini",
}
"""Our name of the provider of reasoning, by LangChain's name."""

NATIVE = ("anthropic", "openai_responses")
"""The providers whose blocks LangChain keeps unchanged. It has its own format for all others."""

_ITEM_KEYS = ("content", "status")
"""The keys of a reasoning item of OpenAI Responses, other than its id and its summaries."""


def reasoning_parts(
    conversion: Conversion, block: ReasoningBlock, origin: str | None
) -> list[dict[str, JsonValue]]:
    """Return the parts of a reasoning block in a message of the provider ``origin``."""
    is_redacted = block.origin == origin == "anthropic" and not (block.text or block.signature)
    if is_redacted and block.encrypted is not None:
        data = conversion.clean(block.encrypted, "encrypted")
        return [{"type": "non_standard", "value": {"type": "redacted_thinking", "data": data}}]
    is_item = block.origin == RESPONSES
    if further_keys(block, *(("id", *_ITEM_KEYS) if is_item else ())):
        conversion.hint("unsent_key", "further keys of a block")
    id = block.extra.get("id") if is_item else None
    named = {"id": conversion.clean(id, "an id")} if isinstance(id, str) else {}
    texts = [conversion.clean(text, "reasoning") for text in summaries(block) or [block.text]]
    # The first part also has what the provider has to get back.
    extras: dict[str, JsonValue] = {}
    if block.signature is not None:
        extras["signature"] = conversion.clean(block.signature, "signature")
    if block.encrypted is not None:
        key = "encrypted_content" if is_item else "encrypted"
        extras[key] = conversion.clean(block.encrypted, key)
    if block.origin != origin:
        extras["origin"] = conversion.clean_optional(block.origin, "origin")
    for key in _ITEM_KEYS if is_item else ():
        if key in block.extra:
            extras[key] = thawed(block.extra[key])
    parts: list[dict[str, JsonValue]] = [
        {"type": "reasoning", "reasoning": text, **named} for text in texts
    ]
    if extras:
        parts[0]["extras"] = extras
    return parts


def read_reasoning(part: JsonObject, origin: str | None) -> Block:
    """Return the reasoning of a part of LangChain, or of an item of OpenAI Responses."""
    if "summary" in part:
        item = {key: value for key, value in part.items() if key != "index"}
        return read_payload({"input": [item]}, RESPONSES).messages[0].content[0]
    extras: Mapping[str, object] = {**part, **mapping_of(part.get("extras"))}
    keys = ("encrypted_content", "encrypted", "redacted_content")
    encrypted = next((extras[key] for key in keys if extras.get(key) is not None), None)
    if isinstance(encrypted, bytes):
        encrypted = b64encode(encrypted).decode("ascii")
    part_origin = extras.get("origin", RESPONSES if "encrypted_content" in extras else origin)
    kept = ("id", *_ITEM_KEYS) if part_origin == RESPONSES else ()
    return block_from_dict(
        {
            "type": "reasoning",
            "text": part.get("reasoning", ""),
            "signature": extras.get("signature"),
            "encrypted": encrypted,
            "origin": part_origin,
            **{key: extras[key] for key in kept if extras.get(key) is not None},
        }
    )
