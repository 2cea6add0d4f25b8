"""Texts and JSON as they can be sent: U+FFFD for lone surrogates, which have no UTF-8 form."""

import json
import re
from typing import Any, cast

from promptdsl.foundation.json import read_json, write_json
from promptdsl.foundation.unicode import whole
from promptdsl.messages import ToolUseBlock
from promptdsl.providers.shared.request import Place, Request

_ESCAPED = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")


def utf8(text: str) -> str:
    """Return a text with U+FFFD for lone surrogates."""
    return whole(text)[0]


def json_copy(value: object) -> Any:
    """Return a copy of a JSON value, with U+FFFD for lone surrogates in its strings.

    Raises :class:`DataError` for what is no JSON value.
    """
    write_json(value)
    return read_json(utf8(json.dumps(value, ensure_ascii=False)))


def arguments_of(request: Request, place: Place, block: ToolUseBlock) -> dict[str, Any]:
    """Return the arguments of a call as an object; other text is put in one, a hint."""
    text = block.arguments
    value: Any = read_json(text) if text.strip() else {}
    if not isinstance(value, dict):
        why = "not a JSON object that can be sent: sent as text in one"
        request.lose(place, "hint", f"arguments of {block.name}", why)
        return {"arguments": utf8(text)}
    if ("\\u" in text or not text.isascii()) and _ESCAPED.search(text):
        clean = json_copy(cast("object", value))
        if clean != value:
            request.lose_surrogate(place, f"arguments of {block.name}")
        return cast("dict[str, Any]", clean)
    return cast("dict[str, Any]", value)
