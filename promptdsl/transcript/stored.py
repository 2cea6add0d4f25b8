"""Transcripts in files and stores: how they are opened, written and saved, and follow a writer.

Read ``StoredLog.open`` first, then ``_commit``. It checks whether a change that raised an error was
written nevertheless.
"""

import atexit
import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Never, Self, TypeAlias, cast
from weakref import WeakSet

from promptdsl.foundation.errors import ConflictError, OptionError, TranscriptError
from promptdsl.foundation.source import async_public_api, author, public_api, warn_of_unfinished
from promptdsl.transcript.base import Clock, Ids, NewEntry, Path, TranscriptLog
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
            return  # to read a pipe would wait
        with open(name, "rb") as file:
            is_database = file.read(len(DATABASE)) == DATABASE
    except (OSError, TypeError, ValueError):
        return  # the error comes when the file is opened for its entries
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
        *further: Never,
        store: TranscriptStore | None = None,
        read_only: bool = False,
        salvage: bool = False,
        clock: Clock = utc_now,
        ids: Ids = None,
    ) -> Self:
        """Return the transcript in a file; a missing file is made.

        The transcript is the only writer of the file until ``close()``, or until the end of its
        ``with`` block. ``read_only=True`` reads while another transcript writes. ``salvage=True``
        reads the undamaged lines of a damaged file; ``repairs`` lists the damaged lines. Raises
        :class:`ConflictError` if another writer has the file open, and :class:`TranscriptError`,
        with line and byte, for a damaged file.

        With ``store``, ``path`` is a key in the store. Several processes may have the same key
        open. A change raises :class:`ConflictError` if another process changed the transcript
        first.
        """
        if further:
            problem = f"open() takes 1 argument by position, not {1 + len(further)}"
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

        Entries that are not yet in an asynchronous store are dropped.
        """
        loaded_before, state = self._entries, self._state
        if isinstance(file, BoundStore) and file.turn is not None and file.committed < self._last:
            loaded_before = {n: entry for n, entry in loaded_before.items() if n <= file.committed}
            state = state_after(loaded_before)
        entries = loaded_before | {entry.number: entry for entry in new}
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

    def _commit(self, new_entries: list[NewEntry]) -> list[TranscriptEntry]:
        """Write entries. After an append that raised, check first whether it was written."""
        store = self._file
        if not isinstance(store, BoundStore) or store.turn is not None:
            return super()._commit(new_entries)
        if tried := store.unconfirmed:
            if entries := self._already_written(store, new_entries):
                return entries
            if len(tried) == len(new_entries) and all(map(self._is_same, tried, new_entries)):
                # Each of the attempts may still be written, so all have the same ids.
                pairs = zip(tried, new_entries, strict=True)
                new_entries = [NewEntry(n.type, e.data, e.message, n.value) for e, n in pairs]
        try:
            entries = super()._commit(new_entries)
        except ConflictError:
            # The earlier append may have been written meanwhile.
            if store.unconfirmed and (entries := self._already_written(store, new_entries)):
                return entries
            raise
        store.unconfirmed = []
        return entries

    def _already_written(
        self, store: BoundStore, new_entries: list[NewEntry]
    ) -> list[TranscriptEntry]:
        """Return the entries of a repeated change, if its first attempt was written."""
        new = store.read(self._last)
        if not new:
            return []
        tried, store.unconfirmed = store.unconfirmed, []
        self._load(store, new)
        self._deliver(new)
        count = min(len(new), len(tried))
        is_ours = new[:count] == tried[:count]
        if is_ours and all(map(self._is_same, new, new_entries)):
            if len(new_entries) > count:
                return [*new[:count], *super()._commit(new_entries[count:])]
            return new[:count]
        whose = "the change before this one" if is_ours else "a change of another writer"
        fix = "it is in this transcript now: check it, and repeat your change"
        raise ConflictError(f"{whose} was written to {store.key!r}", fix=fix)

    def _is_same(self, entry: TranscriptEntry, new: NewEntry) -> bool:
        """Return whether an entry is the same change; generated ids may differ."""
        again = TranscriptEntry(entry.number, new.type, None, 0, cast("Any", new.data), new.message)
        recorded, repeated = dict[str, Any](entry.data), dict[str, Any](again.data)
        if self._ids is not None and "message" in recorded.keys() & repeated.keys():
            recorded["message"] = {**recorded["message"], "id": None}
            repeated["message"] = {**repeated["message"], "id": None}
        return entry.type == new.type and recorded == repeated

    @async_public_api
    async def acommit(self) -> None:
        """Write the pending changes to the store; do nothing without pending changes.

        Raises :class:`ConflictError` if another writer was faster: its ``entries`` are the entries
        that the store refused, and :meth:`arefresh` drops them. After any other error, the entries
        may be written or not: the next ``acommit`` checks this, and writes those that are missing.
        """
        store = self._file
        if not isinstance(store, BoundStore) or store.turn is None:
            return
        # If this raises an exception, the author knows about the changes: no warning is needed.
        opened_at, store.opened_at = store.opened_at, None
        async with store.turn:
            while entries := self._unwritten(store):
                unconfirmed = store.unconfirmed
                if unconfirmed and await self._confirmed(store, entries):
                    continue
                try:
                    await store.awrite(entries)
                except ConflictError as error:
                    # The earlier append may have been written meanwhile.
                    if unconfirmed and await self._confirmed(store, entries):
                        continue
                    raise store.conflict(entries) from error
        store.opened_at = opened_at

    async def _confirmed(self, store: BoundStore, entries: list[TranscriptEntry]) -> bool:
        """Note which entries are already in the store; return whether there are any."""
        stored = await store.aread(store.committed)
        pairs = [*zip(stored, entries, strict=False)]
        count = next((n for n, (there, mine) in enumerate(pairs) if there != mine), len(pairs))
        store.committed += count
        if count < len(pairs):
            raise store.conflict(entries[count:])
        return count > 0

    def _unwritten(self, store: BoundStore) -> list[TranscriptEntry]:
        """Return the entries that are not written yet."""
        with self._lock:
            return [self._entries[n] for n in range(store.committed + 1, self._last + 1)]

    def _gapless(self) -> dict[int, TranscriptEntry]:
        """Return the entries for a copy; for a damaged file, its current content without a gap."""
        if self._file is None or not self._file.salvage:
            return self._entries
        return {entry.number: entry for entry in without_removed(self._entries, self._state)}

    def _note_read_only(self, new: Iterable[TranscriptEntry]) -> None:
        opaque = next((entry for entry in new if entry.opaque), None)
        if opaque is not None:
            fix = "import the module that registers the type, or use a newer version of promptdsl"
            if opaque.type == SEALED:
                fix = "it is encrypted: open it with store=EncryptedStore(store, key)"
            self._closed = (f"entry {opaque.number} has the unknown type {opaque.type!r}", fix)
        elif self._closed is None and self._file is not None and self._file.read_only:
            self._closed = ("it is open read-only", "change a fork() of it")

    @public_api
    def close(self) -> None:
        """Close the file of the transcript, so that another writer may open it.

        Raises :class:`TranscriptError` if changes are not yet written by :meth:`acommit`.
        """
        with self._lock:
            file = self._file
            if file is None:
                return
            file.close()
            self._closed = ("it is closed", "change a fork() of it, or open it again")
            if isinstance(file, BoundStore) and file.turn is not None and self._unwritten(file):
                fix = "await transcript.acommit() before, or write async with"
                raise TranscriptError(f"the last changes of {file.key!r} are not written", fix=fix)

    def __del__(self) -> None:
        self._warn_of_lost_changes()

    def _warn_of_lost_changes(self) -> None:
        """Warn, once, if the transcript is discarded before ``acommit()`` wrote its changes."""
        file = getattr(self, "_file", None)
        if not isinstance(file, BoundStore) or file.opened_at is None or self._closed is not None:
            return
        opened_at, file.opened_at = file.opened_at, None
        count = self._last - file.committed
        if count > 0 and not file.refused:
            warn_of_unfinished(
                f"{count} changes of the transcript {file.key!r} are lost: they were not written",
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
        """Write the pending changes, unless the block raised an exception, and close."""
        try:
            if kind is None:
                await self.acommit()
        finally:
            self.__exit__(kind or sys.exc_info()[0])

    @public_api
    def refresh(self) -> tuple[TranscriptEntry, ...]:
        """Read the entries that another process has written meanwhile, and return them.

        A transcript in memory has no such entries, nor has the only writer of a file. Raises
        :class:`ConflictError` if the file was cut, or replaced by another file.
        """
        with self._lock:
            file = self._file
            if isinstance(file, BoundStore):
                if file.turn is not None:
                    fix = "await transcript.arefresh()"
                    raise OptionError("refresh() cannot wait for an asynchronous store", fix=fix)
                new = file.read(self._last)
                if new:  # other entries have the numbers of an unconfirmed append
                    file.unconfirmed = []
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
        """Read the entries that other writers have written, and return them; for :meth:`aopen`.

        Pending changes stay if nobody else has written. Otherwise this raises the
        :class:`ConflictError` of :meth:`acommit`. Call it again after this error: it then drops the
        pending changes.
        """
        store = self._file
        if not isinstance(store, BoundStore) or store.turn is None:
            return self.refresh()
        async with store.turn:
            stored = await store.aread(store.committed)
            with self._lock:
                if not store.refused:
                    mine = {entry.number: entry for entry in self._unwritten(store)}
                    new = [entry for entry in stored if mine.get(entry.number) != entry]
                    store.committed += len(stored) - len(new)
                    if not new:
                        return ()
                    if unwritten := self._unwritten(store):
                        raise store.conflict(unwritten)
                    stored = new
                self._load(store, stored)
                # An unconfirmed append was read: the next commit need not check it.
                store.unconfirmed, store.refused = [], False
                self._deliver(stored)
                return tuple(stored)

    @public_api
    def save(self, path: Path) -> None:
        """Write a copy of all entries to another file, completely or not at all.

        Raises :class:`ConflictError` if a writer has a file with this name open.
        """
        with self._lock:
            save_lines(path, self._gapless().values())

    @public_api
    def vacuum(self, path: Path) -> None:
        """Write a copy with only the current content to another file; entries keep their numbers.

        Content that was removed, replaced, undone or summarised is not in the copy. It may still be
        in the text of a summary, in forks and in backups. Raises the errors of :meth:`save`.
        """
        with self._lock:
            if any(entry.opaque for entry in self._entries.values()):
                what = "entries that this version cannot read may contain removed content"
                raise TranscriptError(what, fix="use the newer version of promptdsl")
            save_lines(path, without_removed(self._entries, self._state))


_ASYNCHRONOUS: WeakSet[StoredLog] = WeakSet()
"""The transcripts that write their changes only by ``acommit()``."""


@atexit.register
def _warn_at_exit() -> None:
    """Warn about changes that are lost when the program ends; later, Python shows no warnings."""
    for transcript in [*_ASYNCHRONOUS]:
        transcript._warn_of_lost_changes()
