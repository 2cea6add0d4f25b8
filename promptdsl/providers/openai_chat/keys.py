"""The keys that are read of Chat messages."""

from collections.abc import Mapping
from typing import Any

from promptdsl.providers.shared.openai_parts import MARK
from promptdsl.providers.shared.read_keys import (
    FUNCTION,
    REASONED,
    SAID,
    ReadKeys,
    Shape,
    call_keys,
    shape,
)

_CHAT_PARTS: Mapping[object, Shape] = {
    "text": shape("type", "text", MARK),
    "refusal": shape("type", "refusal", MARK),
    "image_url": shape("type", MARK, image_url=shape("url", "detail")),
    "input_audio": shape("type", MARK, input_audio=shape("data", "format")),
    "file": shape("type", MARK, file=shape("file_id", "file_data", "filename")),
}


def _chat_part(part: Mapping[str, Any]) -> Shape | None:
    return _CHAT_PARTS.get(part.get("type"))


_CHAT_ANSWER = shape(
    *(*SAID, *REASONED, "annotations", "audio", "parsed"),
    content=_chat_part,
    tool_calls=call_keys,
    function_call=FUNCTION,
)
_CHAT_OTHERS = shape(*SAID, content=_chat_part)
_CHAT_MESSAGES: Mapping[object, Shape] = {
    "assistant": _CHAT_ANSWER,
    "tool": {**_CHAT_OTHERS, "tool_call_id": None},
}


def _chat_message(entries: Mapping[str, Any]) -> Shape:
    return _CHAT_MESSAGES.get(entries.get("role"), _CHAT_OTHERS)


KEYS = ReadKeys({"messages": _chat_message})
