"""The keys that are read of the items of Responses."""

from collections.abc import Mapping
from typing import Any

from promptdsl.providers.shared.openai_parts import MARK
from promptdsl.providers.shared.read_keys import ReadKeys, Shape, shape

_ADDRESSES = ("image_url", "file_id", "file_url", "file_data")
_TEXT = shape("type", "text", "annotations", "logprobs", MARK)
_FILE = shape("type", "detail", "filename", MARK, *_ADDRESSES)


def _part(part: Mapping[str, Any]) -> Shape | None:
    kind = part.get("type")
    if kind in ("input_text", "output_text"):
        return _TEXT
    if kind == "refusal":
        return shape("type", "refusal", MARK)
    is_file = kind in ("input_image", "input_file")
    return _FILE if is_file and any(part.get(key) is not None for key in _ADDRESSES) else None


_MODELS = ("type", "id", "call_id", "status", "caller", "namespace")
_ITEMS: Mapping[object, Shape] = {
    "message": shape("type", "id", "role", "status", "phase", content=_part),
    "function_call": shape(*_MODELS, "name", "arguments", "parsed_arguments"),
    "custom_tool_call": shape(*_MODELS, "name", "input"),
    "function_call_output": shape(*_MODELS, "name", output=_part),
    "custom_tool_call_output": shape(*_MODELS, "name", output=_part),
    "reasoning": shape("type", "id", "summary", "content", "encrypted_content", "status"),
}


def _item(item: Mapping[str, Any]) -> Shape | None:
    return _ITEMS.get(item.get("type", "message"))


KEYS = ReadKeys({"instructions": _item, "input": _item})
