"""The keys that are read of Anthropic's messages."""

from collections.abc import Mapping
from typing import Any

from promptdsl.foundation.frozen import is_mapping
from promptdsl.providers.shared.read_keys import REST, ReadKeys, Shape, shape

_CONTROL = shape("type", "ttl")
_OPEN = shape(REST, cache_control=_CONTROL)
_SOURCE = shape("type", "media_type", "data", "url", "file_id")


def _block(block: Mapping[str, Any]) -> Shape | None:
    kind, source = block.get("type"), block.get("source")
    if kind == "thinking":
        return shape("type", "thinking", "signature")
    if kind == "redacted_thinking":
        return shape("type", "data")
    if kind in ("image", "document"):
        # Other sources are kept as they came.
        is_read = is_mapping(source) and source.get("type") in ("base64", "text", "url", "file")
        return {**_OPEN, "source": _SOURCE} if is_read else None
    return {**_OPEN, "content": _block} if kind == "tool_result" else _OPEN


_REPLY = (
    *("id", "type", "model", "usage", "container", "context_management", "stop_details"),
    "diagnostics",
)
_TURN = shape("role", *_REPLY, "stop_reason", "stop_sequence", content=_block)
_INSTRUCTION = shape("type", "text", cache_control=_CONTROL)


KEYS = ReadKeys({"system": _INSTRUCTION, "messages": _TURN})
