"""What a payload says, plainly and slowly: the texts of it, added up by recursion."""

import json
from typing import Any

from promptdsl import ModelFacts

NO_MODEL = ModelFacts()


class Free:
    """A counter that costs nothing: a character is a token."""

    def of(self, text: str) -> int:
        """Return how many characters a text has."""
        return len(text)


FREE = Free()

SAID = ("text", "content", "parts", "thinking", "refusal", "reasoning_content", "output", "summary")
"""Keys of texts, and of lists of parts that hold them."""

CONTAINERS = (
    *("tool_calls", "function", "custom", "function_call", "function_response"),
    *("toolUse", "toolResult", "reasoningContent", "reasoningText", "citationsContent"),
)
"""Keys of parts."""

VALUES = ("input", "arguments", "args", "response", "json")
"""Keys of what is a text, or an object that is written as JSON."""


def characters_said(value: Any) -> int:
    """Return how many characters a part, or a list of parts, says."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, list):
        return sum(map(characters_said, value))
    if not isinstance(value, dict):
        return 0
    if value.get("type") == "hologram":
        return len(compact_json({"data": value["data"]}))
    held = sum(characters_said(value[key]) for key in (*SAID, *CONTAINERS) if key in value)
    values = [value[key] for key in VALUES if key in value]
    name = len(value["name"]) if "role" not in value and "name" in value else 0
    return held + name + sum(len(v) if isinstance(v, str) else len(compact_json(v)) for v in values)


def compact_json(value: Any) -> str:
    """Return a value as JSON without white space."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def framed(entry: Any) -> int:
    """Return how many characters an entry has in its frame: role and name, 3 and 1."""
    role = "tool" if str(entry.get("type")).endswith("_output") else "assistant"
    name = 1 + len(entry["name"]) if "role" in entry and entry.get("name") else 0
    return 3 + len(entry.get("role", role)) + name
