"""Results that are objects, both ways: as text, JSON that is marked, which is what Bedrock does."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from promptdsl.blocks import Block, TextBlock, contents
from promptdsl.errors import DataError
from promptdsl.json_text import ABSENT, read_json, write_json
from promptdsl.wire.request import Param
from promptdsl.wire.text import json_copy

MARK = "json"
"""The further key of a text that is the JSON of what was recorded."""


def read_response_value(response: Mapping[str, Any]) -> tuple[bool, tuple[Block, ...]]:
    """Return whether a response tells an error, and its text: marked JSON for what is none.

    A value alone under ``output`` or ``error`` is meant itself; an object stays in its key.
    """
    keys, failed = [*response], _tells_error(response)
    alone: Any = response[keys[0]] if keys in (["output"], ["error"]) else ABSENT
    if isinstance(alone, str):
        return keys == ["error"], contents(alone)
    if not response:
        return False, ()
    itself = alone is not ABSENT and not isinstance(alone, dict) and (failed or "output" in keys)
    told = write_json(cast("object", alone)) if itself else write_json(response)
    return failed, (TextBlock(told, extra={MARK: True}),)


def _tells_error(response: Mapping[str, Any]) -> bool:
    """Whether there is something under ``error``; many say there that there was none."""
    return bool(response.get("error"))


def marked_value(texts: list[Param], *, is_error: bool) -> Any:
    """Return the value of the only text of a result, ``ABSENT`` where it is no marked JSON."""
    if len(texts) != 1 or texts[0].get(MARK) is not True:
        return ABSENT
    value = read_json(texts[0]["text"])
    if value is ABSENT or isinstance(value, str) or (is_error and not value):
        return ABSENT
    try:
        return json_copy(value)
    except DataError:
        return ABSENT


def response_param(value: object, *, is_error: bool) -> Param:
    """Return the response of a value that is no text: an object itself where it tells the same."""
    if isinstance(value, dict) and value:
        found = cast("Param", value)
        if _tells_error(found) == is_error:
            return found
    return {"error" if is_error else "output": value}


def misnames(value: object, names: Sequence[object]) -> bool:
    """Whether a key ``$ref``, by which a result names its attachments, names another thing."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            entries = cast("dict[str, object]", item)
            if "$ref" in entries and entries["$ref"] not in names:
                return True
            waiting += entries.values()
        elif isinstance(item, list):
            waiting += cast("list[object]", item)
    return False
