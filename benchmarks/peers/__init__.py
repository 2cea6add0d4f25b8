"""Other libraries doing the same job, one file each, and the comparison their results must pass."""

import json
from typing import Any

from benchmarks import handwritten
from benchmarks.prompt import Data


def system_text(data: Data) -> str:
    """Return the eight sections as the text of one system message."""
    return "\n\n".join(f"## {section.title}\n{section.text}" for section in data.sections)


def same_as_handwritten(messages: list[Any], data: Data) -> bool:
    """Return whether these Chat messages say the same as the hand-written ones.

    Spelling does not count: text as a string or as parts, JSON spacing, absent or empty fields.
    """
    return [plain(each) for each in messages] == [plain(each) for each in handwritten.build(data)]


def plain(message: dict[str, Any]) -> dict[str, Any]:
    """Return what one Chat message says, in one spelling."""
    return {
        "role": message["role"],
        "parts": _parts(message.get("content")),
        "calls": [_call(call) for call in message.get("tool_calls") or ()],
        "answers": message.get("tool_call_id"),
    }


def _parts(content: Any) -> list[str]:
    parts: list[Any] = [{"text": content}] if isinstance(content, str) else content or []
    return [
        part.get("text") or part["image_url"]["url"] for part in parts if part.get("text") != ""
    ]


def _call(call: dict[str, Any]) -> tuple[str, str, Any]:
    function = call["function"]
    return call["id"], function["name"], json.loads(function["arguments"])
