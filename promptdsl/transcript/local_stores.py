"""Stores on this machine: a folder with a file for each transcript, or a SQLite database."""

import os
import re
import sqlite3
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from urllib.parse import unquote_to_bytes
from weakref import finalize

from promptdsl.foundation.errors import ConflictError, OptionError, TranscriptError, shown
from promptdsl.foundation.files import checked_path, checked_seconds, sync_folder
from promptdsl.foundation.source import public_api
from promptdsl.transcript.base import Path
from promptdsl.transcript.entries import TranscriptEntry
from promptdsl.transcript.files import Position, TranscriptFile, named
from promptdsl.transcript.stores import append_conflict, entry_of_row, fork_safe_lock

# A store in a folder: a file for each transcript, as ``Transcript.open(path)`` writes it.

SUFFIX = ".jsonl"
LONGEST_NAME = 240
"""The maximum number of characters in the name of a file, without the suffix."""
CACHED_POSITIONS = 4_096
"""The number of files whose read position is cached; for others, an append reads all lines."""
# The name of a file of the store, and the bytes of a key that its name encodes. Windows reserves
# some complete names, such as ``con``: of these, the first letter is encoded.
_NAME = re.compile(r"(?:[a-z0-9_-]|%[0-9A-F]{2})+\.jsonl")
_ENCODED = re.compile(rb"[^a-z0-9_-]|^(?=(con|prn|aux|nul|com\d|lpt\d)$).")


class FolderStore:
    """Transcripts in a folder, with a file for each key; a missing folder is made.

    In the name of a file, all characters of the key are encoded except lower-case letters, digits,
    ``_`` and ``-``. So ``A`` and ``a`` are two files on every system, and no key leads out of the
    folder. Several processes of a machine may write; each append waits for the others, up to
    ``timeout`` seconds.

    >>> from tempfile import mkdtemp
    >>> from promptdsl import FolderStore, Transcript
    >>> store = FolderStore(mkdtemp())
    >>> entry = Transcript.open("Ann/1881", store=store).append("Why twice?")
    >>> [message.text for message in Transcript.open("Ann/1881", store=store)]
    ['Why twice?']
    >>> store.list()
    ['Ann/1881']
    """

    @public_api
    def __init__(self, folder: Path, *, timeout: float = 30) -> None:
        self._folder = os.path.abspath(checked_path(folder, "chats"))
        self._timeout = checked_seconds(timeout)
        self._lock = fork_safe_lock()
        self._positions: dict[str, Position] = {}
        with named("make", self._folder):
            os.makedirs(self._folder, exist_ok=True)

    @public_api
    def append(self, key: str, entries: Sequence[TranscriptEntry]) -> None:
        """Append entries to the entries of a key, and wait until they are on the disk.

        Raises :class:`ConflictError` if another writer was faster, and :class:`TranscriptError` if
        the file cannot be written, or is locked for longer than ``timeout``.
        """
        if not entries:
            return
        first, path = entries[0].number, self.path(key)
        if first > 1 and not os.path.exists(path):
            raise append_conflict(key, first)
        with self._locked(path) as file:
            if file.last + 1 != first:
                raise append_conflict(key, first)
            file.write(entries)

    @public_api
    def load(self, key: str, after: int = 0) -> list[TranscriptEntry]:
        """Return the entries of a key; :class:`TranscriptError` for a damaged line."""
        path = self.path(key)
        if not os.path.exists(path):
            return []
        file = TranscriptFile(path, read_only=True, salvage=False)
        try:
            position = self._positions.get(path)
            if position is not None and position.last <= after:
                file.go_on_from(position)
            return [entry for entry in file.read() if entry.number > after]
        finally:
            file.close()

    @public_api
    def list(self, prefix: str = "") -> "list[str]":
        """Return the keys that begin with a text, in order."""
        keys = map(_key_of, os.listdir(self._folder))
        return sorted(key for key in keys if key and key.startswith(prefix))

    @public_api
    def delete(self, key: str) -> None:
        """Remove the transcript of a key, if it exists."""
        path = self.path(key)
        if os.path.exists(path):
            with self._locked(path):
                os.unlink(path)
                sync_folder(path)

    @public_api
    def path(self, key: str) -> str:
        """Return the path of the file of a key; :meth:`Transcript.open` accepts it."""
        if not isinstance(key, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise OptionError(f"{shown(key)} is not a key", fix='write a text, such as "Ann/1881"')
        data = key.encode(errors="surrogatepass")
        name = _ENCODED.sub(lambda match: b"%%%02X" % match[0][0], data).decode()
        if len(name) > LONGEST_NAME:
            what = f"the key {shown(key)} is too long for the name of a file"
            raise TranscriptError(what, fix="write a shorter key")
        return os.path.join(self._folder, name + SUFFIX)

    @contextmanager
    def _locked(self, path: str) -> Generator[TranscriptFile]:
        """Yield the file, read to its end; meanwhile no other process can write to it."""
        deadline = time.monotonic() + self._timeout
        while True:
            with self._lock:
                if file := _unless_locked(path):
                    try:
                        if (position := self._positions.get(path)) is not None:
                            file.go_on_from(position)
                        file.read()
                        yield file
                        if len(self._positions) >= CACHED_POSITIONS:
                            self._positions.clear()
                        self._positions[path] = file.position
                        return
                    finally:
                        file.close()
            if time.monotonic() > deadline:
                what = f"{path!r} is locked by another process"
                fix = f"this one waited {self._timeout} seconds: write a longer timeout="
                raise TranscriptError(what, fix=fix)
            time.sleep(0.005)  # without the lock, so that other keys can be used


def _unless_locked(path: str) -> TranscriptFile | None:
    """Return a file, ``None`` while another writer has it open."""
    try:
        return TranscriptFile(path, read_only=False, salvage=False)
    except ConflictError:
        return None


def _key_of(name: str) -> str:
    """Return the key of a file, '' for a file that is not of a store."""
    if not _NAME.fullmatch(name):
        return ""
    try:
        return unquote_to_bytes(name.removesuffix(SUFFIX)).decode(errors="surrogatepass")
    except UnicodeDecodeError:
        return ""


# A store in a SQLite database: a row for each entry.

_TABLE = (
    "CREATE TABLE IF NOT EXISTS promptdsl_entries"
    " (key TEXT, number INTEGER, line TEXT NOT NULL, PRIMARY KEY (key, number))"
)
_PARENT_CONNECTIONS: list[sqlite3.Connection] = []
"""The connections of the parent process, which SQLite allows neither to use nor to close here."""


class SqliteStore:
    """Transcripts in a file of SQLite, with a row for each entry; a missing file is made.

    Threads and processes of a machine may write at the same time; each waits for the others, up to
    ``timeout`` seconds. After an append, the entries are on the disk. The table is
    ``promptdsl_entries``. ``close()`` closes the database; so does the end of the store's object.

    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> from promptdsl import SqliteStore, Transcript
    >>> store = SqliteStore(Path(mkdtemp(), "chats.db"))
    >>> entry = Transcript.open("1881", store=store).append("Why twice?")
    >>> len(Transcript.open("1881", store=store)), store.list()
    (1, ['1881'])
    >>> store.close()
    """

    @public_api
    def __init__(self, path: Path, *, timeout: float = 30) -> None:
        self._path = checked_path(path, "chats.db")
        self._timeout = checked_seconds(timeout)
        self._lock = fork_safe_lock()
        self._process = 0
        self._connection: sqlite3.Connection | None = None
        with self._connected():
            pass

    @public_api
    def append(self, key: str, entries: Sequence[TranscriptEntry]) -> None:
        """Append entries to the entries of a key, in a transaction.

        Raises :class:`ConflictError` if another writer was faster, and :class:`TranscriptError` if
        the database cannot be used.
        """
        if not entries:
            return
        rows = [(key, entry.number, entry.to_line()) for entry in entries]
        with self._connected() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                last = "SELECT max(number) FROM promptdsl_entries WHERE key = ?"
                ((number,),) = connection.execute(last, (key,))
                if (number or 0) + 1 != entries[0].number:
                    raise append_conflict(key, entries[0].number)
                connection.executemany("INSERT INTO promptdsl_entries VALUES (?, ?, ?)", rows)
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    @public_api
    def load(self, key: str, after: int = 0) -> list[TranscriptEntry]:
        """Return the entries of a key; :class:`TranscriptError` for a row that was changed."""
        query = (
            "SELECT number, CAST(line AS BLOB) FROM promptdsl_entries"
            " WHERE key = ? AND number > ? ORDER BY number"
        )
        with self._connected() as connection:
            rows = connection.execute(query, (key, after)).fetchall()
        return [entry_of_row(key, number, line) for number, line in rows]

    @public_api
    def list(self, prefix: str = "") -> "list[str]":
        """Return the keys that begin with a text, in order."""
        with self._connected() as connection:
            rows = connection.execute("SELECT DISTINCT key FROM promptdsl_entries").fetchall()
        return sorted(key for (key,) in rows if key.startswith(prefix))

    @public_api
    def delete(self, key: str) -> None:
        """Remove the transcript of a key, if it exists."""
        with self._connected() as connection:
            connection.execute("DELETE FROM promptdsl_entries WHERE key = ?", (key,))

    def close(self) -> None:
        """Close the database."""
        with self._lock:
            if self._connection is not None:
                self._connection = None
                self._close_connection()

    @contextmanager
    def _connected(self) -> Generator[sqlite3.Connection]:
        """Yield the connection of this process, for one thread at a time."""
        with self._lock:
            try:
                if self._connection is None or self._process != os.getpid():
                    self.close()
                    self._connection, self._process = self._connect(), os.getpid()
                    # The finalizer keeps the connection, so that it is closed before it is freed.
                    self._close_connection = finalize(self, _close, self._connection, self._process)
                yield self._connection
            except sqlite3.Error as error:
                what = f"cannot use {self._path!r}: {error}"
                fix = "check the path, and that no other program holds a lock"
                folder = os.path.dirname(os.path.abspath(self._path))
                if self._path and not os.path.isdir(folder):
                    fix = f"make its folder first: there is no {folder}"
                raise TranscriptError(what, fix=fix) from error

    def _connect(self) -> sqlite3.Connection:
        if self._path and self._path != ":memory:" and not os.path.exists(self._path):
            # SQLite would give a new file the rights of the process.
            with suppress(OSError):  # SQLite then reports the error itself
                os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))
        connection = sqlite3.connect(
            self._path, timeout=self._timeout, isolation_level=None, check_same_thread=False
        )
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute(_TABLE)
        except BaseException:
            connection.close()
            raise
        return connection


def _close(connection: sqlite3.Connection, process: int) -> None:
    """Close a connection of this process; keep one of a parent process, so that it stays open."""
    if process == os.getpid():
        connection.close()
    else:
        _PARENT_CONNECTIONS.append(connection)
