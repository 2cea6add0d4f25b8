"""The keys that are read of the messages of a chat template."""

from collections.abc import Mapping
from typing import Any

from promptdsl.providers.shared.read_keys import REASONED, SAID, ReadKeys, Shape, call_keys, shape


def _template_part(part: Mapping[str, Any]) -> Shape | None:
    return shape("type", "text") if part.get("type", "text") == "text" else None


_TEMPLATE_ANSWER = shape(
    *(*SAID, *REASONED, "thinking"), content=_template_part, tool_calls=call_keys
)
_TEMPLATE_OTHERS = shape(*SAID, content=_template_part)


def _template_message(entries: Mapping[str, Any]) -> Shape:
    role = entries.get("role")
    if role in ("assistant", "model"):
        return _TEMPLATE_ANSWER
    is_result = role in ("tool", "ipython", "tool_results")
    return {**_TEMPLATE_OTHERS, "tool_call_id": None} if is_result else _TEMPLATE_OTHERS


KEYS = ReadKeys({"messages": _template_message})
