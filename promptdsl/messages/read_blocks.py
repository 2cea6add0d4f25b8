"""Reading blocks from dictionaries.

Every block turns into a dictionary with ``to_dict()`` and back with ``block_from_dict()``, exactly:
keys and types that this version does not know are kept as they came, in their order. Of a key with
several names one is written, and a field at its default is left out.
"""

from collections.abc import Iterable, Mapping
from typing import Any, cast

import attrs

from promptdsl.foundation.errors import DataError, nearest
from promptdsl.foundation.frozen import EMPTY, Around, json_leaf, plain
from promptdsl.foundation.json import ABSENT, LEVELS, canonical, read_json, write_json
from promptdsl.foundation.unicode import exact
from promptdsl.messages.block_keys import ALIASES, KEYS, MEDIA_KINDS, SHORT, SOURCE
from promptdsl.messages.blocks import (
    CLASSES,
    AnyBlock,
    Block,
    UnknownBlock,
    has_origin,
    is_ambiguous,
)
from promptdsl.messages.field_checks import error_type, kind_of, string
from promptdsl.messages.media.source import SOURCE_KEYS, MediaSource, media_source
from promptdsl.messages.unchecked import text_block


def block_from_dict(data: object) -> Block:
    """Return the block a dictionary describes; a string is a text block, a block is itself.

    A type that this version does not know becomes an :class:`UnknownBlock`.

    >>> from promptdsl import block_from_dict
    >>> block_from_dict({"type": "tool_use", "id": "1", "name": "find", "input": {"q": "x"}}).input
    {'q': 'x'}

    Raises :class:`DataError` for anything but a dictionary with a ``type``, a key that is missing,
    two keys that contradict each other, and values that JSON cannot say.
    """
    return _block(data, "")


def contents(value: object, key: str = "") -> tuple[Block, ...]:
    """Return the blocks of a content: a string, a list of block dictionaries, or nothing.

    Raises :class:`DataError`, which names ``key`` and the number of the block, for anything else.
    """
    if value is None:
        return ()
    if isinstance(value, str):
        text = exact(value)
        return (text_block(text),) if text else ()
    if not isinstance(value, list | tuple):
        what = repr(key) if key else "a content"
        raise DataError(
            f"{what} is a string or a list of blocks, not {kind_of(value)}",
            fix="write [block]; data is [JsonBlock(value)]",
        )
    items = cast("list[object] | tuple[object, ...]", value)
    if type(items) is tuple and all(isinstance(item, AnyBlock) for item in items):
        return cast("tuple[Block, ...]", items)
    return tuple(_block(item, f"{key or 'content'}[{number}]") for number, item in enumerate(items))


def _block(data: object, where: str) -> Block:
    if isinstance(data, AnyBlock):
        return cast("Block", data)
    if isinstance(data, str):
        return text_block(exact(data))
    if not isinstance(data, Mapping):
        raise _error(where, f"a block is a dictionary or a string, not {type(data).__name__}")
    given = cast("Mapping[str, Any]", data)
    text = _only_text(given)
    if text is not None:
        return text_block(text)
    entries: dict[str, Any] = dict(plain(given, where, _block_leaf, levels=LEVELS + 3))
    kind = entries.get("type")
    if not isinstance(kind, str):
        raise _error(where, "a block needs a 'type'", fix=f"known types: {', '.join(CLASSES)}")
    if kind not in CLASSES:
        held = entries.get("data")
        if has_origin(entries):
            return UnknownBlock(cast("Any", held), cast("str", entries["origin"]))
        wrapped = len(entries) == 2 and is_ambiguous(entries)
        return UnknownBlock(cast("Any", held) if wrapped else entries)
    del entries["type"]
    return _read(CLASSES[kind], entries, where)


def _only_text(data: Mapping[str, Any]) -> str | None:
    """Return the text of a dictionary that holds nothing else, as most do."""
    kind, text = data.get("type"), data.get("text")
    alone = len(data) == 2 and type(kind) is str and kind == "text"
    return text if alone and type(text) is str else None


def _block_leaf(item: Any, around: Around, key: Any) -> Any:
    # Only a content, which is a list in the dictionary of a block, may hold finished blocks.
    if isinstance(item, AnyBlock) and [*around.values()][1:] == ["content"]:
        return item
    return json_leaf(item, around, key)


def _read(cls: Any, entries: dict[str, Any], where: str) -> Block:
    for key, names in ALIASES.get(cls.type, {}).items():
        if key != "arguments":
            _join_names(entries, key, names, where)
    given = _checked(cls.type, entries, where)
    for field in attrs.fields(cls):
        key = KEYS.get(cls.type, {}).get(field.name) or field.name
        if field.name in given or field.name == "extra":
            continue
        if key in entries:
            given[field.name] = entries.pop(key)
        elif field.default is attrs.NOTHING:
            raise _missing(cls.type, key, entries, where)
    try:
        return cast("Block", cls(**given, extra=entries or EMPTY))
    except DataError as error:
        raise _error(where, error.what, error.fix) from None


def _checked(kind: str, entries: dict[str, Any], where: str) -> dict[str, Any]:
    """Take the fields out of a dictionary that need more than a look at one key."""
    if kind == "tool_use":
        return {"arguments": _arguments(entries, where)}
    if kind in MEDIA_KINDS:
        source, further = _source(kind, entries, where)
        if further:
            entries["source"] = further
        return {"source": source}
    if kind == "tool_result":
        content = _answer(entries.pop("content", None), _within(where, "content"))
        try:
            kind_of_error = error_type(entries.pop("error_type", None), "error_type")
        except DataError as error:
            raise _error(where, error.what, error.fix) from None
        return {"content": content, "error_type": kind_of_error}
    return {}


def _within(where: str, key: str) -> str:
    return f"{where}.{key}" if where else key


def _error(where: str, what: str, fix: str = "") -> DataError:
    return DataError(f"{where}: {what}" if where else what, fix=fix)


def _missing(kind: str, key: str, entries: Iterable[str], where: str) -> DataError:
    # Of keys that are there only a few, short ones can be a slip of the pen.
    close = nearest(key, [name for name in entries if len(name) <= 40][:20])
    fix = close if close.startswith("did") else f'write {{"type": "{kind}", "{key}": ...}}'
    return _error(where, f"a {kind!r} block needs {key!r}", fix)


# Keys with several names.


def _join_names(entries: dict[str, Any], key: str, names: tuple[str, ...], where: str) -> None:
    """Leave the value of a key under its first name."""
    given = [name for name in (key, *names) if name in entries]
    for name in given[1:]:
        if canonical(entries[name]) != canonical(entries[given[0]]):
            raise _contradiction(given[0], name, where)
    if given:
        values = [entries.pop(name) for name in given]
        entries[key] = values[0]


def _contradiction(one: str, two: str, where: str) -> DataError:
    return _error(where, f"{one!r} and {two!r} say different things", "give one of them")


def _arguments(entries: dict[str, Any], where: str) -> str:
    """Return the JSON text of a call's input, which may come as a mapping, as text, or as both."""
    value, text = entries.pop("input", ABSENT), entries.pop("arguments", ABSENT)
    if value is ABSENT and text is ABSENT:
        raise _missing("tool_use", "input", entries, where)
    if text is not ABSENT:
        string(text, _within(where, "arguments"))
    if value is ABSENT:
        return cast("str", text)
    if isinstance(value, str):
        if text not in (ABSENT, value):
            raise _contradiction("input", "arguments", where)
        return value
    if not isinstance(value, Mapping):
        raise _error(where, f"'input' is a mapping or its JSON text, not {kind_of(value)}")
    input = plain(value, _within(where, "input"))
    if text is ABSENT:
        return write_json(input)
    read = read_json(text)
    if read is ABSENT or canonical(read) != canonical(input):
        raise _contradiction("input", "arguments", where)
    return cast("str", text)


def _answer(value: Any, key: str) -> tuple[Block, ...]:
    """Return the blocks of a result, which holds no other result."""
    if isinstance(value, list) and any(map(_is_result, cast("Any", value))):
        raise DataError(f"{key!r} of a 'tool_result' block holds no 'tool_result' block")
    return contents(cast("object", value), key)


def _is_result(item: Any) -> bool:
    return isinstance(item, Mapping) and cast("Any", item).get("type") == "tool_result"


# Attachments.


def _source(kind: str, entries: dict[str, Any], where: str) -> tuple[MediaSource, dict[str, Any]]:
    """Take the source of an attachment out of its entries; return it, and its unknown keys."""
    short = {key: entries.pop(key) for key in SHORT if key in entries}
    if "source" not in entries and not short:
        raise _error(
            where, f"a {kind!r} block needs 'source'", "or one of 'path', 'url', 'data', 'file_id'"
        )
    if "source" not in entries:
        return _read_source(short, where)
    inner = _within(where, "source")
    given = entries.pop("source")
    if not isinstance(given, Mapping):
        raise _error(where, f"'source' is a mapping, not {kind_of(given)}")
    source, further = _read_source(cast("Mapping[str, Any]", given), inner)
    said = source.to_dict()
    for key, value in short.items():
        if said.get(key) != value:
            raise _contradiction("source", key, where)
    return source, further


def _read_source(data: Mapping[str, Any], where: str) -> tuple[MediaSource, dict[str, Any]]:
    keys = [key for key in dict.fromkeys(SOURCE_KEYS.values()) if key in data]
    if len(keys) > 1:
        raise _contradiction(keys[0], keys[1], where)
    kind = data["type"] if "type" in data else _kind(keys, data)
    if not isinstance(kind, str) or kind not in SOURCE_KEYS:
        shown = repr(kind[:60]) if isinstance(kind, str) else kind_of(kind)
        raise _error(where, f"unknown source {shown}", nearest(str(shown), SOURCE_KEYS))
    known = {key: data[key] for key in data if key in SOURCE and data[key] is not None}
    try:
        source = media_source({**known, "type": kind})
    except DataError as error:
        raise _error(where, error.what, error.fix) from None
    return source, {key: value for key, value in data.items() if key not in SOURCE}


def _kind(keys: list[str], data: Mapping[str, Any]) -> object:
    """Return the kind of a source by its only key."""
    value = data.get(keys[0]) if keys else None
    if isinstance(value, str) and keys == ["uri"] and value[:5].lower() == "gs://":
        return "gcs"
    return next((kind for kind, key in SOURCE_KEYS.items() if keys == [key]), None)
