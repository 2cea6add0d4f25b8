"""The current turns of a log: the result of all entries that were not undone.

Read ``LogState`` first, then ``state_after``. At the end are the turns of a damaged file, and the
entries without removed content.
"""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from operator import attrgetter
from typing import Any, cast

import attrs

from promptdsl.foundation.errors import TranscriptError
from promptdsl.messages.details import LEADING
from promptdsl.messages.message import Message
from promptdsl.transcript.entries import Part, TranscriptEntry, TranscriptTurn, has_message

SKIPPED_BY_UNDO = ("note", "metadata", "erased")
"""The types of entries that ``undo`` skips when it searches the last change."""

_number_of = attrgetter("number")


@attrs.define(eq=False)
class LogState:
    """The state of a log: its current turns, by number, and the entries that made them.

    An entry *counts* if it was not undone. A new entry is applied to the current turns. An undo
    takes back the entries after the entry that it names. So neither reads the rest of the log.
    """

    turns: list[TranscriptTurn] = attrs.field(factory=list[TranscriptTurn])
    is_salvaged: bool = False
    """Whether entries are missing: then an edit may name results that are missing, too."""
    counting: dict[int, tuple[TranscriptTurn, ...]] = attrs.field(
        factory=dict[int, tuple[TranscriptTurn, ...]]
    )
    """The numbers of the entries that count, each with the turns before its change."""
    _summaries: dict[int, TranscriptTurn] = attrs.field(factory=dict[int, TranscriptTurn])
    """The summaries among the counting entries; only the last one is current."""
    _undone_to: dict[int, int] = attrs.field(factory=dict[int, int])
    """By the number of an undo, the entry that it went back to, which is not another undo."""
    _not_indexed: list[TranscriptTurn] = attrs.field(factory=list[TranscriptTurn])
    """Turns that are not yet in ``_locations``: the next search of a message adds them."""
    _locations: dict[str | int | None, dict[int, TranscriptTurn]] = attrs.field(
        factory=dict[str | int | None, dict[int, TranscriptTurn]]
    )
    """Turns by the id and the ``id()`` of their message: current turns and some earlier turns."""

    @property
    def summary(self) -> TranscriptTurn | None:
        """The summary before the turns, ``None`` without a summary."""
        return next(reversed(self._summaries.values()), None)

    # Entries that are applied or taken back.

    def follow(
        self, entries: Mapping[int, TranscriptEntry], new: Collection[TranscriptEntry]
    ) -> None:
        """Apply new entries; ``entries`` are all entries of the log.

        Raises :class:`TranscriptError` for an entry that changes a turn that is not current. After
        an error or a signal, this object is invalid: call :func:`state_after` again.
        """
        self.note_undos(new)
        self.go_to(entries, max(map(_number_of, new), default=next(reversed(self.counting), 0)))

    def note_undos(self, entries: Iterable[TranscriptEntry]) -> None:
        """Note the entries that undos go back to."""
        for entry in entries:
            if entry.type == "undo" and not entry.opaque:
                to = cast("int", entry.data["to"])  # checked when it was read
                self._undone_to[entry.number] = self._undone_to.get(to, to)

    def go_to(self, entries: Mapping[int, TranscriptEntry], number: int) -> None:
        """Go to the state after the entry with a number: take back and apply entries."""
        base, later = self.counting_to(entries, number)
        while next(reversed(self.counting), 0) > base:
            self._take_back()
        for entry in later:
            self.apply(entry)

    def counting_to(
        self, entries: Mapping[int, TranscriptEntry], number: int
    ) -> tuple[int, list[TranscriptEntry]]:
        """Return what leads to the state after the entry with a number.

        This is the number of the last applied entry that stays, and the entries to apply after it.
        Entries that were undone are not among them.
        """
        later: list[TranscriptEntry] = []
        number = self._undone_to.get(number, number)
        while number > 0 and number not in self.counting:
            later.append(entries[number])
            number = self._undone_to.get(number - 1, number - 1)
        return number, later[::-1]

    def _take_back(self) -> None:
        """Take back the last entry that counts."""
        number, before = self.counting.popitem()
        self._summaries.pop(number, None)
        del self.turns[self._index(number) :]
        self.put(before)

    def before_change(self, entries: Mapping[int, TranscriptEntry]) -> int | None:
        """Return the number of the entry before the last change, ``None`` without a change."""
        for number in reversed(self.counting):
            if entries[number].type not in SKIPPED_BY_UNDO:
                return entries[number].change - 1
        return None

    def apply(self, entry: TranscriptEntry) -> None:
        """Apply an entry; :class:`TranscriptError` for an edit of a turn that is not current."""
        before: tuple[TranscriptTurn, ...] = ()
        if entry.opaque or entry.type in ("undo", "metadata", "erased"):
            pass
        elif entry.type in ("replace", "remove"):
            before = self._edit(entry)
        elif entry.type == "summary":
            before = self._summarise(entry)
        else:
            part: Part = "message" if has_message(entry) else "note"
            self.turns.append(TranscriptTurn(entry.number, entry, part))
            self._not_indexed.append(self.turns[-1])
        self.counting[entry.number] = before

    def _edit(self, entry: TranscriptEntry) -> tuple[TranscriptTurn, ...]:
        """Replace or remove a turn and its results; return the turns before this change."""
        data: Any = entry.data  # Any: JSON
        turn = data["turn"]
        also, rest = {*data.get("also", ())}, {*map(int, data.get("rest", ()))}
        if self.is_salvaged:
            also, rest = ({*filter(self.get, numbers)} for numbers in (also, rest))
        before = tuple(filter(None, map(self.get, {turn, *also, *rest})))
        if len(before) < len({turn, *also, *rest}):
            what = f"entry {entry.number} changes a turn that is not current"
            raise TranscriptError(what, fix="open the file with salvage=True")
        rests = (TranscriptTurn(number, entry, "rest") for number in rest)
        self.put((TranscriptTurn(turn, entry), *rests))
        if entry.type == "remove":
            also.add(turn)
        for number in also:
            self.drop(number)
        return before

    def _summarise(self, entry: TranscriptEntry) -> tuple[TranscriptTurn, ...]:
        """Replace turns by a summary; return all turns that were up to the end of the summary."""
        upto: Any = entry.data["upto"]  # Any: JSON
        before = self.turns[: self._index(upto + 1)]
        self.turns[: len(before)] = [turn for turn in self.leading() if turn.number <= upto]
        self._summaries[entry.number] = TranscriptTurn(entry.number, entry)
        self._not_indexed.append(self._summaries[entry.number])
        return tuple(before)

    # The current turns.

    def _index(self, number: int) -> int:
        """Return the index of the first turn with this number or a higher number."""
        return bisect_left(self.turns, number, key=_number_of)

    def get(self, number: int) -> TranscriptTurn | None:
        """Return the turn with a number, ``None`` if it is not current."""
        index = self._index(number)
        return {turn.number: turn for turn in self.turns[index : index + 1]}.get(number)

    def turns_after(self, number: int) -> Iterator[TranscriptTurn]:
        """Yield the turns after a number, in order."""
        return (self.turns[n] for n in range(self._index(number + 1), len(self.turns)))

    def put(self, turns: Sequence[TranscriptTurn]) -> None:
        """Add turns in the order of their numbers; they replace turns with the same numbers."""
        numbers = [*map(_number_of, turns)]
        first, last = min(numbers, default=0), max(numbers, default=-1)
        span = slice(self._index(first), self._index(last + 1))
        merged = {turn.number: turn for turn in (*self.turns[span], *turns)}
        self.turns[span] = sorted(merged.values(), key=_number_of)
        self._not_indexed += turns
        if len(self._not_indexed) > 2 * len(self.turns):
            # After many changes without a search, only the current turns are indexed.
            self._locations.clear()
            self._not_indexed = [*self.turns, *self._summaries.values()]

    def drop(self, number: int) -> None:
        """Remove the current turn with a number."""
        del self.turns[self._index(number)]

    def with_message(self, key: str | int) -> list[TranscriptTurn]:
        """Return the turns, and the summary, whose message has this id or this ``id()``."""
        for turn in filter(self._is_current, self._not_indexed):
            message = turn.message
            if message is not None:
                self._locations.setdefault(id(message), {})[turn.number] = turn
                self._locations.setdefault(message.id, {})[turn.number] = turn
        self._not_indexed.clear()
        return [*filter(self._is_current, self._locations.get(key, {}).values())]

    def _is_current(self, turn: TranscriptTurn) -> bool:
        return turn is self.get(turn.number) or turn is self.summary

    def leading(self) -> list[TranscriptTurn]:
        """Return the system turns at the beginning, which no summary replaces."""
        if self.summary is not None:
            upto: Any = self.summary.entry.data["upto"]  # Any: JSON
            return self.turns[: self._index(upto + 1)]
        turns = (turn for turn in self.turns if turn.message is not None)
        return [*takewhile(lambda turn: _is_leading(turn.message), turns)]

    def in_order(self) -> Iterator[TranscriptTurn]:
        """Yield the turns as a model gets them: the summary is after the leading system turns."""
        if self.summary is None:
            yield from self.turns
            return
        leading = self.leading()
        yield from leading
        yield self.summary
        yield from self.turns[len(leading) :]


def state_after(entries: Mapping[int, TranscriptEntry], *, is_salvaged: bool = False) -> LogState:
    """Return the state of a log after the last of its entries."""
    state = LogState(is_salvaged=is_salvaged)
    state.follow(entries, entries.values())
    return state


def _is_leading(message: Message | None) -> bool:
    return message is not None and message.role == "system" and message.kind in LEADING


def metadata_of(entries: Mapping[int, TranscriptEntry]) -> dict[str, object]:
    """Return the tags of all entries, each with its last value."""
    tags: dict[str, Any] = {}  # Any: JSON
    for entry in entries.values():
        if entry.type == "metadata" and not entry.opaque:
            new_tags: Any = entry.data["metadata"]
            tags |= new_tags
    return {name: value for name, value in tags.items() if value is not None}


def usage_of(entries: Mapping[int, TranscriptEntry]) -> dict[str, int]:
    """Return the sums of the token counts of all replies, also of replies that were undone."""
    sums: dict[str, int] = {}
    for entry in entries.values():
        if entry.type not in ("message", "replace"):
            continue
        message = entry.message
        counts = dict(message.token_usage or {}) if message is not None else {}
        if counts and "total" not in counts:
            sizes = [counts.get("input"), counts.get("output")]
            counts["total"] = sum(count for count in sizes if isinstance(count, int))
        for name, count in counts.items():
            if isinstance(count, int) and not isinstance(count, bool):
                sums[name] = sums.get(name, 0) + count
    return sums


# The current turns of a damaged file, and the entries of a file without removed content.
#
# ``pruned`` is for ``Transcript.open(salvage=True)``, ``without_removed`` for ``vacuum``.


def pruned(
    entries: dict[int, TranscriptEntry],
    repair: Any,  # Any: Above.repair
    notes: list[str],
) -> LogState:
    """Return the state of a damaged file, with calls and results in pairs.

    ``notes`` gets a sentence for everything that is missing or repaired. An entry that cannot be
    read is removed from ``entries``. An edit of a missing turn is ignored. An undo may go back to
    the state before a missing entry.
    """
    for number, entry in [*entries.items()]:
        try:
            _ = entry.message, entry.rests
        except TranscriptError as error:
            notes.append(error.what)
            del entries[number]
    last, missing = 0, dict[int, TranscriptEntry]()
    for number in sorted(entries):
        if number > last + 1:
            notes.append(f"entries {last + 1} to {number - 1} are missing")
        for lost in range(last + 1, number):
            missing[lost] = TranscriptEntry(lost, "erased", None, lost, {})
        last = number
    state = LogState(is_salvaged=True)
    state.note_undos(entries.values())
    _, counting_entries = state.counting_to(entries | missing, last)
    gap = max((entry.number for entry in counting_entries if entry.number in missing), default=0)
    for entry in counting_entries:
        try:
            state.apply(entry)
        except TranscriptError:
            notes.append(f"entry {entry.number} changes a turn that is missing, so it is ignored")
    turns = [(turn, turn.message) for turn in state.turns if turn.message is not None]
    answers = [n for n, (_, message) in enumerate(turns) if message.role == "assistant"]
    if answers and turns[answers[-1]][0].number > gap:
        # No entry after the last answer is missing, so its calls may be open: they stay unpaired.
        del turns[answers[-1] :]
    paired, removed = repair([message for _, message in turns], "prune")
    messages = dict(paired)
    for index, (turn, original) in enumerate(turns):
        message = messages.get(index)
        if message is None:
            state.drop(turn.number)
        elif message is not original:
            state.put((TranscriptTurn(turn.number, turn.entry, turn.part, message),))
    notes += removed
    return state


def without_removed(
    entries: Mapping[int, TranscriptEntry], state: LogState
) -> Iterator[TranscriptEntry]:
    """Yield an entry for each number: with the current content, or empty.

    A replaced turn has its new content. The tags have their last values.
    """
    turns = {turn.number: turn for turn in state.in_order()}
    tags = metadata_of(entries)
    tagged: Any = {"metadata": tags}
    last_tag = max((n for n, entry in entries.items() if entry.type == "metadata"), default=0)
    for number in range(1, max(entries, default=0) + 1):
        entry, turn = entries.get(number), turns.get(number)
        if turn is not None:
            yield _as_first_written(turn)
        elif entry is not None and entry.opaque:
            yield entry
        elif number == last_tag and tags and entry is not None:
            yield TranscriptEntry(number, "metadata", entry.at, number, tagged)
        else:
            yield TranscriptEntry(number, "erased", None, number, {})


def _as_first_written(turn: TranscriptTurn) -> TranscriptEntry:
    """Return the entry that a turn would have if its current content had been its first."""
    number, entry = turn.number, turn.entry
    if entry.number == number and turn.message is entry.message:
        return attrs.evolve(entry, change=number)
    data: Any = {"message": turn.message.to_dict()} if turn.message else {}
    if turn.part == "message" and entry.data.get("reply"):
        data["reply"] = entry.data["reply"]
    return TranscriptEntry(number, "message", entry.at, number, data)
