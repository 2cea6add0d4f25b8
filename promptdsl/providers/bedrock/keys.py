"""The keys that are read of Converse's messages."""

from collections.abc import Mapping
from typing import Any

from promptdsl.providers.shared.read_keys import REST, ReadKeys, Shape, shape

_POINT = shape("type", "ttl")
_REASONING = shape("redactedContent", reasoningText=shape("text", "signature"))


def _tool_use(call: Mapping[str, Any]) -> Shape | None:
    return shape("toolUseId", "name", "input") if call.get("type") is None else None


def _tool_result(result: Mapping[str, Any]) -> Shape | None:
    keys = shape("toolUseId", "status", content=_UNION)
    return keys if result.get("type") is None else None


_UNION = shape(
    REST,
    reasoningContent=_REASONING,
    cachePoint=_POINT,
    toolUse=_tool_use,
    toolResult=_tool_result,
)
"""The kinds of blocks; those that are not here are kept with all their keys."""


KEYS = ReadKeys({"system": _UNION, "messages": shape("role", content=_UNION)})
