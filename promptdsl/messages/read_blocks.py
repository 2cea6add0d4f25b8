"""Functions that make blocks: without checks from valid values, and from dictionaries.

The functions without checks come first. Then come the public functions that read, the reader of a
block (``_block``), and the readers of its fields. The errors are at the end.
"""

from collections.abc import Mapping
from typing import Any, cast

import attrs

from promptdsl.foundation.errors import DataError, misspelt, nearest, with_article
from promptdsl.foundation.frozen import (
    EMPTY,
    Around,
    is_list,
    is_mapping,
    json_leaf,
    list_or_empty,
    mapping_or_empty,
    plain,
    text_or_empty,
)
from promptdsl.foundation.json import ABSENT, LEVELS, JsonValue, canonical, read_json, write_json
from promptdsl.foundation.source import public_api
from promptdsl.foundation.unicode import exact
from promptdsl.messages.blocks import (
    ALIASES,
    CLASSES,
    KEYS,
    AnyBlock,
    Block,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
    fields_of,
    has_origin,
    is_ambiguous,
)
from promptdsl.messages.field_checks import Cache, error_type, kind_of, string
from promptdsl.messages.media_type import (
    KEYS_IN_BLOCK,
    MEDIA_KINDS,
    SHORTHANDS,
    SOURCE_KEYS,
    VALUE_KEYS,
    MediaKind,
    MediaSource,
    SourceKind,
    data_url,
    kind_of_type,
    plain_type,
    type_by_extension,
)

# Blocks built without checks, from values that are known to be valid.
#
# A draft is an object of a subclass whose fields can be set. When all fields are set, its class is
# changed to the frozen class. So a text block takes 190 ns instead of 710 ns, and a message with a
# single text 400 ns instead of 1,600 ns.


def draft_of(frozen_class: type) -> Any:  # Any: its slots may be set, which its base forbids
    """Return a subclass whose fields can be set; setting ``__class__`` freezes an object again."""
    # A call of a class without arguments is faster than object.__new__, which packs a tuple.
    methods = ("__init__", "__setattr__", "__delattr__")
    slots = {"__slots__": (), **{name: getattr(object, name) for name in methods}}
    return type(f"{frozen_class.__name__}Draft", (frozen_class,), slots)


_TextDraft = draft_of(TextBlock)
_ToolUseDraft = draft_of(ToolUseBlock)
_ToolResultDraft = draft_of(ToolResultBlock)


def text_block(text: str, cache: Cache | None = None) -> TextBlock:
    """Return ``TextBlock(text, cache)``."""
    draft = _TextDraft()
    draft.text = text
    draft.cache = cache
    draft.extra = EMPTY
    draft.__class__ = TextBlock
    block: TextBlock = draft
    return block


def tool_use_block(id: str, name: str, arguments: str) -> ToolUseBlock:
    """Return ``ToolUseBlock(id, name, arguments)``."""
    draft = _ToolUseDraft()
    draft.id = id
    draft.name = name
    draft.arguments = arguments
    draft.cache = None
    draft.extra = EMPTY
    draft.__class__ = ToolUseBlock
    block: ToolUseBlock = draft
    return block


def tool_result_block(
    tool_use_id: str, content: tuple[Block, ...], name: str | None = None
) -> ToolResultBlock:
    """Return ``ToolResultBlock(tool_use_id, content, name)``."""
    draft = _ToolResultDraft()
    draft.tool_use_id = tool_use_id
    draft.content = content
    draft.name = name
    draft.is_error = False
    draft.error_type = None
    draft.cache = None
    draft.extra = EMPTY
    draft.__class__ = ToolResultBlock
    block: ToolResultBlock = draft
    return block


# Reading blocks from dictionaries.
#
# ``block_from_dict(block.to_dict())`` is equal to the block: keys and types that this version does
# not know stay, in their order. A key may have several names: all are read, and one is written.

_Entries = dict[str, Any]  # Any: frozen JSON data, and finished blocks in a content


@public_api
def block_from_dict(data: object) -> Block:
    """Return the block of a dictionary; a string becomes a text block, a block is unchanged.

    A type that this version does not know becomes an :class:`UnknownBlock`. A path or an address
    needs no ``type`` if its media type or its extension shows the type. The ``filename`` of an
    attachment is its title, unless it has a ``title``. Raises :class:`DataError` for any other
    dictionary without a ``type``, for a missing key, for two keys that contradict each other, and
    for values that JSON cannot express.

    >>> from promptdsl import block_from_dict
    >>> block_from_dict({"type": "tool_use", "id": "1", "name": "find", "input": {"q": "x"}}).input
    {'q': 'x'}
    """
    return _block(data, "")


def contents(value: object, key: str = "") -> tuple[Block, ...]:
    """Return the blocks of a string, a list or ``None``; errors name the ``key`` of the content."""
    if value is None:
        return ()
    if isinstance(value, str):
        text = exact(value)
        return (text_block(text),) if text else ()
    if not is_list(value):
        subject = repr(key) if key else "a content"
        problem = f"{subject} must be a string or a list of blocks, not {kind_of(value)}"
        raise DataError(problem, fix=_advice(value, _advice_on_content(value)))
    if type(value) is tuple and all(isinstance(item, AnyBlock) for item in value):
        return cast("tuple[Block, ...]", value)
    return tuple(_block(item, f"{key or 'content'}[{index}]") for index, item in enumerate(value))


def _advice_on_content(value: object) -> str:
    """Return what to write instead of content that is neither a string nor a list."""
    if isinstance(value, int | float):
        return "write str(value)"
    if isinstance(value, AnyBlock) or "type" in mapping_or_empty(value):
        return "put it in a list: [block]"
    if set(mapping_or_empty(value)) == {"text"}:
        return 'write its text, or [{"type": "text", "text": ...}]'
    if isinstance(value, BaseException):
        return "write str(error), and is_error=True in a result"
    if type(value).__name__ == "Message":
        return "it is already a message: use it directly"
    return "write json.dumps(value), or [JsonBlock(value)]"


def attachments(value: object, key: str) -> tuple[Block, ...]:
    """Return the attachments of a list: paths, addresses, and dictionaries or blocks of media."""
    if not is_list(value):
        fix = 'write ["a.png"] or [{"path": "a.png"}]'
        raise DataError(f"{key!r} must be a list of attachments, not {kind_of(value)}", fix=fix)
    blocks: list[Block] = []
    for index, item in enumerate(value):
        path, data = f"{key}[{index}]", item
        if isinstance(item, str):
            is_url = "://" in item[:8] or item[:5].lower() == "data:"
            data = {"url": item} if is_url else {"path": item}
        block = _block(data, path)
        if block.type not in MEDIA_KINDS:
            fix = 'write {"path": "a.png"} or {"url": "https://..."}'
            raise _error(path, f"a file is an attachment, not a {block.type!r} block", fix)
        blocks.append(block)
    return tuple(blocks)


def _block(data: object, path: str) -> Block:
    if isinstance(data, AnyBlock):
        return cast("Block", data)
    if isinstance(data, str):
        return text_block(exact(data))
    if not is_mapping(data):
        problem = f"a block must be a dictionary or a string, not {type(data).__name__}"
        raise _error(path, problem, _advice(data, 'write {"type": "text", "text": "..."}'))
    # Most blocks are only a text.
    kind, text = data.get("type"), data.get("text")
    if len(data) == 2 and type(kind) is str and kind == "text" and type(text) is str:
        return text_block(text)
    # The value of a field may have 200 levels. In the dictionary of a tool result, it may be at
    # content[i].data, which is three levels deeper: the list, its item, and the field of the item.
    entries: _Entries = dict(plain(data, path, _block_leaf, levels=LEVELS + 3))
    kind = entries["type"] if "type" in entries else _kind_of_media(entries, path)
    if not isinstance(kind, str):
        advice = _advice(data, f"known types: {', '.join(CLASSES)}")
        raise _error(path, "a block needs a 'type'", advice)
    if kind == "message" and "stop_reason" in entries:
        raise _error(path, "a complete reply is not a block", _advice(entries))
    if kind in CLASSES:
        entries.pop("type", None)
        return _known_block(CLASSES[kind], entries, path)
    if has_origin(entries):
        return UnknownBlock(entries["data"], entries["origin"])
    if len(entries) == 2 and is_ambiguous(entries, CLASSES):
        return UnknownBlock(entries["data"])
    return UnknownBlock(entries)


def _block_leaf(item: object, enclosing: Around, key: object) -> object:
    """Return a JSON value, or a finished block, which is allowed only in the list ``content``."""
    if isinstance(item, AnyBlock) and _is_content(enclosing):
        return item
    return json_leaf(item, enclosing, key)


def _is_content(enclosing: Around) -> bool:
    """Return whether a value is an item of the ``content`` of the block that is read."""
    # The outermost container is the block's dictionary. Its key is the path of the block.
    _, *keys = enclosing.values()
    return keys == ["content"]


def _known_block(cls: Any, entries: _Entries, path: str) -> Block:  # Any: a class of blocks
    # Keys with several names.
    for key, names in ALIASES.get(cls.type, {}).items():
        keys = [name for name in (key, *names) if name in entries]
        # A call may have its input as a text and as a mapping: ``_arguments`` compares these.
        if key == "arguments" or not keys:
            continue
        values = [entries.pop(name) for name in keys]
        for name, value in zip(keys[1:], values[1:], strict=True):
            if canonical(value) != canonical(values[0]):
                raise _contradiction(keys[0], name, path)
        entries[key] = values[0]
    # Fields with more than one key, or with blocks inside.
    fields: dict[str, object] = {}
    if cls.type == "tool_use":
        fields["arguments"] = _arguments(entries, path)
    elif cls.type == "tool_result":
        fields["content"] = _result_content(entries.pop("content", None), _path(path, "content"))
    elif cls.type in MEDIA_KINDS:
        fields["source"], unknown = _source(cls.type, entries, path)
        if unknown:
            entries["source"] = unknown
    # The other fields; the block keeps the remaining keys as ``extra``.
    for field in fields_of(cls):
        key = KEYS.get(cls.type, {}).get(field.name) or field.name
        if field.name in fields or field.name == "extra":
            continue
        if key in entries:
            fields[field.name] = entries.pop(key)
        elif field.default is attrs.NOTHING:
            raise _missing(cls.type, key, entries, path)
    try:
        if cls.type == "tool_result":
            # Only for its error: a block in code may have any type of error, data may not.
            error_type(fields.get("error_type"), "error_type")
        block: Block = cls(**fields, extra=entries or EMPTY)
    except DataError as error:
        raise _error(path, error.what, error.fix) from None
    return block


def _kind_of_media(entries: _Entries, path: str) -> MediaKind | None:
    """Return the kind of an attachment by its media type or extension, ``None`` for other data."""
    nested = entries.get("source")
    source = nested if is_mapping(nested) else entries
    key = next((key for key in VALUE_KEYS if isinstance(source.get(key), str)), None)
    if key is None:
        return None
    value = str(source[key])
    address_source = data_url(value) if key == "url" else None
    declared = source.get("media_type") or (address_source and address_source.media_type)
    if declared is None and key in ("path", "url", "uri"):
        declared = type_by_extension(value)
    media_type = plain_type(text_or_empty(declared)) or ""
    if "/" not in media_type:
        raise _error(
            path,
            f"the {key} {value[:60]!r} does not show whether it is an image or a document",
            f'write its type: {{"type": "image", "{key}": ...}}; known: {", ".join(MEDIA_KINDS)}',
        )
    return kind_of_type(media_type)


def _arguments(entries: _Entries, path: str) -> str:
    """Return the JSON text of a call's input, which may be a mapping, a text, or both."""
    value, text = entries.pop("input", ABSENT), None
    if "arguments" in entries:
        text = string(entries.pop("arguments"), _path(path, "arguments"))
    if value is ABSENT and text is None:
        raise _missing("tool_use", "input", entries, path)
    if value is ABSENT and text is not None:
        return text
    if isinstance(value, str):
        if text not in (None, value):
            raise _contradiction("input", "arguments", path)
        return value
    if not is_mapping(value):
        raise _error(path, f"'input' must be a mapping or its JSON text, not {kind_of(value)}")
    mapping = plain(value, _path(path, "input"))
    if text is None:
        return write_json(mapping)
    parsed = read_json(text)
    if parsed is ABSENT or canonical(parsed) != canonical(mapping):
        raise _contradiction("input", "arguments", path)
    return text


def _result_content(value: JsonValue, key: str) -> tuple[Block, ...]:
    """Return the blocks of a result in data, which must not contain another result.

    No provider accepts a result in a result, so data with one has a mistake. (A block in code may
    contain a result, because recorded messages may have such blocks.)
    """
    for item in map(mapping_or_empty, list_or_empty(value)):
        if item.get("type") == "tool_result":
            raise DataError(f"{key!r} of a 'tool_result' block contains a 'tool_result' block")
    return contents(value, key)


def _source(kind: str, entries: _Entries, path: str) -> tuple[MediaSource, _Entries]:
    """Remove the source of an attachment from ``entries``; return it and its unknown keys."""
    if "title" not in entries and isinstance(entries.get("filename"), str):
        entries["title"] = entries.pop("filename")
    short = {key: entries.pop(key) for key in KEYS_IN_BLOCK if key in entries}
    if "source" not in entries and not short:
        problem = f"{with_article(repr(kind))} block needs 'source'"
        raise _error(path, problem, "or one of 'path', 'url', 'data', 'file_id'")
    if "source" not in entries:
        return _read_source(short, path)
    value = entries.pop("source")
    if not is_mapping(value):
        raise _error(path, f"'source' must be a mapping, not {kind_of(value)}")
    source, unknown = _read_source(value, _path(path, "source"))
    from_source = source.to_dict()
    for key, text in short.items():
        if from_source.get(key) != text:
            raise _contradiction("source", key, path)
    return source, unknown


def _read_source(data: Mapping[str, object], path: str) -> tuple[MediaSource, _Entries]:
    keys = [key for key in VALUE_KEYS if key in data]
    if len(keys) > 1:
        raise _contradiction(keys[0], keys[1], path)
    # Without a type, the key shows the kind; for a ``uri``, its scheme does.
    type_name, uri = data.get("type"), data.get("uri")
    if "type" not in data and keys:
        type_name = next(name for name, key in SOURCE_KEYS.items() if key == keys[0])
        if isinstance(uri, str) and uri[:5].lower() == "gs://":
            type_name = "gcs"
    kinds: list[SourceKind] = [name for name in SOURCE_KEYS if type_name == name]
    if not kinds:
        name_shown = repr(type_name[:60]) if isinstance(type_name, str) else kind_of(type_name)
        raise _error(path, f"unknown source {name_shown}", nearest(name_shown, SOURCE_KEYS))
    kind = kinds[0]
    value, media_type = data.get(SOURCE_KEYS[kind]), data.get("media_type")
    if not isinstance(value, str):
        raise _error(path, f"a {kind!r} source needs {SOURCE_KEYS[kind]!r}, a string")
    if not (media_type is None or isinstance(media_type, str)):
        raise _error(path, f"'media_type' must be a string, not {kind_of(media_type)}")
    source = MediaSource(kind, value, media_type, from_data=True)
    return source, {key: value for key, value in data.items() if key not in SHORTHANDS}


# Errors: their location, and what to write instead.


def _path(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _error(path: str, what: str, fix: str = "") -> DataError:
    if path:
        what = f"{path}: {what}"
    return DataError(what, fix=fix)


def _missing(kind: str, key: str, entries: _Entries, path: str) -> DataError:
    # Only a few short keys are compared: a long key is not a misspelling.
    misspelling = misspelt(key, [name for name in entries if len(name) <= 40][:20])
    fix = misspelling or f'write {{"type": "{kind}", "{key}": ...}}'
    return _error(path, f"{with_article(repr(kind))} block needs {key!r}", fix)


def _contradiction(first: str, second: str, path: str) -> DataError:
    return _error(path, f"{first!r} and {second!r} contradict each other", "write only one of them")


def _advice(value: object, advice: str = "") -> str:
    """Return the advice for a wrong value; a provider's complete reply has its own advice."""
    from promptdsl.foundation.remedies import REPLY, is_reply  # only an error needs it

    return REPLY if is_reply(value) else advice
