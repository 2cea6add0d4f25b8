"""The types of blocks: frozen values that know nothing of trees or providers.

The fields of a block are checked, and copied so that nobody can change them. A new type is a class
here and a member of ``Block``. The names of its keys in dictionaries are in ``block_keys``, the
checks of its fields in ``field_checks``; ``docs/design.md`` says where it goes from here.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, TypeAlias, cast, get_args

import attrs

from promptdsl.foundation.errors import DataError
from promptdsl.foundation.frozen import EMPTY, thawed
from promptdsl.foundation.json import ABSENT, read_json
from promptdsl.messages import field_checks as f
from promptdsl.messages.block_keys import refuse_known, written
from promptdsl.messages.field_checks import Cache, Check, checks
from promptdsl.messages.media.source import MediaSource

_set = object.__setattr__


class AnyBlock:
    """The base of all blocks: a type, checked fields, and a dictionary form."""

    __slots__ = ()
    type: ClassVar[Any]
    _checks: ClassVar[Mapping[str, Check]]

    def __attrs_post_init__(self) -> None:
        for name, check, default in _PLANS.get(type(self)) or _plan(type(self)):
            given = getattr(self, name)
            # Most optional fields hold their default, and most others a string.
            if given is default or (check is f.string and type(given) is str):
                continue
            kept = check(given, name)
            if kept is not given:
                _set(self, name, kept)
            if name == "extra" and kept is not EMPTY:
                refuse_known(self.type, self._checks, kept)

    def to_dict(self) -> dict[str, Any]:
        """Return the block as plain data; keys it was read with and does not know come last.

        A field at its default is left out.
        """
        return dict(written(self))


Plan: TypeAlias = tuple[tuple[str, Check, Any], ...]
_PLANS: dict[type[AnyBlock], Plan] = {}
"""The fields of each type of block: name, check, and the default that needs none."""


def _plan(cls: Any) -> Plan:
    defaults = {field.name: field.default for field in attrs.fields(cls)}
    plan = tuple((name, check, defaults[name]) for name, check in cls._checks.items())
    return _PLANS.setdefault(cls, plan)


@attrs.frozen
class TextBlock(AnyBlock):
    """Text, sent as it is."""

    type: ClassVar[Literal["text"]] = "text"
    _checks = checks(text=f.string, cache=f.cache, extra=f.json_mapping)
    text: str
    cache: Cache | None = None
    extra: Mapping[str, Any] = attrs.field(default=EMPTY, hash=False)


@attrs.frozen
class _MediaBlock(AnyBlock):
    _checks = checks(
        source=f.media, title=f.optional, detail=f.optional, cache=f.cache, extra=f.json_mapping
    )
    source: MediaSource
    title: str | None = None
    detail: str | None = None
    cache: Cache | None = None
    extra: Mapping[str, Any] = attrs.field(default=EMPTY, hash=False)

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
        """Whether the attachment is only an address, which the provider fetches."""
        return self.source.kind == "url"


class ImageBlock(_MediaBlock):
    """A picture."""

    __slots__ = ()
    type: ClassVar[Literal["image"]] = "image"


class AudioBlock(_MediaBlock):
    """A recording."""

    __slots__ = ()
    type: ClassVar[Literal["audio"]] = "audio"


class DocumentBlock(_MediaBlock):
    """A document, such as a PDF."""

    __slots__ = ()
    type: ClassVar[Literal["document"]] = "document"


class VideoBlock(_MediaBlock):
    """A film."""

    __slots__ = ()
    type: ClassVar[Literal["video"]] = "video"


@attrs.frozen
class ToolUseBlock(AnyBlock):
    """A call the model made.

    ``arguments`` is the JSON text of the input: as it came when it came as text, otherwise written
    once from the mapping, so that nothing can change it later. ``input`` reads it.
    """

    type: ClassVar[Literal["tool_use"]] = "tool_use"
    _checks = checks(
        id=f.string, name=f.string, arguments=f.string, cache=f.cache, extra=f.json_mapping
    )
    id: str
    name: str
    arguments: str
    cache: Cache | None = None
    extra: Mapping[str, Any] = attrs.field(default=EMPTY, hash=False)

    @property
    def input(self) -> dict[str, Any] | None:
        """The input as a fresh mapping; ``None`` when ``arguments`` is not a strict JSON object."""
        value = read_json(self.arguments)
        return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _worded(value: "str | Block | Sequence[Block]") -> "tuple[Block, ...]":
    """Return a string as a tuple of its block, anything else as it is, to be checked."""
    if not isinstance(value, str):
        return cast("tuple[Block, ...]", value)
    return (TextBlock(value),) if value else ()


def _answer(value: Any, key: str) -> "tuple[Block, ...]":
    """Return the blocks of a result; a result among them, which no data may hold, holds none."""
    blocks = tuple(cast("list[Any]", value)) if isinstance(value, list | tuple) else (value,)
    for number, block in enumerate(blocks):
        if isinstance(block, ToolResultBlock) and any(map(_is_result, block.content)):
            raise DataError(f"{key!r} of a 'tool_result' block holds no 'tool_result' block")
        if not isinstance(block, AnyBlock):
            raise DataError(
                f"{key}[{number}] is a block, not {f.kind_of(block)}",
                fix="block_from_dict() takes strings and dictionaries",
            )
    return blocks


def _is_result(block: object) -> bool:
    return isinstance(block, ToolResultBlock)


@attrs.frozen
class ToolResultBlock(AnyBlock):
    """The answer to one call, the only block of ``tool`` messages.

    ``content`` may be given as a string, a block, or a list of blocks.
    """

    type: ClassVar[Literal["tool_result"]] = "tool_result"
    _checks = checks(
        tool_use_id=f.string,
        content=_answer,
        name=f.optional,
        is_error=f.flag,
        error_type=f.optional,
        cache=f.cache,
        extra=f.json_mapping,
    )
    tool_use_id: str
    content: "tuple[Block, ...]" = attrs.field(default=(), converter=_worded)
    name: str | None = None
    is_error: bool = False
    error_type: str | None = None
    cache: Cache | None = None
    extra: Mapping[str, Any] = attrs.field(default=EMPTY, hash=False)


@attrs.frozen
class ReasoningBlock(AnyBlock):
    """The reasoning of a model; replayed only to the provider it came from, to the byte."""

    type: ClassVar[Literal["reasoning"]] = "reasoning"
    _checks = checks(
        text=f.string,
        signature=f.optional,
        encrypted=f.optional,
        origin=f.optional,
        extra=f.json_mapping,
    )
    text: str
    signature: str | None = None
    encrypted: str | None = None
    origin: str | None = None
    extra: Mapping[str, Any] = attrs.field(default=EMPTY, hash=False)


@attrs.frozen
class UserActionBlock(AnyBlock):
    """An action of a user in the application."""

    type: ClassVar[Literal["user_action"]] = "user_action"
    _checks = checks(
        action=f.word,
        target=f.event_value,
        actor=f.event_value,
        details=f.event_mapping,
        extra=f.json_mapping,
    )
    action: str
    target: Any = attrs.field(default=None, hash=False)
    actor: Any = attrs.field(default=None, hash=False)
    details: Mapping[str, Any] = attrs.field(default=EMPTY, hash=False)
    extra: Mapping[str, Any] = attrs.field(default=EMPTY, hash=False)


@attrs.frozen
class StateChangeBlock(AnyBlock):
    """A value of the application that changed; written ``from`` and ``to`` in dictionaries."""

    type: ClassVar[Literal["state_change"]] = "state_change"
    _checks = checks(
        key=f.word,
        old=f.event_value,
        new=f.event_value,
        trigger=f.event_value,
        details=f.event_mapping,
        extra=f.json_mapping,
    )
    key: str
    old: Any = attrs.field(default=ABSENT, hash=False)
    new: Any = attrs.field(default=ABSENT, hash=False)
    trigger: Any = attrs.field(default=None, hash=False)
    details: Mapping[str, Any] = attrs.field(default=EMPTY, hash=False)
    extra: Mapping[str, Any] = attrs.field(default=EMPTY, hash=False)


@attrs.frozen
class SystemEventBlock(AnyBlock):
    """An event of the application itself."""

    type: ClassVar[Literal["system_event"]] = "system_event"
    _checks = checks(event=f.word, source=f.event_value, data=f.event_mapping, extra=f.json_mapping)
    event: str
    source: Any = attrs.field(default=None, hash=False)
    data: Mapping[str, Any] = attrs.field(default=EMPTY, hash=False)
    extra: Mapping[str, Any] = attrs.field(default=EMPTY, hash=False)


@attrs.frozen
class JsonBlock(AnyBlock):
    """A value to be written as JSON; text by the time it is sent."""

    type: ClassVar[Literal["json"]] = "json"
    _checks = checks(value=f.json_value, extra=f.json_mapping)
    value: Any = attrs.field(hash=False)
    extra: Mapping[str, Any] = attrs.field(default=EMPTY, hash=False)


@attrs.frozen
class CodeBlock(AnyBlock):
    """Source code; text by the time it is sent."""

    type: ClassVar[Literal["code"]] = "code"
    _checks = checks(text=f.string, language=f.optional, extra=f.json_mapping)
    text: str
    language: str | None = None
    extra: Mapping[str, Any] = attrs.field(default=EMPTY, hash=False)


@attrs.frozen
class UnknownBlock(AnyBlock):
    """A block of a type this version does not know, or knows in another shape, kept whole.

    ``origin`` is the provider it was read from: it is sent there as it came, and nowhere else.
    """

    type: ClassVar[Literal["unknown"]] = "unknown"
    _checks = checks(data=f.json_mapping, origin=f.optional)
    data: Mapping[str, Any] = attrs.field(hash=False)
    origin: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the dictionary it was read from.

        Where this would not be read as an unknown block, or has an origin, it stands under ``data``
        in a dictionary of type ``unknown``.
        """
        data = cast("dict[str, Any]", thawed(self.data))
        if self.origin is not None:
            return {"type": "unknown", "data": data, "origin": self.origin}
        return {"type": "unknown", "data": data} if is_ambiguous(self.data) else data


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


CLASSES: Mapping[str, type[AnyBlock]] = {
    cls.type: cls for cls in get_args(Block) if cls is not UnknownBlock
}
"""The blocks of known types, by type."""


_WITH_ORIGIN = {"type", "data", "origin"}


def has_origin(entries: Mapping[str, object]) -> bool:
    """Whether a dictionary is that of an unknown block whose origin is known."""
    return (
        set(entries) == _WITH_ORIGIN
        and entries["type"] == "unknown"
        and isinstance(entries["data"], Mapping)
        and isinstance(entries["origin"], str)
    )


def is_ambiguous(data: object) -> bool:
    """Whether the dictionary of an unknown block would be read as another block, or not at all."""
    while isinstance(data, Mapping):
        entries = cast("Mapping[str, object]", data)
        kind = entries.get("type")
        if has_origin(entries):
            return True
        if kind != "unknown" or len(entries) != 2:
            return kind in CLASSES if isinstance(kind, str) else True
        data = entries.get("data")
    return False
