"""Reading: a recorded conversation becomes messages."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import attrs

from promptdsl import messages as b
from promptdsl.foundation.errors import DataError
from promptdsl.messages.details import Details
from promptdsl.messages.field_checks import optional
from promptdsl.messages.message import Message, message
from promptdsl.messages.prompt import Prompt
from promptdsl.messages.read_blocks import contents
from promptdsl.providers.anthropic.marks import read_mark
from promptdsl.providers.anthropic.media import BASE64, read_source
from promptdsl.providers.anthropic.reasoning import THINKING, read_reasoning
from promptdsl.providers.anthropic.tools import read_settings
from promptdsl.providers.shared.checks import entry, located, located_items, mapping, total, usage
from promptdsl.providers.shared.other_providers import OPENAI, RESPONSES, refuse_part
from promptdsl.providers.shared.read_turns import read_turn

EXTRA: Mapping[str, tuple[str, ...]] = {
    "text": ("citations",),
    "image": ("transformations",),
    "document": ("context", "citations"),
    "tool_use": ("caller", "toolset_name"),
    "tool_result": ("toolset_name",),
}
"""The block types that have a block of ours, each with the keys that it keeps as they came."""

FOREIGN = {**OPENAI, **RESPONSES}
_STRINGS = {"text": ("text",), "tool_use": ("id", "name"), "tool_result": ("tool_use_id",)}


def read_block(data: object) -> b.Block:
    """Return the block a dictionary of the wire describes, what nobody knows as it came."""
    entries = mapping(data)
    if entry(entries, "type", str) != "tool_result":
        return _flat(data)
    content = read_content(entries.pop("content", None), reader=_within)
    return attrs.evolve(cast("b.ToolResultBlock", _flat(entries)), content=content)


def read_content(
    value: object, *, reader: Callable[[object], b.Block] = read_block
) -> tuple[b.Block, ...]:
    """Return the blocks of a content: a string, or a list of blocks of the wire."""
    if not isinstance(value, list | tuple):
        return contents(value)
    items = enumerate(cast("Sequence[object]", value))
    return tuple(located(f"content[{n}]", reader, item) for n, item in items)


def _within(data: object) -> b.Block:
    """Return a block of a result, which holds no other result."""
    if mapping(data).get("type") == "tool_result":
        raise DataError("a 'tool_result' block holds no 'tool_result' block")
    return _flat(data)


def _flat(data: object) -> b.Block:
    """Return a block that holds no other."""
    entries = mapping(data)
    kind = entry(entries, "type", str)
    if kind in THINKING:
        return read_reasoning(kind, entries)
    refuse_part(entries, FOREIGN)
    source = read_source(entries.get("source"))
    if kind not in EXTRA or (kind in BASE64 and source is None) or "content" in entries:
        return b.UnknownBlock(entries, "anthropic")
    for key in _STRINGS.get(kind, ()):
        entry(entries, key, str)
    entries["source"] = source
    entries["cache"] = read_mark(entries.pop("cache_control", None))
    return b.block_from_dict({key: value for key, value in entries.items() if value is not None})


def read(data: object) -> Prompt:
    """Return the prompt of a payload or of a list of messages, which are recorded ones.

    Raises :class:`DataError` that names the index and the key of what cannot be read.
    """
    payload: Mapping[str, Any] = {"messages": data}
    if isinstance(data, Mapping):
        payload = cast("Mapping[str, Any]", data)
    leading = located("system", read_content, payload.get("system"))
    found = [message("system", leading, kind="recorded")] if leading else []
    for said in located_items("messages", _said, entry(payload, "messages")):
        found += said
    return attrs.evolve(read_settings(payload), messages=tuple(found))


def read_response(data: object) -> Message:
    """Return the message of a response: what the model said, why it stopped, what was counted.

    Raises :class:`DataError` for what is no response of Anthropic Messages.
    """
    entries = mapping(data)
    content = read_content(entry(entries, "content", list))
    stopped = optional(entries.get("stop_reason"), "stop_reason")
    counts = mapping(entries.get("usage") or {})
    read, written = (counts.get(f"cache_{key}_input_tokens") for key in ("read", "creation"))
    fresh = counts.get("input_tokens")
    details = Details(
        finish_reason=_FINISHED.get(str(stopped), stopped),
        token_usage=usage(
            input=None if fresh is None else total(fresh, read, written),
            output=counts.get("output_tokens"),
            cache_read=read,
            cache_write=written,
            reasoning=mapping(counts.get("output_tokens_details") or {}).get("thinking_tokens"),
        ),
    )
    return message("assistant", content, kind="recorded", details=details)


_FINISHED = {
    **dict.fromkeys(("end_turn", "stop_sequence"), "stop"),
    **dict.fromkeys(("max_tokens", "model_context_window_exceeded"), "length"),
    **{"tool_use": "tool_use", "refusal": "refused", "pause_turn": "paused"},
}


def _said(data: object) -> list[Message]:
    return read_turn(data, read_content)
