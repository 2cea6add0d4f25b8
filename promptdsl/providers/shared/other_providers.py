"""Keys and parts of other providers: told from a target's own, and refused."""

from collections.abc import Mapping
from typing import Any

from promptdsl.foundation.errors import DataError

Owners = Mapping[object, tuple[str, str]]
"""By type of a part that a provider does not have, a key it has and whose it is."""

ANTHROPIC: Owners = {
    "tool_use": ("input", "anthropic"),
    "tool_result": ("tool_use_id", "anthropic"),
    "thinking": ("signature", "anthropic"),
    "redacted_thinking": ("data", "anthropic"),
    "image": ("source", "anthropic"),
    "document": ("source", "anthropic"),
}


OPENAI: Owners = {
    "image_url": ("image_url", "openai"),
    "input_audio": ("input_audio", "openai"),
    "file": ("file", "openai"),
}
RESPONSES: Owners = {
    **{f"input_{kind}": ("type", "openai_responses") for kind in ("text", "image", "file")},
    "output_text": ("text", "openai_responses"),
    "function_call": ("call_id", "openai_responses"),
    "function_call_output": ("call_id", "openai_responses"),
    "reasoning": ("summary", "openai_responses"),
}
MESSAGE_KEYS = {
    **dict.fromkeys(("tool_calls", "tool_call_id", "function_call"), "openai"),
    "parts": "gemini",
}
"""The keys of a message that say something, and whose they are."""


def refuse_keys(entries: Mapping[str, Any]) -> None:
    """Raise :class:`DataError` for a message with a key that says something elsewhere."""
    for key, owner in MESSAGE_KEYS.items():
        if entries.get(key):
            raise DataError(f"{key!r} is no key of a message here", fix=looks_like(owner))


def refuse_part(part: Mapping[str, Any], owners: Owners) -> None:
    """Raise :class:`DataError` for a part that another provider has."""
    if owner := owner_of(part, owners):
        raise DataError(f"there is no part of type {part['type']!r} here", fix=looks_like(owner))


def owner_of(part: Mapping[str, Any], owners: Owners) -> str | None:
    """Return the provider a part looks like, ``None`` for no other provider."""
    kind = part.get("type")
    key, owner = owners.get(kind, ("", "")) if isinstance(kind, str) else ("", "")
    return owner if owner and key in part else None


def looks_like(owner: str) -> str:
    """Return what to do with what another provider has."""
    return f"this looks like {owner}: History.from_{owner}"
