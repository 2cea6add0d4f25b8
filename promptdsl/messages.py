"""Messages: the narrow waist. Everything above makes them, everything below reads them."""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, cast

import attrs

from promptdsl.blocks import EMPTY, Block, contents, text_block
from promptdsl.errors import DataError, nearest
from promptdsl.sources import Position, Source, source_of

Role: TypeAlias = Literal["system", "developer", "user", "assistant", "tool", "event", "ephemeral"]
ROLES: tuple[Role, ...] = (
    "system",
    "developer",
    "user",
    "assistant",
    "tool",
    "event",
    "ephemeral",
)

Kind: TypeAlias = Literal["written", "recorded", "recorded_system", "event", "request"]
"""What a message was before roles were mapped: a written turn, a recorded one, a recorded system
message that stands after the conversation began, an event, or a request-only turn."""

RawOrigin: TypeAlias = tuple[str | tuple[str, int], Position | Source | None, str | None, Mapping[str, Any]]
"""An :class:`Origin` before somebody asks for it: address, place, id, metadata."""


@attrs.frozen
class Origin:
    """One of the turns a message was made of: its address in the tree, and where it was written."""

    address: str
    source: Source | None
    id: str | None = None
    metadata: Mapping[str, Any] = EMPTY


@attrs.frozen
class Message:
    """One message to or from a model: a role and content blocks. An inert value.

    ``sources`` lists the turns it was made of, their ids and metadata; it takes no part in equality.
    """

    role: Role
    content: tuple[Block, ...] = attrs.field(default=(), converter=contents)
    id: str | None = None
    name: str | None = None
    metadata: Mapping[str, Any] = EMPTY
    kind: Kind = "written"
    merge: bool = True
    token_usage: Mapping[str, Any] | None = None
    structured_output: Any = None
    finish_reason: str | None = None
    origins: tuple[RawOrigin, ...] = attrs.field(default=(), eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        if self.role not in ROLES:
            raise DataError(f"unknown role {self.role!r}", fix=nearest(str(self.role), ROLES))

    @property
    def sources(self) -> tuple[Origin, ...]:
        """The address, file and line of every turn this message was made of."""
        return tuple(
            Origin(_address(address), source_of(at) if isinstance(at, tuple) else at, id, metadata)
            for address, at, id, metadata in self.origins
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the message as plain data, without its sources."""
        data: dict[str, Any] = {"role": self.role, "content": [b.to_dict() for b in self.content]}
        for key, default in _OPTIONAL.items():
            value = getattr(self, key)
            if value != default:
                data[key] = dict(value) if isinstance(value, Mapping) else value
        return data

    @classmethod
    def from_dict(cls, data: object) -> "Message":
        """Return the message a dictionary describes.

        Raises :class:`DataError` for what is no mapping, a missing or unknown role, or an unknown key.
        """
        if not isinstance(data, Mapping):
            raise DataError(f"a message is a mapping, not {type(data).__name__}")
        entries = cast("Mapping[str, Any]", data)
        role, text = entries.get("role"), entries.get("content")
        if len(entries) == 2 and role in ROLES and type(text) is str and text:
            return message(role, (text_block(text),))
        if "role" not in entries:
            raise DataError("a message needs a 'role'", fix=f"one of {', '.join(ROLES)}")
        for key in entries:
            if key not in KEYS:
                raise DataError(f"unknown key {key!r} in a message", fix=nearest(str(key), KEYS))
        return cls(**entries)


_OPTIONAL: Mapping[str, Any] = {
    "id": None,
    "name": None,
    "metadata": EMPTY,
    "kind": "written",
    "merge": True,
    "token_usage": None,
    "structured_output": None,
    "finish_reason": None,
}
KEYS = frozenset({"role", "content", *_OPTIONAL})


class _Draft(Message):
    """A message while it is being filled: see :func:`promptdsl.blocks.text_block`."""

    __slots__ = ()
    __setattr__ = object.__setattr__
    __delattr__ = object.__delattr__


def message(
    role: Role,
    content: tuple[Block, ...],
    *,
    kind: Kind = "written",
    id: str | None = None,
    name: str | None = None,
    metadata: Mapping[str, Any] = EMPTY,
    merge: bool = True,
    origins: tuple[RawOrigin, ...] = (),
) -> Message:
    """Return a message of parts that are known to be good, built in a third of the time."""
    draft: Any = object.__new__(_Draft)
    draft.role = role
    draft.content = content
    draft.id = id
    draft.name = name
    draft.metadata = metadata
    draft.kind = kind
    draft.merge = merge
    draft.token_usage = None
    draft.structured_output = None
    draft.finish_reason = None
    draft.origins = origins
    draft.__class__ = Message
    return cast("Message", draft)


def _address(address: str | tuple[str, int]) -> str:
    return address if isinstance(address, str) else f"{address[0]}[{address[1]}]"
