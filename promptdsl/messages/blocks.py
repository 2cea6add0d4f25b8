"""The types of content blocks: frozen values, independent of trees and providers.

The file has, in this order, the keys of blocks in dictionaries, the blocks, and their short
descriptions. Read ``AnyBlock`` and ``TextBlock`` first.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal, TypeAlias, cast, get_args

import attrs

from promptdsl.foundation.errors import DataError
from promptdsl.foundation.escaping import code_fences, json_text
from promptdsl.foundation.frozen import EMPTY, is_list, is_mapping, thawed
from promptdsl.foundation.json import ABSENT, JsonDict, JsonObject, JsonValue, read_json, write_json
from promptdsl.foundation.source import end_traceback
from promptdsl.messages import field_checks as f
from promptdsl.messages.field_checks import Cache, Check, checks
from promptdsl.messages.media_type import MEDIA_KINDS, SHORTHANDS, MediaSource, type_by_extension

# The keys of blocks in dictionaries, and the function that writes a block as a dictionary.

KEYS: Mapping[str, Mapping[str, str]] = {"state_change": {"old": "from", "new": "to"}}
"""By type of block, the keys in dictionaries of fields that have another name there."""

ALIASES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "tool_use": {"id": ("toolUseId",), "arguments": ("input",)},
    "tool_result": {"tool_use_id": ("toolUseId", "tool_call_id")},
    "state_change": {"from": ("old",), "to": ("new",)},
}
"""By type of block, other names of a key, which are read and never written."""


def fields_of(block_class: Any) -> "tuple[attrs.Attribute[object], ...]":  # Any: a class
    """Return the fields of a class of blocks; type checkers do not see that attrs made it."""
    fields: tuple[attrs.Attribute[object], ...] = attrs.fields(block_class)
    return fields


def refuse_own_keys(kind: str, fields: Collection[str], extra: JsonObject) -> None:
    """Raise :class:`DataError` for a key in ``extra`` that the type of block has as a field."""
    names = KEYS.get(kind, {})
    own_keys = {"type", *(names.get(field) or field for field in fields if field != "extra")}
    own_keys = own_keys.union(*ALIASES.get(kind, {}).values())
    if kind in MEDIA_KINDS:
        own_keys = own_keys.union(SHORTHANDS)
        # The extra may have a ``source`` with keys that no source has.
        source = extra.get("source")
        if isinstance(source, Mapping) and source and source.keys().isdisjoint(SHORTHANDS):
            own_keys.discard("source")
    for key in extra:
        if key in own_keys:
            raise DataError(
                f"{key!r} cannot be in the 'extra' of a {kind!r} block",
                fix="write it as a field of the block: extra is for other keys",
            )


def has_origin(entries: Mapping[str, object]) -> bool:
    """Return whether a dictionary is that of an unknown block with an origin."""
    return (
        set(entries) == {"type", "data", "origin"}
        and entries["type"] == "unknown"
        and isinstance(entries["data"], Mapping)
        and isinstance(entries["origin"], str)
    )


def is_ambiguous(data: JsonValue, types: Collection[str]) -> bool:
    """Return whether the dictionary of an unknown block would be read as another block, or refused.

    ``types`` are the types of blocks.
    """
    while isinstance(data, Mapping):
        kind = data.get("type")
        if has_origin(data):
            return True
        if kind != "unknown" or len(data) != 2:
            return kind in types if isinstance(kind, str) else True
        data = data.get("data")
    return False


def entries_of(block: Any) -> Iterator[tuple[str, object]]:  # Any: a block of any class
    """Yield the keys and values of a block's dictionary, without the fields at their defaults."""
    names, extra = KEYS.get(block.type, {}), thawed(block.extra)
    yield "type", block.type
    for field in fields_of(type(block)):
        value: object = getattr(block, field.name)
        if field.name == "extra" or (field.default is not attrs.NOTHING and value == field.default):
            continue
        if field.name == "arguments":
            # The input as a mapping, and its text if the mapping would be written as another text.
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


# The types of content blocks.
#
# The fields of a block are checked, and copied so that nobody can change them. ``_checks`` has the
# check of each field; ``checks()`` adds the check of ``extra``. The checks are in
# ``field_checks.py``. For the fields of an event, ``f.word`` accepts a string or a number,
# ``f.event_value`` also a date or a ``Decimal``, and ``f.event_mapping`` a mapping of these values.
#
# ``extra`` are keys of a provider that this version does not know. A mapping has no hash, so fields
# with mappings or any other data are not part of the hash of a block (``hash=False``). They still
# count when blocks are compared.
#
# A new type is a class here and a member of ``DataBlock`` or ``Block``; ``docs/design.md`` lists
# the other files to change.

_set = object.__setattr__


class AnyBlock:
    """The base of all blocks: a type, checked fields, and ``to_dict()``."""

    __slots__ = ()
    type: ClassVar[Any]  # Any: each block has its own literal
    _checks: ClassVar[Mapping[str, Check]]

    def __attrs_post_init__(self) -> None:
        fields = _FIELDS_BY_CLASS.get(type(self)) or _note_fields(type(self))
        try:
            for name, check, default in fields:
                value = getattr(self, name)
                # Most optional fields have their default, most other fields are strings.
                if value is default or (check is f.string and type(value) is str):
                    continue
                checked = check(value, name)
                # A check that made a copy returns another object, which replaces the value.
                if checked is not value:
                    _set(self, name, checked)
                # Two fields depend on the other fields of the block, or change one of them.
                if name == "extra" and checked is not EMPTY:
                    refuse_own_keys(self.type, self._checks, getattr(self, name))
                elif name == "error_type":
                    # A result with a type of error is the result of a failed call.
                    _set(self, "is_error", True)
        except DataError as error:
            end_traceback(error)
            raise

    def to_dict(self) -> JsonDict:
        """Return the block as plain data, without fields that have their default.

        At the end are unknown keys that were read with the block.
        """
        return dict(entries_of(self))


_CheckedField: TypeAlias = tuple[str, Check, object]
"""A field: its name, its check, and its default, which needs no check."""

_FIELDS_BY_CLASS: dict[type[AnyBlock], tuple[_CheckedField, ...]] = {}
"""The fields of each type of block in their order, noted when its first block is made."""


def _note_fields(block_class: type[AnyBlock]) -> tuple[_CheckedField, ...]:
    """Note the fields of a type of block, and return them."""
    defaults = {field.name: field.default for field in fields_of(block_class)}
    fields = tuple((name, check, defaults[name]) for name, check in block_class._checks.items())
    _FIELDS_BY_CLASS[block_class] = fields
    return fields


@attrs.frozen
class TextBlock(AnyBlock):
    """Text, sent unchanged. ``cache`` sets a cache mark: providers cache what is before the mark.

    >>> from promptdsl import TextBlock
    >>> TextBlock("Be brief.", cache="1h").to_dict()
    {'type': 'text', 'text': 'Be brief.', 'cache': '1h'}
    """

    type: ClassVar[Literal["text"]] = "text"
    _checks = checks(text=f.string, cache=f.cache)
    text: str
    cache: Cache | None = None
    extra: JsonObject = attrs.field(default=EMPTY, hash=False)


@attrs.frozen
class _MediaBlock(AnyBlock):
    _checks = checks(
        source=f.media, title=f.optional_string, detail=f.optional_string, cache=f.cache
    )
    source: MediaSource
    title: str | None = None
    detail: str | None = None
    cache: Cache | None = None
    extra: JsonObject = attrs.field(default=EMPTY, hash=False)

    @property
    def is_image(self) -> bool:
        """Whether the attachment is a picture."""
        return isinstance(self, ImageBlock)

    @property
    def is_document(self) -> bool:
        """Whether the attachment is a document."""
        return isinstance(self, DocumentBlock)

    @property
    def is_url(self) -> bool:
        """Whether the attachment is an address, whose content the provider fetches."""
        return self.source.kind == "url"

    @property
    def media_type(self) -> str | None:
        """The media type of the source, else the media type that its extension shows."""
        if self.source.media_type is not None or self.source.kind in ("base64", "file_id"):
            return self.source.media_type
        return type_by_extension(self.source.value)

    @property
    def pixels(self) -> tuple[int, int] | None:
        """The width and height of a picture in base64, in pixels; ``None`` if they are not known.

        >>> from promptdsl import ImageBlock, MediaSource
        >>> ImageBlock(MediaSource("base64", "R0lGODlhAwAFAAAAACw=", "image/gif")).pixels
        (3, 5)
        """
        from promptdsl.messages.attachment import size_of

        return size_of(self.source)


# The four classes of attachments add no field, so they inherit ``@attrs.frozen`` from
# ``_MediaBlock``. Blocks of two classes are never equal.


class ImageBlock(_MediaBlock):
    """A picture; ``detail`` is the provider's name for the resolution that the model sees.

    >>> from promptdsl import ImageBlock, MediaSource
    >>> ImageBlock(MediaSource("url", "https://example.com/a.png")).is_url
    True
    """

    __slots__ = ()
    type: ClassVar[Literal["image"]] = "image"


class AudioBlock(_MediaBlock):
    """A sound recording.

    >>> from promptdsl import AudioBlock, MediaSource
    >>> AudioBlock(MediaSource("base64", "UklGRg==", "audio/wav")).source.media_type
    'audio/wav'
    """

    __slots__ = ()
    type: ClassVar[Literal["audio"]] = "audio"


class DocumentBlock(_MediaBlock):
    """A document, such as a PDF, with an optional ``title``.

    >>> from promptdsl import DocumentBlock, MediaSource
    >>> DocumentBlock(MediaSource("file_id", "file_1"), "Terms").is_document
    True
    """

    __slots__ = ()
    type: ClassVar[Literal["document"]] = "document"


class VideoBlock(_MediaBlock):
    """A film.

    >>> from promptdsl import MediaSource, VideoBlock
    >>> VideoBlock(MediaSource("s3", "s3://films/a.mp4")).to_dict()
    {'type': 'video', 'source': {'type': 's3', 'uri': 's3://films/a.mp4'}}
    """

    __slots__ = ()
    type: ClassVar[Literal["video"]] = "video"


def _as_arguments(value: str | Mapping[str, object]) -> str:
    """Return a mapping as JSON text; any other value is unchanged and checked later."""
    return write_json(value) if is_mapping(value) else cast("str", value)


@attrs.frozen
class ToolUseBlock(AnyBlock):
    """A call of a tool by the model.

    ``arguments`` is the JSON text of the input as the model wrote it, which need not be valid JSON.
    You may also pass a mapping: ``arguments`` is then its JSON text.

    >>> from promptdsl import ToolUseBlock
    >>> ToolUseBlock("call_1", "find", '{"query": "tea"}').input
    {'query': 'tea'}
    """

    type: ClassVar[Literal["tool_use"]] = "tool_use"
    _checks = checks(id=f.call_id, name=f.string, arguments=f.string, cache=f.cache)
    id: str
    name: str
    arguments: str = attrs.field(converter=_as_arguments)
    cache: Cache | None = None
    extra: JsonObject = attrs.field(default=EMPTY, hash=False)

    @property
    def input(self) -> JsonDict | None:
        """The input as a new mapping; ``None`` if ``arguments`` is not a strict JSON object."""
        value = read_json(self.arguments)
        return value if isinstance(value, dict) else None


def _as_blocks(value: "str | Block | Sequence[Block]") -> "tuple[Block, ...]":
    """Return a string as a tuple of its block; any other value is unchanged and checked later.

    This converter tells type checkers what may be passed as ``content``. The check
    ``_result_content`` runs after it, and makes a tuple of every other value.
    """
    if not isinstance(value, str):
        return cast("tuple[Block, ...]", value)
    return (TextBlock(value),) if value else ()


def _result_content(value: object, key: str) -> tuple[object, ...]:
    """Return the blocks of a result; raise :class:`DataError` for other values.

    A result may contain a result, but that may not contain another result. Recorded messages may
    have such blocks; no provider accepts a result in a result, so it is a loss.
    """
    blocks = tuple(value) if is_list(value) else (value,)
    for index, block in enumerate(blocks):
        if isinstance(block, ToolResultBlock) and any(
            isinstance(inner, ToolResultBlock) for inner in block.content
        ):
            raise DataError(
                f"{key!r} of a 'tool_result' block contains a result with another result in it",
                fix="write the content of the innermost result instead of that result",
            )
        if not isinstance(block, AnyBlock):
            raise DataError(
                f"{key}[{index}] must be a block, not {f.kind_of(block)}",
                fix="block_from_dict() takes strings and dictionaries",
            )
    return blocks


@attrs.frozen
class ToolResultBlock(AnyBlock):
    """The result of a tool call. ``tool`` messages have only blocks of this type.

    ``content`` may be a string, a block, or a list of blocks. With an ``error_type``, ``is_error``
    is always true.

    >>> from promptdsl import ToolResultBlock
    >>> ToolResultBlock("call_1", "21 degrees", is_error=False).content[0].text
    '21 degrees'
    """

    type: ClassVar[Literal["tool_result"]] = "tool_result"
    _checks = checks(
        tool_use_id=f.call_id,
        content=_result_content,
        name=f.optional_string,
        is_error=f.flag,
        error_type=f.optional_string,
        cache=f.cache,
    )
    tool_use_id: str
    content: "tuple[Block, ...]" = attrs.field(default=(), converter=_as_blocks)
    name: str | None = None
    is_error: bool = False
    error_type: str | None = None
    cache: Cache | None = None
    extra: JsonObject = attrs.field(default=EMPTY, hash=False)


@attrs.frozen
class ReasoningBlock(AnyBlock):
    """The reasoning of a model, which is sent only to its own provider, byte for byte.

    >>> from promptdsl import ReasoningBlock
    >>> ReasoningBlock("They want tea.", signature="c2ln", origin="anthropic").text
    'They want tea.'
    """

    type: ClassVar[Literal["reasoning"]] = "reasoning"
    _checks = checks(
        text=f.string,
        signature=f.optional_string,
        encrypted=f.optional_string,
        origin=f.optional_string,
    )
    text: str
    signature: str | None = None
    encrypted: str | None = None
    origin: str | None = None
    extra: JsonObject = attrs.field(default=EMPTY, hash=False)


@attrs.frozen
class UserActionBlock(AnyBlock):
    """An action of a user in the application.

    >>> from promptdsl import UserActionBlock
    >>> UserActionBlock("clicked", target="Buy").to_dict()
    {'type': 'user_action', 'action': 'clicked', 'target': 'Buy'}
    """

    type: ClassVar[Literal["user_action"]] = "user_action"
    _checks = checks(
        action=f.word, target=f.event_value, actor=f.event_value, details=f.event_mapping
    )
    action: str
    target: object = attrs.field(default=None, hash=False)
    actor: object = attrs.field(default=None, hash=False)
    details: Mapping[str, object] = attrs.field(default=EMPTY, hash=False)
    extra: JsonObject = attrs.field(default=EMPTY, hash=False)


@attrs.frozen
class StateChangeBlock(AnyBlock):
    """A changed value of the application; its keys in dictionaries are ``from`` and ``to``.

    >>> from promptdsl import StateChangeBlock
    >>> StateChangeBlock("page", old=1, new=2).to_dict()
    {'type': 'state_change', 'key': 'page', 'from': 1, 'to': 2}
    """

    type: ClassVar[Literal["state_change"]] = "state_change"
    _checks = checks(
        key=f.word,
        old=f.event_value,
        new=f.event_value,
        trigger=f.event_value,
        details=f.event_mapping,
    )
    key: str
    # ``None`` is a value that the application may have had, so ``ABSENT`` means no value.
    old: object = attrs.field(default=ABSENT, hash=False)
    new: object = attrs.field(default=ABSENT, hash=False)
    trigger: object = attrs.field(default=None, hash=False)
    details: Mapping[str, object] = attrs.field(default=EMPTY, hash=False)
    extra: JsonObject = attrs.field(default=EMPTY, hash=False)


@attrs.frozen
class SystemEventBlock(AnyBlock):
    """An event of the application itself.

    >>> from promptdsl import SystemEventBlock
    >>> SystemEventBlock("restarted", data={"after": "update"}).to_dict()
    {'type': 'system_event', 'event': 'restarted', 'data': {'after': 'update'}}
    """

    type: ClassVar[Literal["system_event"]] = "system_event"
    _checks = checks(event=f.word, source=f.event_value, data=f.event_mapping)
    event: str
    source: object = attrs.field(default=None, hash=False)
    data: Mapping[str, object] = attrs.field(default=EMPTY, hash=False)
    extra: JsonObject = attrs.field(default=EMPTY, hash=False)


@attrs.frozen
class JsonBlock(AnyBlock):
    """A value that becomes JSON text before it is sent.

    >>> from promptdsl import JsonBlock
    >>> JsonBlock({"city": "Brest"}).value["city"]
    'Brest'
    """

    type: ClassVar[Literal["json"]] = "json"
    _checks = checks(value=f.json_value)
    value: JsonValue = attrs.field(hash=False)
    extra: JsonObject = attrs.field(default=EMPTY, hash=False)


@attrs.frozen
class CodeBlock(AnyBlock):
    """Source code that becomes text before it is sent.

    >>> from promptdsl import CodeBlock
    >>> CodeBlock("print(1)", language="python").to_dict()
    {'type': 'code', 'text': 'print(1)', 'language': 'python'}
    """

    type: ClassVar[Literal["code"]] = "code"
    _checks = checks(text=f.string, language=f.optional_string)
    text: str
    language: str | None = None
    extra: JsonObject = attrs.field(default=EMPTY, hash=False)


@attrs.frozen
class UnknownBlock(AnyBlock):
    """A block of a type or shape that this version does not know; its data stays unchanged.

    ``origin`` is the provider that the block was read from. The block is sent only to this
    provider, unchanged.

    >>> from promptdsl import block_from_dict
    >>> block_from_dict({"type": "hologram", "size": 3}).to_dict()
    {'type': 'hologram', 'size': 3}
    """

    type: ClassVar[Literal["unknown"]] = "unknown"
    # Without ``checks()``, because the block has no ``extra``: all its keys are in ``data``.
    _checks: ClassVar[Mapping[str, Check]] = {"data": f.json_mapping, "origin": f.optional_string}
    data: JsonObject = attrs.field(hash=False)
    origin: str | None = None

    @property
    def kind(self) -> str:
        """The provider's name of the block: its ``type``, or the key of its content.

        The key is ``executableCode`` for Gemini's ``{"executableCode": {"code": "1 + 1"}}``.
        """
        if isinstance(name := self.data.get("type"), str):
            return name
        objects = (key for key, value in self.data.items() if isinstance(value, Mapping))
        return next(objects, next(iter(self.data), self.type))

    def to_dict(self) -> JsonDict:
        """Return the dictionary that the block was read from.

        Two kinds of block return a dictionary of the type ``unknown`` instead, with that dictionary
        as its ``data``: a block with an origin, and a block that would be read as another block.
        """
        data: JsonDict = thawed(self.data)
        if self.origin is not None:
            return {"type": "unknown", "data": data, "origin": self.origin}
        return {"type": "unknown", "data": data} if is_ambiguous(data, CLASSES) else data


EventBlock: TypeAlias = UserActionBlock | StateChangeBlock | SystemEventBlock
MediaBlock: TypeAlias = ImageBlock | AudioBlock | DocumentBlock | VideoBlock
DataBlock: TypeAlias = JsonBlock | CodeBlock
"""The blocks that become text before they are sent, because no provider accepts them."""
Block: TypeAlias = (
    TextBlock
    | MediaBlock
    | ToolUseBlock
    | ToolResultBlock
    | ReasoningBlock
    | EventBlock
    | DataBlock
    | UnknownBlock
)

CLASSES: Mapping[str, type[AnyBlock]] = {
    cls.type: cls for cls in get_args(Block) if cls is not UnknownBlock
}
"""The blocks of known types, by type."""


# Short descriptions of blocks for outlines and views of a request, and the text of data.

LONGEST_TITLE = 60
"""The maximum number of characters of a title or a type in a description."""


def described(block: Block, *, tools: Mapping[str, str] | None = None) -> str:
    """Return a block in words, such as ``call look (call_1)``.

    ``tools`` has the names of tools by the ids of their calls; with it, the description has no ids.
    It says nothing about the blocks in a result.
    """
    from promptdsl.messages.attachment import size_of  # it opens files

    match block:
        case ToolUseBlock():
            return f"call {block.name}" + (f" ({block.id})" if tools is None else "")
        case ToolResultBlock():
            id = block.tool_use_id
            name = id if tools is None else block.name or tools.get(id, id)
            return f"result {name} failed" if block.is_error else f"result {name}"
        case UnknownBlock():
            return _shortened(block.kind)
        case _ if isinstance(block, MediaBlock):
            source, size = block.source, size_of(block.source)
            title = f" {_shortened(block.title)!r}" if block.title else ""
            words = [f"{block.type}{title} ({source.kind})"]
            words += [source.media_type] if source.media_type else []
            words += [f"{size[0]}x{size[1]}"] if size else []
            return " ".join(words)
        case _:
            return block.type


def shown_text(block: Block) -> str:
    """Return the text that a view shows for a block; for an attachment, its address or its size."""
    match block:
        case TextBlock() | ReasoningBlock():
            return block.text
        case ToolUseBlock():
            return block.arguments
        case ToolResultBlock():
            return ""
        case _ if isinstance(block, MediaBlock):
            location = block.source.value
            is_data = block.source.kind == "base64"
            return (
                f"{len(location) * 3 // 4 - location[-2:].count('='):,} bytes"
                if is_data
                else location
            )
        case _:
            return write_json(block.to_dict())


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST_TITLE else f"{text[:LONGEST_TITLE]}..."


def default_text(block: DataBlock) -> str:
    """Return the text of a block of data; it is the same in every format of a prompt."""
    match block:
        case JsonBlock(value):
            return json_text(value)
        case CodeBlock(text, language):
            return text.join(code_fences(text, language))
