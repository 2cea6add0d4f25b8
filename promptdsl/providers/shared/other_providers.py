"""Keys and parts that only other providers have: they are recognised, and refused."""

from collections.abc import Mapping

from promptdsl.foundation.errors import DataError, nearest
from promptdsl.messages import UnknownBlock
from promptdsl.messages.blocks import CLASSES

Owners = Mapping[object, tuple[str, str]]
"""By the type of a part that a provider does not have: a key of it, and the provider it is of."""

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
"""The keys of a message that carry content at one provider only, and that provider."""


def refuse_part(part: Mapping[str, object], owners: Owners) -> None:
    """Raise :class:`DataError` for a part that another provider has."""
    if owner := owner_of(part, owners):
        raise DataError(f"there is no part of type {part['type']!r} here", fix=looks_like(owner))


def owner_of(part: Mapping[str, object], owners: Owners) -> str | None:
    """Return the other provider that a part looks like, ``None`` where there is none."""
    kind = part.get("type")
    key, owner = owners.get(kind, ("", "")) if isinstance(kind, str) else ("", "")
    return owner if owner and key in part else None


def why_unknown(block: UnknownBlock, origin: str) -> str:
    """Return why a provider does not get an unknown block, empty if it was read from there."""
    if block.origin is not None:
        return "" if block.origin == origin else f"only {block.origin} knows it"
    if owner := owner_of(block.data, {**ANTHROPIC, **OPENAI, **RESPONSES}):
        return looks_like(owner)
    close = nearest(str(block.data.get("type"))[:60], CLASSES)
    if close.startswith("did"):
        return f"no block has this type: {close}"
    return "no block has this type; one of a provider is read with History.from_openai and so on"


def looks_like(owner: str) -> str:
    """Return the advice for data that another provider has."""
    return f"this looks like {owner}: History.from_{owner}"
