"""What only other providers have, told from what Responses has: keys, parts and messages."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from promptdsl.errors import DataError
from promptdsl.wire.request import Request

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
_PARTS: Mapping[object, tuple[str, str]] = {
    "tool_use": ("input", "anthropic"),
    "tool_result": ("tool_use_id", "anthropic"),
    "thinking": ("signature", "anthropic"),
    "image": ("source", "anthropic"),
    "document": ("source", "anthropic"),
    "text": ("text", "openai"),
    "image_url": ("image_url", "openai"),
    "file": ("file", "openai"),
}
"""By type of a part that is none of Responses, a key it has and whose it is."""


def is_own_item(data: Mapping[str, Any]) -> bool:
    """Return whether an item nobody knows may be one of Responses, and would be read as it is."""
    return is_own_part(data) and _PART.fullmatch(data["type"]) is None


def is_own_part(data: Mapping[str, Any]) -> bool:
    """Return whether a part nobody knows may be one of Responses, and would be read as it is."""
    kind = data.get("type")
    return isinstance(kind, str) and _READ.fullmatch(kind) is None and _owner(data) is None


def refuse_part(part: Mapping[str, Any]) -> None:
    """Raise :class:`DataError` for a part or an item that another provider has."""
    if owner := _owner(part):
        raise DataError(f"{part['type']!r} is none of Responses", fix=_advice(owner))


def refuse_message(entries: Mapping[str, Any]) -> None:
    """Raise :class:`DataError` for a message that another provider has."""
    for key, owner in _MESSAGES.items():
        if entries.get(key):
            raise DataError(f"{key!r} is no key of an item of Responses", fix=_advice(owner))


_MESSAGES = {
    **dict.fromkeys(("tool_calls", "tool_call_id", "function_call"), "openai"),
    "parts": "gemini",
}


def refuse_payload(payload: Mapping[str, Any]) -> None:
    """Raise :class:`DataError` for a payload that another provider has."""
    for key, owner in (("messages", "openai"), ("contents", "gemini")):
        if "input" not in payload and key in payload:
            raise DataError("'input' is needed", fix=_advice(owner))


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
            why = f"Responses has none on a {block.type} block"
            request.lose("hint", f"key {key!r}", why)
