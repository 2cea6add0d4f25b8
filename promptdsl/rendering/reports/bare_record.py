"""A record without content: no text, name, id and file. What is not listed here is left out."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from promptdsl.foundation.frozen import is_list, is_mapping
from promptdsl.foundation.json import JsonDict
from promptdsl.messages.blocks import CLASSES
from promptdsl.messages.prompt import CHOICES

COUNTS = ("total", "label", "method", "typical", "tools", "form", "savings")
"""The keys of the counts in the tokens of a record."""


def bare_record(data: Any) -> JsonDict:  # Any: JSON data
    """Return the data of a record without content."""
    bare: JsonDict = _kept(data, KEPT)
    return {**bare, "content": False}


def _same(value: object) -> object:
    return value


def _kept(value: Any, plan: Any) -> Any:  # Any: JSON data, and what stays of it
    """Return the keys of data that a plan has.

    Each is what a function returns for it, what a plan of its own leaves, or a constant.
    """
    if callable(plan):
        return plan(value)
    if value is None or not isinstance(plan, dict):
        return value and plan
    if is_list(value):
        return [_kept(item, plan) for item in value]
    keys = cast("dict[str, object]", plan)
    return {key: _kept(value[key], inner) for key, inner in keys.items() if key in value}


def _bare_blocks(blocks: Sequence[JsonDict]) -> list[JsonDict]:
    return [
        _kept(block, BLOCK) if block["type"] in CLASSES else {"type": "unknown"} for block in blocks
    ]


def _bare_settings(rows: JsonDict) -> JsonDict:
    """Return settings without the ends of delimiters."""
    return {
        key: {**row, **({"value": None} if is_list(row.get("value")) else {})}
        for key, row in rows.items()
        if is_mapping(row)
    }


def _choice(choice: str | None) -> str | None:
    return choice if choice in CHOICES else None


def _kind(what: str) -> str:
    """Return the kind of a part, and of a section its id."""
    return what if what.startswith("section ") else re.split(" ['\"]", what)[0]


BLOCK: Mapping[str, object] = {
    **dict.fromkeys(("type", "cache", "is_error", "error_type"), _same),
    "content": _bare_blocks,
}
_SPAN = ("message", "block", "inner", "start", "end", "kind", "role", "cache", "tokens")
_PART = {
    "what": _kind,
    **dict.fromkeys(
        ("depth", "tokens", "cache", "priority", "message", "at", "range", "assumed"), _same
    ),
}
KEPT: Mapping[str, object] = {
    **dict.fromkeys(
        ("format", "content", "digest", "model", "budget", "libraries", "sent", "sent_as"), _same
    ),
    "messages": {"role": _same, "kind": _same, "content": _bare_blocks},
    "outline": [],
    "spans": dict.fromkeys(_SPAN, _same),
    "tokens": {
        **dict.fromkeys((*COUNTS, "messages"), _same),
        "parts": {**_PART, "dropped": ""},
    },
    "dropped": _PART,
    "losses": dict.fromkeys(("kind", "name", "at"), _same),
    "tools": {"cache": _same},
    "tool_choice": _choice,
    "output": {"strict": _same},
    "settings": _bare_settings,
    "inputs": None,
}
