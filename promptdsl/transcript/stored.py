"""Transcripts in files and stores: opening, writing, saving, following another writer."""

import sys
from collections.abc import Iterable
from contextlib import nullcontext, suppress
from typing import Any, Self, TypeAlias, cast

from promptdsl.foundation.errors import ConflictError, OptionError, TranscriptError
from promptdsl.foundation.source import async_door, door
from promptdsl.transcript.base import Clock, Ids, New, Path, TranscriptLog
from promptdsl.transcript.entries import TranscriptEntry, utc_now
from promptdsl.transcript.files import TranscriptFile, save_lines
from promptdsl.transcript.log import standing
from promptdsl.transcript.salvage import only_standing, pruned
from promptdsl.transcript.stores import SEALED, BoundStore, TranscriptStore
from promptdsl.transcript.values import above

Backing: TypeAlias = TranscriptFile | BoundStore


class StoredLog(TranscriptLog):
    """The log of a transcript that may be in a file."""

    @classmethod
    @door
    def open(
        cls,
        path: Path,
        *,
        store: TranscriptStore | None = None,
        read_only: bool = False,
        salvage: bool = False,
        clock: Clock = utc_now,
        ids: Ids = None,
    ) -> Self:
        """Return the transcript in a file, which is made when it is missing.

        It is the only writer of the file until ``close()``, or the end of its ``with`` block.
        ``read_only=True`` reads while another one writes. ``salvage=True`` reads what is good of a
        damaged file; ``repairs`` tells what is not. Raises :class:`ConflictError` where another
        writer has it, :class:`TranscriptError` with line and byte for a damaged file.

        With ``store``, ``path`` is a key in it. Several processes may have it open: a change that
        another one was faster with is refused with a :class:`ConflictError`.
        """
        if store is not None and salvage:
            raise OptionError("salvage=True is for files", fix="restore the store from a copy")
        self = cls.__new__(cls)
        self._begin(clock, ids)
        if store is not None:
            bound = BoundStore(store, path, read_only=read_only)
            self._load(bound, bound.read(0))
            return self
        file = TranscriptFile(path, read_only=read_only or salvage, salvage=salvage)
        try:
            self._load(file, file.read())
        except BaseException:
            file.close()
            raise
        return self

    @classmethod
    @async_door
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

        Changes stay in memory until ``await transcript.acommit()``. The methods of a store that is
        not asynchronous run in a thread.
        """
        from asyncio import Lock

        self = cls.__new__(cls)
        self._begin(clock, ids)
        bound = BoundStore(store, key, read_only=read_only, turn=Lock())
        self._load(bound, await bound.aread(0))
        return self

    def _load(self, file: Backing, new: list[TranscriptEntry]) -> None:
        """Add entries that were read, and note what stands.

        Those behind the last one that a store has are not kept.
        """
        known, state = self._entries, self._state
        if isinstance(file, BoundStore) and file.turn is not None and file.committed < self._last:
            known = {n: entry for n, entry in known.items() if n <= file.committed}
            state = standing(known)
        entries = known | {entry.number: entry for entry in new}
        notes = [*file.notes]
        try:
            if file.salvage:
                state = pruned(entries, above().repair, notes)
            else:
                state.follow(entries, new)
            self._file, self._entries, self._state = file, entries, state
        except BaseException:
            self._stand_after(self._last)
            raise
        if isinstance(file, BoundStore):
            file.committed = self._last
        else:
            self.repairs = tuple(notes)
        self._changed()
        self._note_read_only(new)

    def _commit(self, news: list[New]) -> list[TranscriptEntry]:
        """Write entries. Where an append raised before, look first whether it was written."""
        store = self._file if isinstance(self._file, BoundStore) else None
        if store is None or store.turn is not None:
            return super()._commit(news)
        if tried := store.doubtful:
            if done := self._landed(store, news):
                return done
            if len(tried) == len(news) and all(map(self._is_same, tried, news)):
                # Any of the tries may still be written: all have the same ids.
                pairs = zip(tried, news, strict=True)
                news = [New(n.type, e.data, e.message, n.value) for e, n in pairs]
        try:
            done = super()._commit(news)
        except ConflictError:
            # The earlier append may have been written since.
            if store.doubtful and (done := self._landed(store, news)):
                return done
            raise
        store.doubtful = []
        return done

    def _landed(self, store: BoundStore, news: list[New]) -> list[TranscriptEntry]:
        """Return the entries of a change that was repeated, if the first try was written."""
        found = store.read(self._last)
        if not found:
            return []
        tried, store.doubtful = store.doubtful, []
        self._load(store, found)
        self._deliver(found)
        count = min(len(found), len(tried))
        is_ours = found[:count] == tried[:count]
        if is_ours and all(map(self._is_same, found, news)):
            return [*found[:count], *(super()._commit(news[count:]) if news[count:] else [])]
        whose = "the change before this one" if is_ours else "a change of another writer"
        fix = "the transcript has it now: look at it, and make your change again"
        raise ConflictError(f"{whose} was written to {store.key!r}", fix=fix)

    def _is_same(self, entry: TranscriptEntry, new: New) -> bool:
        """Return whether an entry is a change that is made again; ids that are made may differ."""
        again = TranscriptEntry(entry.number, new.type, None, 0, cast("Any", new.data), new.message)
        kept, given = dict[str, Any](entry.data), dict[str, Any](again.data)
        if self._ids is not None and "message" in kept.keys() & given.keys():
            kept["message"] = {**kept["message"], "id": None}
            given["message"] = {**given["message"], "id": None}
        return entry.type == new.type and kept == given

    @async_door
    async def acommit(self) -> None:
        """Write what changed to the store; there is nothing to do where each change is written.

        Raises :class:`ConflictError` when another writer was faster: its ``entries`` are those that
        the store refused, and :meth:`arefresh` drops them. After any other error nobody knows
        whether they were written: the next ``acommit`` looks, and writes what is missing.
        """
        store = self._file
        if not isinstance(store, BoundStore) or store.turn is None:
            return
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

    async def _confirmed(self, store: BoundStore, entries: list[TranscriptEntry]) -> bool:
        """Return whether some entries are in the store already, which then count as written."""
        found = await store.aread(store.committed)
        pairs = [*zip(found, entries, strict=False)]
        count = next((n for n, (one, other) in enumerate(pairs) if one != other), len(pairs))
        store.committed += count
        if count < len(pairs):
            raise store.conflict(entries[count:])
        return count > 0

    def _waiting(self, store: BoundStore) -> list[TranscriptEntry]:
        """Return the entries that are not written yet."""
        with self._lock:
            return [self._entries[n] for n in range(store.committed + 1, self._last + 1)]

    def _gapless(self) -> dict[int, TranscriptEntry]:
        """Return the entries for a copy: of a damaged file what stands, without a gap."""
        if self._file is None or not self._file.salvage:
            return self._entries
        return {entry.number: entry for entry in only_standing(self._entries, self._state)}

    def _note_read_only(self, new: Iterable[TranscriptEntry]) -> None:
        opaque = next((entry for entry in new if entry.opaque), None)
        if opaque is not None:
            fix = "import what registers the type, or use a newer version of promptdsl"
            if opaque.type == SEALED:
                fix = "it is encrypted: open it with store=EncryptedStore(store, key)"
            self._closed = (f"entry {opaque.number} has the unknown type {opaque.type!r}", fix)
        elif self._closed is None and self._file is not None and self._file.read_only:
            self._closed = ("it is open to be read only", "change a fork() of it")

    @door
    def close(self) -> None:
        """Close the file, if it has one: then another writer may open it.

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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        with suppress(TranscriptError) if kind else nullcontext():
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

    @door
    def refresh(self) -> tuple[TranscriptEntry, ...]:
        """Read what another process wrote since; return the new entries.

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
                if new:  # the numbers of an append in doubt are taken: nothing is open
                    file.doubtful = []
            elif file is None or not file.read_only or file.salvage:
                return ()
            else:
                new = file.read()
            if new:
                self._load(file, new)
            self._deliver(new)
            return tuple(new)

    @async_door
    async def arefresh(self) -> tuple[TranscriptEntry, ...]:
        """Read what others wrote since, and return it: :meth:`refresh` after :meth:`aopen`.

        Changes that wait stay where nobody else wrote. If others did, it raises the
        :class:`ConflictError` of :meth:`acommit`; once either has raised it, it drops them.
        """
        store = self._file
        if not isinstance(store, BoundStore) or store.turn is None:
            return self.refresh()
        async with store.turn:
            found = await store.aread(store.committed)
            with self._lock:
                if not store.refused:
                    mine = {entry.number: entry for entry in self._waiting(store)}
                    new = [entry for entry in found if mine.get(entry.number) != entry]
                    store.committed += len(found) - len(new)
                    if not new:
                        return ()
                    if left := self._waiting(store):
                        raise store.conflict(left)
                    found = new
                self._load(store, found)
                # What was in doubt was read: the next commit need not look for it.
                store.doubtful, store.refused = [], False
                self._deliver(found)
                return tuple(found)

    @door
    def save(self, path: Path) -> None:
        """Write a copy of all entries to another file, whole or not at all.

        Raises :class:`ConflictError` where a writer has a file of this name open.
        """
        with self._lock:
            save_lines(path, self._gapless().values())

    @door
    def vacuum(self, path: Path) -> None:
        """Write a copy of what stands to another file; every entry keeps its number.

        What was removed, replaced, undone or is under a summary is not in it. It does not reach
        the words of a summary, forks and backups. Errors are those of :meth:`save`.
        """
        with self._lock:
            if any(entry.opaque for entry in self._entries.values()):
                what = "entries that this version cannot read may hold what was removed"
                raise TranscriptError(what, fix="use the newer version of promptdsl")
            save_lines(path, only_standing(self._entries, self._state))
