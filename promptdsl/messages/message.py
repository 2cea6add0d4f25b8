"""Messages: the narrow waist. Everything above makes them, everything below reads them."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import attrs
from attrs.exceptions import FrozenInstanceError

from promptdsl.foundation.errors import DataError
from promptdsl.foundation.frozen import plain, thawed
from promptdsl.foundation.source import source_of
from promptdsl.foundation.unicode import exact
from promptdsl.messages.blocks import Block, TextBlock, ToolResultBlock, ToolUseBlock
from promptdsl.messages.details import DETAIL_KEYS, NO_DETAILS, Details, Origin, RawOrigin
from promptdsl.messages.field_checks import error_type as checked_error_type
from promptdsl.messages.message_checks import (
    KEYS,
    checked_details,
    checked_kind,
    checked_role,
    foreign_form,
    refuse_loose_blocks,
    refuse_unknown_keys,
)
from promptdsl.messages.read_blocks import contents
from promptdsl.messages.roles import ROLES, Kind, Role
from promptdsl.messages.unchecked import text_block

_set = object.__setattr__
_new = object.__new__

_SPEAKERS = tuple(role for role in ROLES if role != "tool")
"""Roles whose messages may be one text."""
_JSON_KEYS = ("metadata", "token_usage", "structured_output")
"""Keys of a message that hold JSON data."""


class Message:
    """One message to or from a model: a role and content blocks. An inert, frozen value.

    ``content`` is a tuple of blocks; a string or a list of block dictionaries may be given.
    ``kind`` is what the message was before roles were mapped. ``sources`` lists the turns it was
    made of, their ids and metadata; it takes no part in equality. ``plain`` is the text when the
    content is one text and nothing else, ``None`` otherwise: most messages are, so their block is
    made only when somebody asks for it.
    """

    __slots__ = (
        "__weakref__",
        "_at",
        "_blocks",
        "_known",
        "_number",
        "details",
        "kind",
        "plain",
        "role",
    )

    role: Role
    kind: Kind
    plain: str | None
    details: Details
    _blocks: tuple[Block, ...] | None
    _at: Any
    _number: int

    def __init__(
        self,
        role: Role,
        content: object = (),
        *,
        kind: Kind = "written",
        origins: tuple[RawOrigin, ...] = (),
        **details: Any,
    ) -> None:
        """Raise :class:`DataError` for an unknown role or key, or a value that is none."""
        role, kind = checked_role(role), checked_kind(kind)
        refuse_unknown_keys(details, DETAIL_KEYS)
        blocks = contents(content, "content")
        if role == "tool" and blocks is not content:
            # A tuple of finished blocks is taken as it is, as everywhere: adapters judge it.
            refuse_loose_blocks(blocks)
        only = blocks[0] if len(blocks) == 1 else None
        plain = type(only) is TextBlock and only.cache is None and not only.extra
        _set(self, "role", role)
        _set(self, "kind", kind)
        _set(self, "plain", cast("TextBlock", only).text if plain else None)
        _set(self, "details", checked_details(details) if details else NO_DETAILS)
        _set(self, "_blocks", blocks)
        _set(self, "_at", origins)
        _set(self, "_number", -1)

    @property
    def content(self) -> tuple[Block, ...]:
        """The blocks of the message."""
        blocks = self._blocks
        if blocks is None:
            blocks = (text_block(cast("str", self.plain)),)
            _set(self, "_blocks", blocks)
        return blocks

    @property
    def text(self) -> str:
        """What the message says: its texts with nothing between them, as SDKs join an answer's.

        Empty when it says nothing; what is in a tool result is said by the tool.
        """
        if self.plain is not None:
            return self.plain
        return "".join(block.text for block in self.content if isinstance(block, TextBlock))

    @property
    def calls(self) -> tuple[ToolUseBlock, ...]:
        """The tool calls an assistant message makes, in order."""
        if self.plain is not None:
            return ()
        return tuple(block for block in self.content if isinstance(block, ToolUseBlock))

    @property
    def id(self) -> str | None:
        """The id its author gave the turn."""
        return self.details.id

    @property
    def name(self) -> str | None:
        """The speaker's name."""
        return self.details.name

    @property
    def metadata(self) -> Mapping[str, Any]:
        """What its author noted of the turn; never sent."""
        return self.details.metadata

    @property
    def token_usage(self) -> Mapping[str, Any] | None:
        """What a provider counted for an assistant message, in tokens."""
        return self.details.token_usage

    @property
    def structured_output(self) -> Any:
        """The value an assistant message was parsed to."""
        return self.details.structured_output

    @property
    def finish_reason(self) -> str | None:
        """Why a model stopped."""
        return self.details.finish_reason

    @property
    def origins(self) -> tuple[RawOrigin, ...]:
        """The sources, before their lines are looked up."""
        if self._number < 0:
            return cast("tuple[RawOrigin, ...]", self._at)
        at, own = self._at, self.details
        head, within = at.head or self.role, at.options.within
        return ((head, self._number, at.at, own.id, own.metadata, within),)

    @property
    def sources(self) -> tuple[Origin, ...]:
        """The address, file and line of every turn this message was made of."""
        return tuple(
            Origin(
                head if number < 0 else f"{head}[{number}]",
                source_of(at) if isinstance(at, tuple) else at,
                id,
                metadata,
                within,
            )
            for head, number, at, id, metadata, within in self.origins
        )

    def replace(self, **changes: Any) -> "Message":
        """Return a copy of the message with some of its fields changed."""
        given: dict[str, Any] = {
            "role": self.role,
            "content": self.content,
            "kind": self.kind,
            "origins": self.origins,
            **attrs.asdict(self.details, recurse=False),
        }
        return Message(**{**given, **changes})

    def to_dict(self) -> dict[str, Any]:
        """Return the message as plain data, without its sources."""
        data: dict[str, Any] = {"role": self.role, "content": [b.to_dict() for b in self.content]}
        if self.kind != "written":
            data["kind"] = self.kind
        for key, default in attrs.asdict(NO_DETAILS, recurse=False).items():
            value = getattr(self.details, key)
            if value != default:
                data[key] = thawed(value)
        return data

    @classmethod
    def from_dict(cls, data: object) -> "Message":
        """Return the message a dictionary describes.

        Raises :class:`DataError` for what is no mapping, a missing or unknown role, an unknown
        key, and what JSON cannot say.
        """
        if not isinstance(data, Mapping):
            raise DataError(f"a message is a mapping, not {type(data).__name__}")
        entries: Mapping[str, Any] = data  # pyright: ignore[reportUnknownVariableType]
        role, text = entries.get("role"), entries.get("content")
        if len(entries) == 2 and type(role) is type(text) is str and role in _SPEAKERS and text:
            return spoken(cast("Role", role), text)
        if "role" not in entries:
            fix = foreign_form(entries) or f"one of {', '.join(ROLES)}"
            raise DataError("a message needs a 'role'", fix=fix)
        given = {exact(key): value for key, value in entries.items()}
        refuse_unknown_keys(given, KEYS)
        for key in _JSON_KEYS:
            if key in given:
                given[key] = plain(given[key], key)
        return cls(**given)

    @staticmethod
    def tool_result(
        tool_use_id: str,
        content: str | Sequence[Block | Mapping[str, Any]] = (),
        *,
        name: str | None = None,
        is_error: bool = False,
        error_type: str | None = None,
    ) -> "Message":
        """Return the tool message that answers a call: with a text, or a list of blocks.

        ``name`` is the tool's. ``error_type`` says what went wrong: ``unknown_tool``,
        ``validation_error``, ``execution_error``, ``timeout_error`` or ``interrupted``. Raises
        :class:`DataError` for a value that is none.
        """
        blocks = contents(content, "content")
        kind = checked_error_type(error_type, "error_type")
        return Message("tool", (ToolResultBlock(tool_use_id, blocks, name, is_error, kind),))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Message):
            return NotImplemented
        return (
            self.role == other.role
            and self.kind == other.kind
            and self.details == other.details
            and self.content == other.content
        )

    def __hash__(self) -> int:
        return hash((self.role, self.kind, self.plain, self.details.id))

    def __repr__(self) -> str:
        data = {"role": self.role, "content": self.content, "kind": self.kind}
        data |= attrs.asdict(self.details, recurse=False)
        default = {"kind": "written", **attrs.asdict(NO_DETAILS, recurse=False)}
        shown = (f"{k}={v!r}" for k, v in data.items() if k not in default or v != default[k])
        return f"Message({', '.join(shown)})"

    def __setattr__(self, name: str, value: object, /) -> None:
        raise FrozenInstanceError

    def __delattr__(self, name: str, /) -> None:
        raise FrozenInstanceError

    def __reduce__(self) -> tuple[Any, ...]:
        # A position holds a code object, which cannot be saved: its file and line can.
        places = tuple(
            (head, number, source_of(at) if isinstance(at, tuple) else at, *said)
            for head, number, at, *said in self.origins
        )
        fields = attrs.asdict(self.details, recurse=False)
        fields |= {"role": self.role, "content": self.content, "kind": self.kind}
        return _restored, ({**fields, "origins": places},)


def _restored(fields: dict[str, Any]) -> Message:
    return Message(**fields)


# Messages of parts that are known to be good, built in a third of the time: nothing is checked.


class _Draft(Message):
    """A message while it is being filled; setting slots and turning frozen costs less."""

    __slots__ = ()
    __setattr__ = object.__setattr__
    __delattr__ = object.__delattr__


def spoken(
    role: Role, text: str, at: object = (), number: int = -1, *, kind: Kind = "written"
) -> Message:
    """Return a message of one text, as most are.

    ``at`` is the turn it was made of, which knows its line and the head of its address (``at``,
    ``head``); ``number`` is the number in that address. Without a number, ``at`` is the tuple of
    its origins.
    """
    draft: Any = _new(_Draft)
    draft.role = role
    draft.kind = kind
    draft.plain = text
    draft.details = NO_DETAILS
    draft._blocks = None
    draft._at = at
    draft._number = number
    draft.__class__ = Message
    return draft  # type: ignore[no-any-return]


def message(
    role: Role,
    content: tuple[Block, ...],
    at: object = (),
    number: int = -1,
    *,
    kind: Kind = "written",
    details: Details = NO_DETAILS,
) -> Message:
    """Return a message of blocks; ``at`` and ``number`` are those of :func:`spoken`."""
    draft: Any = _new(_Draft)
    draft.role = role
    draft.kind = kind
    draft.plain = None
    if len(content) == 1:
        only = content[0]
        if type(only) is TextBlock and only.cache is None and not only.extra:
            draft.plain = only.text
    draft.details = details
    draft._blocks = content
    draft._at = at
    draft._number = number
    draft.__class__ = Message
    return draft  # type: ignore[no-any-return]


def place(message: Message, at: object, number: int) -> None:
    """Note the turn that a new message was made of, unless it has origins."""
    if not message._at:  # pyright: ignore[reportPrivateUsage]
        _set(message, "_at", at)
        _set(message, "_number", number)


def remember(message: Message, known: object) -> None:
    """Keep a memory of the conversation that ends with a message, as long as the message lives."""
    _set(message, "_known", known)


def recalled(message: Message) -> object:
    """Return the memory of the conversation that ends with a message, ``None`` for none."""
    return getattr(message, "_known", None)
