"""The contract of stores: right stores keep it, and each mistake breaks the claim that names it."""

import asyncio
import json
import re
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import pytest

from promptdsl import ConflictError, OptionError, TranscriptEntry, TranscriptError
from promptdsl.testing import check_store
from tests.errors import lines_of, raised
from tests.internals import StoreClaims, complete_entries, same_entries
from tests.testing.broken_stores import EXPECTED, STORES, told_of
from tests.transcript.stores import AsyncMemoryStore, MemoryStore

Entries = Sequence[TranscriptEntry]


def damage(store: Any, key: str) -> None:
    """Change the line in the middle."""
    lines = getattr(store, "store", store).lines[key]
    lines[1] = lines[1].replace('"b"', '"c"')


def tried(store: Any, entries: int = 20) -> set[str]:
    """Return the claims that a store breaks, by their first sentences."""
    try:
        check_store(lambda: store, entries=entries, processes=False, damage=damage)
    except AssertionError as error:
        return {*re.findall(r"^  (\w.*)$", str(error), re.MULTILINE)}
    return set()


@pytest.mark.parametrize("make", [MemoryStore, AsyncMemoryStore])
def test_right_stores_in_memory(make: Callable[[], Any]) -> None:
    """A sync and an async store keep every claim, two objects on one storage, too."""
    store = make()
    assert check_store(lambda: store, entries=20, processes=False, damage=damage) is None
    shared = MemoryStore()

    async def made() -> AsyncMemoryStore:
        return AsyncMemoryStore(shared)

    assert check_store(made, entries=20, processes=False, damage=damage) is None


class _Overwrites(MemoryStore):
    """Takes the last writer's entry."""

    def append(self, key: str, entries: Entries) -> None:
        stored = self.lines.setdefault(key, [])
        for entry in entries:
            stored[entry.number - 1 :] = [entry.to_line(), *stored[entry.number :]]


class _WritesHalf(MemoryStore):
    """Writes what is free of a batch."""

    def append(self, key: str, entries: Entries) -> None:
        if entries[0].number <= len(self.lines.get(key, ())):
            free = [e for e in entries if e.number > len(self.lines[key])]
            if free:
                super().append(key, free)
        super().append(key, entries)


class _WritesOneByOne(MemoryStore):
    """Writes each entry by itself, with a pause between."""

    def append(self, key: str, entries: Entries) -> None:
        for entry in entries:
            super().append(key, [entry])
            time.sleep(0.0005 * (len(entries) < 9))


class _LosesOrder(MemoryStore):
    """Returns the entries by the order of their lines."""

    def load(self, key: str, after: int = 0) -> list[TranscriptEntry]:
        return sorted(super().load(key, after), key=lambda entry: entry.to_line())


class _FoldsCase(MemoryStore):
    """Has one key for two that differ in case."""

    def append(self, key: str, entries: Entries) -> None:
        super().append(key.lower(), entries)

    def load(self, key: str, after: int = 0) -> list[TranscriptEntry]:
        return super().load(key.lower(), after)


class _IgnoresAfter(MemoryStore):
    """Returns all entries."""

    def load(self, key: str, after: int = 0) -> list[TranscriptEntry]:
        return super().load(key)


class _CountsFromOne(MemoryStore):
    """Gives the entries that it returns new numbers."""

    def load(self, key: str, after: int = 0) -> list[TranscriptEntry]:
        found = super().load(key, after)
        return [
            TranscriptEntry(number, entry.type, entry.at, number, entry.data)  # type: ignore[arg-type]
            for number, entry in enumerate(found, 1)
        ]


class _DropsUnknown(MemoryStore):
    """Leaves out entries of a type that it does not know."""

    def load(self, key: str, after: int = 0) -> list[TranscriptEntry]:
        return [entry for entry in super().load(key, after) if not entry.opaque]


class _LosesFloats(MemoryStore):
    """Stores floats as integers if it can, as some databases do."""

    def append(self, key: str, entries: Entries) -> None:
        def whole(text: str) -> float | int:
            return int(float(text)) if float(text) == int(float(text)) else float(text)

        def again(entry: TranscriptEntry) -> TranscriptEntry:
            if entry.opaque:
                return entry
            data = json.loads(entry.to_line(), parse_float=whole)
            change = data.get("change", entry.number)
            return TranscriptEntry(entry.number, entry.type, entry.at, change, data["data"])

        super().append(key, [*map(again, entries)])


class _SplitsLines(MemoryStore):
    """Keeps a text, and splits it at what Python takes for a line end."""

    def load(self, key: str, after: int = 0) -> list[TranscriptEntry]:
        lines = "\n".join(self.lines.get(key, [])).splitlines()
        return [TranscriptEntry.from_line(line) for line in lines[after:]]


class _HasNoLock(MemoryStore):
    """Looks first, and writes later."""

    def append(self, key: str, entries: Entries) -> None:
        kept = self.lines.setdefault(key, [])
        if entries[0].number != len(kept) + 1:
            raise ConflictError("another writer was faster")
        time.sleep(0.0002 * (len(entries) == 1))
        kept.extend([entry.to_line() for entry in entries])


class _AsyncHasNoLock(AsyncMemoryStore):
    """The same, asynchronous."""

    async def append(self, key: str, entries: Entries) -> None:
        kept = self.store.lines.setdefault(key, [])
        if entries[0].number != len(kept) + 1:
            raise ConflictError("another writer was faster")
        await asyncio.sleep(0)
        kept.extend([entry.to_line() for entry in entries])


class _AsyncWritesOneByOne(AsyncMemoryStore):
    """Writes each entry by itself."""

    async def append(self, key: str, entries: Entries) -> None:
        for entry in entries:
            await super().append(key, [entry])


class _Doubles(MemoryStore):
    """Takes what is written again for new."""

    def append(self, key: str, entries: Entries) -> None:
        kept = self.lines.setdefault(key, [])
        lines = [entry.to_line() for entry in entries]
        if kept[-len(lines) :] != lines:
            return super().append(key, entries)
        kept.extend(lines)
        return None


class _KeepsTheList(MemoryStore):
    """Returns the list that it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.given: dict[tuple[str, int], Any] = {}

    def append(self, key: str, entries: Entries) -> None:
        super().append(key, entries)
        self.given[key, len(self.lines[key]) - len(entries)] = entries

    def load(self, key: str, after: int = 0) -> list[TranscriptEntry]:
        given = [entries for (k, n), entries in self.given.items() if k == key and n >= after]
        return given[0] if len(given) == 1 and not after else super().load(key, after)


class _SwallowsDamage(MemoryStore):
    """Leaves out what it cannot read."""

    def load(self, key: str, after: int = 0) -> list[TranscriptEntry]:
        found = []
        for line in self.lines.get(key, [])[after:]:
            with suppress(TranscriptError):
                found.append(TranscriptEntry.from_line(line))
        return found


class _ListsByPattern(MemoryStore):
    """Takes a prefix for a pattern, as LIKE does."""

    def list(self, prefix: str = "") -> "list[str]":
        pattern = re.escape(prefix).replace("%", ".*").replace("_", ".")
        return [key for key in self.lines if re.match(pattern, key)]


class _DeletesHalf(MemoryStore):
    """Keeps the last number of a key that was deleted."""

    def delete(self, key: str) -> None:
        self.lines[key] = ["" for _ in self.lines.get(key, ())]

    def load(self, key: str, after: int = 0) -> list[TranscriptEntry]:
        lines = self.lines.get(key, [])[after:]
        return [TranscriptEntry.from_line(line) for line in lines if line]


class _FailsForUnknown(MemoryStore):
    """Raises for a key that it does not know."""

    def load(self, key: str, after: int = 0) -> list[TranscriptEntry]:
        return [TranscriptEntry.from_line(line) for line in self.lines[key][after:]]


class _BecomesSlow(MemoryStore):
    """Takes longer, the longer the transcript is."""

    def append(self, key: str, entries: Entries) -> None:
        super().append(key, entries)
        time.sleep(len(self.lines[key]) / 1_000 if len(entries) == 10 else 0)


BROKEN: dict[type, str] = {
    _Overwrites: "Refuse a number that is already used, with a ConflictError.",
    _WritesHalf: "Write nothing of a batch that is refused.",
    _WritesOneByOne: "Write a cancelled append completely or not at all, and let",
    _LosesOrder: "Return entries in the order of their numbers.",
    _FoldsCase: "Keep similar keys apart, and treat no character of a key as",
    _IgnoresAfter: "Return only entries with a number above after=.",
    _CountsFromOne: "Keep the number of each entry, also after a gap, which may",
    _DropsUnknown: "Return an entry of an unknown type",
    _LosesFloats: "Return entries unchanged, to the byte: numbers,",
    _SplitsLines: "Return entries unchanged, to the byte: numbers,",
    _HasNoLock: "Lose no entry, and store none twice, if threads or tasks",
    _AsyncHasNoLock: "Lose no entry, and store none twice, if threads or tasks",
    _AsyncWritesOneByOne: "Write a cancelled append",
    _Doubles: "Refuse an append that is repeated after it was written, and",
    _KeepsTheList: "Do not change or keep the list of an append, and return a",
    _SwallowsDamage: "Report a stored line that was changed with a",
    _ListsByPattern: "List each key that begins with the prefix once, and no",
    _DeletesHalf: "Forget a deleted key, so that it starts again; ignore an",
    _FailsForUnknown: "Return no entries for an unknown key.",
}


@pytest.mark.parametrize("store", BROKEN)
def test_a_mistake_breaks_its_claim(store: type, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store with one mistake fails, and the failure has the claim that names the mistake."""
    monkeypatch.delattr(StoreClaims, "batch")  # of 1,000 entries, with which none is concerned
    assert any(claim.startswith(BROKEN[store]) for claim in tried(store()))


@pytest.mark.slow
def test_a_store_that_becomes_slow() -> None:
    """A store that takes longer with each append fails, if the transcript is long enough."""
    assert {"Append to a long transcript as fast as to a short one."} == tried(_BecomesSlow(), 200)


def test_the_text_of_a_failure() -> None:
    """A failure lists each claim that is broken, and what happened."""
    store = _DropsUnknown()
    error = raised(AssertionError, lambda: check_store(lambda: store, entries=20, processes=False))
    assert str(error) == (
        "the store breaks 1 of 25 claims. It has to\n"
        "  Return an entry of an unknown type unchanged, to the byte.\n"
        "    the store has the entries [] instead of [1]"
    )
    error = raised(
        AssertionError, lambda: check_store(_FailsForUnknown, entries=20, processes=False)
    )
    assert "  Return no entries for an unknown key.\n    KeyError: 'check-" in str(error)


def test_a_store_in_the_place_of_a_function() -> None:
    """What is no function is refused at the line of the author."""

    def write() -> None:
        check_store(MemoryStore())  # type: ignore[arg-type]

    error = raised(OptionError, write)
    assert error.what.startswith("make_store is <tests.transcript.stores.MemoryStore")
    assert error.fix == "pass a function: check_store(lambda: store)"
    assert error.at == lines_of(write, 1)


@pytest.mark.parametrize("store", STORES)
def test_all_that_is_told_of_a_store(store: type) -> None:
    """A store breaks exactly the claims about its mistake, and the failure lists each."""
    assert EXPECTED[store.__name__[1:]].rstrip() == told_of(store).rstrip()


def entries_of(*notes: Any, first: int = 1) -> list[TranscriptEntry]:
    """Return entries with notes, of one time."""
    return [TranscriptEntry(n, "note", None, n, {"note": it}) for n, it in enumerate(notes, first)]


def told_by(claim: Callable[[], None]) -> str:
    """Return the text of a claim that fails, and none for one that holds."""
    try:
        claim()
    except AssertionError as error:
        return str(error)
    return ""


LOST = "the store has the entries {1} instead of {0}"


@pytest.mark.parametrize(
    ("wanted", "found", "told"),
    [
        (entries_of("a", "b"), entries_of("a", "b"), ""),
        (entries_of(), entries_of(), ""),
        (entries_of("a", "b"), entries_of("a"), LOST.format([1, 2], [1])),
        (entries_of("a"), entries_of("a", "b"), LOST.format([1], [1, 2])),
        (entries_of("a", "b"), entries_of("a", "b")[::-1], LOST.format([1, 2], [2, 1])),
        (entries_of("a", "b"), entries_of("a", "b", first=2), LOST.format([1, 2], [2, 3])),
        (
            entries_of("a", "b"),
            entries_of("a", "c"),
            """'te","data":{"note":"b"},"sum":"00dd5865"}' became """
            """'te","data":{"note":"c"},"sum":"b8613f00"}'""",
        ),
        (
            entries_of("a", "b", "c"),
            entries_of("x", "b", "y"),
            """'te","data":{"note":"a"},"sum":"76888c75"}' became """
            """'te","data":{"note":"x"},"sum":"5b999460"}'""",
        ),
        (
            entries_of("a", 1),
            entries_of("a", 1.0),
            """'te","data":{"note":1},"sum":"181489af"}' became """
            """'te","data":{"note":1.0},"sum":"e9fd25ac"}'""",
        ),
    ],
)
def test_other_entries(
    wanted: list[TranscriptEntry], found: list[TranscriptEntry], told: str
) -> None:
    """The failure has the first different entry, or the numbers of the entries."""
    assert told == told_by(lambda: same_entries(wanted, found))


@pytest.mark.parametrize(
    ("notes", "told"),
    [
        ("a0 b0 a1 b1", ""),
        ("b0 b1 a0 a1", ""),
        ("a0 b0 a1", "2 appends of one writer became '[0]'"),
        ("a0 b0 b1", "2 appends of one writer became '[0]'"),
        ("a0 b0 a1 b1 b1", "2 appends of one writer became '[0, 1, 1]'"),
        ("a0 a1 b1 b0", "2 appends of one writer became '[1, 0]'"),
        ("a1 a0 b0 b1", "2 appends of one writer became '[1, 0]'"),
        ("a0 a1 b0 b1 b2", "2 appends of one writer became '[0, 1, 2]'"),
    ],
)
def test_entries_of_two_writers(notes: str, told: str) -> None:
    """Each writer has all of its entries once, in its own order."""
    entries = entries_of(*([it[0], int(it[1])] for it in notes.split()))
    assert told == told_by(lambda: complete_entries(entries, "ab", 2))
