"""LangChain's reasoning and token counts, both ways.

In this order: keys and names of LangChain; reasoning; and token counts.
"""

from base64 import b64encode
from collections.abc import Mapping
from typing import cast

from langchain_core.messages.ai import UsageMetadata

from promptdsl import Block, Message, ReasoningBlock, block_from_dict, read_payload
from promptdsl.foundation.frozen import thawed
from promptdsl.foundation.json import JsonObject, JsonValue
from promptdsl.integrations.shared import RESPONSES, Conversion, further_keys, mapping_of, summaries

# Keys and names of LangChain.

ROLE_KEY = "__openai_role__"
"""The key in LangChain's messages for the role of a developer message."""

SIGNATURES_KEY = "__gemini_function_call_thought_signatures__"
"""The key in LangChain's messages for the signatures of Gemini's calls, by call id."""

PROVIDERS = {
    "anthropic": "anthropic",
    "openai_responses": "openai",
    "gemini": "google_genai",
    "bedrock": "bedrock_converse",
}
"""LangChain's name of a provider, by promptdsl's name."""

ORIGINS = {
    **{their_name: our_name for our_name, their_name in PROVIDERS.items()},
    "azure": "openai_responses",
    "azure_openai": "openai_responses",
    "bedrock": "bedrock",
    "google_vertexai": "gemini",
}
"""promptdsl's name of the provider of reasoning, by LangChain's name."""

NATIVE = ("anthropic", "openai_responses")
"""The providers whose blocks LangChain keeps unchanged; all others get LangChain's own format."""

_ITEM_KEYS = ("content", "status")
"""The keys of a reasoning item of OpenAI Responses, other than its id and its summaries."""


# Reasoning, both ways. LangChain has one part for each summary; these parts have the same id.


def reasoning_parts(
    conversion: Conversion, block: ReasoningBlock, origin: str | None
) -> list[dict[str, JsonValue]]:
    """Return the parts for a reasoning block in a message whose provider is ``origin``."""
    # LangChain keeps Anthropic's encrypted reasoning in Anthropic's format: it has no text.
    is_of_anthropic = block.origin == origin == "anthropic"
    is_redacted = is_of_anthropic and not (block.text or block.signature)
    if is_redacted and block.encrypted is not None:
        data = conversion.clean(block.encrypted, "encrypted")
        return [{"type": "non_standard", "value": {"type": "redacted_thinking", "data": data}}]
    is_item = block.origin == RESPONSES
    if further_keys(block, *(("id", *_ITEM_KEYS) if is_item else ())):
        conversion.hint("unsent_key", "further keys of a block")
    id = block.extra.get("id") if is_item else None
    id_field = {"id": conversion.clean(id, "an id")} if isinstance(id, str) else {}
    texts = [conversion.clean(text, "reasoning") for text in summaries(block) or [block.text]]
    # The first part also has the data that the provider must get back.
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
        {"type": "reasoning", "reasoning": text, **id_field} for text in texts
    ]
    if extras:
        parts[0]["extras"] = extras
    return parts


def read_reasoning(part: JsonObject, origin: str | None) -> Block:
    """Return the block of a reasoning part of LangChain, or of an item of OpenAI Responses."""
    if "summary" in part:
        item = {key: value for key, value in part.items() if key != "index"}
        return read_payload({"input": [item]}, RESPONSES).messages[0].content[0]
    extras: Mapping[str, object] = {**part, **mapping_of(part.get("extras"))}
    keys = ("encrypted_content", "encrypted", "redacted_content")
    encrypted = next((extras[key] for key in keys if extras.get(key) is not None), None)
    if isinstance(encrypted, bytes):
        encrypted = b64encode(encrypted).decode("ascii")
    part_origin = extras.get("origin", RESPONSES if "encrypted_content" in extras else origin)
    item_keys = ("id", *_ITEM_KEYS) if part_origin == RESPONSES else ()
    return block_from_dict(
        {
            "type": "reasoning",
            "text": part.get("reasoning", ""),
            "signature": extras.get("signature"),
            "encrypted": encrypted,
            "origin": part_origin,
            **{key: extras[key] for key in item_keys if extras.get(key) is not None},
        }
    )


# Token counts, both ways.

_COUNT_LOCATIONS = {
    **{"input": "input_tokens", "output": "output_tokens", "total": "total_tokens"},
    "cache_read": "input_token_details.cache_read",
    "cache_write": "input_token_details.cache_creation",
    "reasoning": "output_token_details.reasoning",
}
"""The location of a count in LangChain's usage, by promptdsl's name."""

_COUNT_NAMES = {
    **{location: name for name, location in _COUNT_LOCATIONS.items()},
    # If LangChain's Anthropic has these counts, it has 0 for their sum.
    "input_token_details.ephemeral_5m_input_tokens": "cache_write",
    "input_token_details.ephemeral_1h_input_tokens": "cache_write",
}
"""promptdsl's name of a count, by its location in LangChain's usage."""


def written_usage(conversion: Conversion, message: Message) -> UsageMetadata | None:
    """Return LangChain's token counts, ``None`` without counts.

    A count that LangChain does not have becomes a hint.
    """
    counts = conversion.renamed_counts(message.token_usage or {}, _COUNT_LOCATIONS)
    usage: dict[str, object] = {"input_tokens": 0, "output_tokens": 0}
    for location, count in counts.items():
        key, _, detail = location.partition(".")
        usage[key] = {**mapping_of(usage.get(key)), detail: count} if detail else count
    total = counts.get("input_tokens", 0) + counts.get("output_tokens", 0)
    usage.setdefault("total_tokens", total)
    return cast("UsageMetadata", usage) if counts else None


def read_usage(conversion: Conversion, usage: object) -> Mapping[str, int] | None:
    """Return promptdsl's token counts, ``None`` without counts.

    A count that promptdsl does not have becomes a hint.
    """
    counts: dict[str, object] = {}
    for key, value in mapping_of(usage).items():
        details = {f"{key}.{detail}": count for detail, count in mapping_of(value).items()}
        counts |= details if isinstance(value, Mapping) else {key: value}
    return conversion.renamed_counts(counts, _COUNT_NAMES) or None
