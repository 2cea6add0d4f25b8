"""Token counts, both ways: LangChain's parts of a count stand in two mappings."""

from collections.abc import Mapping
from typing import cast

from langchain_core.messages.ai import UsageMetadata

from promptdsl import Message
from promptdsl.integrations.losses import Crossing
from promptdsl.integrations.values import entries_of

_TOTALS = {"input": "input_tokens", "output": "output_tokens", "total": "total_tokens"}
_PARTS = {
    "cache_read": ("input_token_details", "cache_read"),
    "cache_write": ("input_token_details", "cache_creation"),
    "input_audio": ("input_token_details", "audio"),
    "reasoning": ("output_token_details", "reasoning"),
    "output_audio": ("output_token_details", "audio"),
}
"""LangChain's place of a part of a count, by our name."""
_BY_TIME = ("ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens")


def written_usage(crossing: Crossing, message: Message) -> UsageMetadata | None:
    """Return the token counts of a message; one that LangChain has no place for is a hint."""
    counts: dict[str, int] = {}
    for name, count in (message.token_usage or {}).items():
        if type(count) is int and name in {*_TOTALS, *_PARTS}:
            counts[name] = count
        else:
            crossing.hint("unsent_key", f"the token count {name!r}")
    if not counts:
        return None
    read, written = counts.get("input", 0), counts.get("output", 0)
    usage: dict[str, object] = {"input_tokens": read, "output_tokens": written}
    usage["total_tokens"] = counts.get("total", read + written)
    for name, (side, key) in _PARTS.items():
        if name in counts:
            usage[side] = {**entries_of(usage.get(side)), key: counts[name]}
    return cast("UsageMetadata", usage)


def read_usage(crossing: Crossing, given: object) -> Mapping[str, int] | None:
    """Return the token counts of a message; a part that has no name here is a hint."""
    usage = entries_of(given)
    counts = {name: usage.get(key) for name, key in _TOTALS.items()}
    names = {place: name for name, place in _PARTS.items()}
    # LangChain's Anthropic counts what a cache got by time to live, and as a whole only without.
    names |= {("input_token_details", key): "cache_write" for key in _BY_TIME}
    for side in ("input_token_details", "output_token_details"):
        for key, count in entries_of(usage.get(side)).items():
            name = names.get((side, key))
            if name is not None and type(count) is int:
                before = counts.get(name)
                counts[name] = count + (before if type(before) is int else 0)
            elif count:
                crossing.hint("unsent_key", f"the token count {key!r}")
    return {name: count for name, count in counts.items() if type(count) is int} or None
