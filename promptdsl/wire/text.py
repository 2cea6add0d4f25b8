"""Text that has a UTF-8 form, as all that is sent must."""

import json
import re
from typing import Any, cast

from promptdsl.blocks import ToolUseBlock
from promptdsl.encoding import whole
from promptdsl.errors import DataError
from promptdsl.json_text import read_json, write_json
from promptdsl.wire.request import Request

_ESCAPED = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")


def utf8(text: str) -> str:
    """Return a text with U+FFFD for lone surrogates."""
    return whole(text)[0]


def json_copy(value: object) -> Any:
    """Return a copy of a JSON value, with U+FFFD for lone surrogates in its strings.

    Raises :class:`DataError` for what is no JSON value.
    """
    write_json(value)
    try:
        return read_json(utf8(json.dumps(value, ensure_ascii=False)))
    except RecursionError:
        raise DataError("JSON is nested too deep to be sent", fix="Python's own limit") from None


def arguments_of(request: Request, block: ToolUseBlock) -> dict[str, Any]:
    """Return the arguments of a call as an object; text that is none stands in one, a hint."""
    text = block.arguments
    value: Any = read_json(text) if text.strip() else {}
    if not isinstance(value, dict):
        why = "not a JSON object that can be sent: sent as text in one"
        request.lose("hint", f"arguments of {block.name}", why)
        return {"arguments": utf8(text)}
    if ("\\u" in text or not text.isascii()) and _ESCAPED.search(text):
        clean = json_copy(cast("object", value))
        if clean != value:
            what = f"a lone surrogate in arguments of {block.name}"
            request.lose("hint", what, "it has no UTF-8 form: U+FFFD is sent")
        return cast("dict[str, Any]", clean)
    return cast("dict[str, Any]", value)
