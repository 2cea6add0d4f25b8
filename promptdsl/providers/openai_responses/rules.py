"""The parts and items of Responses, told from those that only other providers have."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from promptdsl.foundation.errors import DataError
from promptdsl.providers.shared.blocks import lose_keys as lose_foreign_keys
from promptdsl.providers.shared.other_providers import (
    ANTHROPIC,
    MESSAGE_KEYS,
    OPENAI,
    Owners,
    looks_like,
    owner_of,
)
from promptdsl.providers.shared.request import Place, Request

ORIGIN = "openai_responses"

KNOWN_ITEMS = re.compile(
    r"additional_tools|item_reference|compaction(_trigger)?|program(_output)?"
    r"|mcp_(list_tools|approval_re(quest|sponse)|call)|tool_search_(call|output)"
    r"|(apply_patch|computer|(local_)?shell)_call(_output)?"
    r"|(code_interpreter|file_search|image_generation|web_search)_call"
)
"""The types of items that no block of ours stands for (``ResponseInputItemParam``)."""

_READ = re.compile(
    r"message|reasoning|(function_call|custom_tool_call)(_output)?"
    r"|input_(text|image|file)|output_text|refusal"
)
"""The types of items and parts that have a block of ours."""

_PART = re.compile(r"(input|output)_.*")
_PARTS: Owners = {
    **ANTHROPIC,
    **OPENAI,
    "text": ("text", "openai"),
}
"""By type of a part that is none of Responses, a key it has and whose it is."""


def is_own_item(data: Mapping[str, Any]) -> bool:
    """Return whether an item nobody knows may be one of Responses, and would be read as it is."""
    return is_own_part(data) and _PART.fullmatch(data["type"]) is None


def is_own_part(data: Mapping[str, Any]) -> bool:
    """Return whether a part nobody knows may be one of Responses, and would be read as it is."""
    kind = data.get("type")
    return (
        isinstance(kind, str) and _READ.fullmatch(kind) is None and owner_of(data, _PARTS) is None
    )


def refuse_part(part: Mapping[str, Any]) -> None:
    """Raise :class:`DataError` for a part or an item that another provider has."""
    if owner := owner_of(part, _PARTS):
        raise DataError(f"{part['type']!r} is none of Responses", fix=looks_like(owner))


def refuse_message(entries: Mapping[str, Any]) -> None:
    """Raise :class:`DataError` for a message that another provider has."""
    for key, owner in MESSAGE_KEYS.items():
        if entries.get(key):
            raise DataError(f"{key!r} is no key of an item of Responses", fix=looks_like(owner))


def refuse_payload(payload: Mapping[str, Any]) -> None:
    """Raise :class:`DataError` for a payload that another provider has."""
    for key, owner in (("messages", "openai"), ("contents", "gemini")):
        if "input" not in payload and key in payload:
            raise DataError("'input' is needed", fix=looks_like(owner))


def lose_keys(request: Request, place: Place, block: Any, known: Iterable[str] = ()) -> None:
    """Record the further keys of a block that Responses has not."""
    lose_foreign_keys(request, place, block, service="Responses", known=known)
