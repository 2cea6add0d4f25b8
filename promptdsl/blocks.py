"""Content blocks: what a message is made of. Frozen values that know nothing of trees or providers.

Every block turns into a dictionary with ``to_dict()`` and back with ``block_from_dict()``, exactly:
keys and block types this version does not know are kept as they came.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, Literal, TypeAlias, cast

import attrs

from promptdsl.errors import DataError, nearest
from promptdsl.json_text import ABSENT, exact, frozen, read_json, thawed, write_json
from promptdsl.sources import SHORTHANDS, MediaSource, media_source

Cache: TypeAlias = Literal["default", "5m", "1h"]
"""A cache mark behind a block: the provider's default time to live, five minutes or an hour."""

ERROR_TYPES: tuple[str, ...] = (
    "unknown_tool",
    "validation_error",
    "execution_error",
    "timeout_error",
    "interrupted",
)

CACHES = ("default", "5m", "1h")

EMPTY: Mapping[str, Any] = frozen({})


class _Block:
    """What all blocks share: a type, and being written as a dictionary."""

    __slots__ = ()
    type: ClassVar[str]

    def to_dict(self) -> dict[str, Any]:
        """Return the block as plain data; keys it was read with and does not know come last."""
        return dict(_entries(self))


@attrs.frozen
class TextBlock(_Block):
    """Text, sent as it is."""

    type: ClassVar[str] = "text"
    text: str
    cache: Cache | None = None
    extra: Mapping[str, Any] = attrs.field(default=EMPTY, converter=frozen, hash=False)


@attrs.frozen
class _MediaBlock(_Block):
    source: MediaSource
    title: str | None = None
    detail: str | None = None
    cache: Cache | None = None
    extra: Mapping[str, Any] = attrs.field(default=EMPTY, converter=frozen, hash=False)

    @property
    def is_image(self) -> bool:
        """Whether the attachment is a picture."""
        return self.type == "image"

    @property
    def is_document(self) -> bool:
        """Whether the attachment is a document."""
        return self.type == "document"

    @property
    def is_url(self) -> bool:
        """Whether the attachment is only an address, which the provider fetches."""
        return self.source.kind == "url"


@attrs.frozen
class ImageBlock(_MediaBlock):
    """A picture."""

    type: ClassVar[str] = "image"


@attrs.frozen
class AudioBlock(_MediaBlock):
    """A recording."""

    type: ClassVar[str] = "audio"


@attrs.frozen
class DocumentBlock(_MediaBlock):
    """A document, such as a PDF."""

    type: ClassVar[str] = "document"


@attrs.frozen
class VideoBlock(_MediaBlock):
    """A film."""

    type: ClassVar[str] = "video"


@attrs.frozen
class ToolUseBlock(_Block):
    """A call the model made.

    ``arguments`` is the JSON text of the input: as it came when it came as text, otherwise written
    once from the mapping, so that nothing can change it later. ``input`` reads it.
    """

    type: ClassVar[str] = "tool_use"
    id: str
    name: str
    arguments: str
    cache: Cache | None = None
    extra: Mapping[str, Any] = attrs.field(default=EMPTY, converter=frozen, hash=False)

    @property
    def input(self) -> dict[str, Any] | None:
        """The input as a fresh mapping; ``None`` when ``arguments`` is not a strict JSON object."""
        value = read_json(self.arguments)
        return cast("dict[str, Any]", value) if isinstance(value, dict) else None


@attrs.frozen
class ToolResultBlock(_Block):
    """The answer to one call. All that a ``tool`` message holds."""

    type: ClassVar[str] = "tool_result"
    tool_use_id: str
    content: "tuple[Block, ...]" = ()
    name: str | None = None
    is_error: bool = False
    error_type: str | None = None
    cache: Cache | None = None
    extra: Mapping[str, Any] = attrs.field(default=EMPTY, converter=frozen, hash=False)


@attrs.frozen
class ReasoningBlock(_Block):
    """What a model thought; replayed only to the provider it came from, to the byte."""

    type: ClassVar[str] = "reasoning"
    text: str
    signature: str | None = None
    encrypted: str | None = None
    origin: str | None = None
    extra: Mapping[str, Any] = attrs.field(default=EMPTY, converter=frozen, hash=False)


@attrs.frozen
class UserActionBlock(_Block):
    """Something a user did in the application."""

    type: ClassVar[str] = "user_action"
    action: str
    target: Any = attrs.field(default=None, converter=frozen, hash=False)  # pyright: ignore[reportUnknownVariableType]
    actor: Any = attrs.field(default=None, converter=frozen, hash=False)  # pyright: ignore[reportUnknownVariableType]
    details: Mapping[str, Any] = attrs.field(default=EMPTY, converter=frozen, hash=False)
    extra: Mapping[str, Any] = attrs.field(default=EMPTY, converter=frozen, hash=False)


@attrs.frozen
class StateChangeBlock(_Block):
    """A value of the application that changed; written ``from`` and ``to`` in dictionaries."""

    type: ClassVar[str] = "state_change"
    key: str
    old: Any = attrs.field(default=ABSENT, converter=frozen, hash=False)
    new: Any = attrs.field(default=ABSENT, converter=frozen, hash=False)
    trigger: Any = attrs.field(default=None, converter=frozen, hash=False)  # pyright: ignore[reportUnknownVariableType]
    details: Mapping[str, Any] = attrs.field(default=EMPTY, converter=frozen, hash=False)
    extra: Mapping[str, Any] = attrs.field(default=EMPTY, converter=frozen, hash=False)


@attrs.frozen
class SystemEventBlock(_Block):
    """Something the application did."""

    type: ClassVar[str] = "system_event"
    event: str
    source: Any = attrs.field(default=None, converter=frozen, hash=False)  # pyright: ignore[reportUnknownVariableType]
    data: Mapping[str, Any] = attrs.field(default=EMPTY, converter=frozen, hash=False)
    extra: Mapping[str, Any] = attrs.field(default=EMPTY, converter=frozen, hash=False)


@attrs.frozen
class JsonBlock(_Block):
    """A value to be written as JSON; text by the time it is sent."""

    type: ClassVar[str] = "json"
    value: Any = attrs.field(converter=frozen, hash=False)  # pyright: ignore[reportUnknownVariableType]
    extra: Mapping[str, Any] = attrs.field(default=EMPTY, converter=frozen, hash=False)


@attrs.frozen
class CodeBlock(_Block):
    """Source code; text by the time it is sent."""

    type: ClassVar[str] = "code"
    text: str
    language: str | None = None
    extra: Mapping[str, Any] = attrs.field(default=EMPTY, converter=frozen, hash=False)


@attrs.frozen
class UnknownBlock(_Block):
    """A block of a type this version does not know, kept whole."""

    type: ClassVar[str] = "unknown"
    data: Mapping[str, Any] = attrs.field(converter=frozen, hash=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the dictionary it was read from."""
        return cast("dict[str, Any]", thawed(self.data))


EventBlock: TypeAlias = UserActionBlock | StateChangeBlock | SystemEventBlock
MediaBlock: TypeAlias = ImageBlock | AudioBlock | DocumentBlock | VideoBlock
Block: TypeAlias = (
    TextBlock
    | MediaBlock
    | ToolUseBlock
    | ToolResultBlock
    | ReasoningBlock
    | EventBlock
    | JsonBlock
    | CodeBlock
    | UnknownBlock
)


class _TextDraft(TextBlock):
    """A text block while it is being filled.

    Setting slots and turning frozen costs half of ``__init__``.
    """

    __slots__ = ()
    __setattr__ = object.__setattr__
    __delattr__ = object.__delattr__


def text_block(text: str, cache: Cache | None = None) -> TextBlock:
    """Return ``TextBlock(text, cache)``, built in half the time."""
    block = object.__new__(_TextDraft)
    block.text = text  # type: ignore[misc]
    block.cache = cache  # type: ignore[misc]
    block.extra = EMPTY  # type: ignore[misc]
    block.__class__ = TextBlock  # type: ignore[assignment]
    return block


class _CallDraft(ToolUseBlock):
    __slots__ = ()
    __setattr__ = object.__setattr__
    __delattr__ = object.__delattr__


def tool_use_block(id: str, name: str, arguments: str) -> ToolUseBlock:
    """Return ``ToolUseBlock(id, name, arguments)``, built in half the time."""
    block = object.__new__(_CallDraft)
    block.id = id  # type: ignore[misc]
    block.name = name  # type: ignore[misc]
    block.arguments = arguments  # type: ignore[misc]
    block.cache = None  # type: ignore[misc]
    block.extra = EMPTY  # type: ignore[misc]
    block.__class__ = ToolUseBlock  # type: ignore[assignment]
    return block


class _ResultDraft(ToolResultBlock):
    __slots__ = ()
    __setattr__ = object.__setattr__
    __delattr__ = object.__delattr__


def tool_result_block(
    tool_use_id: str, content: tuple[Block, ...], name: str | None = None
) -> ToolResultBlock:
    """Return ``ToolResultBlock(tool_use_id, content, name)``, built in half the time."""
    block = object.__new__(_ResultDraft)
    block.tool_use_id = tool_use_id  # type: ignore[misc]
    block.content = content  # type: ignore[misc]
    block.name = name  # type: ignore[misc]
    block.is_error = False  # type: ignore[misc]
    block.error_type = None  # type: ignore[misc]
    block.cache = None  # type: ignore[misc]
    block.extra = EMPTY  # type: ignore[misc]
    block.__class__ = ToolResultBlock  # type: ignore[assignment]
    return block


# Blocks as dictionaries.

CLASSES: Mapping[str, Any] = {
    cls.type: cls
    for cls in (
        TextBlock,
        ImageBlock,
        AudioBlock,
        DocumentBlock,
        VideoBlock,
        ToolUseBlock,
        ToolResultBlock,
        ReasoningBlock,
        UserActionBlock,
        StateChangeBlock,
        SystemEventBlock,
        JsonBlock,
        CodeBlock,
    )
}
_KEYS = {"old": "from", "new": "to"}
_ALIASES = {
    "tool_use": {"toolUseId": "id"},
    "tool_result": {"toolUseId": "tool_use_id", "tool_call_id": "tool_use_id"},
}


def _entries(block: Any) -> Iterator[tuple[str, Any]]:
    yield "type", block.type
    for field in attrs.fields(type(block)):  # pyright: ignore[reportUnknownArgumentType]
        value = getattr(block, field.name)
        if field.name == "extra" or (field.default is not attrs.NOTHING and value == field.default):
            continue
        if field.name == "arguments":
            yield from _input_entries(block)
        else:
            yield _KEYS.get(field.name) or field.name, _plain(value)
    yield from thawed(block.extra).items()


def _input_entries(block: ToolUseBlock) -> Iterator[tuple[str, Any]]:
    value = block.input
    if value is not None:
        yield "input", value
    if value is None or write_json(value) != block.arguments:
        yield "arguments", block.arguments


def _plain(value: Any) -> Any:
    if isinstance(value, MediaSource):
        return value.to_dict()
    if isinstance(value, tuple):
        return [block.to_dict() for block in cast("tuple[Block, ...]", value)]
    return thawed(value)


def block_from_dict(data: object) -> Block:
    """Return the block a dictionary describes; a string is a text block, a block is itself.

    Raises :class:`DataError` when it is no dictionary with a ``type``, or lacks what its type
    needs. A type this version does not know becomes an :class:`UnknownBlock`.
    """
    if isinstance(data, str):
        return text_block(exact(data))
    if isinstance(data, _Block):
        return cast("Block", data)
    if not isinstance(data, Mapping):
        raise DataError(f"a block is a dictionary or a string, not {type(data).__name__}")
    entries = {exact(key): value for key, value in cast("Mapping[str, Any]", data).items()}
    kind = entries.get("type")
    if not isinstance(kind, str):
        raise DataError("a block needs a 'type'", fix=f"known types: {', '.join(CLASSES)}")
    cls = CLASSES.get(kind)
    return UnknownBlock(entries) if cls is None else _read(cls, entries)


def _read(cls: Any, entries: dict[str, Any]) -> Block:
    del entries["type"]
    if issubclass(cls, _MediaBlock) and "source" not in entries:
        entries["source"] = {key: entries.pop(key) for key in SHORTHANDS if key in entries}
    for alias, key in _ALIASES.get(cls.type, {}).items():
        if alias in entries:
            entries.setdefault(key, entries.pop(alias))
    given: dict[str, Any] = {}
    for field in attrs.fields(cls):
        key = (cls is StateChangeBlock and _KEYS.get(field.name)) or field.name
        if field.name == "arguments":
            given["arguments"] = _arguments(entries)
        elif key in entries and field.name != "extra":
            given[field.name] = _check(cls, field.name)(entries.pop(key), key)
        elif field.default is attrs.NOTHING:
            raise DataError(f"a {cls.type!r} block needs {key!r}", fix=nearest(key, entries))
    return cast("Block", cls(**given, extra=entries or EMPTY))


def _arguments(entries: dict[str, Any]) -> str:
    value = entries.pop("input", ABSENT)
    text = entries.pop("arguments", ABSENT)
    if isinstance(text, str):
        return cast("str", exact(text))
    if isinstance(value, str):
        return cast("str", exact(value))
    if value is ABSENT:
        raise DataError("a 'tool_use' block needs 'input'")
    return write_json(value)


def contents(value: object) -> tuple[Block, ...]:
    """Return the blocks of a content: a string, a list of block dictionaries, or nothing."""
    if value is None or value == "":
        return ()
    if isinstance(value, str):
        return (text_block(exact(value)),)
    if not isinstance(value, list | tuple):
        raise DataError(f"a content is a string or a list of blocks, not {type(value).__name__}")
    if type(value) is tuple and all(  # pyright: ignore[reportUnknownArgumentType]
        isinstance(item, _Block) for item in cast("tuple[object, ...]", value)
    ):
        return cast("tuple[Block, ...]", value)
    return tuple(
        cast("Block", item) if isinstance(item, _Block) else block_from_dict(item)
        for item in cast("list[object]", value)
    )


# What a key of a dictionary may hold.


def string(value: Any, key: str) -> str:
    """Return a string; :class:`DataError` names the key of what is none."""
    if not isinstance(value, str):
        raise DataError(f"{key!r} is a string, not {type(value).__name__}")
    return cast("str", exact(value))


def optional(value: Any, key: str) -> str | None:
    """Return a string or ``None``; :class:`DataError` names the key of what is neither."""
    return None if value is None else string(value, key)


def mapping(value: Any, key: str) -> Mapping[str, Any]:
    """Return a mapping; :class:`DataError` names the key of what is none."""
    if not isinstance(value, Mapping):
        raise DataError(f"{key!r} is a mapping, not {type(value).__name__}")
    return cast("Mapping[str, Any]", value)


def _word(value: Any, key: str) -> Any:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if number else string(value, key)


def _flag(value: Any, key: str) -> bool:
    if not isinstance(value, bool):
        raise DataError(f"{key!r} is true or false, not {value!r}")
    return value


def _cache(value: Any, key: str) -> str | None:
    return _one_of(CACHES, value, key)


def _error_type(value: Any, key: str) -> str | None:
    return _one_of(ERROR_TYPES, value, key)


def _one_of(known: tuple[str, ...], value: Any, key: str) -> str | None:
    found = optional(value, key)
    if found is not None and found not in known:
        raise DataError(f"unknown {key!r} {found!r}", fix=nearest(found, known))
    return found


def _answer(value: Any, key: str) -> tuple[Block, ...]:
    """Return the blocks of a result, which holds no other result."""
    items = cast("list[Any]", value) if isinstance(value, list | tuple) else []
    if any(_is_result(item) for item in items):
        raise DataError(f"{key!r} of a 'tool_result' block holds no 'tool_result' block")
    return contents(cast("object", value))


def _is_result(item: Any) -> bool:
    if isinstance(item, Mapping):
        return cast("Mapping[str, Any]", item).get("type") == "tool_result"
    return isinstance(item, ToolResultBlock)


def _source(value: Any, _: str) -> MediaSource:
    return media_source(value)


def _as_is(value: Any, _: str) -> Any:
    return value


def _check(cls: Any, name: str) -> Callable[[Any, str], Any]:
    if name == "source" and issubclass(cls, _MediaBlock):
        return _source
    if name == "name" and cls is ToolResultBlock:
        return optional
    return _CHECKS.get(name, _as_is)


_CHECKS: Mapping[str, Callable[[Any, str], Any]] = {
    **dict.fromkeys(("text", "id", "name", "tool_use_id"), string),
    **dict.fromkeys(("title", "detail", "language", "signature", "encrypted", "origin"), optional),
    **dict.fromkeys(("action", "key", "event"), _word),
    **dict.fromkeys(("details", "data"), mapping),
    "is_error": _flag,
    "error_type": _error_type,
    "cache": _cache,
    "content": _answer,
}
