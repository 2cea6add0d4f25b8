"""A store in a SQLite database: a row for each entry."""

import os
import sqlite3
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from weakref import finalize

from promptdsl.foundation.errors import TranscriptError
from promptdsl.foundation.files import checked_path, checked_seconds
from promptdsl.foundation.source import public_api
from promptdsl.transcript.base import Path
from promptdsl.transcript.entries import TranscriptEntry
from promptdsl.transcript.stores import entry_of_row, fork_safe_lock, refused

_TABLE = (
    "CREATE TABLE IF NOT EXISTS promptdsl_entries"
    " (key TEXT, number INTEGER, line TEXT NOT NULL, PRIMARY KEY (key, number))"
)
_OF_PARENTS: list[sqlite3.Connection] = []
"""Connections of the parent process: SQLite allows neither to use nor to close them here."""


class SqliteStore:
    """Transcripts in a file of SQLite, which is made when it is missing: a row for each entry.

    Threads and processes of one machine may write at once; each waits for the others, up to
    ``timeout`` seconds. What was written is on the disk. The table is ``promptdsl_entries``. The
    database is closed by ``close()``, or when nobody has the store any more.

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
        """Append entries to those of a key, in one transaction."""
        if not entries:
            return
        rows = [(key, entry.number, entry.to_line()) for entry in entries]
        with self._connected() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                last = "SELECT max(number) FROM promptdsl_entries WHERE key = ?"
                ((number,),) = connection.execute(last, (key,))
                if (number or 0) + 1 != entries[0].number:
                    raise refused(key, entries[0].number)
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
        """Remove the transcript of a key, if there is one."""
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
        """Return the connection of this process, for one thread at a time."""
        with self._lock:
            try:
                if self._connection is None or self._process != os.getpid():
                    self.close()
                    self._connection, self._process = self._connect(), os.getpid()
                    # It holds the connection, so that none is freed before it is closed.
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
            with suppress(OSError):  # SQLite reports it in its own words
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
    if process == os.getpid():
        connection.close()
    else:
        _OF_PARENTS.append(connection)
