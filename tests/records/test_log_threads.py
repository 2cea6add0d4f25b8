"""The log between threads, signals, forks and the garbage collector; and damage in its files."""

import gc
import json
import os
import pickle
import signal
import threading
import warnings
from pathlib import Path
from typing import Any

import pytest

from promptdsl import PromptLog, TranscriptError
from tests.internals import log_module, stores_module
from tests.records.threads import run_threads

# From Python 3.12 on a fork of a process with threads warns, which is what is tried here.
pytestmark = pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")


def record(name: str) -> dict[str, Any]:
    """Return a record with a long text and with settings of its own."""
    return {"format": "1.0", "text": name * 60, "settings": {"name": name * 60}}


def ids(log: PromptLog) -> list[str | None]:
    """Return the ids of the records; each has its own text and settings."""
    entries = log.read()
    for entry in entries:
        assert record(str(entry.id)[0]) == entry.record
    return sorted(str(entry.id) for entry in entries)


def append(log: PromptLog, id: str) -> None:
    """Append a record that belongs to an id."""
    log.append(record(id[0]), id=id)


@pytest.mark.native
@pytest.mark.parametrize("seconds", [0.1, pytest.param(5, marks=pytest.mark.slow)])
def test_threads_append_while_others_close(tmp_path: Path, seconds: float) -> None:
    """No append raises, and no record is lost, mixed, or written into another file."""
    faults, figures = run_threads(tmp_path, seconds=seconds, threads=8, seed=1, forks=seconds > 1)
    assert [] == faults
    assert figures["records"] > 0 < figures["closes"]


@pytest.mark.native
def test_the_first_appends_of_threads_share_a_file(tmp_path: Path) -> None:
    """Threads that append first at the same time write one file."""
    for number in range(10):
        log = PromptLog(tmp_path / str(number))
        barrier = threading.Barrier(8)

        def first(name: str, log: PromptLog = log, barrier: threading.Barrier = barrier) -> None:
            barrier.wait()
            append(log, name)

        threads = [threading.Thread(target=first, args=(name,)) for name in "abcdefgh"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        log.close()
        assert [*"abcdefgh"] == ids(log)
        assert 1 == len([*log.folder.iterdir()])


@pytest.mark.parametrize("inner", ["append", "close", "both"])
def test_an_append_within_an_append(
    tmp_path: Path, inner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a signal or a finalizer does to the log during a write harms no record."""
    log = PromptLog(tmp_path)
    append(log, "a1")
    write_all = log_module.write_all

    def interrupted(descriptor: int, data: bytes) -> None:
        monkeypatch.setattr(log_module, "write_all", write_all)
        if inner != "close":
            append(log, "b1")
        if inner != "append":
            log.close()
        write_all(descriptor, data)

    monkeypatch.setattr(log_module, "write_all", interrupted)
    append(log, "c1")
    for id in ("a2", "b2", "c2"):
        append(log, id)
    log.close()
    nested = [] if inner == "close" else ["b1"]
    assert sorted(["a1", "c1", "a2", "b2", "c2", *nested]) == ids(log)
    assert () == log.repairs


@pytest.mark.native
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there is no timer")
def test_a_signal_that_appends(tmp_path: Path) -> None:
    """A handler of a signal may append at any moment: no thread waits for itself."""
    log = PromptLog(tmp_path)
    count = 0

    def handler(*_: object) -> None:
        nonlocal count
        count += 1
        append(log, f"s{count}")

    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
        for number in range(300):
            append(log, f"m{number}")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    log.close()
    assert 300 + count == len(ids(log))
    assert () == log.repairs


@pytest.mark.native
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_fork_while_a_thread_appends(tmp_path: Path) -> None:
    """A child has a file of its own, whatever a thread of its parent does at that moment."""
    log = PromptLog(tmp_path)
    is_over = threading.Event()

    def many() -> None:
        number = 0
        while not is_over.is_set():
            number += 1
            append(log, f"t{number}")

    thread = threading.Thread(target=many)
    thread.start()
    for number in range(5):
        child = os.fork()
        if not child:
            append(log, f"c{number}")
            os._exit(0)
        assert (child, 0) == os.waitpid(child, 0)
    is_over.set()
    thread.join()
    append(log, "p")
    log.close()
    found = ids(log)
    assert [f"c{number}" for number in range(5)] == [id for id in found if str(id)[0] == "c"]
    assert "p" in found
    assert () == log.repairs
    assert 6 == len([*tmp_path.iterdir()])


@pytest.mark.native
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.parametrize("inner", ["make", "fork"])
def test_a_fork_waits_for_no_thread_for_ever(
    tmp_path: Path, inner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread that appends may make another log, or fork, while a second thread forks."""
    log = PromptLog(tmp_path / "log")
    write_all, writes, forked = log_module.write_all, threading.Event(), list[int]()

    def fork() -> None:
        child = os.fork()
        if not child:
            os._exit(0)
        forked.append(os.waitpid(child, 0)[1])

    def slow(descriptor: int, data: bytes) -> None:
        writes.set()
        second.join(0.2)  # it waits for the lock of this log
        PromptLog(tmp_path / "other") if inner == "make" else fork()
        write_all(descriptor, data)

    def fork_meanwhile() -> None:
        writes.wait(5)
        fork()

    import concurrent.futures.thread  # noqa: F401 (its lock is held by a fork, too)

    monkeypatch.setattr(stores_module, "FORK_TIMEOUT", 0.3)
    monkeypatch.setattr(log_module, "write_all", slow)
    second = threading.Thread(target=fork_meanwhile, daemon=True)
    first = threading.Thread(target=append, args=(log, "a"), daemon=True)
    second.start()
    first.start()
    for thread in (first, second):
        thread.join(20)
        assert not thread.is_alive()
    log.close()
    assert ["a"] == ids(log)
    assert [0] * (1 + (inner == "fork")) == forked


def test_a_log_that_nobody_closes(tmp_path: Path) -> None:
    """Its file is closed with the object, with a warning; a closed one warns of nothing."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for close in (True, False):
            log = PromptLog(tmp_path)
            append(log, "a")
            if close:
                log.close()
            before = len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else 1
            del log
            gc.collect()
            if before > 1:
                assert before - (not close) == len(os.listdir("/proc/self/fd"))
    assert [ResourceWarning] == [warning.category for warning in caught]
    assert "records-" in str(caught[0].message)
    assert 2 == len(PromptLog(tmp_path).read())


def test_a_log_is_a_context_and_can_be_pickled(tmp_path: Path) -> None:
    """It is closed at the end of a block; a pickle of it writes a file of its own."""
    with PromptLog(tmp_path, max_bytes=5_000) as log:
        append(log, "a")
        with pickle.loads(pickle.dumps(log)) as other:
            append(other, "b")
        append(log, "c")
    assert ["a", "b", "c"] == ids(log)
    assert 2 == len([*tmp_path.iterdir()])


@pytest.mark.native
@pytest.mark.skipif(os.name == "nt", reason="Windows counts the numbers of files in another way")
def test_a_number_that_the_program_took_away(tmp_path: Path) -> None:
    """Where the program closed the file of the log, no byte goes into the file of that number."""
    folder = tmp_path / "log"
    log = PromptLog(folder)
    for id in ("a1", "a2"):
        append(log, id)
        numbers = [
            int(name)
            for name in os.listdir("/dev/fd")
            if os.path.exists(f"/dev/fd/{name}")
            and os.path.realpath(f"/proc/self/fd/{name}").startswith(str(folder))
        ]
        if not numbers:
            pytest.skip("the system does not say which files are open")
        os.close(numbers[0])
        mine = os.open(tmp_path / "mine", os.O_RDWR | os.O_CREAT) if id == "a1" else -1
        append(log, f"b{id[1]}")
        log.close()
        if mine >= 0:
            assert b"" == (tmp_path / "mine").read_bytes()
            os.close(mine)  # the log did not close it
    assert ["a1", "a2", "b1", "b2"] == ids(log)


# Damage.


def file_lines(folder: Path, *records: Any) -> list[bytes]:
    """Return the lines of a log with records."""
    with PromptLog(folder) as log:
        for number, data in enumerate(records):
            log.append(data, id=f"r{number}")
    (path,) = folder.iterdir()
    lines = path.read_bytes().splitlines(keepends=True)
    path.unlink()
    return lines


def read(folder: Path, lines: list[bytes]) -> tuple[list[str | None], tuple[str, ...]]:
    """Return the ids of what is good, and what is told; without salvage damage is an error."""
    path = folder / "records-1.jsonl"
    path.write_bytes(b"".join(lines))
    log = PromptLog(folder)
    found = log.read(salvage=True)
    if log.repairs:
        with pytest.raises(TranscriptError, match="is damaged"):
            PromptLog(folder).read()
    return [entry.id for entry in found], log.repairs


def test_two_files_in_one(tmp_path: Path) -> None:
    """A header in the middle is told, and no record is given the text of another one."""
    first = file_lines(tmp_path, record("a"), record("b"))
    second = file_lines(tmp_path, record("c"), {"format": "1.0"})
    found, repairs = read(tmp_path, [*first, *second])
    assert "another file begins here" in repairs[0]
    assert ["r0", "r1", "r0", "r1"] == found
    entries = PromptLog(tmp_path).read(salvage=True)
    assert [*map(record, "abc"), {"format": "1.0"}] == [entry.record for entry in entries]


def without_ids(lines: list[bytes]) -> list[bytes]:
    """Return lines as older versions wrote them: without the id of the file."""
    data = [{**json.loads(line)} for line in lines]
    for entry in data:
        for key in ("file", "sum", "line"):
            entry.pop(key, None)
    return [log_module.summed(json.dumps(entry, separators=(",", ":"))) for entry in data]


def test_two_files_in_one_without_ids(tmp_path: Path) -> None:
    """Lines of older versions have no ids: what refers to a value after a second header is told."""
    first = without_ids(file_lines(tmp_path, record("a"), record("b")))
    second = without_ids(file_lines(tmp_path, record("c"), {"format": "1.0"}))
    found, repairs = read(tmp_path, first)
    assert (["r0", "r1"], ()) == (found, repairs)
    found, repairs = read(tmp_path, [*first, *second])
    assert ["r0", "r1"] == found
    assert len(repairs) > 1


@pytest.mark.parametrize("index", range(2, 12))
@pytest.mark.parametrize("tail", [False, True])
def test_lines_of_another_file(tmp_path: Path, index: int, tail: bool) -> None:
    """A line, or all lines, at the same place of another file are told, and no text is mixed."""
    first = file_lines(tmp_path, *map(record, "abcd"))
    second = file_lines(tmp_path, *map(record, "efgh"))
    end = len(second) if tail else index + 1
    _, repairs = read(tmp_path, [*first[:index], *second[index:end], *first[end:]])
    assert repairs
    for entry in PromptLog(tmp_path).read(salvage=True):
        text = str(entry.record["text"])
        assert record(text[0]) == entry.record
        assert text[0] in ("abcd"[int(str(entry.id)[1])], "efgh"[int(str(entry.id)[1])])


@pytest.mark.parametrize("damage", ["twice", "lost", "moved"])
@pytest.mark.parametrize("kind", ["value", "record"])
def test_lines_that_are_twice_lost_or_moved(tmp_path: Path, kind: str, damage: str) -> None:
    """A whole line that is not in its place is told, whatever it holds."""
    lines = file_lines(tmp_path, *map(record, "abcd"))
    key = b'"record"' if kind == "record" else b'"n"'
    index = [number for number, line in enumerate(lines) if key in line][1]
    if damage == "twice":
        lines.insert(index, lines[index])
    else:
        line = lines.pop(index)
        lines[index + 2 : index + 2] = [line] if damage == "moved" else []
    found, repairs = read(tmp_path, lines)
    assert repairs
    assert len(found) >= 2
    for entry in PromptLog(tmp_path).read(salvage=True):
        assert record("abcd"[int(str(entry.id)[1])]) == entry.record


ODD: list[Any] = [
    {"n": 9, "value": 1, "line": 3},
    {"n": [], "value": 1},
    {"n": "1", "value": 1},
    {"n": True, "value": 1},
    {"n": 1},
    *(
        {"at": "2026", "name": None, "id": None, "record": own, "shared": shared}
        for own, shared in [
            *((own, []) for own in (None, 5, "text", [], ["a"], "~1")),
            *(({}, shared) for shared in (None, 5, "text", {}, [5], ["~9"], [["a"]])),
        ]
    ),
    *(
        {"at": "2026", "name": None, "id": None, "record": {}, "shared": [], key: value}
        for key in ("at", "name", "id")
        for value in (5, [], {}, True, "~9")
    ),
    {"at": None, "name": None, "id": None, "record": {"a": 1}, "shared": []},
    {"record": {}},
    {"record": {}, "line": "2"},
]


@pytest.mark.parametrize("data", ODD, ids=lambda data: json.dumps(data)[:60])
def test_salvage_never_raises(tmp_path: Path, data: Any) -> None:
    """A line with a right checksum that no log writes is told, and takes no other with it."""
    lines = file_lines(tmp_path, record("a"))
    odd = log_module.summed(json.dumps(data))
    with PromptLog(tmp_path) as log:
        append(log, "z")
    found, repairs = read(tmp_path, [lines[0], odd, *lines[1:]])
    assert {"z", "r0"} == set(found) or "r0" not in found
    assert "z" in found
    assert repairs
    assert "line 2 at byte" in repairs[0]


def test_a_line_that_is_nested_too_deep(tmp_path: Path) -> None:
    """Data nested deeper than Python recurses is told."""
    lines = file_lines(tmp_path, record("a"))
    for depth in (300, 400, 900, 100_000):
        deep = "[" * depth + "]" * depth
        file = json.loads(lines[-1])["file"]
        text = f'{{"at":"2026","name":null,"id":"deep","record":{{"a":{deep}}},"shared":[]'
        text += f',"file":"{file}"}}'
        found, repairs = read(tmp_path, [*lines, log_module.summed(text)])
        assert "r0" in found
        assert ("deep" in found) != bool(repairs)


@pytest.mark.native
def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    """A folder, a link to nothing, and a file that is gone are told, or passed over."""
    with PromptLog(tmp_path) as log:
        append(log, "a")
    (tmp_path / "records-0.jsonl").mkdir()
    (tmp_path / "records-1.jsonl").symlink_to(tmp_path / "nothing")
    assert ["a"] == [entry.id for entry in log.read(salvage=True)]
    assert any("records-0.jsonl" in repair for repair in log.repairs)
    with pytest.raises(TranscriptError, match=r"records-0\.jsonl"):
        log.read()
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "records-2.jsonl")
        log.read(salvage=True)
        assert any("records-2.jsonl" in repair for repair in log.repairs)


def test_a_log_that_was_copied_to_the_end_of_itself(tmp_path: Path) -> None:
    """The same file twice gives each record of the first copy, and none of another's text."""
    lines = file_lines(tmp_path, record("a"), record("b"))
    found, repairs = read(tmp_path, [*lines, *lines])
    assert ["r0", "r1"] == found[:2]
    assert repairs
