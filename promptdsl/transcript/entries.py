"""The entries of a transcript, the turns that they make, and entries of a user's own types."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias, TypeVar

import attrs

from promptdsl.foundation.errors import OptionError, TranscriptError, shown
from promptdsl.foundation.frozen import EMPTY, FrozenDict, json_leaf, plain, thawed
from promptdsl.foundation.guards import minimal_body
from promptdsl.foundation.json import ABSENT, Absent, JsonObject
from promptdsl.foundation.notice import TAGS
from promptdsl.foundation.source import door
from promptdsl.messages.message import Message, spoken

C = TypeVar("C", bound=type)
_set = object.__setattr__

Part: TypeAlias = Literal["message", "rest", "note"]
"""The part of an entry that a turn shows: its message, the rest of a message, or its note."""

BUILT_IN: Mapping[str, frozenset[str]] = {
    "message": frozenset({"message", "reply"}),
    "replace": frozenset({"turn", "message", "also", "rest", "reply"}),
    "remove": frozenset({"turn", "also", "rest"}),
    "summary": frozenset({"text", "upto"}),
    "undo": frozenset({"to"}),
    "note": frozenset({"note"}),
    "metadata": frozenset({"metadata"}),
    "erased": frozenset(),
}
"""The types of entries of this package, and the keys of their data."""

LEVELS = 206
"""How deep the data of an entry is nested: data at the limit is deeper inside of a message."""

SUMMARY_TAGS = TAGS | {"summary"}
"""The tags that the text of a summary cannot forge."""


def utc_now() -> datetime:
    """Return the time, in UTC."""
    return datetime.now(UTC)


@attrs.frozen(eq=False, repr=False)
class TranscriptEntry:
    """One record of a transcript. Nothing changes or removes it: an edit is a further entry.

    ``number`` counts from 1 and is its address for ever, ``type`` is a word such as ``message``,
    ``at`` the time in ISO 8601 or ``None``, ``data`` plain JSON data. ``change`` is the number of
    the first entry that was written together with it. ``value`` is the object of a type that
    :func:`entry_type` registered. Equality ignores the time.

    >>> from promptdsl import Transcript
    >>> entry = Transcript().append("Hi.")
    >>> entry.number, entry.type, entry.data["message"]["role"]
    (1, 'message', 'user')
    """

    number: int
    type: str
    at: str | None
    change: int
    _data: JsonObject | None = None
    _message: Message | Absent | None = ABSENT
    _value: object = None
    opaque: bool = False
    """Whether this version of the package cannot read it."""
    line: bytes | None = None
    """Its bytes in a file, where this version would write others."""
    _rests: dict[int, Message] | None = attrs.field(default=None, init=False)

    @property
    def data(self) -> JsonObject:
        """The content of the entry, as plain data."""
        if type(self._data) is not FrozenDict:
            _set(self, "_data", plain(self._raw, "", json_leaf, levels=LEVELS))
        return self._data or EMPTY

    @property
    def _raw(self) -> Any:  # Any: JSON, which is not frozen yet
        message = self._message
        if self._data is None and isinstance(message, Message):
            return {"message": message.to_dict()}
        return self._data

    @property
    def value(self) -> Any:  # Any: its author knows the type
        """The object of a registered type, ``None`` for an entry of another type."""
        cls = None if self.opaque else _TYPES.get(self.type)
        if self._value is None and cls is not None:
            _set(self, "_value", cls.from_json(thawed(self.data["value"])))
        return self._value

    @property
    def message(self) -> Message | None:
        """The message of the entry, the same object each time, or ``None``."""
        if self._message is not ABSENT:
            return self._message
        made = None if self.opaque else self._made()
        _set(self, "_message", made)
        return made

    def _made(self) -> Message | None:
        """Return the message that the data describes."""
        if self.type in ("message", "replace"):
            return self._read(self._raw["message"])
        if self.type == "summary":
            text = minimal_body(str(self.data["text"]), SUMMARY_TAGS)
            return spoken("user", f"<summary>\n{text}\n</summary>", kind="summary")
        return message_of(self.type, self.value) if self.type in _TYPES else None

    @property
    def rests(self) -> Mapping[int, Message]:
        """What is left of other turns, by number, after calls of this one went."""
        if self._rests is None:
            is_edit = self.type in ("replace", "remove") and not self.opaque
            found: Any = self._raw.get("rest", {}) if is_edit else {}  # Any: JSON
            _set(self, "_rests", {int(key): self._read(data) for key, data in found.items()})
        return self._rests or {}

    def _read(self, data: object) -> Message:
        try:
            return Message.from_dict(data)
        except ValueError as error:
            what = f"entry {self.number} cannot be read: {getattr(error, 'what', error)}"
            raise TranscriptError(what, fix="open the file with salvage=True") from None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TranscriptEntry):
            return NotImplemented
        same = (self.number, self.type) == (other.number, other.type)
        return same and self.data == other.data

    def __hash__(self) -> int:
        return hash((self.number, self.type))

    def __repr__(self) -> str:
        return f"<TranscriptEntry {self.number}: {self.type} {shown(thawed(self.data))}>"


def has_message(entry: TranscriptEntry) -> bool:
    """Return whether an entry makes a turn that a model gets, without making its message."""
    if entry.type in BUILT_IN:
        return entry.type == "message"
    return not entry.opaque and entry.message is not None


@attrs.frozen(eq=False, repr=False)
class TranscriptTurn:
    """A turn that stands in a transcript: its number, and its message or its note.

    ``message`` is ``None`` for what only people see: ``note`` is its data then, the object itself
    for an entry of your own type.

    >>> from promptdsl import Transcript
    >>> transcript = Transcript(["Hi."])
    >>> entry = transcript.note({"mood": "calm"})
    >>> [(turn.number, turn.message and turn.message.text) for turn in transcript.turns]
    [(1, 'Hi.'), (2, None)]
    """

    number: int
    entry: TranscriptEntry
    """The entry that its content comes from: of a replaced turn, the newest one."""
    part: Part = "message"
    _repaired: Message | None = None

    @property
    def message(self) -> Message | None:
        """The message of the turn, ``None`` for a note."""
        if self._repaired is not None or self.part == "note":
            return self._repaired
        return self.entry.message if self.part == "message" else self.entry.rests[self.number]

    @property
    def note(self) -> Any:  # Any: its author knows the type
        """The data of a note, the object of an entry of your own type, else ``None``."""
        if self.part != "note":
            return None
        return self.entry.data["note"] if self.entry.type == "note" else self.entry.value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TranscriptTurn):
            return NotImplemented
        mine = (self.number, self.message, self.note)
        return mine == (other.number, other.message, other.note)

    def __hash__(self) -> int:
        return hash(self.number)

    def __repr__(self) -> str:
        what = "note" if self.message is None else self.message.role
        return f"<TranscriptTurn {self.number}: {what}>"


# Entries of a user's own types.

_TYPES: dict[str, Any] = {}  # Any: classes with from_json and to_json


def type_of(value: object) -> str | None:
    """Return the name that the class of a value is registered under, or ``None``."""
    return next((name for name, cls in _TYPES.items() if type(value) is cls), None)


def is_known(name: str) -> bool:
    """Return whether this version reads entries of a type."""
    return name in BUILT_IN or name in _TYPES


def message_of(name: str, value: Any) -> Message | None:  # Any: of a registered class
    """Return the message of an object of a registered class, ``None`` if it is for people only."""
    make = getattr(value, "to_message", None)
    message: object = None if make is None else make()
    if message is None:
        return None
    if isinstance(message, Message):
        blocks = message.content if message.plain is None else ()
        if not any(block.type in ("tool_use", "tool_result") for block in blocks):
            return message
    raise TranscriptError(
        f"to_message() of the type {name!r} returns a Message without calls and results, or None",
        fix="append calls and results as messages of their own",
    )


@door
def entry_type(name: str) -> Callable[[C], C]:
    """Return a decorator that registers a class, so that its objects can be appended.

    The class has ``to_json()``, which returns JSON data, and ``from_json(data)``, a class method
    that returns an object. ``to_message()`` is optional: it returns the :class:`Message` that a
    model gets, or ``None``; it is called once for each entry.

    >>> from promptdsl import Transcript, entry_type
    >>> @entry_type("rating")
    ... class Rating:
    ...     def __init__(self, stars):
    ...         self.stars = stars
    ...     def to_json(self):
    ...         return {"stars": self.stars}
    ...     @classmethod
    ...     def from_json(cls, data):
    ...         return cls(data["stars"])
    >>> Transcript().append(Rating(5)).data["value"]
    {'stars': 5}

    Raises :class:`OptionError` for the name of a built-in type, for a name that is taken, and for a
    class without these methods.
    """
    if not isinstance(name, str) or not name.isidentifier() or name in BUILT_IN:  # pyright: ignore[reportUnnecessaryIsInstance]
        fix = f"write a word; these are taken: {', '.join(BUILT_IN)}"
        raise OptionError(f"an entry type cannot be named {shown(name)}", fix=fix)

    @door
    def register(cls: C) -> C:
        for method in ("to_json", "from_json"):
            if not callable(getattr(cls, method, None)):
                fix = "write to_json(self), and from_json(cls, data) as a class method"
                raise OptionError(f"{cls.__name__} has no {method}()", fix=fix)
        known = _TYPES.setdefault(name, cls)
        # A module that is loaded again defines its class again.
        if (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
            what = f"the entry type {name!r} is taken by {known.__qualname__}"
            raise OptionError(what, fix="give it another name")
        _TYPES[name] = cls
        return cls

    return register
