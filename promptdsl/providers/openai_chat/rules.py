"""The keys, parts and messages of Chat, told from those that only other providers have."""

from collections.abc import Iterable, Mapping
from typing import Any

from promptdsl.foundation.errors import DataError
from promptdsl.providers.shared.blocks import lose_keys as lose_foreign_keys
from promptdsl.providers.shared.other_providers import (
    ANTHROPIC,
    RESPONSES,
    Owners,
    looks_like,
    owner_of,
)
from promptdsl.providers.shared.request import Place, Request

ORIGIN = "openai"
AUDIO = "chat_audio"
"""The type of block that an answer's recording is, which stands beside the content."""

_KNOWN = frozenset(
    {"text", "refusal", "image_url", "input_audio", "file", "function", "custom", AUDIO}
)
_PARTS: Owners = {
    **ANTHROPIC,
    **RESPONSES,
}
"""By type of a part that is none of Chat, a key it has and whose it is."""


def is_own_part(data: Mapping[str, Any]) -> bool:
    """Return whether a part nobody knows may be one of Chat, and would be read as it is."""
    kind = data.get("type")
    return isinstance(kind, str) and kind not in _KNOWN and owner_of(data, _PARTS) is None


def refuse_part(part: Mapping[str, Any]) -> None:
    """Raise :class:`DataError` for a part that another provider has."""
    if owner := owner_of(part, _PARTS):
        raise DataError(f"a part of type {part['type']!r} is none of Chat", fix=looks_like(owner))


def refuse_message(entries: Mapping[str, Any]) -> None:
    """Raise :class:`DataError` for a message that another provider has."""
    if "parts" in entries:
        raise DataError("'parts' is no key of a Chat message", fix=looks_like("gemini"))


def refuse_payload(payload: Mapping[str, Any]) -> None:
    """Raise :class:`DataError` for a payload that another provider has."""
    for key, owner in _PAYLOADS.items():
        if payload.get(key):
            raise DataError(f"{key!r} is no key of a Chat payload", fix=looks_like(owner))


_PAYLOADS = {"system": "anthropic", "contents": "gemini", "input": "openai_responses"}


def lose_keys(request: Request, place: Place, block: Any, known: Iterable[str] = ()) -> None:
    """Record the further keys of a block that Chat has not."""
    lose_foreign_keys(request, place, block, service="Chat", known=known)
