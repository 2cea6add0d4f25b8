"""Transcripts in files and stores: opening, writing, saving, following another writer."""

import atexit
import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Never, Self, TypeAlias, cast
from weakref import WeakSet

from promptdsl.foundation.errors import ConflictError, OptionError, TranscriptError
from promptdsl.foundation.source import async_public_api, author, public_api, warn_of_unfinished
from promptdsl.transcript.base import Clock, Ids, New, Path, TranscriptLog
from promptdsl.transcript.entries import TranscriptEntry, utc_now
from promptdsl.transcript.files import TranscriptFile, save_lines
from promptdsl.transcript.log import pruned, state_after, without_removed
from promptdsl.transcript.stores import SEALED, BoundStore, TranscriptStore
from promptdsl.transcript.values import above

Backing: TypeAlias = TranscriptFile | BoundStore

DATABASE = b"SQLite format 3\0"
"""The beginning of every database of SQLite 3."""


def _refuse_database(path: Path) -> None:
    """Raise :class:`TranscriptError` for a database, which needs a store."""
    try:
        name = os.fspath(path)  # open() would take a number for a descriptor, and close it
        if not os.path.isfile(name):
            return  # reading a pipe would wait
        with open(name, "rb") as file:
            is_database = file.read(len(DATABASE)) == DATABASE
    except (OSError, TypeError, ValueError):
        return  # opening it for its entries says why
    if is_database:
        raise TranscriptError(
            f"{name!r} is a database, not the file of a transcript",
            fix=f"write Transcript.open(key, store=SqliteStore({name!r}))",
        )


class StoredLog(TranscriptLog):
    """The log of a transcript that may be in a file."""

    @classmethod
    @public_api
    def open(
        cls,
        path: Path,
        *others: Never,
        store: TranscriptStore | None = None,
        read_only: bool = False,
        salvage: bool = False,
        clock: Clock = utc_now,
        ids: Ids = None,
    ) -> Self:
        """Return the transcript in a file, which is made when it is missing.

        It is the only writer of the file until ``close()``, or the end of its ``with`` block.
        ``read_only=True`` reads while another one writes. ``salvage=True`` reads the undamaged
        lines of a damaged file; ``repairs`` lists the others. Raises :class:`ConflictError` where
        another writer has it, :class:`TranscriptError` with line and byte for a damaged file.

        With ``store``, ``path`` is a key in it. Several processes may have it open. If another one
        was faster, a change raises :class:`ConflictError`.
        """
        if others:
            problem = f"open() takes 1 argument by position, not {1 + len(others)}"
            raise OptionError(problem, fix="write store=..., and other options with their names")
        if store is not None and salvage:
            raise OptionError("salvage=True is for files", fix="restore the store from a copy")
        self = cls.__new__(cls)
        self._begin(clock, ids)
        if store is not None:
            bound = BoundStore(store, path, read_only=read_only)
            self._load(bound, bound.read(0))
            return self
        _refuse_database(path)
        file = TranscriptFile(path, read_only=read_only or salvage, salvage=salvage)
        try:
            self._load(file, file.read())
        except BaseException:
            file.close()
            raise
        return self

    @classmethod
    @async_public_api
    async def aopen(
        cls,
        key: str,
        *,
        store: TranscriptStore,
        read_only: bool = False,
        clock: Clock = utc_now,
        ids: Ids = None,
    ) -> Self:
        """Return the transcript of a key in a store, for an asynchronous program.

        Changes stay in memory until ``await transcript.acommit()``. ``async with`` writes them at
        the end of its block. A transcript that is discarded with changes in memory warns with a
        ``RuntimeWarning``. The methods of a store that is not asynchronous run in a thread.
        """
        from asyncio import Lock

        self = cls.__new__(cls)
        self._begin(clock, ids)
        bound = BoundStore(store, key, read_only=read_only, turn=Lock())
        bound.opened_at = author()
        self._load(bound, await bound.aread(0))
        _ASYNCHRONOUS.add(self)
        return self

    def _load(self, file: Backing, new: list[TranscriptEntry]) -> None:
        """Add entries that were read, and update the current turns.

        Entries that are not yet in a store are dropped.
        """
        known, state = self._entries, self._state
        if isinstance(file, BoundStore) and file.turn is not None and file.committed < self._last:
            known = {n: entry for n, entry in known.items() if n <= file.committed}
            state = state_after(known)
        entries = known | {entry.number: entry for entry in new}
        notes = [*file.notes]
        try:
            if file.salvage:
                state = pruned(entries, above().repair, notes)
            else:
                state.follow(entries, new)
            self._file, self._entries, self._state = file, entries, state
        except BaseException:
            self._rebuild(self._last)
            raise
        if isinstance(file, BoundStore):
            file.committed = self._last
        else:
            self.repairs = tuple(notes)
        self._changed()
        self._note_read_only(new)

    def _commit(self, news: list[New]) -> list[TranscriptEntry]:
        """Write entries. If an append raised before, check first whether it was written."""
        store = self._file
        if not isinstance(store, BoundStore) or store.turn is not None:
            return super()._commit(news)
        if tried := store.doubtful:
            if done := self._already_written(store, news):
                return done
            if len(tried) == len(news) and all(map(self._is_same, tried, news)):
                # Any of the attempts may still be written, so all have the same ids.
                pairs = zip(tried, news, strict=True)
                news = [New(n.type, e.data, e.message, n.value) for e, n in pairs]
        try:
            done = super()._commit(news)
        except ConflictError:
            # The earlier append may have been written since.
            if store.doubtful and (done := self._already_written(store, news)):
                return done
            raise
        store.doubtful = []
        return done

    def _already_written(self, store: BoundStore, news: list[New]) -> list[TranscriptEntry]:
        """Return the entries of a repeated change, if its first attempt was written."""
        new = store.read(self._last)
        if not new:
            return []
        tried, store.doubtful = store.doubtful, []
        self._load(store, new)
        self._deliver(new)
        count = min(len(new), len(tried))
        is_ours = new[:count] == tried[:count]
        if is_ours and all(map(self._is_same, new, news)):
            if len(news) > count:
                return [*new[:count], *super()._commit(news[count:])]
            return new[:count]
        whose = "the change before this one" if is_ours else "a change of another writer"
        fix = "the transcript contains it now: look at it, and repeat your change"
        raise ConflictError(f"{whose} was written to {store.key!r}", fix=fix)

    def _is_same(self, entry: TranscriptEntry, new: New) -> bool:
        """Return whether an entry is a repeated change; ids that are generated may differ."""
        again = TranscriptEntry(entry.number, new.type, None, 0, cast("Any", new.data), new.message)
        kept, wanted = dict[str, Any](entry.data), dict[str, Any](again.data)
        if self._ids is not None and "message" in kept.keys() & wanted.keys():
            kept["message"] = {**kept["message"], "id": None}
            wanted["message"] = {**wanted["message"], "id": None}
        return entry.type == new.type and kept == wanted

    @async_public_api
    async def acommit(self) -> None:
        """Write the changes that wait to the store; otherwise do nothing.

        Raises :class:`ConflictError` when another writer was faster: its ``entries`` are those that
        the store refused, and :meth:`arefresh` drops them. After any other error they may be
        written or not: the next ``acommit`` checks, and writes what is missing.
        """
        store = self._file
        if not isinstance(store, BoundStore) or store.turn is None:
            return
        # If this raises an exception, the author knows of the changes, and gets no warning later.
        opened_at, store.opened_at = store.opened_at, None
        async with store.turn:
            while entries := self._waiting(store):
                doubtful = store.doubtful
                if doubtful and await self._confirmed(store, entries):
                    continue
                try:
                    await store.awrite(entries)
                except ConflictError as error:
                    # The earlier append may have been written since.
                    if doubtful and await self._confirmed(store, entries):
                        continue
                    raise store.conflict(entries) from error
        store.opened_at = opened_at

    async def _confirmed(self, store: BoundStore, entries: list[TranscriptEntry]) -> bool:
        """Return whether entries are already in the store, after counting these as written."""
        stored = await store.aread(store.committed)
        pairs = [*zip(stored, entries, strict=False)]
        count = next((n for n, (there, mine) in enumerate(pairs) if there != mine), len(pairs))
        store.committed += count
        if count < len(pairs):
            raise store.conflict(entries[count:])
        return count > 0

    def _waiting(self, store: BoundStore) -> list[TranscriptEntry]:
        """Return the entries that are not written yet."""
        with self._lock:
            return [self._entries[n] for n in range(store.committed + 1, self._last + 1)]

    def _gapless(self) -> dict[int, TranscriptEntry]:
        """Return the entries for a copy; of a damaged file the current ones, without a gap."""
        if self._file is None or not self._file.salvage:
            return self._entries
        return {entry.number: entry for entry in without_removed(self._entries, self._state)}

    def _note_read_only(self, new: Iterable[TranscriptEntry]) -> None:
        opaque = next((entry for entry in new if entry.opaque), None)
        if opaque is not None:
            fix = "import what registers the type, or use a newer version of promptdsl"
            if opaque.type == SEALED:
                fix = "it is encrypted: open it with store=EncryptedStore(store, key)"
            self._closed = (f"entry {opaque.number} has the unknown type {opaque.type!r}", fix)
        elif self._closed is None and self._file is not None and self._file.read_only:
            self._closed = ("it is open read-only", "change a fork() of it")

    @public_api
    def close(self) -> None:
        """Close the file, if there is one, so that another writer may open it.

        Raises :class:`TranscriptError` where changes still wait for :meth:`acommit`.
        """
        with self._lock:
            file = self._file
            if file is None:
                return
            file.close()
            self._closed = ("it is closed", "change a fork() of it, or open it again")
            if isinstance(file, BoundStore) and file.turn is not None and self._waiting(file):
                fix = "await transcript.acommit() before, or write async with"
                raise TranscriptError(f"the last changes of {file.key!r} are not written", fix=fix)

    def __del__(self) -> None:
        self._warn_of_lost_changes()

    def _warn_of_lost_changes(self) -> None:
        """Warn, once, if the transcript is discarded while changes wait for ``acommit()``."""
        file = getattr(self, "_file", None)
        if not isinstance(file, BoundStore) or file.opened_at is None or self._closed is not None:
            return
        opened_at, file.opened_at = file.opened_at, None
        waiting = self._last - file.committed
        if waiting > 0 and not file.refused:
            warn_of_unfinished(
                f"{waiting} changes of the transcript {file.key!r} are lost: they were not written",
                "await transcript.acommit(), or write async with await Transcript.aopen(...)",
                opened_at,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if not kind:
            self.close()
            return
        with suppress(TranscriptError):
            self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: object, *error: object) -> None:
        """Write the changes that wait, unless the block raised, and close."""
        try:
            if kind is None:
                await self.acommit()
        finally:
            self.__exit__(kind or sys.exc_info()[0])

    @public_api
    def refresh(self) -> tuple[TranscriptEntry, ...]:
        """Read what another process has written since the last time; return the new entries.

        A transcript in memory, and one that is the only writer of its file, has none. Raises
        :class:`ConflictError` when the file was cut, or replaced by another one.
        """
        with self._lock:
            file = self._file
            if isinstance(file, BoundStore):
                if file.turn is not None:
                    fix = "await transcript.arefresh()"
                    raise OptionError("refresh() cannot wait for a store", fix=fix)
                new = file.read(self._last)
                if new:  # other entries have the numbers of a doubtful append
                    file.doubtful = []
            elif file is None or not file.read_only or file.salvage:
                return ()
            else:
                new = file.read()
            if new:
                self._load(file, new)
            self._deliver(new)
            return tuple(new)

    @async_public_api
    async def arefresh(self) -> tuple[TranscriptEntry, ...]:
        """Read what others have written, and return the new entries, after :meth:`aopen`.

        If nobody else has written, changes that wait are kept. Otherwise it raises the
        :class:`ConflictError` of :meth:`acommit`. Called again after such an error, it drops them.
        """
        store = self._file
        if not isinstance(store, BoundStore) or store.turn is None:
            return self.refresh()
        async with store.turn:
            stored = await store.aread(store.committed)
            with self._lock:
                if not store.refused:
                    mine = {entry.number: entry for entry in self._waiting(store)}
                    new = [entry for entry in stored if mine.get(entry.number) != entry]
                    store.committed += len(stored) - len(new)
                    if not new:
                        return ()
                    if left := self._waiting(store):
                        raise store.conflict(left)
                    stored = new
                self._load(store, stored)
                # A doubtful append was read: the next commit need not check it.
                store.doubtful, store.refused = [], False
                self._deliver(stored)
                return tuple(stored)

    @public_api
    def save(self, path: Path) -> None:
        """Write a copy of all entries to another file, completely or not at all.

        Raises :class:`ConflictError` where a writer has a file of this name open.
        """
        with self._lock:
            save_lines(path, self._gapless().values())

    @public_api
    def vacuum(self, path: Path) -> None:
        """Write a copy with only the current content to another file; entries keep their numbers.

        Content that was removed, replaced, undone or summarised is not in the copy. It may still be
        in the text of a summary, in forks and in backups. Errors are those of :meth:`save`.
        """
        with self._lock:
            if any(entry.opaque for entry in self._entries.values()):
                what = "entries that this version cannot read may contain removed content"
                raise TranscriptError(what, fix="use the newer version of promptdsl")
            save_lines(path, without_removed(self._entries, self._state))


_ASYNCHRONOUS: WeakSet[StoredLog] = WeakSet()
"""The transcripts whose changes wait for ``acommit()``."""


@atexit.register
def _warn_at_exit() -> None:
    """Warn of changes that are lost with the program: later, Python shows no warning any more."""
    for transcript in [*_ASYNCHRONOUS]:
        transcript._warn_of_lost_changes()
