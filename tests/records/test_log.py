"""The log of records: each text once a file, whole after a kill, damage found by line and byte."""

import json
import os
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import Message, OptionError, PromptLog, Timeline, TranscriptError, User, render
from promptdsl.cli import main
from tests.internals import log_module
from tests.records.kills import killed

NOON = datetime(2026, 11, 27, 12, tzinfo=UTC)
SYSTEM = "You are a support agent of TechCorp, and you answer in one sentence."
RECORD: dict[str, Any] = {
    "format": "1.0",
    "model": {"model": "gpt-5", "provider": "openai"},
    "messages": [{"role": "system", "content": SYSTEM}, {"role": "user", "content": "Hi."}],
    "tokens": {"total": 1_024},
    "losses": [{"kind": "hint"}],
    "dropped": [],
    "future": {"~1": "~~x"},
}


@pytest.fixture
def log(tmp_path: Path) -> Iterator[PromptLog]:
    """Return a log with three records in one file."""
    log = PromptLog(tmp_path / "log", clock=lambda: NOON)
    log.append(RECORD, name="support", id="b", at=NOON.astimezone(timezone(timedelta(hours=9))))
    lost = {**RECORD, "losses": [{"kind": "content"}], "dropped": [{"address": "manual"}]}
    log.append(lost, name="other", at=NOON + timedelta(hours=2))
    log.append(RECORD, name="support", id="a", at=NOON - timedelta(seconds=1))
    yield log
    log.close()


def file_of(log: PromptLog) -> Path:
    """Return the one file of a log."""
    (path,) = log.folder.iterdir()
    return path


def test_records_are_read_by_their_times(log: PromptLog) -> None:
    """Entries come back as given, by time over all files, which are for their owner alone."""
    log.close()
    log.append(RECORD, id="c", at=NOON + timedelta(hours=1))
    assert ["a", "b", "c", None] == [entry.id for entry in log]
    assert [RECORD, RECORD, RECORD] == [entry.record for entry in log.read()[:3]]
    assert "2026-11-27T12:00:00.000000+00:00" == log.read()[1].at
    assert {0o600} == {path.stat().st_mode & 0o777 for path in log.folder.iterdir()}
    assert () == log.repairs


def test_each_text_is_once_in_a_file(log: PromptLog) -> None:
    """A long text is written once, and so are the parts that are equal in many records."""
    text = file_of(log).read_text()
    assert 1 == text.count(SYSTEM) == text.count("gpt-5")
    assert text.startswith('{"format":"promptdsl.log","version":"1.0","sum":"')


json_data = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["~", "~1", "~~", '"~', "\\", '\\"~1', "a" * 39, "a" * 41, "~" * 45])
    | st.text(max_size=60) | st.text('"\\~\1\2a', max_size=60),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.text('"\\~1', max_size=50), inner, max_size=3),
)  # fmt: skip


@given(
    st.lists(st.dictionaries(st.sampled_from(["model", "tools", "x", "~1"]), json_data, min_size=1))
)
def test_any_record_comes_back(records: list[dict[str, Any]]) -> None:
    """Parse of serialise is the value itself, whatever its texts look like."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        log = PromptLog(folder)
        for record in records:
            log.append({"format": "1.1", **record}, name="~1", id='"~')
        found = [entry.record for entry in log]
        records = [{"format": "1.1", **record} for record in records]
        assert json.dumps(records, sort_keys=True) == json.dumps(found, sort_keys=True)
        log.close()


def test_files_are_rotated_and_stand_alone(tmp_path: Path) -> None:
    """A full file is followed by another one; one that is deleted takes only its own records."""
    log = PromptLog(tmp_path, max_bytes=2_000, clock=lambda: NOON)
    for number in range(40):
        log.append(RECORD, id=str(number))
    files = sorted(tmp_path.iterdir(), key=lambda path: path.stat().st_mtime_ns)
    assert len(files) > 3
    assert all(SYSTEM in path.read_text() for path in files)
    files[0].unlink()
    assert 0 < len(log.read()) < 40
    files[-1].unlink()
    log.append(RECORD, id="last")
    assert "last" in [entry.id for entry in log]
    log.close()


@pytest.mark.parametrize("step", [67, pytest.param(1, marks=pytest.mark.slow)])
def test_every_cut_is_read(log: PromptLog, step: int) -> None:
    """A file that ends at any byte has the records before; what is behind is told."""
    path, whole = file_of(log), {entry.id: entry for entry in log}
    data = path.read_bytes()
    for end in range(0, len(data) + 1, step):
        path.write_bytes(data[:end])
        assert all(whole[entry.id] == entry for entry in log.read())
        count = data[:end].count(b'"at":') if data[end - 1 : end] == b"\n" else None
        assert count in (None, len(log.read()))
        is_torn = end and data[end - 1 : end] != b"\n"
        assert bool(is_torn) == bool(log.repairs)


@pytest.mark.parametrize(
    ("line", "change", "left"),
    [
        (-1, (b"support", b"supper!"), 2),
        (-1, (b'"sum"', b'"SUM"'), 2),
        (3, (b"You", b"Who"), 0),  # without it, the others have no text
        (0, (b"promptdsl.log", b"promptdsl.lug"), 3),
    ],
)
def test_damage_is_an_error(
    log: PromptLog, line: int, change: tuple[bytes, bytes], left: int
) -> None:
    """A damaged line raises, with its line and byte; salvage returns the others."""
    path = file_of(log)
    lines = path.read_bytes().splitlines(keepends=True)
    at = len(b"".join(lines[:line]))
    lines[line] = lines[line].replace(*change)
    path.write_bytes(b"".join(lines))
    place = f"line {line % len(lines) + 1} at byte {at} of {str(path)!r} is damaged: "
    with pytest.raises(TranscriptError, match="salvage=True") as caught:
        log.read()
    assert caught.value.what.startswith(place)
    assert left == len(log.read(salvage=True))
    assert log.repairs[0].startswith(place)
    assert all("is damaged" in repair for repair in log.repairs)


def test_versions(log: PromptLog) -> None:
    """A line of a newer minor version is passed over; another major version is refused."""
    path = file_of(log)
    path.write_bytes(path.read_bytes() + log_module.summed('{"note":1}'))
    assert 3 == len(log.read())
    header = log_module.with_sum({"format": log_module.FORMAT, "version": "2.0"})
    path.write_bytes(header)
    with pytest.raises(TranscriptError, match=r"has the format version 2\.0"):
        log.read(salvage=True)
    path.write_bytes(log_module.with_sum({"format": "x"}))
    with pytest.raises(TranscriptError, match="the line is not the header of a log"):
        log.read()


def test_a_write_that_fails_leaves_nothing(log: PromptLog, monkeypatch: Any) -> None:
    """A record that was not written is not there, and the next one is whole."""
    before = file_of(log).read_bytes()

    def failing(descriptor: int, data: bytes) -> None:
        os.write(descriptor, data[:-9])
        raise OSError(28, "No space left on device")

    def refused(*_: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(log_module, "write_all", failing)
    with pytest.raises(TranscriptError, match="No space left"):
        log.append({"format": "1.0", "new": SYSTEM[::-1]})
    assert before == file_of(log).read_bytes()
    monkeypatch.setattr(log_module.os, "ftruncate", refused)
    with pytest.raises(TranscriptError):
        log.append({"format": "1.0", "new": SYSTEM[::-1]})
    monkeypatch.undo()
    log.append({"format": "1.0", "new": SYSTEM[::-1]}, id="new")
    assert {"a", "b", None, "new"} == {entry.id for entry in log}
    assert 1 == len(log.repairs)


@pytest.mark.parametrize(
    ("record", "options", "told"),
    [
        (5, {}, "5 is not a record"),
        ({}, {}, "{} is not a record"),
        (RECORD, {"at": datetime(2026, 1, 1)}, "2026-01-01 00:00:00 has no time zone"),
        ({"format": "1.1", "x": {1, 2}}, {}, "not a JSON value"),
        (render(Timeline(User("Hi.")), model="gpt-5").payload(), {}, "is not a record"),
        (Message("user", "Hi."), {}, "is not a record"),
        (render(Timeline(User("Hi."))), {}, "is not a record"),
        ([RECORD], {}, "is not a record"),
        (RECORD, {"name": 5}, "the name 5 is not a text"),
        (RECORD, {"id": b"x"}, "the id b'x' is not a text"),
    ],
)
def test_bad_input(log: PromptLog, record: Any, options: Any, told: str) -> None:
    """What is no record, time, name or id is refused, and nothing is written."""
    with pytest.raises((OptionError, ValueError), match=told):
        log.append(record, **options)
    assert 3 == len(log.read())


@pytest.mark.native
def test_threads_and_processes(tmp_path: Path) -> None:
    """Threads share a file and no line is mixed; a child that was forked has its own."""
    log = PromptLog(tmp_path)

    def many(name: str) -> None:
        for number in range(50):
            log.append({"format": "1.0", "text": f"{name} {number} " * 20}, id=f"{name}{number}")

    threads = [threading.Thread(target=many, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 1 == len([*tmp_path.iterdir()])
    if hasattr(os, "fork"):
        child = os.fork()
        if not child:
            many("e")
            os._exit(0)
        assert (child, 0) == os.waitpid(child, 0)
    log.append(RECORD, id="parent")
    assert 251 == len({entry.id for entry in log})
    assert 2 == len([*tmp_path.iterdir()])
    log.close()


@pytest.mark.slow
@pytest.mark.native
def test_kills(tmp_path: Path) -> None:
    """A process that is killed loses no record that was appended."""
    faults, _ = killed(tmp_path, kills=3, seed=1)
    assert [] == faults


def test_list(log: PromptLog, capsys: Any) -> None:
    """The command lists records by time, filtered, and as JSON."""

    def out(*options: str) -> str:
        assert 0 == main(["records", "list", str(log.folder), *options])
        return capsys.readouterr().out

    day, first, second, third = out().splitlines()
    assert "2026-11-27: 3 calls, 3,072 tokens" == day
    assert (
        f"  11:59:59  support  a  gpt-5  {'░' * 20}  1,024 tokens  2 messages  0 losses  0 dropped"
        == first
    )
    lost, dropped = out("--lost").splitlines(), out("--dropped").splitlines()
    assert third.replace("other  ", "other") == lost[1] == dropped[1]
    assert (3, 3) == (len(lost), len(dropped))
    since = out("--since", "2026-11-27T21:00+09:00", "--name", "support").splitlines()
    assert ["2026-11-27: 1 call, 1,024 tokens", second] == since
    assert [RECORD] == [row["record"] for row in json.loads(out("--id", "a", "--json"))]
    assert "" == out("--since", "2027-01-01")


def test_two_filters_of_a_list(log: PromptLog, capsys: Any) -> None:
    """With --lost and --dropped a record has both: losses, and parts that were dropped."""
    log.append({**RECORD, "dropped": [{"address": "manual"}]}, id="dropped", at=NOON)
    log.append({**RECORD, "losses": [{"kind": "role"}]}, id="lost", at=NOON)
    assert 0 == main(["records", "list", str(log.folder), "--lost", "--dropped"])
    _, line, *missing = capsys.readouterr().out.splitlines()
    assert (True, "1 losses", "1 dropped") == ("other" in line, *line.split("  ")[-2:])
    assert 2 == len(missing)


def test_list_of_a_damaged_log(log: PromptLog, capsys: Any) -> None:
    """The command names the damage; --salvage lists the others; a wrong call is told."""
    path = file_of(log)
    path.write_bytes(path.read_bytes().replace(b'"a"', b'"z"') + b"{")
    assert 1 == main(["records", "list", str(log.folder)])
    assert "read it with --salvage to get the good lines" in capsys.readouterr().err
    assert 0 == main(["records", "list", str(log.folder), "--salvage"])
    data, notes = capsys.readouterr()
    assert (3, 2) == (data.count("\n"), notes.count("\n"))
    assert 2 == main(["records", "list", str(path)])
    assert 2 == main(["records", "list", str(log.folder), "--salvage", "--since", "noon"])
