"""The keys of blocks in dictionaries, and the function that writes a block as a dictionary."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import attrs

from promptdsl.foundation.errors import DataError
from promptdsl.foundation.frozen import thawed
from promptdsl.foundation.json import JsonObject, JsonValue, write_json
from promptdsl.messages.media.source import MEDIA_KINDS, SHORTHANDS, MediaSource

KEYS: Mapping[str, Mapping[str, str]] = {"state_change": {"old": "from", "new": "to"}}
"""By type of block, the fields that have another name in dictionaries."""

ALIASES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "tool_use": {"id": ("toolUseId",), "arguments": ("input",)},
    "tool_result": {"tool_use_id": ("toolUseId", "tool_call_id")},
    "state_change": {"from": ("old",), "to": ("new",)},
}
"""By type of block, other names of a key, which are read and never written."""


def fields_of(block_class: Any) -> "tuple[attrs.Attribute[object], ...]":  # Any: see below
    """Return the fields of a class of blocks; checkers do not see that attrs made the class."""
    fields: tuple[attrs.Attribute[object], ...] = attrs.fields(block_class)
    return fields


def refuse_own_keys(kind: str, fields: Collection[str], extra: JsonObject) -> None:
    """Raise :class:`DataError` for a key in ``extra`` that the type of block has itself."""
    names = KEYS.get(kind, {})
    known = {"type", *(names.get(field) or field for field in fields if field != "extra")}
    known = known.union(*ALIASES.get(kind, {}).values())
    if kind in MEDIA_KINDS:
        known = known.union(SHORTHANDS)
        # The extra may have a ``source`` with keys that no source has.
        source = extra.get("source")
        if isinstance(source, Mapping) and source and source.keys().isdisjoint(SHORTHANDS):
            known.discard("source")
    for key in extra:
        if key in known:
            raise DataError(
                f"{key!r} cannot be in the 'extra' of a {kind!r} block",
                fix="extra is for keys that the block does not have itself",
            )


def has_origin(entries: Mapping[str, object]) -> bool:
    """Return whether a dictionary is that of an unknown block with an origin."""
    return (
        set(entries) == {"type", "data", "origin"}
        and entries["type"] == "unknown"
        and isinstance(entries["data"], Mapping)
        and isinstance(entries["origin"], str)
    )


def is_ambiguous(data: JsonValue, known: Collection[str]) -> bool:
    """Return whether the dictionary of an unknown block is read as a known one, or refused."""
    while isinstance(data, Mapping):
        kind = data.get("type")
        if has_origin(data):
            return True
        if kind != "unknown" or len(data) != 2:
            return kind in known if isinstance(kind, str) else True
        data = data.get("data")
    return False


def written(
    block: Any,
) -> Iterator[tuple[str, object]]:  # Any: a block; see blocks.py
    """Yield the entries of a block's dictionary, without the fields at their defaults."""
    names, extra = KEYS.get(block.type, {}), thawed(block.extra)
    yield "type", block.type
    for field in fields_of(type(block)):
        value: object = getattr(block, field.name)
        if field.name == "extra" or (field.default is not attrs.NOTHING and value == field.default):
            continue
        if field.name == "arguments":
            # The input as a mapping, and its text where writing the mapping gives another text.
            mapping = block.input
            if mapping is not None:
                yield "input", mapping
            if mapping is None or write_json(mapping) != value:
                yield "arguments", value
        elif isinstance(value, MediaSource):
            yield "source", value.to_dict() | extra.pop("source", {})
        elif isinstance(value, tuple):
            yield field.name, [inner.to_dict() for inner in block.content]
        else:
            yield names.get(field.name) or field.name, thawed(value)
    yield from extra.items()
