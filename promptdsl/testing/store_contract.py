"""The test of a transcript store: each claim is a method, which raises an error if it is not true.

:func:`check_store` runs all claims of :class:`StoreClaims`.
"""

import asyncio
import json
import multiprocessing
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from inspect import getdoc, isawaitable, iscoroutine
from statistics import median
from textwrap import indent
from time import perf_counter
from types import SimpleNamespace
from typing import Any, TypeAlias
from uuid import uuid4
from zlib import crc32

from promptdsl import (
    ConflictError,
    Message,
    OptionError,
    ToolUseBlock,
    Transcript,
    TranscriptEntry,
    TranscriptError,
)
from promptdsl.foundation.source import public_api
from promptdsl.testing.hostile import shortened

MakeStore: TypeAlias = Callable[[], Any]  # Any: a store, or an awaitable of one
Damage: TypeAlias = Callable[[Any, str], object]  # Any: the user's own store
Options: TypeAlias = tuple[int, bool, Damage | None]

ODD_KEYS = (
    *("A", "a", "A/a", "a/A", "con", "nul.txt", ".", "..", "../a", "%41", "%2e", "_", "*", "?"),
    *("a_", "a%", "a*", "a.", "a b", " a", "a ", "\ta", "a\n", "a'; --", 'a"', "a\\b", "a:b", "a|"),
    *("\U0001f600", "\xe9", "e\u0301", "\xdf", "ss", "\u0130", "i", "1", "01", "a" * 60, "a" * 61),
)
"""Keys that a store may confuse: they differ in case, or look like a path, a pattern or SQL."""
TEXTS = ("\r\n\x85\u2028\u2029\x1e", "\0", "\ud800", "\U0001f600 e\u0301 \xe9", "\\u0041 '; --")
"""Texts that a store may change: line ends, NUL, a lone surrogate, escapes."""
NUMBERS: tuple[Any, ...] = (0.1, 1e300, 5e-324, -0.0, 1.0, 1, True, None, 2**70, -(2**63), {}, [])
"""JSON values that a store may change: numbers, and values that Python takes for equal."""
USED_NUMBERS = ((1,), (2,), (3,), (1, 2, 3), (3, 4), (2, 3, 4, 5))
"""The numbers of batches with a number that is already used, if the store has 1, 2 and 3."""


@public_api
def check_store(
    make_store: MakeStore,
    *,
    entries: int = 100_000,
    processes: bool = True,
    damage: Damage | None = None,
) -> None:
    """Fail if a store does not do what a transcript needs; the failure lists all broken claims.

    ``make_store()`` returns a store, or an awaitable of a store, with the same storage at each
    call. The storage may be in use: all keys begin with a text that no other run has. ``entries``
    is the length of the longest transcript: only a long transcript shows whether appends become
    slower. The largest entry has ``1_000 * entries`` characters, but at most 5 million.
    ``processes=False`` is for a store in memory, which other processes cannot see.
    ``damage(store, key)`` changes a stored line; then the store must report the damage. This
    function runs an event loop, so do not call it from an async function. Raises
    :class:`OptionError` if ``make_store`` is not a function.

    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> from promptdsl import SqliteStore
    >>> from promptdsl.testing import check_store
    >>> path = Path(mkdtemp(), "chats.db")
    >>> check_store(lambda: SqliteStore(path), entries=100, processes=False)
    """
    __tracebackhide__ = True
    if not callable(make_store):
        what = f"make_store is {make_store!r}"
        raise OptionError(what, fix="pass a function: check_store(lambda: store)")
    names = [name for name in vars(StoreClaims) if not name.startswith("_")]
    failures: list[str] = []
    with asyncio.Runner() as runner:
        claims = StoreClaims(runner, make_store, (entries, processes, damage))
        for name in names:
            claim = getattr(claims, name)
            try:
                result = claim(f"check-{uuid4().hex}/")
                if iscoroutine(result):
                    runner.run(result)
            except Exception as error:
                kind = "" if type(error) is AssertionError else f"{type(error).__name__}: "
                failures.append(indent(f"{getdoc(claim)}\n  {kind}{error}", "  "))
    if failures:
        count = f"{len(failures)} of {len(names)} claims"
        raise AssertionError("\n".join([f"the store breaks {count}. It has to", *failures]))


async def _awaited(returned: Any) -> Any:  # Any: a result of a store, or an awaitable
    return await returned if isawaitable(returned) else returned


async def _load(store: Any, key: str, after: int = 0) -> list[TranscriptEntry]:
    return [*await _awaited(store.load(key, after))]


def _note(number: int, data: Any) -> TranscriptEntry:  # Any: JSON
    return TranscriptEntry(number, "note", None, number, {"note": data})


def _notes(numbers: Iterable[int], data: str = "x") -> list[TranscriptEntry]:
    return [_note(number, data) for number in numbers]


def _check_equal(expected: Sequence[TranscriptEntry], actual: Sequence[TranscriptEntry]) -> None:
    """Fail if entries differ from the expected entries in any byte."""
    expected_numbers = [entry.number for entry in expected]
    actual_numbers = [entry.number for entry in actual]
    if expected_numbers != actual_numbers:
        expected_text, actual_text = (
            shortened(str(expected_numbers)),
            shortened(str(actual_numbers)),
        )
        what = f"the store has the entries {actual_text} instead of {expected_text}"
        raise AssertionError(what.replace("'", ""))
    for entry, other in zip(expected, actual, strict=True):
        line, stored_line = entry.to_line(), other.to_line()
        if line != stored_line:
            pairs = enumerate(zip(line, stored_line, strict=False))
            at = max(next((n for n, (a, b) in pairs if a != b), 0) - 20, 0)
            raise AssertionError(f"{shortened(line[at:])} became {shortened(stored_line[at:])}")


def _check_complete(entries: Sequence[TranscriptEntry], writers: str, count: int) -> None:
    """Fail if an entry of a writer is lost, stored twice or out of order."""
    _check_equal([_note(n, entry.data["note"]) for n, entry in enumerate(entries, 1)], entries)
    for writer in writers:
        notes: list[Any] = [entry.data["note"] for entry in entries]  # Any: JSON
        numbers = [number for name, number in notes if name == writer]
        if numbers != [*range(count)]:
            raise AssertionError(f"{count} appends of one writer became {shortened(str(numbers))}")


async def _write(store: Any, key: str, writer: str, count: int) -> None:
    """Append notes; if another writer was faster, append the note again after its entries."""
    last = number = 0
    for _ in range(20 * count):
        last = max([last, *(entry.number for entry in await _load(store, key, last))])
        with suppress(ConflictError):
            await _awaited(store.append(key, [_note(last + 1, [writer, number])]))
            last, number = last + 1, number + 1
            if number == count:
                return
    raise AssertionError(f"of {20 * count} appends only {number} were not refused")


class StoreClaims:
    """The claims about a store; the docstring of a claim is the text of its failure.

    Each claim has two objects of the store on the same storage, and a key that no other claim has.
    """

    def __init__(self, runner: asyncio.Runner, make_store: MakeStore, options: Options) -> None:
        self._runner, self._make_store = runner, make_store
        self._length, self._has_processes, self._damage = options
        self._store, self._other_store = (runner.run(_awaited(make_store())) for _ in range(2))
        self._is_async = False

    async def _append(self, key: str, entries: Sequence[TranscriptEntry]) -> None:
        returned = self._store.append(key, entries)
        self._is_async = isawaitable(returned)
        await _awaited(returned)

    async def _append_notes(self, key: str, *texts: str) -> list[TranscriptEntry]:
        """Append notes to an unused key, one by one; return them."""
        entries = [_note(number, text) for number, text in enumerate(texts, 1)]
        for entry in entries:
            await self._append(key, [entry])
        return entries

    async def _check_refused(self, key: str, entries: Sequence[TranscriptEntry]) -> None:
        try:
            await self._append(key, entries)
        except ConflictError:
            return
        raise AssertionError(f"{[entry.number for entry in entries]} is appended")

    async def _check_stored(
        self, key: str, expected: Sequence[TranscriptEntry], after: int = 0
    ) -> None:
        _check_equal(expected, await _load(self._other_store, key, after))

    async def _open_transcript(self, key: str) -> Transcript:
        """Return a transcript in the store; ``acommit`` and ``arefresh`` work with every store."""
        if self._is_async:
            return await Transcript.aopen(key, store=self._store)
        return Transcript.open(key, store=self._store)

    def processes(self, key: str) -> None:
        """Lose no entry, and store none twice, if two processes append at once."""
        if not self._has_processes or "fork" not in multiprocessing.get_all_start_methods():
            return
        count = min(2_000, max(self._length // 10, 1))

        def work(writer: str) -> None:
            with asyncio.Runner() as runner:
                store = runner.run(_awaited(self._make_store()))
                runner.run(_write(store, key, writer, count))

        fork = multiprocessing.get_context("fork").Process
        workers = [fork(target=work, args=(writer,)) for writer in "ab"]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # the user may have threads
            for worker in workers:
                worker.start()
        for worker in workers:
            worker.join()
        if any(worker.exitcode for worker in workers):
            raise AssertionError("a process failed: its error is printed above")
        _check_complete(self._runner.run(_load(self._store, key)), "ab", count)

    async def unknown(self, key: str) -> None:
        """Return no entries for an unknown key."""
        await self._check_stored(key, [])
        await self._check_stored(key, [], after=3)

    async def order(self, key: str) -> None:
        """Return entries in the order of their numbers."""
        entries = _notes(range(1, 31))
        for start, end in ((0, 1), (1, 12), (12, 13), (13, 30)):
            await self._append(key, entries[start:end])
        await self._check_stored(key, entries)

    async def after(self, key: str) -> None:
        """Return only entries with a number above after=."""
        entries = await self._append_notes(key, "a", "b", "c", "d")
        for after in (0, 1, 2, 3, 4, 5, 1_000):
            await self._check_stored(key, entries[after:], after)

    async def used_number(self, key: str) -> None:
        """Refuse a number that is already used, with a ConflictError."""
        await self._append_notes(key, "a", "b", "c")
        for numbers in USED_NUMBERS:
            await self._check_refused(key, _notes(numbers, "other"))

    async def all_or_nothing(self, key: str) -> None:
        """Write nothing of a batch that is refused."""
        entries = await self._append_notes(key, "a", "b", "c")
        for numbers in USED_NUMBERS:
            with suppress(ConflictError):
                await self._append(key, _notes(numbers, "other"))
            await self._check_stored(key, entries)

    async def again(self, key: str) -> None:
        """Refuse an append that is repeated after it was written, and do not store it twice."""
        entries = _notes((1, 2))
        await self._append(key, entries)
        with suppress(ConflictError):
            await self._append(key, entries)
        await self._check_stored(key, entries)
        await self._check_refused(key, entries)

    async def seen(self, key: str) -> None:
        """Return immediately what another object of the store has written."""
        for number in range(1, 6):
            await self._check_stored(key, [], after=number - 1)
            await self._append(key, [_note(number, "x")])
            await self._check_stored(key, [_note(number, "x")], after=number - 1)

    async def odd_keys(self, key: str) -> None:
        """Keep similar keys apart, and treat no character of a key as special."""
        entries = {f"{key}{odd}": _note(1, odd) for odd in ODD_KEYS}
        for name, entry in entries.items():
            await self._append(name, [entry])
        for name, entry in entries.items():
            await self._check_stored(name, [entry])

    async def many_keys(self, key: str) -> None:
        """Keep the entries of many keys apart."""
        names = [f"{key}{number}" for number in range(20)]
        for number in range(1, 4):
            for name in names:
                await self._append(name, [_note(number, name)])
        for name in names:
            await self._check_stored(name, _notes((1, 2, 3), name))

    async def equal(self, key: str) -> None:
        """Return entries unchanged, to the byte: numbers, characters, times, changes."""
        talk = Transcript()
        for text in TEXTS:
            talk.append(f"Why? {text}")
            talk.note({text: [{"deep": [text, None, ""]}]})
        talk.note([*NUMBERS])
        talk.append(Message("assistant", [ToolUseBlock("a", "find", '{"z": 1.0, "a": 1}')]))
        talk.append("Stop.", interrupt=True)  # one change with two entries
        talk.undo(to=3)
        await self._append(key, talk.entries)
        await self._check_stored(key, talk.entries)

    async def opaque(self, key: str) -> None:
        """Return an entry of an unknown type unchanged, to the byte."""
        body = json.dumps({"n": 1, "new": [1.5], "type": "new", "data": "\xe9"})
        line = f'{body[:-1]},"sum":"{crc32(body.encode()):08x}"}}'
        entry = TranscriptEntry.from_line(line)
        await self._append(key, [entry])
        await self._check_stored(key, [entry])

    async def large(self, key: str) -> None:
        """Return a large entry completely."""
        await self._check_stored(
            key, await self._append_notes(key, "x" * min(5_000_000, 1_000 * self._length))
        )

    async def batch(self, key: str) -> None:
        """Write a batch of 1,000 entries in one append."""
        await self._append(key, entries := _notes(range(1, 1_001)))
        await self._check_stored(key, entries)

    async def own_lists(self, key: str) -> None:
        """Do not change or keep the list of an append, and return a new list each time."""
        entries, argument = _notes((1, 2)), _notes((1, 2))
        await self._append(key, argument)
        _check_equal(entries, argument)
        argument.clear()
        returned: Any = await _awaited(self._store.load(key))  # Any: any iterable
        if isinstance(returned, list):
            returned.clear()
        _check_equal(entries, await _load(self._store, key))

    async def numbers_stay(self, key: str) -> None:
        """Keep the number of each entry, also after a gap, which may be refused."""
        entries = await self._append_notes(key, "a", "b")
        with suppress(ConflictError):
            await self._append(key, [_note(5, "x")])
            entries.append(_note(5, "x"))
        await self._check_stored(key, entries)
        await self._check_stored(key, entries[1:], after=1)

    async def listed(self, key: str) -> None:
        """List each key that begins with the prefix once, and no other."""
        if not hasattr(self._store, "list"):
            return
        names = [f"{key}{odd}" for odd in ("", "a", "a%", "a%b", "a_", "a_b", "a*", "axb", "A")]
        for name in names:
            await self._append_notes(name, "1", "2")
        for prefix in (*names, f"{key}none"):
            keys = sorted(await _awaited(self._other_store.list(prefix)))
            if keys != sorted(name for name in names if name.startswith(prefix)):
                raise AssertionError(f"list({prefix!r}) returned {keys}")
        if not {*names} <= {*await _awaited(self._other_store.list())}:
            raise AssertionError("list() does not return every key")

    async def deleted(self, key: str) -> None:
        """Forget a deleted key, so that it starts again; ignore an unknown key."""
        if not hasattr(self._store, "delete"):
            return
        await self._append_notes(key, "a", "b", "c")
        entries = await self._append_notes(f"{key}%", "a", "b")
        for _ in range(2):
            await _awaited(self._other_store.delete(key))
        _check_equal([], await _load(self._store, key))
        if hasattr(self._store, "list") and key in await _awaited(self._store.list(key)):
            raise AssertionError("list() returns it")
        await self._check_stored(key, await self._append_notes(key, "x", "y"))
        await self._check_stored(f"{key}%", entries)

    async def cancelled(self, key: str) -> None:
        """Write a cancelled append completely or not at all, and let it be repeated."""
        for waits in (*([0.0] * n for n in range(8)), [0.0003], [0.001], [0.003], [0.01]):
            name = f"{key}{waits}"
            talk = await Transcript.aopen(name, store=self._store)
            for text in "abc":
                talk.append(text)
            task = asyncio.create_task(talk.acommit())
            for seconds in waits:
                await asyncio.sleep(seconds)
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            if stored := await _load(self._other_store, name):
                _check_equal(talk.entries, stored)
            await talk.acommit()
            await self._check_stored(name, talk.entries)

    async def transcript(self, key: str) -> None:
        """Return the same transcript when it is opened again, after changes and an undo."""
        talk = await self._open_transcript(key)
        talk.append("Why twice?")
        await talk.acommit()
        talk.append(Message("assistant", "Let me look."))
        talk.replace(1, "Why was I charged twice?")
        talk.remove(2)
        talk.undo()
        await talk.acommit()
        again = await self._open_transcript(key)
        _check_equal(talk.entries, again.entries)
        if talk.turns != again.turns:
            raise AssertionError(f"{talk.messages} became {again.messages}")

    async def race(self, key: str) -> None:
        """Refuse the slower of two transcripts that append, until it is refreshed."""
        talks = [await self._open_transcript(key), await self._open_transcript(key)]
        for talk in talks:
            try:
                talk.append("Hi.")
                await talk.acommit()
            except ConflictError:
                await talk.arefresh()
                talk.append("Hello.")
                await talk.acommit()
        texts = [message.text for message in await self._open_transcript(key)]
        if texts != ["Hi.", "Hello."]:
            raise AssertionError(f"the transcript has the texts {texts}")

    async def unanswered(self, key: str) -> None:
        """Return the entries of an append whose answer was lost."""

        async def append(key: str, entries: Sequence[TranscriptEntry]) -> None:
            await self._append(key, entries)
            raise OSError("the answer is lost")

        store: Any = SimpleNamespace(append=append, load=self._store.load)
        talk = await Transcript.aopen(key, store=store)
        for text in "ab":
            talk.append(text)
            with suppress(OSError):
                await talk.acommit()
        await talk.acommit()
        await self._check_stored(key, talk.entries)

    async def at_once(self, key: str) -> None:
        """Lose no entry, and store none twice, if threads or tasks append at once."""
        stores = zip("abcd", (self._store, self._other_store) * 2, strict=True)

        def write(store: Any, writer: str) -> None:
            asyncio.run(_write(store, key, writer, 10))

        if self._is_async:
            await asyncio.gather(*(_write(store, key, writer, 10) for writer, store in stores))
        else:
            threads = (asyncio.to_thread(write, store, writer) for writer, store in stores)
            await asyncio.gather(*threads)
        _check_complete(await _load(self._other_store, key), "abcd", 10)

    async def linear(self, key: str) -> None:
        """Append to a long transcript as fast as to a short one."""
        size = max(min(1_000, self._length // 20), 1)
        times: list[float] = []
        for first in range(1, self._length + 1, size):
            entries = _notes(range(first, first + size))
            start = perf_counter()
            await self._append(key, entries)
            times.append(perf_counter() - start)
        fifth = len(times) // 5 or 1
        first_time, last_time = median(times[:fifth]), median(times[-fifth:])
        if last_time > 3 * first_time + 0.05:
            what = f"{size} entries take {first_time:.3f} s at first, {last_time:.3f} s at the end"
            raise AssertionError(what)
        await self._check_stored(key, _notes(range(1, len(times) * size + 1)))

    async def damaged(self, key: str) -> None:
        """Report a stored line that was changed with a TranscriptError."""
        if self._damage is None:
            return
        await self._append_notes(key, "a", "b", "c")
        await _awaited(self._damage(self._store, key))
        with suppress(TranscriptError):
            entries = await _load(self._other_store, key)
            raise AssertionError(f"{len(entries)} entries came back")
