"""Appends whose fate is unknown: what a program meant is in the store once, whatever happens."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from tests.searching import examples
from tests.transcript.stores import MemoryStore

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
