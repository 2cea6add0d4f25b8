"""Transcripts in files and stores: how they are opened, written and saved, and follow a writer.

Read ``StoredLog.open`` and ``_load`` first, then ``_commit`` (each change is written at once) and
``acommit`` (an asynchronous program writes its changes later). Both check whether entries whose
append raised an error were written nevertheless. A ``BoundStore`` (``stores.py``) has three
attributes for this:

- ``unconfirmed``: the entries of an append that raised an error. Its methods ``write`` and
  ``awrite`` set it. Here it is only emptied, when it is known whether they were written.
- ``committed``: for an asynchronous program, the number of the last entry that is in the store.
- ``refused``: whether a ``ConflictError`` has reported the pending entries. Then ``arefresh`` drops
  them.
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
from promptdsl.foundation.unicode import equal_start
from promptdsl.transcript.base import Clock, Ids, NewEntry, Path, TranscriptLog
from promptdsl.transcript.entries import TranscriptEntry, utc_now
from promptdsl.transcript.files import TranscriptFile, save_lines
from promptdsl.transcript.log import pruned, state_after, without_removed
from promptdsl.transcript.stores import SEALED, BoundStore, TranscriptStore
from promptdsl.transcript.values import above

Backing: TypeAlias = TranscriptFile | BoundStore

SQLITE_HEADER = b"SQLite format 3\0"
"""The beginning of every database of SQLite 3."""


def _refuse_database(path: Path) -> None:
    """Raise :class:`TranscriptError` for a database, which needs a store."""
    try:
        name = os.fspath(path)  # open() would take a number for a descriptor, and close it
        if not os.path.isfile(name):
            return  # to read a pipe would wait
        with open(name, "rb") as file:
            is_database = file.read(len(SQLITE_HEADER)) == SQLITE_HEADER
    except (OSError, TypeError, ValueError):
        return  # the error comes when the file is opened for its entries
    if is_database:
        raise TranscriptError(
            f"{name!r} is a database, not the file of a transcript",
            fix=f"write Transcript.open(key, store=SqliteStore({name!r}))",
        )


class StoredLog(TranscriptLog):
    """The log of a transcript that may be in a file or a store."""

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
        """Return the transcript in a file; a missing file is made, unless it is only read.

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
        bound = BoundStore(store, key, read_only=read_only, async_lock=Lock())
        bound.opening_line = author()
        self._load(bound, await bound.aread(0))
        _ASYNCHRONOUS.add(self)
        return self

    def _load(self, backing: Backing, new: list[TranscriptEntry]) -> None:
        """Add entries that were read from a file or store, and compute the state after them.

        Entries that are in memory, but not yet in an asynchronous store, are dropped. Raises
        :class:`TranscriptError` for an entry that changes a turn that is not current: then the
        entries and the state of the transcript stay.
        """
        loaded, state = self._entries, self._state
        if (
            isinstance(backing, BoundStore)
            and backing.async_lock is not None
            and backing.committed < self._last
        ):
            loaded = {n: entry for n, entry in loaded.items() if n <= backing.committed}
            state = state_after(loaded)
        entries = loaded | {entry.number: entry for entry in new}
        notes = [*backing.notes]
        try:
            if backing.salvage:
                # ``above()`` has the functions of packages above, which cannot be imported here.
                state = pruned(entries, above().repair, notes)
            else:
                state.follow(entries, new)
            self._backing, self._entries, self._state = backing, entries, state
        except BaseException:
            # follow() changes the state itself, and may have stopped halfway.
            self._rebuild(self._last)
            raise
        if isinstance(backing, BoundStore):
            backing.committed = self._last
        else:
            self.repairs = tuple(notes)
        self._changed()
        self._note_refusal(new)

    def _commit(self, new_entries: list[NewEntry]) -> list[TranscriptEntry]:
        """Write entries. After an append that raised, check first whether it was written."""
        store = self._backing
        if not isinstance(store, BoundStore) or store.async_lock is not None:
            return super()._commit(new_entries)
        if tried := store.unconfirmed:
            if entries := self._already_written(store, new_entries):
                return entries
            if len(tried) == len(new_entries) and all(map(self._is_same, tried, new_entries)):
                # The first attempt may still be written, instead of this one. So this one has the
                # same data, with the same generated ids.
                pairs = zip(tried, new_entries, strict=True)
                new_entries = [
                    NewEntry(new.type, entry.data, entry.message, new.value) for entry, new in pairs
                ]
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
        """Return the entries of a repeated change whose first attempt was written.

        Return an empty list if the store has no further entries. Otherwise these are added to the
        transcript, and the subscribers get them. If the first attempt was written only in part,
        this function writes the rest. Raises :class:`ConflictError` if the store has another
        change than the repeated one.
        """
        stored = store.read(self._last)
        if not stored:
            return []
        tried, store.unconfirmed = store.unconfirmed, []
        self._load(store, stored)
        self._deliver(stored)
        # The store may have more entries, of other writers, or only some of those tried.
        count = min(len(stored), len(tried))
        is_first_attempt = stored[:count] == tried[:count]
        # all() compares the entries up to the end of the shorter list.
        if is_first_attempt and all(map(self._is_same, stored, new_entries)):
            if len(new_entries) > count:
                return [*stored[:count], *super()._commit(new_entries[count:])]
            return stored[:count]
        change = "the change before this one" if is_first_attempt else "a change of another writer"
        fix = "it is in this transcript now: check it, and repeat your change"
        raise ConflictError(f"{change} was written to {store.key!r}", fix=fix)

    def _is_same(self, entry: TranscriptEntry, new: NewEntry) -> bool:
        """Return whether an entry is the same change.

        If the transcript generates ids, no id of a message is compared. This is also so for an id
        that the author passed.
        """
        # Only the data is compared, so the time and the number of the change do not matter.
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
        store = self._backing
        if not isinstance(store, BoundStore) or store.async_lock is None:
            return
        # Changes that are lost cause a warning at the opening line. Without this line there is no
        # warning. It is set again only at the end of this method: if the method raises an
        # exception, the author knows about the changes.
        opening_line, store.opening_line = store.opening_line, None
        async with store.async_lock:
            # Each round moves ``store.committed`` forward or raises an error, so the loop ends.
            while entries := self._unwritten(store):
                has_unconfirmed = bool(store.unconfirmed)
                if has_unconfirmed and await self._note_stored(store, entries):
                    continue
                try:
                    await store.awrite(entries)
                except ConflictError as error:
                    # The earlier append may have been written meanwhile.
                    if has_unconfirmed and await self._note_stored(store, entries):
                        continue
                    raise store.noted_conflict(entries) from error
        # A second ``acommit`` at the same time has no line to set, so it keeps that of the first.
        store.opening_line = opening_line or store.opening_line

    async def _note_stored(self, store: BoundStore, entries: list[TranscriptEntry]) -> bool:
        """Note which pending entries the store already has; return whether it has any.

        They are the first of the pending entries, and ``store.committed`` is moved after them.
        Raises :class:`ConflictError` if the store has another entry instead of a pending one. It is
        no conflict if the store has all pending entries, and then others.
        """
        stored = await store.aread(store.committed)
        count = equal_start(stored, entries)
        store.committed += count
        if count < min(len(stored), len(entries)):
            raise store.noted_conflict(entries[count:])
        return count > 0

    def _unwritten(self, store: BoundStore) -> list[TranscriptEntry]:
        """Return the entries that are not written yet."""
        with self._lock:
            return [self._entries[n] for n in range(store.committed + 1, self._last + 1)]

    def _gapless(self) -> dict[int, TranscriptEntry]:
        """Return the entries for a copy; for a damaged file, its current content without a gap."""
        if self._backing is None or not self._backing.salvage:
            return self._entries
        return {entry.number: entry for entry in without_removed(self._entries, self._state)}

    def _note_refusal(self, new: Iterable[TranscriptEntry]) -> None:
        """Note why the transcript cannot be changed, if an entry or the file is the reason."""
        unreadable = next((entry for entry in new if entry.opaque), None)
        if unreadable is not None:
            fix = "import the module that registers the type, or use a newer version of promptdsl"
            if unreadable.type == SEALED:
                fix = "it is encrypted: open it with store=EncryptedStore(store, key)"
            problem = f"entry {unreadable.number} has the unknown type {unreadable.type!r}"
            self._refusal = (problem, fix)
        elif self._refusal is None and self._backing is not None and self._backing.read_only:
            self._refusal = ("it is open read-only", "change a fork() of it")

    @public_api
    def close(self) -> None:
        """Close the file of the transcript, so that another writer may open it.

        The transcript cannot be changed after that. Raises :class:`TranscriptError` if changes are
        not yet written by :meth:`acommit`; it is closed nevertheless.
        """
        with self._lock:
            backing = self._backing
            if backing is None:
                return
            backing.close()
            self._refusal = ("it is closed", "change a fork() of it, or open it again")
            if (
                isinstance(backing, BoundStore)
                and backing.async_lock is not None
                and self._unwritten(backing)
            ):
                fix = "await transcript.acommit() before, or write async with"
                what = f"the last changes of {backing.key!r} are not written"
                raise TranscriptError(what, fix=fix)

    def __del__(self) -> None:
        self._warn_of_lost_changes()

    def _warn_of_lost_changes(self) -> None:
        """Warn, once, if the transcript is discarded before ``acommit()`` wrote its changes."""
        # An object whose opening failed may have no backing.
        store = getattr(self, "_backing", None)
        if not isinstance(store, BoundStore) or store.opening_line is None:
            return
        if self._refusal is not None:
            return
        opening_line, store.opening_line = store.opening_line, None
        count = self._last - store.committed
        if count > 0 and not store.refused:
            warn_of_unfinished(
                f"{count} changes of the transcript {store.key!r} are lost: they were not written",
                "await transcript.acommit(), or write async with await Transcript.aopen(...)",
                opening_line,
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
            backing = self._backing
            if isinstance(backing, BoundStore):
                if backing.async_lock is not None:
                    fix = "await transcript.arefresh()"
                    raise OptionError("refresh() cannot wait for an asynchronous store", fix=fix)
                new = backing.read(self._last)
                if new:
                    # If an append is unconfirmed, these are its entries, or entries of another
                    # writer with the same numbers. Both answer the question whether it was written.
                    # So the next commit need not check this.
                    backing.unconfirmed = []
            elif backing is None or not backing.read_only or backing.salvage:
                return ()
            else:
                new = backing.read()
            if new:
                self._load(backing, new)
            self._deliver(new)
            return tuple(new)

    @async_public_api
    async def arefresh(self) -> tuple[TranscriptEntry, ...]:
        """Read the entries that other writers have written, and return them; for :meth:`aopen`.

        Pending changes stay if nobody else has written. Otherwise this raises the
        :class:`ConflictError` of :meth:`acommit`. Call it again after this error: it then drops the
        pending changes.
        """
        store = self._backing
        if not isinstance(store, BoundStore) or store.async_lock is None:
            return self.refresh()
        async with store.async_lock:
            new = await store.aread(store.committed)
            with self._lock:
                if not store.refused:
                    # An unconfirmed append may have written the first of the pending entries.
                    count = equal_start(new, self._unwritten(store))
                    store.committed += count
                    new = new[count:]
                    if not new:
                        return ()
                    if unwritten := self._unwritten(store):
                        raise store.noted_conflict(unwritten)
                self._load(store, new)
                # An unconfirmed append was read: the next commit need not check it.
                store.unconfirmed, store.refused = [], False
                self._deliver(new)
                return tuple(new)

    @public_api
    def save(self, path: Path) -> None:
        """Write a copy of all entries to another file, completely or not at all.

        Raises :class:`ConflictError` if a writer has a file with this name open, and
        :class:`TranscriptError` if the file cannot be written.
        """
        with self._lock:
            save_lines(path, self._gapless().values())

    @public_api
    def vacuum(self, path: Path) -> None:
        """Write a copy with only the current content to another file; entries keep their numbers.

        Content that was removed, replaced, undone or summarised is not in the copy. It may still be
        in the text of a summary, in forks and in backups. Raises the errors of :meth:`save`, and
        :class:`TranscriptError` for a transcript with entries that this version cannot read.
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
