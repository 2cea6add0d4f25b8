"""Blocks of the wire as ours: what each block of a recorded content was."""

from collections.abc import Callable, Mapping, Sequence
from typing import cast

import attrs

from promptdsl import blocks as b
from promptdsl.adapters.anthropic.marks import read_mark
from promptdsl.adapters.anthropic.media import BASE64, read_source
from promptdsl.adapters.anthropic.reasoning import THINKING, read_reasoning
from promptdsl.errors import DataError
from promptdsl.wire.entries import entry, located, mapping
from promptdsl.wire.foreign import OPENAI, RESPONSES, refuse_part

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
        return b.contents(value)
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
