"""The keys of blocks in dictionaries, and the writing of blocks as dictionaries."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, cast

import attrs

from promptdsl.foundation.errors import DataError
from promptdsl.foundation.frozen import thawed
from promptdsl.foundation.json import write_json
from promptdsl.messages.media.source import SHORTHANDS, SOURCE_KEYS, MediaSource

MEDIA_KINDS = ("image", "audio", "document", "video")
"""The types of blocks that are attachments."""

KEYS: Mapping[str, Mapping[str, str]] = {"state_change": {"old": "from", "new": "to"}}
"""By type of block, the fields that have another name in dictionaries."""

ALIASES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "tool_use": {"id": ("toolUseId",), "arguments": ("input",)},
    "tool_result": {"tool_use_id": ("toolUseId", "tool_call_id")},
    "state_change": {"from": ("old",), "to": ("new",)},
}
"""By type of block, the other names of a key; one is written, all are read."""

SHORT = tuple(key for key in SHORTHANDS if key != "type")
"""Keys a media block may carry itself instead of in a ``source``."""

SOURCE = frozenset({"type", "media_type", *SOURCE_KEYS.values()})
"""The known keys of a source; ``extra`` may hold a ``source`` with others."""


def refuse_known(kind: str, fields: Collection[str], extra: Mapping[str, Any]) -> None:
    """Raise :class:`DataError` for keys in ``extra`` that the type of block has itself."""
    known = known_keys(kind, fields)
    source = extra.get("source") if kind in MEDIA_KINDS else None
    if isinstance(source, Mapping) and source and SOURCE.isdisjoint(cast("Any", source)):
        known.discard("source")
    for key in extra:
        if key in known:
            raise DataError(
                f"{key!r} in the 'extra' of a {kind!r} block",
                fix="extra is for keys that the block does not have itself",
            )


def known_keys(kind: str, fields: Collection[str]) -> set[str]:
    """Return the keys that are read of a type of block with these fields."""
    names = KEYS.get(kind, {})
    known = {"type", *(names.get(field) or field for field in fields if field != "extra")}
    return known.union(*ALIASES.get(kind, {}).values(), SHORT if kind in MEDIA_KINDS else ())


def written(block: Any) -> Iterator[tuple[str, Any]]:
    """Yield the entries of a block's dictionary, without the fields at their defaults."""
    names, extra = KEYS.get(block.type, {}), thawed(block.extra)
    yield "type", block.type
    for field in attrs.fields(type(block)):  # pyright: ignore[reportUnknownArgumentType]
        value = getattr(block, field.name)
        if field.name == "extra" or (field.default is not attrs.NOTHING and value == field.default):
            continue
        if field.name == "arguments":
            yield from _input_entries(block)
        elif isinstance(value, MediaSource):
            yield "source", value.to_dict() | extra.pop("source", {})
        elif isinstance(value, tuple):
            yield field.name, [inner.to_dict() for inner in cast("Any", value)]
        else:
            yield names.get(field.name) or field.name, thawed(value)
    yield from extra.items()


def _input_entries(block: Any) -> Iterator[tuple[str, Any]]:
    value = block.input
    if value is not None:
        yield "input", value
    if value is None or write_json(value) != block.arguments:
        yield "arguments", block.arguments
