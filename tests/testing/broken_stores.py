"""Stores with one mistake each, and the complete failure of the test of stores."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from promptdsl import ConflictError, TranscriptEntry
from promptdsl.testing import check_store
from tests.internals import StoreClaims
from tests.transcript.stores import MemoryStore

PAGE = Path(__file__).with_name("broken_stores.txt")
EXPECTED: dict[str, str] = dict(
    it.split("\n", 1) for it in PAGE.read_text("utf-8").split("\n## ")[1:]
)
Entries = Sequence[TranscriptEntry]


class _LosesTheLast(MemoryStore):
    """Returns the last of many entries not."""

    def load(self, key: str, after: int = 0) -> list[TranscriptEntry]:
        entries = super().load(key, after)
        return entries[:-1] if len(entries) > 12 else entries


class _LosesTheFirst(MemoryStore):
    """Returns the first of two entries not."""

    def load(self, key: str, after: int = 0) -> list[TranscriptEntry]:
        found = super().load(key, after)
        return found[1:] if len(found) == 2 else found


class _CutsKeys(MemoryStore):
    """Has one key for those that end in a digit and in one more."""

    def append(self, key: str, entries: Entries) -> None:
        super().append(re.sub(r"(\d)\d$", r"\1", key), entries)

    def load(self, key: str, after: int = 0) -> list[TranscriptEntry]:
        return super().load(re.sub(r"(\d)\d$", r"\1", key), after)


class _StripsKeys(MemoryStore):
    """Takes no white space around a key."""

    def append(self, key: str, entries: Entries) -> None:
        super().append(key.strip(), entries)

    def load(self, key: str, after: int = 0) -> list[TranscriptEntry]:
        return super().load(key.strip(), after)


class _CutsTexts(MemoryStore):
    """Keeps a part of a large entry."""

    def append(self, key: str, entries: Entries) -> None:
        notes = [TranscriptEntry(it.number, it.type, it.at, it.number, {}) for it in entries]
        are_long = [len(it.to_line()) > 9_000 for it in entries]
        kept = zip(entries, notes, are_long, strict=True)
        super().append(key, [note if is_long else it for it, note, is_long in kept])


class _ListsTwice(MemoryStore):
    """Lists a key for each of its entries."""

    def list(self, prefix: str = "") -> "list[str]":
        return [it for key in super().list(prefix) for it in [key] * len(self.lines[key])]


class _ListsNothing(MemoryStore):
    """Lists no key without a prefix."""

    def list(self, prefix: str = "") -> "list[str]":
        return super().list(prefix) if prefix else []


class _ListsWhatIsDeleted(MemoryStore):
    """Lists a key that was deleted."""

    def __init__(self) -> None:
        super().__init__()
        self.known: dict[str, None] = {}

    def append(self, key: str, entries: Entries) -> None:
        super().append(key, entries)
        self.known[key] = None

    def list(self, prefix: str = "") -> "list[str]":
        return [key for key in self.known if key.startswith(prefix)]


class _DeletesAlike(MemoryStore):
    """Deletes each key that begins so."""

    def delete(self, key: str) -> None:
        for it in [it for it in self.lines if it.startswith(key)]:
            del self.lines[it]


class _DeletesOnce(MemoryStore):
    """Raises for a key that was deleted."""

    def delete(self, key: str) -> None:
        del self.lines[key]


class _ReturnsItsList(MemoryStore):
    """Returns the list that it keeps."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: dict[str, list[TranscriptEntry]] = {}

    def load(self, key: str, after: int = 0) -> list[TranscriptEntry]:
        found = super().load(key, after)
        kept = self.loaded.get(key, [])
        self.loaded[key] = kept if len(kept) + 2 == len(found) and not after else found
        return self.loaded[key]


class _TakesTheSameAgain(MemoryStore):
    """Takes what is there already, and does nothing."""

    def append(self, key: str, entries: Entries) -> None:
        lines = [entry.to_line() for entry in entries]
        start = entries[0].number - 1
        if self.lines.get(key, [])[start : start + len(lines)] != lines:
            super().append(key, entries)


class _LosesChanges(MemoryStore):
    """Makes a change of each entry."""

    def load(self, key: str, after: int = 0) -> list[TranscriptEntry]:
        return [
            it if it.opaque else TranscriptEntry(it.number, it.type, it.at, it.number, it.data)
            for it in super().load(key, after)
        ]


class _RaisesAnotherError(MemoryStore):
    """Raises an error of its own for a number that is taken."""

    def append(self, key: str, entries: Entries) -> None:
        try:
            super().append(key, entries)
        except ConflictError:
            raise KeyError(entries[0].number) from None


class _TakesGaps(MemoryStore):
    """Takes a number behind a gap, which is right."""

    def append(self, key: str, entries: Entries) -> None:
        taken = {it.number for it in self.load(key)}
        if taken & {it.number for it in entries}:
            raise ConflictError("another writer was faster")
        self.lines.setdefault(key, []).extend([it.to_line() for it in entries])

    def load(self, key: str, after: int = 0) -> list[TranscriptEntry]:
        found = [TranscriptEntry.from_line(line) for line in self.lines.get(key, [])]
        return [it for it in found if it.number > after]


class _ListsNotAndDeletesNot:
    """Has only what every store has, which is right."""

    def __init__(self) -> None:
        store = MemoryStore()
        self.append, self.load = store.append, store.load


STORES: tuple[type[Any], ...] = (
    *(
        _LosesTheLast,
        _LosesTheFirst,
        _CutsKeys,
        _StripsKeys,
        _CutsTexts,
        _ListsTwice,
        _ListsNothing,
    ),
    *(_ListsWhatIsDeleted, _DeletesAlike, _DeletesOnce, _ReturnsItsList, _TakesTheSameAgain),
    *(_LosesChanges, _RaisesAnotherError, _TakesGaps, _ListsNotAndDeletesNot),
)


def told_of(make: type[Any]) -> str:
    """Return what the contract tells of a store, without the random part of its keys."""
    store = make()
    with pytest.MonkeyPatch.context() as patch:
        patch.delattr(StoreClaims, "batch")  # of 1,000 entries
        patch.delattr(StoreClaims, "at_once")  # threads: what they meet differs
        try:
            check_store(lambda: store, entries=20, processes=False)
        except AssertionError as error:
            shown_text = re.sub("check-[0-9a-f]{32}", "check", str(error))
            return re.sub('"at":"20[^"]*"', '"at":""', shown_text) + "\n"
    return "the store is right\n"


def rewritten() -> str:
    """Return the page with the failures of today."""
    head = "What `check_store` tells of stores with a mistake; python -m tests.testing writes it.\n"
    return "\n".join([head, *(f"## {it.__name__[1:]}\n{told_of(it)}" for it in STORES)])
