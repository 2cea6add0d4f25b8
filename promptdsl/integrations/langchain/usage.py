"""Token counts, both ways."""

from collections.abc import Mapping
from typing import cast

from langchain_core.messages.ai import UsageMetadata

from promptdsl import Message
from promptdsl.integrations.losses import Conversion
from promptdsl.integrations.values import mapping_of

_NAMES = {
    **{"input": "input_tokens", "output": "output_tokens", "total": "total_tokens"},
    "cache_read": "input_token_details.cache_read",
    "cache_write": "input_token_details.cache_creation",
    "reasoning": "output_token_details.reasoning",
}
"""The location of a count in LangChain's usage, by our name."""

_OUR_NAMES = {
    **{location: name for name, location in _NAMES.items()},
    # LangChain's Anthropic has these counts, and then 0 for their sum.
    "input_token_details.ephemeral_5m_input_tokens": "cache_write",
    "input_token_details.ephemeral_1h_input_tokens": "cache_write",
}


def written_usage(conversion: Conversion, message: Message) -> UsageMetadata | None:
    """Return the token counts of a message. A count that LangChain does not have is a hint."""
    counts = conversion.renamed_counts(message.token_usage or {}, _NAMES)
    usage: dict[str, object] = {"input_tokens": 0, "output_tokens": 0}
    for location, count in counts.items():
        key, _, part = location.partition(".")
        usage[key] = {**mapping_of(usage.get(key)), part: count} if part else count
    usage.setdefault("total_tokens", sum(counts.get(key, 0) for key in [*usage][:2]))
    return cast("UsageMetadata", usage) if counts else None


def read_usage(conversion: Conversion, usage: object) -> Mapping[str, int] | None:
    """Return the token counts of a message. A count that promptdsl does not have is a hint."""
    flat: dict[str, object] = {}
    for key, value in mapping_of(usage).items():
        parts = {f"{key}.{part}": count for part, count in mapping_of(value).items()}
        flat |= parts if isinstance(value, Mapping) else {key: value}
    return conversion.renamed_counts(flat, _OUR_NAMES) or None
