"""Parts of the wire as blocks: what each part of a recorded content was."""

from collections.abc import Mapping
from functools import partial
from typing import Any, cast

from promptdsl import blocks as b
from promptdsl.adapters.gemini.media import read_media
from promptdsl.adapters.gemini.reasoning import SIGNATURE, read_thought
from promptdsl.adapters.gemini.spelling import base64_text, entries_of
from promptdsl.json_text import write_json
from promptdsl.wire.entries import entry, items, located, mapping

_DATA = ("text", "function_call", "function_response", "inline_data", "file_data")


def read_parts(value: object) -> tuple[b.Block, ...]:
    """Return the blocks of the parts of a content; a string is one text."""
    if value is None or isinstance(value, str):
        return b.contents(value)
    found = enumerate(items(value, "parts"))
    return tuple(located(f"parts[{n}]", partial(read_part, number=n), part) for n, part in found)


def read_part(data: object, number: int = 0) -> b.Block:
    """Return the block a part describes, what nobody knows as it came.

    A call without an id, as models before Gemini 3 made them, gets one of its ``number``.
    """
    entries = entries_of(data)
    if SIGNATURE in entries:
        entries[SIGNATURE] = base64_text(entries[SIGNATURE])
    if entries.get("thought") is False:
        del entries["thought"]
    if not (set(entries) - {"thought", SIGNATURE}) and SIGNATURE in entries:
        entries["text"] = ""
    kinds = [key for key in _DATA if key in entries]
    if len(kinds) != 1 or "type" in entries:
        return b.UnknownBlock(entries)
    (kind,) = kinds
    if kind == "text":
        return _text(entries)
    if kind == "function_call":
        return _call(entries, number)
    if kind == "function_response":
        return _result(entries)
    rest = {key: value for key, value in entries.items() if key != kind}
    return read_media(kind, entries[kind], rest) or b.UnknownBlock(entries)


def _text(entries: dict[str, Any]) -> b.Block:
    if entries.get("thought"):
        return read_thought(entries)
    text = entry(entries, "text", str)
    del entries["text"]
    return b.TextBlock(text, extra=entries)


def _call(entries: dict[str, Any], number: int) -> b.Block:
    call = entries_of(entries.pop("function_call"))
    name = entry(call, "name", str)
    id = b.optional(call.pop("id", None), "id")
    arguments = write_json(mapping(call.pop("args", None) or {}))
    del call["name"]
    return b.ToolUseBlock(id or f"call_{number}", name, arguments, extra={**call, **entries})


def _result(entries: dict[str, Any]) -> b.Block:
    result = entries_of(entries.pop("function_response"))
    id = b.optional(result.pop("id", None), "id")
    name = b.optional(result.pop("name", None), "name")
    is_error, said = _response(mapping(result.pop("response", None) or {}))
    found = enumerate(items(result.pop("parts", ()), "parts"))
    media = tuple(located(f"parts[{n}]", _within, part) for n, part in found)
    content = (*b.contents(said), *media)
    extra = {**result, **entries}
    return b.ToolResultBlock(id or "", content, name=name, is_error=is_error, extra=extra)


def _response(response: Mapping[str, Any]) -> tuple[bool, str]:
    """Return whether a response tells an error, and its text: JSON for what is none."""
    keys = list(response)
    if keys not in (["output"], ["error"]):
        return False, write_json(response) if response else ""
    value = response[keys[0]]
    return keys == ["error"], value if isinstance(value, str) else write_json(value)


def _within(data: object) -> b.Block:
    """Return an attachment of a result, which holds nothing else."""
    block = read_part(data)
    media = block.type in ("image", "audio", "video", "document")
    return block if media else b.UnknownBlock(cast("Mapping[str, Any]", entries_of(data)))
