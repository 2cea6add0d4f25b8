"""The keys that are read of Gemini's contents, with the keys of the SDK."""

from collections.abc import Mapping
from typing import Any

from promptdsl.providers.gemini.spelling import entries_of
from promptdsl.providers.shared.read_keys import REST, ReadKeys, Shape, shape


def _content(content: Mapping[str, Any]) -> Shape | None:
    return shape("role", parts=_thought) if "parts" in content else _thought(content)


def _thought(part: Mapping[str, Any]) -> Shape | None:
    is_thought = part.get("thought") and "text" in part
    return shape("text", "thought", "thought_signature") if is_thought else None


def _gemini_system(content: Mapping[str, Any]) -> Shape:
    return shape("role", parts=shape("text")) if "parts" in content else shape("text")


KEYS = ReadKeys(
    {
        "system_instruction": _gemini_system,
        "config": shape(REST, system_instruction=_gemini_system),
        "contents": _content,
    },
    entries_of,
)
