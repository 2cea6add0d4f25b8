"""The keys, parts and messages of Chat, and those that only other providers have."""

from collections.abc import Iterable, Mapping

from promptdsl.foundation.errors import DataError
from promptdsl.messages import Block
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
"""The type of an unknown block with an answer's recording, which is sent beside the content."""

_KNOWN = frozenset(
    {"text", "refusal", "image_url", "input_audio", "file", "function", "custom", AUDIO}
)
_FOREIGN: Owners = {**ANTHROPIC, **RESPONSES}


def is_own_part(data: Mapping[str, object]) -> bool:
    """Return whether a part of an unknown type may be sent as it is, and would be read again."""
    kind = data.get("type")
    return isinstance(kind, str) and kind not in _KNOWN and owner_of(data, _FOREIGN) is None


def refuse_foreign_part(part: Mapping[str, object]) -> None:
    """Raise :class:`DataError` for a part that another provider has."""
    if owner := owner_of(part, _FOREIGN):
        raise DataError(f"Chat has no part of type {part['type']!r}", fix=looks_like(owner))


def refuse_message(entries: Mapping[str, object]) -> None:
    """Raise :class:`DataError` for a message that another provider has."""
    if "parts" in entries:
        raise DataError("a Chat message has no key 'parts'", fix=looks_like("gemini"))


def refuse_payload(payload: Mapping[str, object]) -> None:
    """Raise :class:`DataError` for a payload that another provider has."""
    owners = {"system": "anthropic", "contents": "gemini", "input": "openai_responses"}
    for key, owner in owners.items():
        if payload.get(key):
            raise DataError(f"a Chat payload has no key {key!r}", fix=looks_like(owner))


def lose_keys(request: Request, place: Place, block: Block, known: Iterable[str] = ()) -> None:
    """Lose the further keys of a block that Chat has no word for."""
    lose_foreign_keys(request, place, block, service="Chat", known=known)
