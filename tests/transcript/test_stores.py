"""The stores of the package: the contract, names of files, faults, and data that is hostile."""

import asyncio
import gc
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from promptdsl.testing import check_store
from tests.errors import lines_of, raised
from tests.searching import examples
from tests.transcript.stores import AsyncMemoryStore

MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None
"""A folder that is not on a disk: the claims are about writers at once, not about the disk."""
Make = Callable[[Path], Any]


def sqlite_store(folder: Path) -> SqliteStore:
    """Return a store in a folder, of the other kind."""
    return SqliteStore(folder / "chats.db")


def sql_store(folder: Path) -> SqlStore:
    """Return a store in a database of SQLite."""
    sqlalchemy = pytest.importorskip("sqlalchemy")
    address = f"sqlite:///{folder / 'sql.db'}"
    engine = sqlalchemy.create_engine(address, poolclass=sqlalchemy.NullPool)
    return SqlStore(engine, create_tables=True)


KINDS = pytest.mark.parametrize("make", [FolderStore, sqlite_store])


@pytest.fixture
def shared() -> Iterator[Path]:
    """Return a folder in memory."""
    with TemporaryDirectory(dir=MEMORY) as folder:
        yield Path(folder)


def damage(store: Any, key: str) -> None:
    """Change a stored line, past the store."""
    if isinstance(store, FolderStore):
        path = Path(store.path(key))
        path.write_bytes(path.read_bytes().replace(b'"b"', b'"B"'))
    else:
        change(
            store, "UPDATE promptdsl_entries SET line = replace(line, 'b', 'B') WHERE key = ?", key
        )


def change(store: SqliteStore, statement: str, *values: object) -> None:
    """Run a statement in the database of a store, past the store."""
    with sqlite3.connect(store._path) as connection:
        connection.execute(statement, values)
    connection.close()


@pytest.mark.native
@pytest.mark.parametrize("entries", [pytest.param(20_000, marks=pytest.mark.slow, id="20,000"), 20])
@KINDS
def test_the_contract(make: Make, entries: int, shared: Path) -> None:
    """The stores of the package do all that a transcript needs."""
    assert check_store(lambda: make(shared), entries=entries, damage=damage) is None


# Names of files.

LETTERS = "aA%4/\\. :~*'\xe9e\u0301\u0130i\xdfs\U0001f600con12\n"


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("tickets/1881", "tickets%2F1881.jsonl"),
        ("Ann", "%41nn.jsonl"),
        ("ann", "ann.jsonl"),
        ("%41nn", "%2541nn.jsonl"),
        ("..", "%2E%2E.jsonl"),
        (".", "%2E.jsonl"),
        ("con", "%63on.jsonl"),
        ("lpt1", "%6Cpt1.jsonl"),
        ("context", "context.jsonl"),
        ("a_b-c", "a_b-c.jsonl"),
        (" a ", "%20a%20.jsonl"),
        ("\xe9", "%C3%A9.jsonl"),
        ("e\u0301", "e%CC%81.jsonl"),
        ("\U0001f600", "%F0%9F%98%80.jsonl"),
        ("a'; --", "a%27%3B%20--.jsonl"),
        ("c:\\x", "c%3A%5Cx.jsonl"),
    ],
)
def test_names_of_files(tmp_path: Path, key: str, name: str) -> None:
    """The name of a file is safe on every system, and its key is read back from it."""
    store = FolderStore(tmp_path)
    assert store.path(key) == str(tmp_path / name)
    Transcript.open(key, store=store).append("Hi.")
    assert store.list() == [key]


def test_other_files_in_the_folder(tmp_path: Path) -> None:
    """A file that no key has the name of is not listed, whatever its name is."""
    store = FolderStore(tmp_path)
    Transcript.open("Ann", store=store).append("Hi.")
    for name in (b"Ann.jsonl", b"a b.jsonl", b"%FF.jsonl", b"%4.jsonl", b".jsonl", b"notes.txt"):
        (tmp_path / os.fsdecode(name)).touch()
    if sys.platform == "linux":
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.jsonl")).touch()
    assert store.list() == ["Ann"]


@examples(400)
@given(st.lists(st.text(LETTERS, min_size=1, max_size=4), min_size=2, max_size=2, unique=True))
def test_no_two_keys_share_a_file(keys: list[str]) -> None:
    """Two keys are two files also where case means nothing, and no key leaves the folder."""
    store = FolderStore("/tmp")
    paths = [store.path(key) for key in keys]
    assert len({path.lower() for path in paths}) == 2
    assert {os.path.dirname(os.path.normpath(path)) for path in paths} == {os.path.abspath("/tmp")}
    assert all(path.removeprefix(f"{os.path.abspath('/tmp')}{os.sep}").isascii() for path in paths)


def test_a_file_of_a_store_is_a_file_of_a_transcript(tmp_path: Path) -> None:
    """Transcript.open(path) reads and writes what the store does."""
    store = FolderStore(tmp_path)
    Transcript.open("Ann", store=store).append("Hi.")
    with Transcript.open(store.path("Ann")) as talk:
        talk.append("Why?")
    assert [message.text for message in Transcript.open("Ann", store=store)] == ["Hi.", "Why?"]


# Faults.

APPENDS = """
import sys
from promptdsl import SqliteStore, Transcript
talk = Transcript.open("a", store=SqliteStore(sys.argv[1]))
for number in range(10_000):
    talk.append(str(number))
    print(number, flush=True)
"""


@pytest.mark.native
@pytest.mark.parametrize("count", [1, *(pytest.param(n, marks=pytest.mark.slow) for n in (7, 30))])
def test_a_process_that_is_killed(tmp_path: Path, count: int) -> None:
    """After a kill in the middle of appends the database is whole, and has what was told."""
    path = tmp_path / "chats.db"
    with subprocess.Popen(
        [sys.executable, "-c", APPENDS, str(path)], stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        told = [child.stdout.readline().strip() for _ in range(count)]
        child.send_signal(signal.SIGKILL if os.name == "posix" else signal.SIGTERM)
        told += child.stdout.read().split()
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()
    talk = Transcript.open("a", store=SqliteStore(path))
    texts = [message.text for message in talk]
    assert texts[: len(told)] == told == [str(number) for number in range(len(told))]
    assert len(texts) <= len(told) + 1
    talk.append("again")


@pytest.mark.native
@pytest.mark.parametrize("seconds", [0.1, pytest.param(5, marks=pytest.mark.slow)])
def test_a_lock_of_another_program(tmp_path: Path, seconds: float) -> None:
    """An append waits for another program; where that takes too long, it is an error."""
    path = tmp_path / "chats.db"
    talk = Transcript.open("a", store=SqliteStore(path))
    hasty = Transcript.open("a", store=SqliteStore(path, timeout=0.01))
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    error = raised(TranscriptError, lambda: hasty.append("Hi."))
    assert error.what == f"cannot use {str(path)!r}: database is locked"
    timer = threading.Timer(seconds, lambda: other.execute("ROLLBACK"))
    start = time.monotonic()
    timer.start()
    talk.append("Hi.")
    assert time.monotonic() - start >= seconds * 0.9
    timer.join()
    other.close()


@pytest.mark.native
def test_a_file_that_another_process_locks(tmp_path: Path) -> None:
    """An append to a folder waits for a writer of the file; where it takes too long, it fails."""
    store = FolderStore(tmp_path, timeout=0.05)
    talk = Transcript.open("a", store=store)
    talk.append("Hi.")
    with Transcript.open(store.path("a")) as holder:
        error = raised(TranscriptError, lambda: talk.append("Why?"))
        assert error.what == f"{store.path('a')!r} is locked by another process"
        assert error.fix == "this one waited 0.05 seconds: write a longer timeout="
        assert not isinstance(error, ConflictError)
        holder.append("Hello.")
    assert "a change of another writer" in raised(ConflictError, lambda: talk.append("Why?")).what
    talk.append("Why?")
    assert [message.text for message in talk] == ["Hi.", "Hello.", "Why?"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@KINDS
def test_a_fork_while_a_thread_appends(make: Make, shared: Path) -> None:
    """A child gets no lock of a thread that it does not have, and neither hangs nor hinders."""
    store, is_over, count = make(shared), threading.Event(), 0

    def work() -> None:
        nonlocal count
        while not is_over.is_set():
            count += 1
            store.append("a", [TranscriptEntry(count, "note", None, count, {"note": count})])

    thread = threading.Thread(target=work)
    thread.start()
    while not store.load("a"):
        time.sleep(0.001)
    children = list[int]()
    for number in range(4):
        time.sleep(0.01)
        if (child := os.fork()) == 0:
            signal.alarm(20)
            store.append(f"child {number}", Transcript(["Hi."]).entries)
            os._exit(len(store.load("a")) == 0)
        children.append(child)
    is_over.set()
    thread.join()
    codes = [os.waitpid(child, 0)[1] for child in children]
    assert codes == [0, 0, 0, 0]
    assert len(store.load("a")) == count
    assert len(store.list("child")) == 4


def test_a_key_that_is_locked_delays_no_other(tmp_path: Path) -> None:
    """A thread that waits for a file does not keep the others from theirs."""
    store = FolderStore(tmp_path, timeout=30)
    with Transcript.open(store.path("a")):
        thread = threading.Thread(target=lambda: store.append("a", Transcript(["Hi."]).entries))
        thread.start()
        time.sleep(0.05)
        start = time.monotonic()
        store.append("b", Transcript(["Hi."]).entries)
        assert time.monotonic() < start + 10
    thread.join()
    assert store.list() == ["a", "b"]


@KINDS
def test_a_key_that_begins_anew(make: Make, tmp_path: Path) -> None:
    """A key that another object deletes and begins anew is read from its start."""
    first, second = make(tmp_path), make(tmp_path)
    Transcript.open("a", store=first).append("Why was I charged twice?")
    old = Transcript.open("a", store=first)
    second.delete("a")
    error = raised(ConflictError, lambda: old.append("Hello?"))
    assert (error.fix or "").endswith(
        "if there are no new entries, the transcript was deleted: open it again"
    )
    assert old.refresh() == ()
    talk = Transcript.open("a", store=second)
    talk.append("Hi.")
    again = Transcript.open("a", store=first)
    again.append("Hello.")
    assert [message.text for message in again] == ["Hi.", "Hello."]
    talk.refresh()
    assert talk.entries == again.entries


@pytest.mark.skipif(sys.version_info < (3, 13), reason="Python warns of no open database")
def test_no_database_stays_open(tmp_path: Path) -> None:
    """A database is closed with its store: that of a file, of no database, and of no place."""
    (tmp_path / "notes.txt").write_text("Call Bob.\n" * 100, "utf-8")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert [] == sqlite_store(tmp_path).list()
        raised(TranscriptError, lambda: SqliteStore(tmp_path / "notes.txt"))
        raised(TypeError, lambda: SqliteStore(cast("Any", 5)))
        gc.collect()
    assert [] == caught


@pytest.mark.parametrize("make", [FolderStore, sqlite_store, sql_store])
def test_nothing_to_append(make: Make, tmp_path: Path) -> None:
    """A copy of a transcript that a crash left empty is empty."""
    store = make(tmp_path)
    store.append("a", store.load("a"))
    assert ([], []) == (store.load("a"), store.list())


@pytest.mark.parametrize("make", [FolderStore, sqlite_store, sql_store])
def test_two_objects_and_four_keys(make: Make, tmp_path: Path) -> None:
    """Keys are listed in order; what is refused is named; the keys beside a deleted one stay."""
    one, other = make(tmp_path), make(tmp_path)
    entries = Transcript(["1", "2", "3"], clock=None).entries
    one.append("b", entries[:2])
    other.append("B/x", entries[:1])
    one.append("a", entries[:1])
    other.append("b", entries[2:])
    one.append("b%", entries[:2])
    assert ["B/x", "a", "b", "b%"] == other.list()
    assert ["b", "b%"] == other.list("b")
    assert [2, 3] == [entry.number for entry in other.load("b", after=1)]
    wrong = {"b": entries[1:], "a": entries[2:], "B/x": entries[:2], "c": entries[1:]}
    assert [
        "another writer was faster with 'b': entry 2 cannot be the next entry",
        "another writer was faster with 'a': entry 3 cannot be the next entry",
        "another writer was faster with 'B/x': entry 1 cannot be the next entry",
        "another writer was faster with 'c': entry 2 cannot be the next entry",
    ] == [raised(ConflictError, lambda k=k: one.append(k, wrong[k])).what for k in wrong]
    one.delete("b")
    one.delete("nowhere")
    assert (["B/x", "a", "b%"], [], 2) == (other.list(), other.load("b"), len(other.load("b%")))
    other.append("b", entries[:1])
    one.append("b", entries[1:])
    assert [[1, 2, 3], [1], [1, 2]] == [
        [entry.number for entry in other.load(key)] for key in ("b", "a", "b%")
    ]


@pytest.mark.parametrize("make", [sqlite_store, sql_store])
def test_the_second_of_two_rows_is_damaged(make: Make, tmp_path: Path) -> None:
    """It is named with its key, and the entries behind it alone are read."""
    store = make(tmp_path)
    for key in "ab":
        store.append(key, Transcript([*"1b3"], clock=None).entries)
    path = tmp_path / ("chats.db" if make is sqlite_store else "sql.db")
    upper = "UPDATE promptdsl_entries SET line = upper(line) WHERE key = 'b' AND number = 2"
    change(SqliteStore(path), upper)
    what = "entry 2 of 'b' is damaged: it has no checksum at its end"
    assert what == raised(TranscriptError, lambda: store.load("b")).what
    assert ([3], [1, 2, 3]) == (
        [entry.number for entry in store.load("b", after=2)],
        [entry.number for entry in store.load("a")],
    )


# Errors that name the line: tests/mistakes/stores.md has their texts.


def test_the_line_of_the_author(tmp_path: Path) -> None:
    """An error of a store names the line that called the transcript, or the store itself."""
    store = SqliteStore(tmp_path / "chats.db")
    talk = Transcript.open("a", store=store)
    talk.append("bb")
    damage(store, "a")

    def load() -> None:
        store.load("a")

    def open_it() -> None:
        Transcript.open("a", store=store)

    for write in (load, open_it):
        error = raised(TranscriptError, write)
        assert error.at == lines_of(write, 1)
        assert error.what.startswith("entry 1 of 'a' is damaged: its checksum")


@KINDS
def test_the_line_of_an_author_who_waits(make: Make, tmp_path: Path) -> None:
    """An error in a thread, and one in a task, name the line that called the transcript."""
    store = make(tmp_path)

    async def commit() -> None:
        talk = await Transcript.aopen("a", store=store)
        Transcript.open("a", store=store).append("Hi.")
        talk.append("Hello.")
        await asyncio.create_task(talk.acommit())

    error = raised(ConflictError, lambda: asyncio.run(commit()))
    assert error.at == lines_of(commit, 4)


@pytest.mark.parametrize("store", ["chats.db", 5, [], FolderStore])
def test_what_is_no_store(store: Any) -> None:
    """A path, or a class, is not a store."""
    error = raised(OptionError, lambda: Transcript.open("a", store=store))
    assert error.what.endswith("is not a store")


@KINDS
def test_salvage_is_for_files(make: Make, tmp_path: Path) -> None:
    """A store is not salvaged; the file of a folder's store is."""
    store = make(tmp_path)
    error = raised(OptionError, lambda: Transcript.open("a", store=store, salvage=True))
    assert error.what == "salvage=True is for files"


def test_a_file_that_was_damaged_is_salvaged(tmp_path: Path) -> None:
    """The path of a key is opened with salvage=True."""
    store = FolderStore(tmp_path)
    talk = Transcript.open("a", store=store, clock=None)
    for text in "abc":
        talk.append(text)
    damage(store, "a")
    error = raised(TranscriptError, lambda: store.load("a"))
    assert f"of {store.path('a')!r} is damaged: its checksum is wrong" in error.what
    with Transcript.open(store.path("a"), salvage=True) as found:
        assert [message.text for message in found] == ["a", "c"]


# Hostile data.

TYPES = (
    *("os.system", "os", "promptdsl.cli", "__class__", "builtins.eval", "antigravity", "this"),
    *("subprocess:Popen", "../evil", "evil.py", "__reduce__", "xmlrpc.client", "turtle"),
)
PICKLED = "\x80\x04\x95\x1a\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x94\x8c\x06system\x94\x93\x94."
"""The bytes of a pickle that calls a function, as text."""


WATCHED = """
import promptdsl, sys
from promptdsl import Transcript

def read(key):
    talk = Transcript.open(key, store=getattr(promptdsl, sys.argv[1])(sys.argv[2]))
    [message.text for message in talk], talk.turns, talk.metadata
    [(entry.value, entry.data, entry.message, repr(entry)) for entry in talk.entries]
    return len(talk.entries)

def watch(event, args):
    if event == "import" and not args[0].startswith("promptdsl.") or event == "os.system":
        seen.append(args[0])

read("none")
Transcript(["Hi."]).append({"role": "user", "content": [{"type": "odd"}]})
import json, datetime
seen = []
sys.addaudithook(watch)
print(read("a"), seen)
import subprocess
print(seen[0])
"""
"""A program that prints what is imported while it reads hostile data, and then imports itself."""


def hostile() -> list[TranscriptEntry]:
    """Return entries that name modules and classes wherever a name can be."""
    talk = Transcript(clock=None)
    names = [*TYPES, PICKLED, "cos\nsystem\n(S'true'\ntR."]
    for name in names:
        message = Message("user", name, id=name, metadata={"__class__": name, "__module__": name})
        talk.append(message)
        talk.note({"type": name, "__class__": name, "__reduce__": [name], "py/object": name})
        talk.tag(__class__=name, cls=name)
        talk.append({"role": "user", "content": [{"type": name, "import": name, "text": name}]})
    last = len(talk.entries)
    return [
        *talk.entries,
        *(
            TranscriptEntry(n, name, None, n, {"value": {"__class__": name}})  # type: ignore[arg-type]
            for n, name in enumerate(names, last + 1)
        ),
    ]


@pytest.mark.native
@KINDS
def test_no_name_in_data_is_imported(make: Make, tmp_path: Path) -> None:
    """To load and read hostile data imports nothing but modules of the package itself."""
    store, entries = make(tmp_path), hostile()
    store.append("a", entries)
    Path(tmp_path, "evil.py").write_text("raise SystemExit")
    path = tmp_path if make is FolderStore else tmp_path / "chats.db"
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, type(store).__name__, str(path)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert (done.stdout, done.stderr) == (f"{len(entries)} []\nsubprocess\n", "")


def test_a_store_that_is_asynchronous() -> None:
    """Transcript.open refuses an async store, and leaves no coroutine behind."""

    def write() -> None:
        Transcript.open("a", store=AsyncMemoryStore())

    error = raised(OptionError, write)
    assert (error.what, error.fix) == (
        "this store is asynchronous",
        "await Transcript.aopen(key, store=...)",
    )
    assert error.at == lines_of(write, 1)


# Changes that nobody writes.


async def discarded(store: Any, *, is_written: bool) -> None:
    """Append two messages to a transcript and discard it."""
    transcript = await Transcript.aopen("Ann", store=store)
    transcript.append("Why?")
    transcript.append("And when?")
    if is_written:
        await transcript.acommit()


def test_changes_that_are_lost(tmp_path: Path) -> None:
    """A transcript that is discarded with changes in memory warns at the line that opened it."""
    with closing(SqliteStore(tmp_path / "a.db")) as store:
        with pytest.warns(RuntimeWarning) as caught:
            asyncio.run(discarded(store, is_written=False))
        assert [
            (
                "2 changes of the transcript 'Ann' are lost: they were not written\n"
                "  await transcript.acommit(), or write async with await Transcript.aopen(...)",
                __file__,
                lines_of(discarded, 2),
            )
        ] == [(str(w.message), w.filename, (f"{w.filename}:{w.lineno}",)) for w in caught]


def test_changes_that_are_lost_after_two_writes_at_once(tmp_path: Path) -> None:
    """Also after two ``acommit`` at the same time, changes that are lost later cause a warning."""

    async def discarded_later(store: Any) -> None:
        transcript = await Transcript.aopen("Ann", store=store)
        transcript.append("Why?")
        await asyncio.gather(transcript.acommit(), transcript.acommit())
        transcript.append("And when?")

    lost = "1 changes of the transcript 'Ann' are lost"
    with closing(SqliteStore(tmp_path / "a.db")) as store, pytest.warns(RuntimeWarning, match=lost):
        asyncio.run(discarded_later(store))


def test_changes_that_are_written_or_refused(tmp_path: Path) -> None:
    """Nothing is said of changes that were written, or of which an error was raised."""

    async def fails(store: Any) -> None:
        async with await Transcript.aopen("Bob", store=store) as transcript:
            transcript.append("Why?")
            raise KeyError

    async def conflicts(store: Any) -> None:
        first = await Transcript.aopen("Eve", store=store)
        second = await Transcript.aopen("Eve", store=store)
        first.append("Why?")
        second.append("When?")
        await first.acommit()
        with pytest.raises(ConflictError):
            await second.acommit()

    with closing(SqliteStore(tmp_path / "a.db")) as store:
        asyncio.run(discarded(store, is_written=True))
        with pytest.raises(KeyError):
            asyncio.run(fails(store))
        asyncio.run(conflicts(store))
        gc.collect()


@pytest.mark.slow
def test_changes_that_are_lost_with_the_program(tmp_path: Path) -> None:
    """A transcript that is still there when the program ends warns, too."""
    program = tmp_path / "program.py"
    program.write_text(
        """
import asyncio
from promptdsl import FolderStore, Transcript

async def main():
    transcript = await Transcript.aopen("Ann", store=FolderStore("chats"))
    transcript.append("Why?")
    return transcript

transcript = asyncio.run(main())
"""
    )
    done = subprocess.run(
        [sys.executable, str(program)], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert f"{program}:6: RuntimeWarning: 1 changes of the transcript 'Ann' are lost" in done.stderr
