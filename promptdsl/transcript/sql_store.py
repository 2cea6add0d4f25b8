"""A store in a database that SQLAlchemy reaches: a row for each entry."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from promptdsl.foundation.errors import OptionError, TranscriptError, shown
from promptdsl.foundation.extras import require
from promptdsl.foundation.source import public_api
from promptdsl.transcript.entries import TranscriptEntry
from promptdsl.transcript.stores import entry_of_row, refused

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine, Table

NAME = "promptdsl_entries"
LONGEST = 255
"""The most characters of a key: some databases limit the size of an index."""


class SqlStore:
    """Transcripts in a table of a database, such as PostgreSQL: a row for each entry.

    ``engine`` is an ``Engine`` of SQLAlchemy 2; ``await Transcript.aopen(key, store=...)`` uses it
    in threads. The table ``promptdsl_entries`` has to be there: ``create_tables=True`` makes it
    when it is missing, ``SqlStore.table()`` describes it for your migrations. Any number of
    processes and machines may write. It needs the extra ``sql``.

    >>> from sqlalchemy import create_engine
    >>> from promptdsl import SqlStore, Transcript
    >>> engine = create_engine("sqlite://")
    >>> store = SqlStore(engine, create_tables=True)
    >>> entry = Transcript.open("1881", store=store).append("Why twice?")
    >>> len(Transcript.open("1881", store=store)), store.list()
    (1, ['1881'])
    >>> engine.dispose()
    """

    @public_api
    def __init__(self, engine: "Engine", *, create_tables: bool = False) -> None:
        self._table = self.table()
        from sqlalchemy import Engine, inspect
        from sqlalchemy.exc import IntegrityError
        from sqlalchemy.schema import CreateTable

        if not isinstance(engine, Engine):  # pyright: ignore[reportUnnecessaryIsInstance]
            fix = "give create_engine(...); Transcript.aopen uses it in threads"
            raise OptionError(f"{shown(engine)} is not an Engine of SQLAlchemy", fix=fix)
        self._engine = engine
        if create_tables:
            # PostgreSQL raises one of two errors where another process makes it at this moment.
            try:
                with self._connected() as connection, suppress(IntegrityError):
                    connection.execute(CreateTable(self._table, if_not_exists=True))
            except TranscriptError:
                if not inspect(engine).has_table(NAME):
                    raise

    @staticmethod
    def table() -> "Table":
        """Return the table that a store uses.

        For Alembic: ``target_metadata = [your_metadata, SqlStore.table().metadata]``.
        """
        require("sqlalchemy", "sql")
        from sqlalchemy import Column, Integer, MetaData, String, Table, Text

        return Table(
            NAME,
            MetaData(),
            Column("key", String(LONGEST), primary_key=True),
            Column("number", Integer, primary_key=True, autoincrement=False),
            Column("line", Text, nullable=False),
        )

    @public_api
    def append(self, key: str, entries: Sequence[TranscriptEntry]) -> None:
        """Append entries to those of a key, in one transaction."""
        from sqlalchemy import func, select
        from sqlalchemy.exc import IntegrityError

        if not entries:
            return
        if len(key) > LONGEST:
            what = f"the key {shown(key)} is longer than {LONGEST} characters"
            raise TranscriptError(what, fix="give a shorter key")
        column, first = self._table.c, entries[0].number
        rows = [{"key": key, "number": e.number, "line": e.to_line()} for e in entries]
        with self._connected() as connection:
            self._lock(connection, key)
            last = connection.scalar(select(func.max(column.number)).where(column.key == key))
            if (last or 0) + 1 != first:
                raise refused(key, first)
            try:
                connection.execute(self._table.insert(), rows)
            except IntegrityError:
                raise refused(key, first) from None

    @public_api
    def load(self, key: str, after: int = 0) -> list[TranscriptEntry]:
        """Return the entries of a key; :class:`TranscriptError` for a row that was changed."""
        column = self._table.c
        query = self._table.select().where(column.key == key, column.number > after)
        with self._connected() as connection:
            rows = connection.execute(query.order_by(column.number)).all()
        return [entry_of_row(key, row.number, row.line) for row in rows]

    @public_api
    def list(self, prefix: str = "") -> "list[str]":
        """Return the keys that begin with a text, in order."""
        column = self._table.c
        query = self._table.select().with_only_columns(column.key).where(column.number == 1)
        with self._connected() as connection:
            with_prefix = query.where(column.key.startswith(prefix, autoescape=True))
            keys = connection.scalars(with_prefix).all()
        # For SQLite, small and capital letters are the same.
        return sorted(key for key in keys if key.startswith(prefix))

    @public_api
    def delete(self, key: str) -> None:
        """Remove the transcript of a key, if there is one."""
        with self._connected() as connection:
            self._lock(connection, key)
            connection.execute(self._table.delete().where(self._table.c.key == key))

    def _lock(self, connection: "Connection", key: str) -> None:
        """Write the first row of a key unchanged: other writers of the key wait until the end."""
        column = self._table.c
        first = self._table.update().where(column.key == key, column.number == 1)
        connection.execute(first.values(number=1))

    @contextmanager
    def _connected(self) -> "Generator[Connection]":
        """Return a connection with a transaction, which is committed at the end."""
        from sqlalchemy import inspect
        from sqlalchemy.exc import DBAPIError
        from sqlalchemy.exc import TimeoutError as PoolTimeoutError

        try:
            with self._engine.begin() as connection:
                yield connection
        except PoolTimeoutError as error:
            fix = "give the engine more connections, or end those that are not used"
            raise TranscriptError("no connection to the database was free", fix=fix) from error
        except DBAPIError as error:
            # The text of the error has parameters with messages, so only ``orig`` is shown.
            first, *_ = f"{error.orig}".splitlines() or [""]
            what, fix = f"cannot use the database: {first}", "check the address and the rights"
            has_run = error.statement and not error.connection_invalidated
            if has_run and not inspect(self._engine).has_table(NAME):
                what = f"the database has no table {NAME}"
                fix = "make it with SqlStore(engine, create_tables=True), or in a migration"
            raise TranscriptError(what, fix=fix) from error.orig
