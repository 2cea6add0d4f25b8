"""The entries of a transcript: their types, their lines in a file, and the turns that they make.

Read ``TranscriptEntry`` first, in the second half.
"""

import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar
from zlib import crc32

import attrs

from promptdsl.foundation.author_text import TAGS
from promptdsl.foundation.errors import OptionError, TranscriptError, shown
from promptdsl.foundation.frozen import EMPTY, FrozenDict, json_leaf, plain, thawed
from promptdsl.foundation.guards import minimal_body
from promptdsl.foundation.json import ABSENT, DECODER, Absent, JsonObject, object_of_pairs
from promptdsl.foundation.source import public_api
from promptdsl.foundation.unicode import is_valid_unicode
from promptdsl.messages.details import KEYS, ROLES
from promptdsl.messages.message import Message, spoken

# The types of entries: those of this package, and those that a user registers.

C = TypeVar("C", bound=type)

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

REGISTERED: dict[str, Any] = {}  # Any: classes with from_json and to_json
"""The classes that users registered, by the name of their type."""


def type_of(value: object) -> str | None:
    """Return the name with which the class of a value is registered, or ``None``."""
    return next((name for name, cls in REGISTERED.items() if type(value) is cls), None)


def is_known(name: str) -> bool:
    """Return whether this version can read entries of a type."""
    return name in BUILT_IN or name in REGISTERED


def message_of(name: str, value: Any) -> Message | None:  # Any: of a registered class
    """Return the message of an object of a registered class, ``None`` if only people see it.

    Raises :class:`TranscriptError` if ``to_message()`` returns anything else, and for a message
    with calls or results.
    """
    make = getattr(value, "to_message", None)
    message: object = None if make is None else make()
    if message is None:
        return None
    if isinstance(message, Message):
        blocks = message.content if message._plain is None else ()
        if not any(block.type in ("tool_use", "tool_result") for block in blocks):
            return message
    raise TranscriptError(
        f"to_message() of the type {name!r} must return a Message without calls and results, "
        "or None",
        fix="append calls and results as separate messages",
    )


@public_api
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

    Raises :class:`OptionError` for the name of a built-in type, for a name of another class, and
    for a class without these methods.
    """
    if not isinstance(name, str) or not name.isidentifier() or name in BUILT_IN:  # pyright: ignore[reportUnnecessaryIsInstance]
        fix = f"write a word; these are taken: {', '.join(BUILT_IN)}"
        raise OptionError(f"an entry type cannot be named {shown(name)}", fix=fix)

    @public_api
    def register(cls: C) -> C:
        for method in ("to_json", "from_json"):
            if not callable(getattr(cls, method, None)):
                fix = "write to_json(self), and from_json(cls, data) as a class method"
                raise OptionError(f"{cls.__name__} has no {method}()", fix=fix)
        registered = REGISTERED.setdefault(name, cls)
        # A module that is loaded again defines the same class again.
        if (registered.__module__, registered.__qualname__) != (cls.__module__, cls.__qualname__):
            what = f"the entry type {name!r} is taken by {registered.__qualname__}"
            raise OptionError(what, fix="give it another name")
        REGISTERED[name] = cls
        return cls

    return register


# The lines of a transcript file: JSON with a number and a checksum, one line for each entry.

FORMAT = "promptdsl.transcript"
_CHECKSUM_KEY = b',"sum":"'
_CHECKSUM_LENGTH = len(b'"}') + 8 + len(_CHECKSUM_KEY)
_KEYS = frozenset({"n", "at", "type", "data", "change"})
"""The keys of an entry's line, without the checksum."""


def with_sum(data: dict[str, object]) -> bytes:
    """Return the line of an object, with the CRC-32 of its other bytes as checksum."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    if not is_valid_unicode(text):
        text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return summed(text)


def summed(text: str) -> bytes:
    """Return the line for the JSON text of an object, with the same checksum as ``with_sum``."""
    body = text.encode()
    return b'%b%b%08x"}\n' % (body[:-1], _CHECKSUM_KEY, crc32(body))


HEADER = with_sum({"format": FORMAT, "version": "1.0"})
"""The first line of a file."""


def object_of(line: bytes) -> dict[str, Any]:  # Any: JSON
    """Return the object of a line; :class:`ValueError` says what is wrong."""
    body = line[:-_CHECKSUM_LENGTH] + b"}"
    if line[-_CHECKSUM_LENGTH : -_CHECKSUM_LENGTH + len(_CHECKSUM_KEY)] != _CHECKSUM_KEY:
        raise ValueError("it has no checksum at its end")
    if line[-_CHECKSUM_LENGTH + len(_CHECKSUM_KEY) :] != b'%08x"}' % crc32(body):
        raise ValueError("its checksum is wrong: its bytes were changed")
    try:
        text = body.decode().strip(" \t\r")
        json_object: dict[str, Any]  # its last byte is a brace
        json_object, end = DECODER.raw_decode(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    except ValueError:
        raise ValueError("it is not JSON") from None
    if end != len(text):
        raise ValueError("it is not a JSON object")
    if _may_lose_a_key(body, json_object):
        json.loads(text, object_pairs_hook=object_of_pairs)
    return json_object


def _may_lose_a_key(body: bytes, json_object: Any) -> bool:  # Any: JSON
    """Return whether a JSON text may have the same key twice: its data has only one of them.

    A quote and a colon are at the end of each key. If a text has as many of these as its data has
    keys, no key is lost. A string that begins with a colon makes the first number larger.
    """
    text = body.translate(None, b" \t\r").replace(b"\\\\", b"")
    count = text.count(b'":') - text.count(b'\\":')
    values: list[Any] = [json_object]
    for value in values:
        cls = value.__class__
        if cls is dict:
            count -= len(value)
            values += value.values()
        elif cls is list:
            values += value
    return count != 0


class LineFields(NamedTuple):
    """The fields of an entry, read from its line."""

    number: int
    type: str
    at: str | None
    change: int
    data: Any  # Any: JSON
    opaque: bool
    is_current: bool
    """Whether this version would write the same keys."""


def fields_of(line: bytes) -> LineFields:
    """Return the fields of an entry from its line; :class:`ValueError` says what is wrong."""
    json_object = object_of(line)
    number, kind = json_object.get("n"), json_object.get("type")
    if (
        type(number) is not int
        or number < 1
        or not isinstance(kind, str)
        or "data" not in json_object
    ):
        raise ValueError("it has no number, type or data")
    at, change = json_object.get("at"), json_object.get("change", number)
    if type(change) is not int or not 0 < change <= number or not isinstance(at, str | None):
        raise ValueError("its time or the number of its change is wrong")
    data = json_object["data"]
    opaque = not _is_readable(kind, data)
    if not opaque and kind == "undo" and not 0 <= data["to"] < number:
        raise ValueError("it undoes back to an entry that is not earlier")
    is_current = not opaque and json_object.keys() <= _KEYS
    return LineFields(number, kind, at, change, data, opaque, is_current)


def _is_readable(kind: str, data: Any) -> bool:  # Any: JSON
    """Return whether this version can read the data of a type; messages are read later."""
    if not _is_dict(data) or not is_known(kind):
        return False
    keys = BUILT_IN.get(kind)
    if keys is None:
        return [*data] == ["value"]
    if not keys - _OPTIONAL <= data.keys() <= keys:
        return False
    return all(_CHECKS[key](value) for key, value in data.items())


def _is_message(data: Any) -> bool:  # Any: JSON
    """Return whether data may be the dictionary of a message; its content is checked later."""
    return _is_dict(data) and data.keys() <= KEYS and data.get("role") in ROLES


def _is_dict(value: object) -> bool:
    return type(value) is dict


def _is_list(value: object) -> bool:
    return type(value) is list


def _is_number(value: object) -> bool:
    return type(value) is int


_NUMBER = re.compile("[0-9]{1,18}")
_OPTIONAL = frozenset({"reply", "also", "rest"})
_CHECKS: Mapping[str, Callable[[Any], bool]] = {  # Any: JSON
    "message": _is_message,
    "reply": _is_dict,
    "turn": _is_number,
    "also": lambda value: _is_list(value) and all(map(_is_number, value)),
    "rest": lambda value: (
        _is_dict(value)
        and all(map(_NUMBER.fullmatch, value))
        and all(map(_is_message, value.values()))
    ),
    "text": lambda value: type(value) is str,
    "upto": _is_number,
    "to": _is_number,
    "note": lambda _: True,
    "metadata": _is_dict,
}


# Entries, and the turns that they make.

_set = object.__setattr__

Part: TypeAlias = Literal["message", "rest", "note"]
"""What a turn has of its entry: the message, the rest of another message, or the note."""

LEVELS = 206
"""The maximum depth of the data of an entry, in levels: data inside a message is deeper by some."""

SUMMARY_TAGS = TAGS | {"summary"}
"""The reserved tags in the text of a summary."""


def utc_now() -> datetime:
    """Return the current time, in UTC."""
    return datetime.now(UTC)


@attrs.frozen(eq=False, repr=False)
class TranscriptEntry:
    """An entry of a transcript. It is never changed or removed: an edit is another entry.

    - ``number`` counts from 1 and never changes.
    - ``type`` is a word such as ``message``.
    - ``at`` is the time in ISO 8601, or ``None``.
    - ``data`` is plain JSON data.
    - ``change`` is the number of the first entry that was written together with this one.
    - ``value`` is the object of a type that :func:`entry_type` registered.

    ``==`` ignores the time.

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
    """Whether this version of the package cannot read the entry."""
    line: bytes | None = None
    """Its bytes in a file, if this version would write different bytes."""
    _rests: dict[int, Message] | None = attrs.field(default=None, init=False)
    """The value of ``rests``, after it was read first."""

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
        cls = None if self.opaque else REGISTERED.get(self.type)
        if self._value is None and cls is not None:
            _set(self, "_value", cls.from_json(thawed(self.data["value"])))
        return self._value

    @property
    def message(self) -> Message | None:
        """The message of the entry, or ``None``; each use returns the same object."""
        if self._message is not ABSENT:
            return self._message
        message = None if self.opaque else self._make_message()
        _set(self, "_message", message)
        return message

    def _make_message(self) -> Message | None:
        """Return the message that the data describes."""
        if self.type in ("message", "replace"):
            return self._read(self._raw["message"])
        if self.type == "summary":
            text = minimal_body(str(self.data["text"]), SUMMARY_TAGS)
            return spoken("user", f"<summary>\n{text}\n</summary>", kind="summary")
        return message_of(self.type, self.value) if self.type in REGISTERED else None

    @property
    def rests(self) -> Mapping[int, Message]:
        """The messages of other turns, by number, without the results of removed calls."""
        if self._rests is None:
            is_edit = self.type in ("replace", "remove") and not self.opaque
            rests: Any = self._raw.get("rest", {}) if is_edit else {}  # Any: JSON
            _set(self, "_rests", {int(key): self._read(data) for key, data in rests.items()})
        return self._rests or {}

    def _read(self, data: object) -> Message:
        try:
            return Message.from_dict(data)
        except ValueError as error:
            what = f"entry {self.number} cannot be read: {getattr(error, 'what', error)}"
            raise TranscriptError(what, fix="open the file with salvage=True") from None

    def to_line(self) -> str:
        """Return the entry as a line of JSON with a checksum, without a line end, for a store."""
        return line_of(self)[:-1].decode()

    @classmethod
    @public_api
    def from_line(cls, line: str | bytes) -> "TranscriptEntry":
        """Return the entry of a line that :meth:`to_line` returned.

        Raises :class:`TranscriptError` for a line that was changed after that.
        """
        data = line.encode(errors="surrogatepass") if isinstance(line, str) else line
        try:
            return entry_of(data)
        except ValueError as error:
            fix = "somebody changed it after it was written: restore it from a copy"
            raise TranscriptError(f"a line is damaged: {error}", fix=fix) from None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TranscriptEntry):
            return NotImplemented
        is_same_entry = (self.number, self.type) == (other.number, other.type)
        return is_same_entry and self.data == other.data

    def __hash__(self) -> int:
        return hash((self.number, self.type))

    def __repr__(self) -> str:
        return f"<TranscriptEntry {self.number}: {self.type} {shown(thawed(self.data))}>"


def entry_of(line: bytes) -> TranscriptEntry:
    """Return the entry of a line; an entry that this version cannot read is opaque.

    Raises :class:`ValueError`, which says what is wrong with the line.
    """
    number, kind, at, change, data, opaque, is_current = fields_of(line)
    original = None if is_current else line + b"\n"
    return TranscriptEntry(number, kind, at, change, data, opaque=opaque, line=original)


def line_of(entry: TranscriptEntry) -> bytes:
    """Return the line of an entry, or the bytes that were read, if this version writes others."""
    if entry.line is not None:
        return entry.line
    data: dict[str, object] = {"n": entry.number}
    if entry.change != entry.number:
        data["change"] = entry.change
    if entry.at is not None:
        data["at"] = entry.at
    return with_sum({**data, "type": entry.type, "data": entry.data})


def has_message(entry: TranscriptEntry) -> bool:
    """Return whether an entry makes a turn for the model.

    The message of a built-in type is not made for this.
    """
    if entry.type in BUILT_IN:
        return entry.type == "message"
    return not entry.opaque and entry.message is not None


@attrs.frozen(eq=False, repr=False)
class TranscriptTurn:
    """A current turn of a transcript: its number, and its message or its note.

    ``message`` is ``None`` for a turn that only people see. Then ``note`` is its data, or the
    object of an entry of your own type.

    >>> from promptdsl import Transcript
    >>> transcript = Transcript(["Hi."])
    >>> entry = transcript.note({"mood": "calm"})
    >>> [(turn.number, turn.message and turn.message.text) for turn in transcript.turns]
    [(1, 'Hi.'), (2, None)]
    """

    number: int
    entry: TranscriptEntry
    """The entry with its content; for a replaced turn, the newest entry."""
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
