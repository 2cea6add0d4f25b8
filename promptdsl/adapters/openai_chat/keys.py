"""What only other providers have, told from what Chat has: keys, parts, messages and payloads."""

from collections.abc import Iterable, Mapping
from typing import Any

from promptdsl.errors import DataError
from promptdsl.wire.request import Request

ORIGIN = "openai"
AUDIO = "chat_audio"
"""The type of block that an answer's recording is, which stands beside the content."""

_KNOWN = frozenset(
    {"text", "refusal", "image_url", "input_audio", "file", "function", "custom", AUDIO}
)
_PARTS: Mapping[object, tuple[str, str]] = {
    "tool_use": ("input", "anthropic"),
    "tool_result": ("tool_use_id", "anthropic"),
    "thinking": ("signature", "anthropic"),
    "image": ("source", "anthropic"),
    "document": ("source", "anthropic"),
    "input_text": ("text", "openai_responses"),
    "output_text": ("text", "openai_responses"),
    "input_image": ("detail", "openai_responses"),
    "input_file": ("type", "openai_responses"),
}
"""By type of a part that is none of Chat, a key it has and whose it is."""


def is_own_part(data: Mapping[str, Any]) -> bool:
    """Return whether a part nobody knows may be one of Chat, and would be read as it is."""
    kind = data.get("type")
    return isinstance(kind, str) and kind not in _KNOWN and _owner(data) is None


def refuse_part(part: Mapping[str, Any]) -> None:
    """Raise :class:`DataError` for a part that another provider has."""
    if owner := _owner(part):
        raise DataError(f"a part of type {part['type']!r} is none of Chat", fix=_advice(owner))


def refuse_message(entries: Mapping[str, Any]) -> None:
    """Raise :class:`DataError` for a message that another provider has."""
    if "parts" in entries:
        raise DataError("'parts' is no key of a Chat message", fix=_advice("gemini"))


def refuse_payload(payload: Mapping[str, Any]) -> None:
    """Raise :class:`DataError` for a payload that another provider has."""
    for key, owner in _PAYLOADS.items():
        if payload.get(key):
            raise DataError(f"{key!r} is no key of a Chat payload", fix=_advice(owner))


_PAYLOADS = {"system": "anthropic", "contents": "gemini", "input": "openai_responses"}


def _owner(part: Mapping[str, Any]) -> str | None:
    kind = part.get("type")
    key, owner = _PARTS.get(kind, ("", "")) if isinstance(kind, str) else ("", "")
    return owner if owner and key in part else None


def _advice(owner: str) -> str:
    return f"this looks like {owner}: History.from_{owner}"


def lose_keys(request: Request, block: Any, known: Iterable[str] = ()) -> None:
    """Record the further keys of a block that are not sent; ids are none of them."""
    for key, value in block.extra.items():
        if value and key != "item" and key not in known:
            request.lose("hint", f"key {key!r}", f"Chat has none on a {block.type} block")
