"""The entries of a transcript, their lines in a file, and the turns that they make."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias

import attrs

from promptdsl.foundation.errors import TranscriptError, shown
from promptdsl.foundation.frozen import EMPTY, FrozenDict, json_leaf, plain, thawed
from promptdsl.foundation.guards import minimal_body
from promptdsl.foundation.json import ABSENT, Absent, JsonObject
from promptdsl.foundation.notice import TAGS
from promptdsl.foundation.source import public_api
from promptdsl.messages.message import Message, spoken
from promptdsl.transcript.entry_types import BUILT_IN, REGISTERED, message_of
from promptdsl.transcript.lines import fields_of, with_sum

_set = object.__setattr__

Part: TypeAlias = Literal["message", "rest", "note"]
"""What a turn shows of its entry: the message, the rest of a message, or the note."""

LEVELS = 206
"""How deep the data of an entry may be nested: inside a message, data is some levels deeper."""

SUMMARY_TAGS = TAGS | {"summary"}
"""The reserved tags in the text of a summary."""


def utc_now() -> datetime:
    """Return the time, in UTC."""
    return datetime.now(UTC)


@attrs.frozen(eq=False, repr=False)
class TranscriptEntry:
    """One entry of a transcript. It is never changed or removed: an edit is a further entry.

    ``number`` counts from 1 and never changes. ``type`` is a word such as ``message``, ``at`` the
    time in ISO 8601 or ``None``, ``data`` plain JSON data. ``change`` is the number of the first
    entry that was written together with it. ``value`` is the object of a type that
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
    """Its bytes in a file, if this version would write different ones."""
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
        cls = None if self.opaque else REGISTERED.get(self.type)
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
        return message_of(self.type, self.value) if self.type in REGISTERED else None

    @property
    def rests(self) -> Mapping[int, Message]:
        """The rest of other turns, by number, after the results of removed calls were removed."""
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
        """Return the entry as one line of JSON with a checksum, without a line end, for a store."""
        return line_of(self)[:-1].decode()

    @classmethod
    @public_api
    def from_line(cls, line: str | bytes) -> "TranscriptEntry":
        """Return the entry of a line that :meth:`to_line` returned.

        Raises :class:`TranscriptError` for a line that was changed since.
        """
        data = line.encode(errors="surrogatepass") if isinstance(line, str) else line
        try:
            return entry_of(data)
        except ValueError as error:
            fix = "it was changed since it was written: restore it from a copy"
            raise TranscriptError(f"a line is damaged: {error}", fix=fix) from None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TranscriptEntry):
            return NotImplemented
        same = (self.number, self.type) == (other.number, other.type)
        return same and self.data == other.data

    def __hash__(self) -> int:
        return hash((self.number, self.type))

    def __repr__(self) -> str:
        return f"<TranscriptEntry {self.number}: {self.type} {shown(thawed(self.data))}>"


def entry_of(line: bytes) -> TranscriptEntry:
    """Return the entry of a line; one that this version cannot read is opaque.

    Raises :class:`ValueError` with what is wrong with the line.
    """
    number, kind, at, change, data, opaque, is_current = fields_of(line)
    kept = None if is_current else line + b"\n"
    return TranscriptEntry(number, kind, at, change, data, opaque=opaque, line=kept)


def line_of(entry: TranscriptEntry) -> bytes:
    """Return the line of an entry; the bytes that were read, if this version would write others."""
    if entry.line is not None:
        return entry.line
    data: dict[str, object] = {"n": entry.number}
    if entry.change != entry.number:
        data["change"] = entry.change
    if entry.at is not None:
        data["at"] = entry.at
    return with_sum({**data, "type": entry.type, "data": entry.data})


def has_message(entry: TranscriptEntry) -> bool:
    """Return whether an entry makes a turn for the model; its message is not made for this."""
    if entry.type in BUILT_IN:
        return entry.type == "message"
    return not entry.opaque and entry.message is not None


@attrs.frozen(eq=False, repr=False)
class TranscriptTurn:
    """A current turn of a transcript: its number, and its message or its note.

    ``message`` is ``None`` for what only people see. Then ``note`` is its data, or the object of an
    entry of your own type.

    >>> from promptdsl import Transcript
    >>> transcript = Transcript(["Hi."])
    >>> entry = transcript.note({"mood": "calm"})
    >>> [(turn.number, turn.message and turn.message.text) for turn in transcript.turns]
    [(1, 'Hi.'), (2, None)]
    """

    number: int
    entry: TranscriptEntry
    """The entry with its content; of a replaced turn, the newest one."""
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
