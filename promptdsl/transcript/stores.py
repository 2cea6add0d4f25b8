"""Stores of transcripts: the protocol of a store, and a single key of a store (``BoundStore``)."""

import os
from collections.abc import Awaitable, Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from inspect import isawaitable, iscoroutine, iscoroutinefunction
from threading import RLock
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar, cast
from weakref import WeakSet

from promptdsl.foundation.errors import ConflictError, OptionError, TranscriptError, shown
from promptdsl.foundation.source import Source
from promptdsl.foundation.unicode import is_valid_unicode
from promptdsl.transcript.entries import TranscriptEntry, entry_of

if TYPE_CHECKING:
    from asyncio import Lock

SEALED = "sealed"
"""The type of an encrypted entry. It is never registered, so such an entry is opaque."""
P = ParamSpec("P")
R = TypeVar("R")

REFRESH_ADVICE = (
    "call refresh() or arefresh(), check the new entries, and repeat your change; "
    "if there are no new entries, the transcript was deleted: open it again"
)


class TranscriptStore(Protocol):
    """A store of many transcripts, each with a key. It needs two methods, sync or async.

    A transcript calls ``append`` with entries whose numbers follow the last number that it knows.
    Write each entry with :meth:`TranscriptEntry.to_line`, and read it with
    :meth:`TranscriptEntry.from_line`. ``list(prefix="")``, which returns the keys, and
    ``delete(key)`` are optional. :func:`promptdsl.testing.check_store` tests a store.

    >>> from threading import Lock
    >>> from promptdsl import ConflictError, Transcript, TranscriptEntry
    >>> class MemoryStore:
    ...     def __init__(self):
    ...         self.lines, self.lock = {}, Lock()
    ...     def append(self, key, entries):
    ...         with self.lock:
    ...             lines = self.lines.setdefault(key, [])
    ...             if entries[0].number != len(lines) + 1:
    ...                 raise ConflictError("another writer was faster")
    ...             lines.extend([entry.to_line() for entry in entries])
    ...     def load(self, key, after=0):
    ...         return map(TranscriptEntry.from_line, self.lines.get(key, [])[after:])
    >>> store = MemoryStore()
    >>> entry = Transcript.open("1881", store=store).append("Why twice?")
    >>> [message.text for message in Transcript.open("1881", store=store)]
    ['Why twice?']
    """

    def append(self, key: str, entries: Sequence[TranscriptEntry]) -> Awaitable[None] | None:
        """Add all entries to the entries of a key, or none of them.

        Raises :class:`ConflictError` if a number is already taken: another writer was faster.
        """

    def load(
        self, key: str, after: int = 0
    ) -> Iterable[TranscriptEntry] | Awaitable[Iterable[TranscriptEntry]]:
        """Return the entries with a number above ``after``, in order; an unknown key has none."""
        ...


class BoundStore:
    """A key of a store, with which a transcript writes its entries."""

    salvage = False
    notes = ()

    def __init__(
        self,
        store: TranscriptStore,
        key: object,
        *,
        read_only: bool,
        async_lock: "Lock | None" = None,
    ) -> None:
        if not isinstance(key, str) or not key or "\0" in key or not is_valid_unicode(key):
            raise OptionError(
                f"{shown(key)} is not a key", fix='write a text, such as "tickets/1881"'
            )
        if isinstance(store, type) or not callable(getattr(store, "load", None)):
            what = f"{shown(store)} is not a store"
            raise OptionError(what, fix='write store=SqliteStore("chats.db"), or another store')
        self.store, self.key = store, key
        self.read_only = read_only
        self.async_lock = async_lock
        """The lock of the task that writes or reads, if an asynchronous program uses the store.

        Then changes stay in memory until ``acommit()``. Without this lock, each change is written
        at once.
        """
        self.committed = 0
        """With ``async_lock``: the number of the last entry in the store."""
        self.unconfirmed: list[TranscriptEntry] = []
        """The entries of an append that raised an error: they may have been written or not."""
        self.opening_line: Source | None = None
        """With ``async_lock``: the author's line that opened the transcript.

        ``None`` if no warning is needed when changes are lost.
        """
        self.refused = False
        """Whether an error has reported the pending entries that can never be written."""

    def noted_conflict(self, entries: Sequence[TranscriptEntry]) -> ConflictError:
        """Note that pending entries can never be written, and return the error to raise."""
        error = ConflictError(f"another writer was faster with {self.key!r}", fix=REFRESH_ADVICE)
        error.entries, self.refused = tuple(entries), True
        return error

    def close(self) -> None:
        """Do nothing: a store stays open for its other keys."""

    def read(self, after: int) -> list[TranscriptEntry]:
        """Return the entries after a number; :class:`TranscriptError` if an entry is missing."""
        return self._checked(_returned(self.store.load(self.key, after)), after)

    async def aread(self, after: int) -> list[TranscriptEntry]:
        """Return the entries as :meth:`read`, from a sync or async store."""
        return self._checked(await _awaited(self.store.load, self.key, after), after)

    def _checked(self, stored: Any, after: int) -> list[TranscriptEntry]:
        """Return what a store returned as a list of entries, whose numbers have no gap."""
        entries: list[TranscriptEntry] = [*cast("Iterable[TranscriptEntry]", stored)]
        for number, entry in enumerate(entries, after + 1):
            if entry.number != number:
                subject = f"entry {entry.number} of {self.key!r}"
                what = f"the store has {subject} where {number} should be"
                raise TranscriptError(what, fix="restore it from a copy")
        return entries

    def write(self, entries: Sequence[TranscriptEntry]) -> None:
        """Write entries at once; with ``async_lock``, do nothing: :meth:`awrite` writes them later.

        If this raises an error, the entries stay in ``unconfirmed``: they may have been written.
        """
        if self.async_lock is None:
            with self._in_doubt(entries):
                _returned(self.store.append(self.key, entries))

    async def awrite(self, entries: Sequence[TranscriptEntry]) -> None:
        """Write entries to a sync or async store.

        Then ``committed`` is the number of the last entry, and ``unconfirmed`` is empty. If this
        raises an error, the entries stay in ``unconfirmed``, as after :meth:`write`.
        """
        with self._in_doubt(entries):
            await _awaited(self.store.append, self.key, entries)
        self.unconfirmed, self.committed = [], entries[-1].number

    @contextmanager
    def _in_doubt(self, entries: Sequence[TranscriptEntry]) -> Generator[None]:
        """Note entries as unconfirmed while they are written, and after an error.

        After a conflict, these entries were certainly not written. Those of an earlier append may
        have been.
        """
        earlier, self.unconfirmed = self.unconfirmed, [*entries]
        try:
            yield
        except ConflictError:
            self.unconfirmed = earlier
            raise


def _returned(returned: R) -> R:
    """Return what a method of a store returned; :class:`OptionError` for an awaitable."""
    if isawaitable(returned):
        if iscoroutine(returned):
            returned.close()
        fix = "await Transcript.aopen(key, store=...)"
        raise OptionError("this store is asynchronous", fix=fix)
    return returned


async def _awaited(method: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> object:
    """Return what a method returns; a method that is not asynchronous runs in a thread."""
    if iscoroutinefunction(method):
        return await method(*args, **kwargs)
    from asyncio import to_thread

    # With this lambda, errors do not show a line of the thread as the author's line.
    returned = await to_thread(lambda: method(*args, **kwargs))
    return await returned if isawaitable(returned) else returned


_LOCKS: WeakSet[RLock] = WeakSet()
_LOCKS_LOCK = RLock()
"""The lock for adding a lock to ``_LOCKS``, and for listing them."""
_FORK_LOCK = RLock()
"""The lock for forking the process, because two threads may fork at the same time."""
_HELD: list[RLock] = []
"""The locks that are held while the process forks."""
FORK_TIMEOUT = 5.0
"""How many seconds a fork waits for a lock. (Its owner may wait for the fork.)"""


def fork_safe_lock() -> RLock:
    """Return a lock that no thread holds while the process forks.

    Otherwise a child would inherit a held lock, a locked file or a transaction, without the thread
    that could end it.
    """
    lock = RLock()
    with _LOCKS_LOCK:
        _LOCKS.add(lock)
    return lock


def _before_fork() -> None:
    _FORK_LOCK.acquire()
    with _LOCKS_LOCK:
        locks = sorted(_LOCKS, key=id)
    _HELD[:] = [lock for lock in locks if lock.acquire(timeout=FORK_TIMEOUT)]


def _after_fork() -> None:
    while _HELD:
        _HELD.pop().release()
    _FORK_LOCK.release()


def _after_fork_in_child() -> None:
    for lock in (_LOCKS_LOCK, *(lock for lock in _LOCKS if lock not in _HELD)):
        release: Any = getattr(lock, "_at_fork_reinit")  # noqa: B009 (types do not know of it)
        release()  # the thread that has the lock is not in this process
    _after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork_in_child
    )


def append_conflict(key: str, number: int) -> ConflictError:
    """Return the error of a store that already has this entry, or lacks the entry before it."""
    what = f"another writer was faster with {key!r}: entry {number} cannot be the next entry"
    return ConflictError(what, fix=REFRESH_ADVICE)


def entry_of_row(key: str, number: int, line: str | bytes) -> TranscriptEntry:
    """Return the entry of a row; :class:`TranscriptError`, with its number, if it was changed."""
    try:
        return entry_of(line.encode() if isinstance(line, str) else line)
    except ValueError as error:
        what = f"entry {number} of {key!r} is damaged: {error}"
        raise TranscriptError(what, fix="restore it from a copy") from None
