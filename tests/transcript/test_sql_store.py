"""A store in a database of SQLAlchemy: SQLite, and a real PostgreSQL."""

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from threading import Barrier
from typing import Any, cast

import pytest

from promptdsl import *
from promptdsl.testing import check_store
from tests.errors import raised
from tests.transcript.servers import postgres

pytest.importorskip("sqlalchemy")
from sqlalchemy import Engine, NullPool, QueuePool, create_engine, event, text

WRITERS = 4
DAMAGE = "UPDATE promptdsl_entries SET line = replace(line, '{', '[') WHERE key = :key"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Return the address of a PostgreSQL."""
    with postgres() as address:
        yield address


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    """Return the engine of an empty database."""
    is_file = request.param == "sqlite"
    address = f"sqlite:///{tmp_path}/a.db" if is_file else request.getfixturevalue("server")
    yield (engine := create_engine(address, poolclass=NullPool))
    with engine.begin() as connection:
        connection.execute(text("DROP TABLE IF EXISTS promptdsl_entries"))


def note(number: int, data: object = "x") -> TranscriptEntry:
    """Return an entry."""
    return TranscriptEntry(number, "note", None, number, {"note": data})


def at_once(work: Callable[[int], object], count: int = WRITERS) -> list[object]:
    """Return what a function returns or raises in threads that begin together."""
    barrier = Barrier(count)

    def run(number: int) -> object:
        barrier.wait()
        try:
            return work(number)
        except TranscriptError as error:
            return type(error).__name__

    with ThreadPoolExecutor(count) as threads:
        return [*threads.map(run, range(count))]


def test_a_conversation(engine: Engine) -> None:
    """What is appended is there, with every character, and a second store goes on."""
    store = SqlStore(engine, create_tables=True)
    talk = Transcript.open("a/1", store=store)
    talk.append("Grüße \ud800 \0 \u2028 % ' \U0001f600")
    talk.note({"a": [1.5, None]})
    again = Transcript.open("a/1", store=SqlStore(engine))
    assert [e.to_line() for e in talk.entries] == [e.to_line() for e in again.entries]
    again.append("Hi.")
    assert raised(ConflictError, lambda: talk.append("Ho.")).what == (
        "another writer was faster with 'a/1': entry 3 cannot be the next entry"
    )
    assert [entry.number for entry in talk.refresh()] == [3]
    store.delete("a/1")
    assert len(Transcript.open("a/1", store=store).entries) == 0


@pytest.mark.slow
def test_the_contract_of_stores(engine: Engine) -> None:
    """It does what a store has to do, also where processes write."""
    SqlStore(engine, create_tables=True)
    engines: list[Engine] = []

    def make() -> SqlStore:
        engines.append(create_engine(engine.url))
        return SqlStore(engines[-1])

    def damage(_: object, key: str) -> None:
        with engine.begin() as connection:
            connection.execute(text(DAMAGE), {"key": key})

    check_store(make, entries=100, damage=damage)
    for each in engines:
        each.dispose()


@pytest.mark.parametrize("numbers", [[1], [2], [2, 3], [4], [5, 6]], ids=str)
def test_only_the_next_numbers(engine: Engine, numbers: list[int]) -> None:
    """A number that is taken and one behind a gap are refused, and nothing is written."""
    store = SqlStore(engine, create_tables=True)
    store.append("a", [note(1), note(2)])
    with pytest.raises(ConflictError):
        store.append("a", [note(number, "other") for number in numbers])
    assert store.load("a") == [note(1), note(2)]
    assert store.load("a", after=1) == [note(2)]


def test_keys(engine: Engine) -> None:
    """A prefix is a text: no character of it is special, and letters are not folded."""
    store = SqlStore(engine, create_tables=True)
    keys = ["%", "A", "_", "a", "a ", "a%b", "a/b", "a_b", "axb", "ä" * 255]
    for key in keys:
        store.append(key, [note(1), note(2)])
    assert store.list() == sorted(keys)
    assert store.list("a_") == ["a_b"]
    assert [store.list("%"), store.list("a/"), store.list("A")] == [["%"], ["a/b"], ["A"]]


def test_writers_at_once(engine: Engine) -> None:
    """Of writers that begin a transcript at once, one is not refused; a table is made once."""
    assert at_once(lambda _: SqlStore(engine, create_tables=True).list()) == [[]] * WRITERS
    store = SqlStore(engine)
    for key in "abc":
        found = at_once(lambda number, key=key: store.append(key, [note(1, number)]))
        assert sorted(map(str, found)) == ["ConflictError"] * (WRITERS - 1) + ["None"]
        assert len(store.load(key)) == 1


def test_a_transcript_that_is_deleted_meanwhile(engine: Engine) -> None:
    """A transcript that is deleted while an append is under way is gone, without a rest."""
    store = SqlStore(engine, create_tables=True)
    store.append("a", [note(1), note(2)])
    with ThreadPoolExecutor(1) as threads:

        def delete(*arguments: Any) -> None:
            if arguments[2].startswith("INSERT"):
                wait([threads.submit(store.delete, "a")], timeout=0.2)

        event.listen(engine, "before_cursor_execute", delete)
        store.append("a", [note(3)])
    assert store.load("a") == []


@pytest.mark.parametrize(
    ("write", "what", "fix"),
    [
        (
            lambda engine: SqlStore(engine).list(),
            "the database has no table promptdsl_entries",
            "make it with SqlStore(engine, create_tables=True), or in a migration",
        ),
        (
            lambda engine: SqlStore(engine, create_tables=True).append("a" * 256, [note(1)]),
            "is longer than 255 characters",
            "write a shorter key",
        ),
        (
            lambda _: SqlStore(cast("Any", "sqlite://")),
            "'sqlite://' is not an Engine of SQLAlchemy",
            "pass create_engine(...); Transcript.aopen uses it in threads",
        ),
    ],
    ids=["table", "key", "engine"],
)
def test_what_cannot_be_done(engine: Engine, write: Any, what: str, fix: str) -> None:
    """A missing table, a long key and what is no engine are told with what to do."""
    error = raised(PromptError, lambda: write(engine))
    assert error.what.endswith(what)
    assert error.fix == fix


def test_a_row_that_was_changed(engine: Engine) -> None:
    """A row that another program changed is an error."""
    store = SqlStore(engine, create_tables=True)
    store.append("a", [note(1, "twice")])
    with engine.begin() as connection:
        connection.execute(text("UPDATE promptdsl_entries SET line = replace(line, 'tw', 'Tw')"))
    assert raised(TranscriptError, lambda: store.load("a")).what == (
        "entry 1 of 'a' is damaged: its checksum is wrong: its bytes were changed"
    )


def test_an_error_of_the_database(tmp_path: Path) -> None:
    """What the database says is told; what was said is not in it."""
    engine = create_engine(f"sqlite:///{tmp_path}/none/a.db")
    error = raised(TranscriptError, lambda: SqlStore(engine).append("a", [note(1, "secret")]))
    assert error.what == "cannot use the database: unable to open database file"


def test_a_pool_without_a_free_connection(tmp_path: Path) -> None:
    """Where no connection is free in time, the error is one of the store."""
    address = f"sqlite:///{tmp_path}/a.db"
    pool: Any = {"pool_size": 1, "max_overflow": 0, "pool_timeout": 0}
    engine = create_engine(address, poolclass=QueuePool, **pool)
    store = SqlStore(engine, create_tables=True)
    with engine.connect():
        error = raised(TranscriptError, store.list)
    assert "no connection to the database was free" == error.what
    assert [] == store.list()
    engine.dispose()


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without SQLAlchemy, the error says how to install it."""
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    error = raised(PromptError, SqlStore.table)
    assert error.fix == "install the extra `sql` of promptdsl"
