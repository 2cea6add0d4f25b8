"""The log of a transcript: its entries, its current messages, and how it adds new entries.

Read ``TranscriptLog._commit`` first: every change of a transcript goes through it.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from os import PathLike
from threading import RLock
from typing import Any, Literal, NamedTuple, TypeAlias, cast, overload

from promptdsl.foundation.errors import OptionError, SubscriberError, TranscriptError, shown
from promptdsl.foundation.frozen import frozen
from promptdsl.foundation.json import ABSENT, Absent
from promptdsl.foundation.source import public_api
from promptdsl.messages import ToolUseBlock
from promptdsl.messages.message import Message, last_calls
from promptdsl.transcript import pairs
from promptdsl.transcript.entries import TranscriptEntry, TranscriptTurn
from promptdsl.transcript.files import TranscriptFile
from promptdsl.transcript.log import LogState, metadata_of, state_after, usage_of
from promptdsl.transcript.stores import BoundStore

Clock: TypeAlias = Callable[[], datetime] | None
Ids: TypeAlias = Literal["uuid", "uuid7"] | Callable[[], str] | None
Target: TypeAlias = Message | TranscriptTurn | TranscriptEntry | int | str
"""The turn to change; a string is the id of a message."""
Path: TypeAlias = str | PathLike[str]
Subscriber: TypeAlias = Callable[[TranscriptEntry], object]


class NewEntry(NamedTuple):
    """An entry before it has its number and its time."""

    type: str
    data: object = None
    message: Message | Absent | None = ABSENT
    value: object = None


class TranscriptLog(Sequence[Message]):
    """The entries, current messages and subscribers of a transcript; subclasses change these."""

    def _begin(self, clock: Clock, ids: Ids) -> None:
        self._lock = RLock()
        self._entries: dict[int, TranscriptEntry] = {}
        self._state = LogState()
        self._message_list: list[Message] | None = []
        self._messages: tuple[Message, ...] | None = ()
        self._pending: dict[str, ToolUseBlock] | None = {}
        """The calls without a result, by id; ``None`` if they are not known yet."""
        self._clock = clock
        self._ids = _maker_of(ids)
        self._backing: TranscriptFile | BoundStore | None = None
        """The file or the store that keeps the entries; ``None`` for a transcript in memory."""
        self._refusal: tuple[str, str] | None = None
        """Why the transcript cannot be changed, and what to do; ``None`` if it can."""
        self._subscribers: list[Subscriber] = []
        self._queue: deque[TranscriptEntry] = deque()
        self._delivers = False
        self.repairs: tuple[str, ...] = ()
        """Notes of what was left out or repaired, in a reply, a recorded conversation or a file."""

    # The current state.

    @property
    def messages(self) -> tuple[Message, ...]:
        """The current messages: what a model gets."""
        with self._lock:
            if self._messages is None:
                if self._message_list is None:
                    messages = (turn.message for turn in self._state.in_order())
                    self._message_list = [message for message in messages if message is not None]
                self._messages = tuple(self._message_list)
            return self._messages

    @property
    def turns(self) -> tuple[TranscriptTurn, ...]:
        """The current turns, with their numbers and the notes between them."""
        with self._lock:
            return tuple(self._state.in_order())

    @property
    def entries(self) -> tuple[TranscriptEntry, ...]:
        """All entries, also those of undone or removed content."""
        with self._lock:
            return tuple(self._entries.values())

    @property
    def metadata(self) -> Mapping[str, object]:
        """The tags of the transcript, each with its last value."""
        with self._lock:
            tags: Mapping[str, object] = frozen(metadata_of(self._entries))
            return tags

    @property
    def usage(self) -> dict[str, int]:
        """The sums of the token counts of all replies, by kind; undone replies count, too."""
        with self._lock:
            return usage_of(self._entries)

    @property
    def pending_calls(self) -> tuple[ToolUseBlock, ...]:
        """The calls without a result. Run each, and record its result with :meth:`answer`."""
        with self._lock:
            return tuple(self._open_calls().values())

    def __len__(self) -> int:
        return len(self.messages)

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Message, ...]: ...
    def __getitem__(self, index: int | slice) -> Message | tuple[Message, ...]:
        return self.messages[index]

    def __iter__(self) -> Iterator[Message]:
        return iter(self.messages)

    def __repr__(self) -> str:
        return f"<Transcript: {len(self)} messages, {len(self._entries)} entries>"

    def _open_calls(self) -> dict[str, ToolUseBlock]:
        """Return the calls without a result, by id."""
        if self._pending is None:
            turns = reversed(self._state.turns)
            messages = (turn.message for turn in turns if turn.message is not None)
            self._pending = {call.id: call for call in last_calls(messages).unanswered}
        return self._pending

    @property
    def _last(self) -> int:
        return next(reversed(self._entries), 0)

    # New entries.

    def _commit(self, new_entries: list[NewEntry]) -> list[TranscriptEntry]:
        """Write entries to the file or store, apply them, and then call the subscribers.

        Raises :class:`TranscriptError` if the transcript cannot be changed, and for an entry that
        changes a turn that is not current; :class:`SubscriberError` after a subscriber failed; and
        the errors of the file or store.
        """
        if self._refusal is not None:
            why, fix = self._refusal
            raise TranscriptError(f"this transcript cannot be changed: {why}", fix=fix)
        now = self._clock() if self._clock is not None else None
        if now is not None and now.tzinfo is None:
            raise OptionError(
                f"the clock returned {now}, without a time zone", fix="return datetime.now(UTC)"
            )
        at = None if now is None else now.isoformat()
        first = self._last + 1
        entries = [
            TranscriptEntry(
                number, new.type, at, first, cast("Any", new.data), new.message, new.value
            )
            for number, new in enumerate(new_entries, first)
        ]
        if self._backing is not None:
            self._backing.write(entries)
        try:
            self._entries.update({entry.number: entry for entry in entries})
            self._state.follow(self._entries, entries)
            self._update_messages(entries)
        except TranscriptError:
            self._rebuild(first - 1)
            raise
        except BaseException:
            # A signal interrupted this block: the entries are already written, so they count.
            self._rebuild(self._last)
            raise
        self._deliver(entries)
        return entries

    def _rebuild(self, last: int) -> None:
        """Compute the state after an entry again, because a change was not completed."""
        entries = {number: entry for number, entry in self._entries.items() if number <= last}
        self._state = state_after(entries, is_salvaged=self._state.is_salvaged)
        self._changed()

    def _update_messages(self, entries: list[TranscriptEntry]) -> None:
        """Update the messages and the open calls.

        After an entry that is not a message, they are computed again when they are needed.
        """
        self._messages = None
        if any(entry.type != "message" for entry in entries):
            self._changed()
            return
        for message in (entry.message for entry in entries):
            if message is not None and self._message_list is not None:
                self._message_list.append(message)
            if message is not None and self._pending is not None:
                self._pending = pairs.open_after(message, self._pending)

    def _changed(self) -> None:
        self._message_list = self._messages = self._pending = None

    def _deliver(self, entries: Iterable[TranscriptEntry]) -> None:
        """Pass entries to the subscribers; entries that a subscriber appends follow after them."""
        if not self._subscribers:
            return
        self._queue.extend(entries)
        if self._delivers:
            return
        failed: SubscriberError | None = None
        self._delivers = True
        try:
            while self._queue:
                entry = self._queue.popleft()
                for function in [*self._subscribers]:
                    try:
                        function(entry)
                    except Exception as error:
                        what = f"a subscriber failed at entry {entry.number}: {error!r}"
                        fix = "the entry is recorded: do not append it again"
                        failed = failed or SubscriberError(what, fix=fix, entry=entry)
                        failed.__cause__ = failed.__cause__ or error
        finally:
            self._delivers = False
        if failed is not None:
            raise failed

    @public_api
    def subscribe(self, function: Subscriber) -> Callable[[], None]:
        """Call a function with each new entry, in order; return a function that ends this.

        The function may append to the transcript. If it raises an exception, the writer gets a
        :class:`SubscriberError`.
        """
        with self._lock:
            self._subscribers.append(function)

        def end() -> None:
            with self._lock:
                if function in self._subscribers:
                    self._subscribers.remove(function)

        return end


def _maker_of(ids: Ids) -> Callable[[], str] | None:
    """Return the function that makes the id of a message."""
    if ids is None or callable(ids):
        return ids
    import uuid

    if ids == "uuid":
        return lambda: str(uuid.uuid4())
    if ids == "uuid7":
        return _uuid7
    raise OptionError(f"unknown ids {shown(ids)}", fix='write "uuid", "uuid7" or a function')


def _uuid7() -> str:
    """Return a UUID of version 7 (RFC 9562): it begins with the time, in milliseconds."""
    import os
    import time
    import uuid

    bits = (time.time_ns() // 1_000_000) << 80 | int.from_bytes(os.urandom(10))
    bits = bits & ~(0xF << 76) & ~(0x3 << 62) | 0x7 << 76 | 0x2 << 62
    return str(uuid.UUID(int=bits & (1 << 128) - 1))
