"""What stands in a log of entries: its turns, as a fold over the entries that were not undone."""

from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from promptdsl.foundation.errors import TranscriptError
from promptdsl.messages.roles import LEADING
from promptdsl.transcript.entries import Part, TranscriptEntry, TranscriptTurn, has_message

UNCHANGED = ("note", "metadata", "erased")
"""The types of entries that ``undo`` passes over when it looks for the last change."""


def way_to(entries: Mapping[int, TranscriptEntry], number: int) -> list[TranscriptEntry]:
    """Return the entries that count after the entry of a number, without those undone before."""
    way: list[TranscriptEntry] = []
    while number > 0:
        entry = entries.get(number)
        if entry is not None and entry.type == "undo" and not entry.opaque:
            to: Any = entry.data["to"]  # Any: JSON, checked when it was read
            number = to
            continue
        if entry is not None:
            way.append(entry)
        number -= 1
    way.reverse()
    return way


@attrs.define(eq=False)
class Standing:
    """The turns that stand, by number and in their order, and the summary in front of them."""

    turns: dict[int, TranscriptTurn] = attrs.field(factory=dict[int, TranscriptTurn])
    summary: TranscriptTurn | None = None
    is_salvaged: bool = False
    """Whether entries are missing: an edit may be of results that are not there."""

    def apply(self, entry: TranscriptEntry) -> None:
        """Add the effect of an entry; :class:`TranscriptError` for one whose turn is not there."""
        if entry.opaque:
            return
        data: Any = entry.data if entry.type not in ("message", "note") else {}  # Any: JSON
        if entry.type in ("replace", "remove"):
            turn = data["turn"]
            also, rest = {*data.get("also", ())}, {*map(int, data.get("rest", ()))}
            if self.is_salvaged:
                also, rest = also & self.turns.keys(), rest & self.turns.keys()
            if not self.turns.keys() >= {turn, *also, *rest}:
                what = f"entry {entry.number} changes a turn that does not stand"
                raise TranscriptError(what, fix="open the file with salvage=True")
            self.turns[turn] = TranscriptTurn(turn, entry)
            for number in rest:
                self.turns[number] = TranscriptTurn(number, entry, "rest")
            for number in also | ({turn} if entry.type == "remove" else set[int]()):
                del self.turns[number]
        elif entry.type == "summary":
            leading = self.leading()
            for number in [n for n in self.turns if n <= data["upto"] and n not in leading]:
                del self.turns[number]
            self.summary = TranscriptTurn(entry.number, entry)
        elif entry.type not in ("undo", "metadata", "erased"):
            part: Part = "message" if has_message(entry) else "note"
            self.turns[entry.number] = TranscriptTurn(entry.number, entry, part)

    def leading(self) -> list[int]:
        """Return the numbers of the system turns at the beginning, which no summary covers."""
        if self.summary is not None:
            upto: Any = self.summary.entry.data["upto"]  # Any: JSON
            return [number for number in self.turns if number <= upto]
        numbers: list[int] = []
        for turn in self.turns.values():
            message = turn.message
            if message is not None and (message.role != "system" or message.kind not in LEADING):
                break
            if message is not None:
                numbers.append(turn.number)
        return numbers

    def in_order(self) -> Iterator[TranscriptTurn]:
        """Yield the turns as a model gets them: the summary behind the leading system turns."""
        leading = [] if self.summary is None else self.leading()
        yield from (self.turns[number] for number in leading)
        if self.summary is not None:
            yield self.summary
        yield from (turn for number, turn in self.turns.items() if number not in leading)


def standing(entries: Mapping[int, TranscriptEntry], number: int) -> Standing:
    """Return what stood after the entry of a number."""
    state = Standing()
    for entry in way_to(entries, number):
        state.apply(entry)
    return state


def last_change(entries: Mapping[int, TranscriptEntry], number: int) -> int | None:
    """Return the number of the entry before the last change that counts, ``None`` without one."""
    for entry in reversed(way_to(entries, number)):
        if entry.type not in UNCHANGED:
            return entry.change - 1
    return None


def metadata_of(entries: Mapping[int, TranscriptEntry]) -> dict[str, object]:
    """Return the tags of all entries, folded: the last value of each counts."""
    tags: dict[str, Any] = {}  # Any: JSON
    for entry in entries.values():
        if entry.type == "metadata" and not entry.opaque:
            found: Any = entry.data["metadata"]
            tags |= found
    return {name: value for name, value in tags.items() if value is not None}


def usage_of(entries: Mapping[int, TranscriptEntry]) -> dict[str, int]:
    """Return the sums of the token counts of all replies, those that were undone included."""
    sums: dict[str, int] = {}
    for entry in entries.values():
        if entry.type not in ("message", "replace"):
            continue
        message = entry.message
        counts = dict(message.token_usage or {}) if message is not None else {}
        if counts and "total" not in counts:
            known = [counts.get("input"), counts.get("output")]
            counts["total"] = sum(count for count in known if isinstance(count, int))
        for name, count in counts.items():
            if isinstance(count, int) and not isinstance(count, bool):
                sums[name] = sums.get(name, 0) + count
    return sums
