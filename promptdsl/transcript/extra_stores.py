"""Stores that need an extra: a store that encrypts entries, and a database with SQLAlchemy."""

from collections.abc import Awaitable, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from inspect import isawaitable, iscoroutinefunction
from typing import TYPE_CHECKING, Any

from promptdsl.foundation.errors import OptionError, TranscriptError, require, shown
from promptdsl.foundation.frozen import is_mapping
from promptdsl.foundation.source import public_api
from promptdsl.transcript.entries import TranscriptEntry
from promptdsl.transcript.stores import SEALED, TranscriptStore, append_conflict, entry_of_row

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine, Table


# A store that encrypts entries, and writes them to another store.


class EncryptedStore:
    """A store that writes its entries encrypted to another store of any kind.

    ``key`` is a key of Fernet, which encrypts and signs, or several keys: the first key encrypts,
    and all keys decrypt. Without a key, nobody can read the content, the type and the time of an
    entry. An entry that was changed, or moved to another key or number, raises
    :class:`TranscriptError`.

    The keys of transcripts are not encrypted, and the number and the size of entries stay visible.
    Missing entries at the end are not detected. The store needs the extra ``encryption``.

    >>> from cryptography.fernet import Fernet
    >>> from tempfile import mkdtemp
    >>> from promptdsl import EncryptedStore, FolderStore, Transcript
    >>> folder = FolderStore(mkdtemp())
    >>> store = EncryptedStore(folder, Fernet.generate_key())
    >>> entry = Transcript.open("1881", store=store).append("Why twice?")
    >>> Transcript.open("1881", store=store)[0].text
    'Why twice?'
    >>> folder.load("1881")[0].type
    'sealed'
    """

    @public_api
    def __init__(self, store: TranscriptStore, key: str | bytes | Sequence[str | bytes]) -> None:
        require("cryptography.fernet", "encryption")
        from cryptography.fernet import Fernet, MultiFernet

        self._store: Any = store  # Any: it may have more methods
        try:
            keys = [key] if isinstance(key, str | bytes) else [*key]
            self._cipher = MultiFernet([Fernet(secret) for secret in keys])
        except (TypeError, ValueError):
            fix = "make a key with Fernet.generate_key() of cryptography.fernet, and keep it secret"
            raise OptionError("this is not a key of Fernet", fix=fix) from None
        # The methods of a store around an asynchronous store are asynchronous, too.
        if iscoroutinefunction(store.append):
            self.__class__ = AsyncEncryptedStore  # pyright: ignore[reportAttributeAccessIssue]

    @public_api
    def append(self, key: str, entries: Sequence[TranscriptEntry]) -> Awaitable[None] | None:
        """Encrypt entries, and add them to the entries of a key."""
        result: Awaitable[None] | None = self._store.append(key, self._seal_all(key, entries))
        return result

    @public_api
    def load(
        self, key: str, after: int = 0
    ) -> Iterable[TranscriptEntry] | Awaitable[Iterable[TranscriptEntry]]:
        """Return the entries of a key; :class:`TranscriptError` if it cannot decrypt an entry."""
        sealed = self._store.load(key, after)
        if isawaitable(sealed):
            return self._decrypt_awaited(key, sealed)
        return self._decrypt_all(key, sealed)

    @property
    def list(self) -> Any:  # Any: a method, which may be asynchronous
        """The method ``list(prefix="")`` of the other store, if it has one."""
        return self._store.list

    @property
    def delete(self) -> Any:  # Any: a method, which may be asynchronous
        """The method ``delete(key)`` of the other store, if it has one."""
        return self._store.delete

    def _seal_all(self, key: str, entries: Sequence[TranscriptEntry]) -> Sequence[TranscriptEntry]:
        return [self._seal(key, entry) for entry in entries]

    def _seal(self, key: str, entry: TranscriptEntry) -> TranscriptEntry:
        """Return an encrypted entry with the same number, without the entry's type and time."""
        text = f"{entry.to_line()}\0{key}".encode(errors="surrogatepass")
        data = {"token": self._cipher.encrypt_at_time(text, 0).decode()}
        return TranscriptEntry(entry.number, SEALED, None, entry.number, data, opaque=True)

    async def _decrypt_awaited(
        self, key: str, sealed: Awaitable[Iterable[TranscriptEntry]]
    ) -> Sequence[TranscriptEntry]:
        from asyncio import to_thread

        return await to_thread(self._decrypt_all, key, await sealed)

    def _decrypt_all(
        self, key: str, sealed: Iterable[TranscriptEntry]
    ) -> Sequence[TranscriptEntry]:
        return [self._decrypt(key, entry) for entry in sealed]

    def _decrypt(self, key: str, sealed: TranscriptEntry) -> TranscriptEntry:
        """Return the decrypted entry.

        Raises :class:`TranscriptError` for an entry that is not encrypted or was changed, for a key
        that cannot decrypt it, and if it was written with another number or key.
        """
        from cryptography.fernet import InvalidToken

        subject, data = f"entry {sealed.number} of {key!r}", sealed.data
        token = data.get("token") if is_mapping(data) else None
        if sealed.type != SEALED or not isinstance(token, str) or not token.isascii():
            fix = "copy it to another store: encrypted.append(key, plain.load(key))"
            raise TranscriptError(f"{subject} is not encrypted", fix=fix)
        try:
            text = self._cipher.decrypt(token)
        except InvalidToken:
            fix = "add the key that encrypted it, or restore it from a copy"
            raise TranscriptError(f"{subject} cannot be decrypted", fix=fix) from None
        line, _, written_key = text.decode(errors="surrogatepass").partition("\0")
        entry = TranscriptEntry.from_line(line)
        if (entry.number, written_key) != (sealed.number, key):
            what = f"{subject} was written as entry {entry.number} of {written_key!r}"
            raise TranscriptError(what, fix="restore it from a copy")
        return entry


class AsyncEncryptedStore(EncryptedStore):
    """An :class:`EncryptedStore` around an asynchronous store; it encrypts in threads."""

    async def append(self, key: str, entries: Sequence[TranscriptEntry]) -> None:
        """Encrypt entries, and add them to the entries of a key."""
        from asyncio import to_thread

        await self._store.append(key, await to_thread(self._seal_all, key, entries))

    async def load(self, key: str, after: int = 0) -> Sequence[TranscriptEntry]:
        """Return the entries of a key; :class:`TranscriptError` if it cannot decrypt an entry."""
        return await self._decrypt_awaited(key, self._store.load(key, after))


# A store in a database of SQLAlchemy, with a row for each entry.

TABLE_NAME = "promptdsl_entries"
LONGEST_KEY = 255
"""The maximum number of characters of a key, because some databases limit the size of an index."""


class SqlStore:
    """Transcripts in a table of a database, such as PostgreSQL, with a row for each entry.

    ``engine`` is an ``Engine`` of SQLAlchemy 2; ``await Transcript.aopen(key, store=...)`` uses it
    in threads. The store needs the table ``promptdsl_entries``: ``create_tables=True`` makes it if
    it is missing, and ``SqlStore.table()`` describes it for your migrations. Any number of
    processes and machines may write. The store needs the extra ``sql``.

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
            fix = "pass create_engine(...); Transcript.aopen uses it in threads"
            raise OptionError(f"{shown(engine)} is not an Engine of SQLAlchemy", fix=fix)
        self._engine = engine
        if create_tables:
            # PostgreSQL raises one of two errors if another process makes the table now.
            try:
                with self._connected() as connection, suppress(IntegrityError):
                    connection.execute(CreateTable(self._table, if_not_exists=True))
            except TranscriptError:
                if not inspect(engine).has_table(TABLE_NAME):
                    raise

    @staticmethod
    def table() -> "Table":
        """Return the table that a store uses.

        For Alembic: ``target_metadata = [your_metadata, SqlStore.table().metadata]``.
        """
        require("sqlalchemy", "sql")
        from sqlalchemy import Column, Integer, MetaData, String, Table, Text

        return Table(
            TABLE_NAME,
            MetaData(),
            Column("key", String(LONGEST_KEY), primary_key=True),
            Column("number", Integer, primary_key=True, autoincrement=False),
            Column("line", Text, nullable=False),
        )

    @public_api
    def append(self, key: str, entries: Sequence[TranscriptEntry]) -> None:
        """Append entries to the entries of a key, in a transaction.

        Raises :class:`ConflictError` if another writer was faster, and :class:`TranscriptError` for
        a key that is too long, and if the database cannot be used.
        """
        from sqlalchemy import func, select
        from sqlalchemy.exc import IntegrityError

        if not entries:
            return
        if len(key) > LONGEST_KEY:
            what = f"the key {shown(key)} is longer than {LONGEST_KEY} characters"
            raise TranscriptError(what, fix="write a shorter key")
        column, first = self._table.c, entries[0].number
        rows = [{"key": key, "number": entry.number, "line": entry.to_line()} for entry in entries]
        with self._connected() as connection:
            self._lock(connection, key)
            last = connection.scalar(select(func.max(column.number)).where(column.key == key))
            if (last or 0) + 1 != first:
                raise append_conflict(key, first)
            try:
                connection.execute(self._table.insert(), rows)
            except IntegrityError:
                raise append_conflict(key, first) from None

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
        # SQLite does not distinguish small and capital letters here.
        return sorted(key for key in keys if key.startswith(prefix))

    @public_api
    def delete(self, key: str) -> None:
        """Remove the transcript of a key, if it exists."""
        with self._connected() as connection:
            self._lock(connection, key)
            connection.execute(self._table.delete().where(self._table.c.key == key))

    def _lock(self, connection: "Connection", key: str) -> None:
        """Write the first row of a key unchanged, so that other writers of the key wait."""
        column = self._table.c
        first = self._table.update().where(column.key == key, column.number == 1)
        connection.execute(first.values(number=1))

    @contextmanager
    def _connected(self) -> "Generator[Connection]":
        """Yield a connection with a transaction, which is committed at the end."""
        from sqlalchemy import inspect
        from sqlalchemy.exc import DBAPIError
        from sqlalchemy.exc import TimeoutError as PoolTimeoutError

        try:
            with self._engine.begin() as connection:
                yield connection
        except PoolTimeoutError as error:
            fix = "give the engine more connections, or close unused connections"
            raise TranscriptError("no connection to the database was free", fix=fix) from error
        except DBAPIError as error:
            # The text of the error has parameters with messages, so the report shows only ``orig``.
            first, *_ = f"{error.orig}".splitlines() or [""]
            what, fix = f"cannot use the database: {first}", "check the address and the rights"
            has_run = error.statement and not error.connection_invalidated
            if has_run and not inspect(self._engine).has_table(TABLE_NAME):
                what = f"the database has no table {TABLE_NAME}"
                fix = "make it with SqlStore(engine, create_tables=True), or in a migration"
            raise TranscriptError(what, fix=fix) from error.orig
