"""Appends whose fate is unknown: what a program meant is in the store once, whatever happens."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from tests.errors import raised
from tests.searching import examples
from tests.transcript.stores import MemoryStore
from tests.transcript.whole_logs import calling

FATES = ("fine", "before", "after", "late", "blind", "other", "crowded")
"""What becomes of an append: it raises before or after it writes; it writes after the next load;
it raises, and so does the next load; another writer is faster; another writes after it raised.
"""
TEXTS = "abcdef"


class UnsureStore:
    """A store in memory, and what becomes of each append to it; then all is fine."""

    def __init__(self, fates: Sequence[str]) -> None:
        self.store = MemoryStore()
        self.fates = iter(fates)
        self.late: list[Sequence[TranscriptEntry]] = []
        self.others = 0
        self.is_blind = False

    def append(self, key: str, entries: Sequence[TranscriptEntry]) -> None:
        """Append, or not."""
        fate = next(self.fates, "fine")
        if fate == "other":
            self.write_other(key)
        if fate in ("fine", "after", "other", "crowded"):
            self.store.append(key, entries)
        if fate == "crowded":
            self.write_other(key)
        if fate == "late":
            self.late.append(entries)
        self.is_blind = fate == "blind"
        if fate not in ("fine", "other"):
            raise OSError(fate)

    def load(self, key: str, after: int = 0) -> list[TranscriptEntry]:
        """Return the entries, and write what is late."""
        if self.is_blind:
            self.is_blind = False
            raise OSError("blind")
        found = self.store.load(key, after)
        self.settle(key)
        return found

    def write_other(self, key: str) -> None:
        """Write a note of another writer."""
        self.others += 1
        number = len(self.store.lines.get(key, ())) + 1
        note = TranscriptEntry(number, "note", None, number, {"note": "other"})
        self.store.append(key, [note])

    def settle(self, key: str) -> None:
        """Write what is late, and be fine."""
        for entries in self.late:
            with suppress(ConflictError):
                self.store.append(key, entries)
        self.late.clear()
        self.is_blind = False


class AsyncUnsureStore(UnsureStore):
    """The same for asynchronous programs."""

    async def append(self, key: str, entries: Sequence[TranscriptEntry]) -> None:  # type: ignore[override]
        """Append, or not."""
        await asyncio.sleep(0)
        try:
            super().append(key, entries)
        finally:
            await asyncio.sleep(0)

    async def load(self, key: str, after: int = 0) -> list[TranscriptEntry]:  # type: ignore[override]
        """Return the entries."""
        await asyncio.sleep(0)
        return super().load(key, after)


def texts_in(store: UnsureStore) -> str:
    """Return the texts that are in the store at the end; the others' notes are there, too."""
    talk = Transcript.open("k", store=store.store)
    assert len(talk.entries) - len(talk) == store.others
    return "".join(message.text for message in talk)


fates = st.lists(st.sampled_from(FATES), max_size=20)
ids = st.sampled_from([None, "uuid"])


@examples(1_000, fast=30)
@given(fates, st.sets(st.sampled_from(TEXTS)), ids)
def test_a_change_that_is_made_again(fates: list[str], gives_up: set[str], ids: str | None) -> None:
    """What is repeated until it does not raise is there once; what is given up at most once."""
    store = UnsureStore(fates)
    talk = Transcript.open("k", store=store, ids=ids)  # type: ignore[arg-type]
    for text in TEXTS:
        appended(talk, text, gives_up)
    store.settle("k")
    talk.refresh()
    found = texts_in(store)
    assert sorted({*found}) == [*found]
    assert {*TEXTS} - gives_up <= {*found}
    assert talk.entries == Transcript.open("k", store=store.store).entries


def appended(talk: Transcript, text: str, gives_up: set[str]) -> None:
    """Append a text until it does not raise, or is given up."""
    refreshes = False
    while True:
        try:
            if refreshes:
                talk.refresh()
            refreshes = False
            talk.append(text)
            return
        except ConflictError:
            refreshes = True
        except OSError:
            if text in gives_up and not refreshes:
                return


@examples(1_000, fast=25)
@given(fates, st.lists(st.integers(0, 7), max_size=8), st.sets(st.sampled_from(TEXTS)), ids)
def test_a_commit_that_is_made_again(
    fates: list[str], cancels: list[int], commits: set[str], ids: str | None
) -> None:
    """What is committed until that does not raise is there once, also after it was cancelled."""
    store = AsyncUnsureStore(fates)
    steps = iter(cancels)

    async def program() -> Transcript:
        talk = await Transcript.aopen("k", store=store, ids=ids)  # type: ignore[arg-type]
        for text in TEXTS:
            talk.append(text)
            if text in commits:
                await committed(talk, steps, again=False)
        await committed(talk, steps, again=True)
        await talk.arefresh()
        return talk

    talk = asyncio.run(program())
    assert texts_in(store) == TEXTS
    assert talk.entries == Transcript.open("k", store=store.store).entries


async def committed(talk: Transcript, steps: Iterator[int], *, again: bool) -> None:
    """Commit, again until it does not raise; sometimes it is cancelled after some steps."""
    refused: list[TranscriptEntry] = []
    while True:
        try:
            if refused:
                await talk.arefresh()
                for entry in refused:
                    talk.append(entry.message)
                refused = []
            task = asyncio.ensure_future(talk.acommit())
            for _ in range(next(steps, 100)):
                await asyncio.sleep(0)
            task.cancel()
            await task
            return
        except ConflictError as error:
            refused = [*error.entries]
        except (OSError, asyncio.CancelledError):
            if not again and not refused:
                return


@pytest.mark.parametrize("sees", [Transcript.refresh, lambda talk: talk.append("a")])
def test_what_was_seen_is_in_doubt_no_more(sees: Any) -> None:
    """The same text said again later is another turn: it gets an id of its own."""
    talk = Transcript.open("k", store=UnsureStore(["after"]), ids="uuid")
    with pytest.raises(OSError, match="after"):
        talk.append("a")

    def fail(entry: TranscriptEntry) -> None:
        raise ValueError(entry)

    end = talk.subscribe(fail)
    with pytest.raises(SubscriberError):
        sees(talk)
    end()
    talk.append("a")
    assert len({message.id for message in talk}) == len(talk) == 2


def test_a_refresh_keeps_what_was_reported() -> None:
    """Only opening a file has reports of its own."""
    talk = Transcript.open("k", store=UnsureStore([]))
    talk.append("a")
    cut = Message("assistant", [ToolUseBlock("call", "find", '{"a')])
    talk.append(cut, interrupted=True)
    talk.refresh()
    assert talk.repairs == ("a call of find was cut, and is left out",)


# Changes that wait.


def opened(store: MemoryStore) -> Transcript:
    """Return the transcript of the key ``k``, whose changes wait."""
    return asyncio.run(Transcript.aopen("k", store=store))


def test_changes_that_wait_are_lost_by_no_refresh() -> None:
    """They stay where nobody else wrote; else an error names them once, then they are dropped."""
    store = MemoryStore()
    mine, other = opened(store), opened(store)
    mine.append("mine")
    assert () == asyncio.run(mine.arefresh())
    assert ["mine"] == [message.text for message in mine]
    other.append("other")
    asyncio.run(other.acommit())
    with pytest.raises(ConflictError) as raised:
        asyncio.run(mine.arefresh())
    assert ["mine"] == [entry.message.text for entry in raised.value.entries]
    assert other.entries == asyncio.run(mine.arefresh())
    assert ["other"] == [message.text for message in mine]


def test_another_writer_ended_with_the_same_entry() -> None:
    """An equal entry after another one was not written by this transcript."""
    store = MemoryStore()
    mine, other = opened(store), opened(store)
    for transcript, text in ((mine, "mine"), (other, "other")):
        transcript.append(text)
        transcript.note("the same")
    asyncio.run(other.acommit())
    conflict = raised(ConflictError, lambda: asyncio.run(mine.arefresh()))
    assert ["message", "note"] == [entry.type for entry in conflict.entries]
    assert other.entries == asyncio.run(mine.arefresh())
    assert other.entries == mine.entries


def test_the_end_of_a_block_commits() -> None:
    """Unless it raises: then what waits is dropped, and the error of the block stays."""
    store = MemoryStore()

    async def write(text: str, error: Exception | None) -> None:
        async with await Transcript.aopen("k", store=store) as transcript:
            transcript.append(text)
            if error is not None:
                raise error

    asyncio.run(write("one", None))
    with pytest.raises(KeyError):
        asyncio.run(write("two", KeyError()))
    assert ["one"] == [message.text for message in Transcript.open("k", store=store)]


def test_what_waits_is_not_closed_silently() -> None:
    """To close a transcript whose changes wait is an error; so is the end of a plain block."""
    transcript = opened(MemoryStore())
    transcript.append("one")
    with pytest.raises(TranscriptError, match="the last changes of 'k' are not written"):
        transcript.close()
    with pytest.raises(TranscriptError, match="are not written"), opened(MemoryStore()) as other:
        other.append("one")


# Changes of two entries and of two writers.


class HalfStore(MemoryStore):
    """A store of which some appends raise, before or after they write the first entries."""

    def __init__(self, *counts: int | None) -> None:
        super().__init__()
        self.counts = iter(counts)
        """How many entries each append writes before it raises; ``None`` for a good one."""

    def append(self, key: str, entries: Sequence[TranscriptEntry]) -> None:
        """Add all lines, or the first ones."""
        count = next(self.counts, None)
        if count != 0:
            super().append(key, entries[:count])
        if count is not None:
            raise OSError("half")


def kept(store: MemoryStore) -> list[str]:
    """Return the entries of the store, each with its number, its change and its text."""
    return [
        f"{e.number} ({e.change}) {e.message.role if e.message else e.data['note']}"
        for e in Transcript.open("k", store=store).entries
    ]


def other_writes(store: MemoryStore, *notes: str) -> None:
    """Write notes of another writer, past what a store does wrong."""
    for note in notes:
        number = len(store.lines.get("k", ())) + 1
        entry = TranscriptEntry(number, "note", None, number, {"note": note})
        MemoryStore.append(store, "k", [entry])


def begun(*counts: int | None) -> tuple[HalfStore, Transcript, list[int]]:
    """Return a store, its transcript with two open calls, and the numbers that are told."""
    store = HalfStore(None, *counts)
    talk, told = Transcript.open("k", store=store, clock=None), list[int]()
    talk.append(calling("a", "b"))
    talk.subscribe(lambda entry: told.append(entry.number))
    return store, talk, told


STOPPED = ["1 (1) assistant", "2 (2) tool", "3 (2) tool", "4 (2) user"]


@pytest.mark.parametrize("counts", [(0,), (1,), (2,), (3,), (0, 0), (0, 2), (1, 0), (1, 1), (1, 2)])
def test_a_change_of_three_entries_of_which_some_are_written(counts: tuple[int, ...]) -> None:
    """It is made again until it does not raise: each entry is there once, and told once."""
    store, talk, told = begun(*counts)
    for _ in counts:
        with pytest.raises(OSError, match="half"):
            talk.append("Stop.", interrupt=True)
    entry = talk.append("Stop.", interrupt=True)
    assert (4, [2, 3, 4]) == (entry.number, told)
    assert ["assistant", "tool", "tool", "user"] == [line.split()[-1] for line in kept(store)]
    assert (talk.entries, "Stop.") == (Transcript.open("k", store=store).entries, talk[-1].text)


MEANWHILE: list[tuple[tuple[int, ...], tuple[str, ...], str, str, list[str]]] = [
    ((3,), (), "Other.", "the change before this one", STOPPED),
    ((3,), ("x",), "Other.", "the change before this one", [*STOPPED, "5 (5) x"]),
    ((0,), ("x",), "Stop.", "a change of another writer", ["1 (1) assistant", "2 (2) x"]),
    (
        (0,),
        ("x", "y", "z"),
        "Stop.",
        "a change of another writer",
        ["1 (1) assistant", "2 (2) x", "3 (3) y", "4 (4) z"],
    ),
    (
        (1,),
        ("x",),
        "Stop.",
        "a change of another writer",
        ["1 (1) assistant", "2 (2) tool", "3 (3) x"],
    ),
]


@pytest.mark.parametrize("case", MEANWHILE)
def test_whose_change_was_written(case: Any) -> None:
    """An append in doubt is followed by another change, of this writer or of another one."""
    counts, before, text, error, after = case
    store, talk, told = begun(*counts)
    with pytest.raises(OSError, match="half"):
        talk.append("Stop.", interrupt=True)
    other_writes(store, *before)
    conflict = raised(ConflictError, lambda: talk.append(text, interrupt=True))
    assert (f"{error} was written to 'k'", after) == (conflict.what, kept(store))
    assert [*range(2, len(after) + 1)] == told
    assert talk.entries == Transcript.open("k", store=store).entries


def test_another_writes_behind_what_was_in_doubt() -> None:
    """The change is there, and its entry is returned; the notes behind it are there and told."""
    store, talk, told = begun(3)
    with pytest.raises(OSError, match="half"):
        talk.append("Stop.", interrupt=True)
    other_writes(store, "x", "y")
    assert 4 == talk.append("Stop.", interrupt=True).number
    assert ([*STOPPED, "5 (5) x", "6 (6) y"], [2, 3, 4, 5, 6]) == (kept(store), told)
    assert 7 == talk.append("More.").number


def test_what_two_others_wrote_is_read_in_order() -> None:
    """A refresh returns and tells both entries, a second one nothing; a change is refused first."""
    store, talk, told = begun()
    other_writes(store, "x", "y")
    conflict = raised(ConflictError, lambda: talk.note("mine"))
    assert "another writer was faster" == conflict.what
    assert [2, 3] == [entry.number for entry in talk.refresh()] == told
    assert () == talk.refresh()
    other_writes(store, "z")
    assert [4] == [entry.number for entry in talk.refresh()]
    assert [2, 3, 4] == told


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ([2], "entry 2 of 'k' where 1 should be"),
        ([1, 2, 4, 5], "entry 4 of 'k' where 3 should be"),
        ([1, 3, 2], "entry 3 of 'k' where 2 should be"),
        ([1, 1], "entry 1 of 'k' where 2 should be"),
    ],
)
def test_a_store_with_a_gap(numbers: list[int], words: str) -> None:
    """The first entry that is not the next one is named, with the number that should be there."""
    store = MemoryStore()
    store.lines["k"] = [TranscriptEntry(n, "note", None, n, {"note": n}).to_line() for n in numbers]
    error = raised(TranscriptError, lambda: Transcript.open("k", store=store))
    assert (f"the store has {words}", "restore it from a copy") == (error.what, error.fix)


def waiting(*counts: int | None) -> tuple[HalfStore, Transcript]:
    """Return a store, and a transcript of which four notes wait."""
    store = HalfStore(*counts)
    talk = opened(store)
    for text in "abcd":
        talk.note(text)
    return store, talk


NOTES = [f"{n} ({n}) {text}" for n, text in enumerate("abcd", 1)]


@pytest.mark.parametrize("counts", [(0,), (2,), (4,), (1, 2), (0, 3), (2, 0), (3, 0, 1), (1, 1, 1)])
def test_changes_that_wait_are_written_in_parts(counts: tuple[int, ...]) -> None:
    """Each commit writes what is missing; the next one after the last error writes the rest."""
    store, talk = waiting(*counts)
    for _ in counts:
        with pytest.raises(OSError, match="half"):
            asyncio.run(talk.acommit())
    asyncio.run(talk.acommit())
    assert NOTES == kept(store)
    talk.note("e")
    asyncio.run(talk.acommit())
    assert [*NOTES, "5 (5) e"] == kept(store)
    talk.close()


def test_later_changes_that_wait_are_written_in_parts() -> None:
    """What was committed before counts: of two commits that raise none writes an entry twice."""
    store, talk = waiting(None, 1, 0, 2)
    asyncio.run(talk.acommit())
    for text in "efgh":
        talk.note(text)
    for _ in range(3):
        with pytest.raises(OSError, match="half"):
            asyncio.run(talk.acommit())
    asyncio.run(talk.acommit())
    assert [*NOTES, *(f"{n} ({n}) {text}" for n, text in enumerate("efgh", 5))] == kept(store)


@pytest.mark.parametrize("written", [0, 1, 2, 3])
def test_another_writer_is_faster_with_the_rest(written: int) -> None:
    """The error has the entries that are not written, and no others; a refresh drops them."""
    store, talk = waiting(written)
    told: list[int] = []
    talk.subscribe(lambda entry: told.append(entry.number))
    with pytest.raises(OSError, match="half"):
        asyncio.run(talk.acommit())
    other_writes(store, "x", "y")
    conflict = raised(ConflictError, lambda: asyncio.run(talk.acommit()))
    assert [*"abcd"[written:]] == [entry.data["note"] for entry in conflict.entries]
    found = asyncio.run(talk.arefresh())
    assert ["x", "y"] == [entry.data["note"] for entry in found]
    assert [written + 1, written + 2] == told
    assert [*"abcd"[:written], "x", "y"] == [entry.data["note"] for entry in talk.entries]
    talk.note("mine")
    asyncio.run(talk.acommit())
    assert [*"abcd"[:written], "x", "y", "mine"] == [line.split()[-1] for line in kept(store)]


@pytest.mark.parametrize("written", [1, 2])
def test_a_refresh_is_first_to_see_another_writer(written: int) -> None:
    """It tells what cannot be written once, and drops it then."""
    store, talk = waiting(written)
    with pytest.raises(OSError, match="half"):
        asyncio.run(talk.acommit())
    other_writes(store, "x")
    conflict = raised(ConflictError, lambda: asyncio.run(talk.arefresh()))
    assert [*"abcd"[written:]] == [entry.data["note"] for entry in conflict.entries]
    found = asyncio.run(talk.arefresh())
    assert ["x"] == [entry.data["note"] for entry in found]
    assert [*"abcd"[:written], "x"] == [entry.data["note"] for entry in talk.entries]


def test_a_refresh_sees_that_some_are_written() -> None:
    """Nobody else wrote: nothing is new, and the commit writes what is missing."""
    store, talk = waiting(2)
    with pytest.raises(OSError, match="half"):
        asyncio.run(talk.acommit())
    assert () == asyncio.run(talk.arefresh())
    talk.note("e")
    asyncio.run(talk.acommit())
    assert [*NOTES, "5 (5) e"] == kept(store)
