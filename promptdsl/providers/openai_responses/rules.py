"""Tell the parts and items of Responses from those that only other providers have."""

import re

from promptdsl.foundation.errors import DataError
from promptdsl.foundation.json import JsonObject
from promptdsl.providers.shared.other_providers import (
    ANTHROPIC,
    OPENAI,
    Owners,
    looks_like,
    owner_of,
)

ORIGIN = "openai_responses"

REASONING_KEYS = ("id", "summary", "content", "status")
"""The keys of an item of reasoning that are kept beside the fields of its block."""

KNOWN_ITEMS = re.compile(
    r"additional_tools|item_reference|compaction(_trigger)?|program(_output)?"
    r"|mcp_(list_tools|approval_re(quest|sponse)|call)|tool_search_(call|output)"
    r"|(apply_patch|computer|(local_)?shell)_call(_output)?"
    r"|(code_interpreter|file_search|image_generation|web_search)_call"
)
"""The types of items that have no block of their own (``ResponseInputItemParam``)."""

_READ = re.compile(
    r"message|reasoning|(function_call|custom_tool_call)(_output)?"
    r"|input_(text|image|file)|output_text|refusal"
)
"""The types of items and parts that have a block of their own."""

PART = re.compile(r"(input|output)_.*")
"""The types of parts, which are no items."""

_PARTS: Owners = {**ANTHROPIC, **OPENAI, "text": ("text", "openai")}
"""By type of a part that Responses does not have, a key it has and its provider."""


def is_own(data: JsonObject) -> bool:
    """Return whether an unknown item or part may be one of Responses, to be read as it came."""
    kind = data.get("type")
    return (
        isinstance(kind, str) and _READ.fullmatch(kind) is None and owner_of(data, _PARTS) is None
    )


def refuse_part(part: JsonObject) -> None:
    """Raise :class:`DataError` for a part or an item that another provider has."""
    if owner := owner_of(part, _PARTS):
        raise DataError(f"{part['type']!r} is not a type of Responses", fix=looks_like(owner))
