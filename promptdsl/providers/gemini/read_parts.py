"""The reading of parts, and of the objects that are results here: marked JSON in our blocks."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from promptdsl import messages as b
from promptdsl.foundation.errors import DataError
from promptdsl.foundation.json import ABSENT, read_json, write_json
from promptdsl.messages import Block, TextBlock
from promptdsl.messages.field_checks import optional
from promptdsl.messages.read_blocks import contents
from promptdsl.providers.gemini.media import read_media
from promptdsl.providers.gemini.reasoning import SIGNATURE, SUBSTITUTES, read_thought
from promptdsl.providers.gemini.spelling import base64_text, entries_of, several
from promptdsl.providers.shared.checks import entry, items, located, mapping
from promptdsl.providers.shared.clean import json_copy
from promptdsl.providers.shared.request import Param

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


_DATA = ("text", "function_call", "function_response", "inline_data", "file_data")

OPAQUE = ("executable_code", "code_execution_result", "tool_call", "tool_response")
"""The parts that have no block of ours; of others no model or client knows the name."""

PARTS = frozenset({*_DATA, *OPAQUE, SIGNATURE})
"""The keys that tell a part."""


def read_parts(value: object) -> tuple[b.Block, ...]:
    """Return the blocks of the parts of a content; a string is one text, one part a list of it."""
    if value is None or isinstance(value, str):
        return contents(value)
    found = enumerate(several(value, "parts"))
    return tuple(located(f"parts[{n}]", read_part, part) for n, part in found)


def read_part(data: object) -> b.Block:
    """Return the block a part describes, what nobody knows as it came; a string is a text."""
    entries = entries_of({"text": data} if isinstance(data, str) else data)
    if SIGNATURE in entries:
        entries[SIGNATURE] = base64_text(entries[SIGNATURE])
    if entries.get("thought") is False:
        del entries["thought"]
    if not (set(entries) - {"thought", SIGNATURE}) and SIGNATURE in entries:
        entries["text"] = ""
    # It stands for none, and is put back where a model needs it.
    if str(entries.get(SIGNATURE)) in SUBSTITUTES:
        del entries[SIGNATURE]
    kinds = [key for key in _DATA if key in entries]
    if len(kinds) != 1 or "type" in entries:
        return b.UnknownBlock(entries, "gemini")
    (kind,) = kinds
    if kind == "text":
        if entries.get("thought"):
            return read_thought(entries)
        text = entry(entries, "text", str)
        del entries["text"]
        return b.TextBlock(text, extra=entries)
    if kind == "function_call":
        return _call(entries)
    if kind == "function_response":
        return _result(entries)
    rest = {key: value for key, value in entries.items() if key != kind}
    return read_media(kind, entries[kind], rest) or b.UnknownBlock(entries, "gemini")


def _call(entries: dict[str, Any]) -> b.Block:
    call = entries_of(entries["function_call"])
    # Of one that was still being streamed, the arguments are not whole.
    if call.get("partial_args") or call.pop("will_continue", None):
        return b.UnknownBlock(entries, "gemini")
    name = entry(call, "name", str)
    id = optional(call.pop("id", None), "id")
    given: Any = call.pop("args", None) or {}
    # Arguments that came as text, however broken, stay as they came.
    arguments = given if isinstance(given, str) else write_json(mapping(given))
    further = {key: entries[key] for key in entries if key != "function_call"}
    del call["name"]
    return b.ToolUseBlock(id or "", name, arguments, extra={**call, **further})


def _result(entries: dict[str, Any]) -> b.Block:
    result = entries_of(entries.pop("function_response"))
    id = optional(result.pop("id", None), "id")
    name = optional(result.pop("name", None), "name")
    is_error, said = read_response_value(mapping(result.pop("response", None) or {}))
    found = enumerate(items(result.pop("parts", ()), "parts"))
    media = tuple(located(f"parts[{n}]", _within, part) for n, part in found)
    content = (*said, *media)
    extra = {**result, **entries}
    return b.ToolResultBlock(id or "", content, name=name, is_error=is_error, extra=extra)


def _within(data: object) -> b.Block:
    """Return an attachment of a result, which holds nothing else."""
    block = read_part(data)
    media = block.type in ("image", "audio", "video", "document")
    return block if media else b.UnknownBlock(cast("Mapping[str, Any]", entries_of(data)), "gemini")
