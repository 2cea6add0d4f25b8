"""Batches that were stopped and go on: nothing lost, nothing twice, and nothing changed unseen."""

import json
import os
import shutil
import signal
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

import attrs
import pytest

from promptdsl import DataError, Output, System, Timeline, User
from promptdsl.batch import (
    BatchWriter,
    Job,
    RowReader,
    RowRenderer,
    read_results,
    services,
    write_batch,
)
from tests.batch import kills
from tests.batch.folders import PROMPTS, Folder, contents
from tests.internals import batch_writer_module

ROWS: list[object] = [{"question": f"Is it {n}?", "key": f"k{n}"} for n in range(12)]
ROWS[2] = {"question": "fail", "key": "k2"}
ROWS[5] = {"question": "Lost: \ud800", "key": "k5"}
ROWS[8] = {"question": "Is it 1?", "key": "k8"}
ROWS[10] = {"key": "k10"}


def ask(question: str) -> Timeline:
    """Return a prompt; some questions fail, and some want an answer of a form."""
    if question == "fail":
        raise KeyError(question)
    form = [Output({"type": "object"})] if "3" in question else []
    return Timeline(System("Be brief."), *form, User(question))


def work() -> RowRenderer:
    """Return the renderer of the rows."""
    return RowRenderer(ask, model="gpt-5")


@pytest.fixture
def small(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> Folder:
    """Return a folder with a table of 12 rows; files have 3 requests, checkpoints 2 rows."""
    monkeypatch.setattr(batch_writer_module, "ROWS_BETWEEN_CHECKPOINTS", 2)
    openai = attrs.evolve(services()["openai"], requests=3)
    monkeypatch.setitem(services(), "openai", openai)
    folder.table(ROWS)
    return folder


def steps(out: str = "out", **options: Any) -> Generator[BatchWriter]:
    """Begin the batch of the rows, or go on with it."""
    reader = RowReader(["rows.jsonl"], work().parameters.columns)
    return write_batch(Job(reader, work(), work, {}), out, **options)


def finished(out: str = "out", **options: Any) -> dict[str, bytes]:
    """Write the batch to its end; return the bytes of all its files."""
    writer = [*steps(out, **options)][-1]
    assert (12, 2) == (writer.rows, writer.failed)
    return contents(Path(out))


MODES: list[dict[str, Any]] = [{}, {"id": "key"}, {"dedupe": True}]
modes = pytest.mark.parametrize("mode", MODES, ids=["made", "column", "dedupe"])
steps_of = pytest.mark.parametrize("step", [6, pytest.param(1, marks=pytest.mark.slow)])


@modes
def test_what_a_whole_batch_has(small: Folder, mode: dict[str, Any]) -> None:
    """A batch has its files of requests, its ids, errors and losses, and a manifest."""
    request_count = 9 if "dedupe" in mode else 10
    names = ["errors.jsonl", "ids.jsonl", "losses.jsonl", "manifest.json"]
    parts = [f"requests-{n:05}.jsonl" for n in range(1, 2 + (request_count - 1) // 3)] + [
        "schemas.jsonl"
    ]
    assert names + parts == [*finished(**mode)]
    assert request_count == len(small.requests())
    assert [3, 11] == [journal_line["row"] for journal_line in small.entries("errors.jsonl")]
    assert [6] == [journal_line["row"] for journal_line in small.entries("losses.jsonl")]


@pytest.mark.usefixtures("small")
@modes
@steps_of
def test_interrupted_after_any_row(mode: dict[str, Any], step: int) -> None:
    """A batch that is interrupted after a row goes on with the next one."""
    complete_files = finished("whole", **mode)
    for count in range(1, 14, step):
        shutil.rmtree("out", ignore_errors=True)
        with closing(steps(**mode)) as batch:
            for _ in range(count):
                next(batch)
        assert complete_files == finished(resume=True, **mode), count


@pytest.mark.usefixtures("small")
@modes
@pytest.mark.slow
def test_interrupted_again_and_again(mode: dict[str, Any]) -> None:
    """A batch that is interrupted after each row comes to the same files."""
    complete_files = finished("whole", **mode)
    resume = False
    while True:
        with closing(steps(resume=resume, **mode)) as batch:
            before = next(batch).rows
            writer = next(batch, None)
        if writer is None or before == 12:
            break
        resume = True
    assert complete_files == finished(resume=True, **mode)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    "at", [0, 9, 21, 30, *(pytest.param(at, marks=pytest.mark.slow) for at in (3, 15, 24, 36))]
)
def test_interrupted_in_the_middle_of_a_row(monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    """Half a row is cut off when the batch goes on."""
    complete_files = finished("whole")
    entered: Iterator[int] = iter(range(100))

    def interrupt(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            if next(entered) == at:
                raise KeyboardInterrupt
            result = function(*args, **options)
            if next(entered) == at:
                raise KeyboardInterrupt
            return result

        return call

    with monkeypatch.context() as patch:
        for name in ("_write", "_request"):
            patch.setattr(BatchWriter, name, interrupt(getattr(BatchWriter, name)))
        with pytest.raises(KeyboardInterrupt):
            finished()
    assert complete_files == finished(resume=True)


def crashes(monkeypatch: pytest.MonkeyPatch, **mode: Any) -> list[dict[str, bytes]]:
    """Return the folder of a batch as it is before and after each step that a disk sees."""
    seen: list[dict[str, bytes]] = []

    def watched(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            for act in (lambda: None, lambda: function(*args, **options)):
                act()
                if Path("out").exists() and (now := contents(Path("out"))) not in seen:
                    seen.append(now)

        return call

    with monkeypatch.context() as patch:
        for name in ("fsync", "replace", "unlink"):
            patch.setattr(os, name, watched(getattr(os, name)))
        finished(**mode)
    return seen


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    ("mode", "step"),
    [
        ({"dedupe": True}, 6),
        *(pytest.param(mode, 1, marks=pytest.mark.slow) for mode in MODES),
    ],
)
def test_killed_at_any_step(
    monkeypatch: pytest.MonkeyPatch, mode: dict[str, Any], step: int
) -> None:
    """From whatever a kill leaves on the disk, the batch comes to the same files."""
    complete_files = finished("whole", **mode)
    states = crashes(monkeypatch, **mode)
    assert len(states) > 30
    for index, state in enumerate(states[:: step * step]):
        for interrupted in (False, True):
            shutil.rmtree("out")
            Path("out").mkdir()
            for name, data in state.items():
                Path("out", name).write_bytes(data)
            resume = "manifest.json" in state
            if interrupted:  # before anything new is written
                steps(resume=resume, **mode).close()
                with closing(steps(resume=resume, **mode)) as batch:
                    next(batch, None)
                resume = True
            assert complete_files == finished(resume=resume, **mode), index


@pytest.mark.usefixtures("small")
@modes
def test_a_finished_batch_stays_as_it_is(mode: dict[str, Any]) -> None:
    """A finished batch that goes on has nothing to do."""
    complete_files = finished(**mode)
    assert (
        complete_files == finished(resume=True, **mode) == finished(resume=True, force=True, **mode)
    )


def test_going_on_to_the_end_says_what_the_whole_batch_is(folder: Folder) -> None:
    """The summary of a finished batch is that of all its rows."""
    arguments = ("ask", folder.table([{"question": "One?"}, {}]))
    done = folder.batch(*arguments)
    assert 1 == done.code
    assert "rows.jsonl:2: DataError: the row has no 'question'" in done.err
    again = folder.batch(*arguments, "--resume")
    assert (done.code, done.out, True) == (again.code, again.out, done.err.endswith(again.err))


TEMPLATE = """\
from pathlib import Path

from promptdsl import Template


def from_file(question, plan="Pro"):
    return Timeline(System(Template(Path("plan.md.j2"))), User(question, plan))


"""


CHANGES: dict[str, tuple[Callable[[Folder], object], tuple[str, ...], str]] = {
    "prompt": (
        lambda it: it.path.joinpath("prompts.py").write_text(f"{TEMPLATE}{PROMPTS}# More.\n"),
        (),
        "prompts.py has changed",
    ),
    "input": (
        lambda it: it.table([{"question": "Other?"}] * 4),
        (),
        "rows.jsonl has changed",
    ),
    "option": (repr, ("--strict",), "options strict was False, and is True"),
    "argument": (
        repr,
        ("-p", "plan=Team"),
        "options constants was {}, and is {'plan': 'Team'}",
    ),
    "more input": (
        lambda it: it.table([{"question": "Other?"}], "more.jsonl"),
        ("more.jsonl",),
        "more.jsonl is new",
    ),
    "template": (
        lambda it: it.path.joinpath("plan.md.j2").write_text("Help, please."),
        (),
        "plan.md.j2 has changed",
    ),
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name in ("input", "argument") else ())
        for name in CHANGES
    ],
)
def test_what_has_changed_is_said(folder: Folder, name: str) -> None:
    """A batch goes on only with what it was begun with; the error says what differs."""
    change, options, words = CHANGES[name]
    folder.path.joinpath("prompts.py").write_text(TEMPLATE + PROMPTS, "utf-8")
    folder.path.joinpath("plan.md.j2").write_text("Help.", "utf-8")
    arguments = ("from_file", folder.table([{"question": "One?"}, {}, {"question": "Two?"}]))
    folder.batch(*arguments, "--on-error", "stop")
    before = contents(folder.path / "out")
    change(folder)
    done = folder.batch(*arguments, *options, "--resume")
    assert (2, before) == (done.code, contents(folder.path / "out"))
    assert f"promptdsl batch: error: since the batch began, {words}" in done.err
    assert "--force continues" in done.err
    forced = folder.batch(*arguments, *options, "--resume", "--force")
    assert (1, True) == (forced.code, (folder.path / "out" / "ids.jsonl").exists())
    assert forced == folder.batch(*arguments, *options, "--resume", "--force")


@pytest.mark.parametrize(
    "key", ["promptdsl", "starter:handover", pytest.param("python", marks=pytest.mark.slow)]
)
def test_another_version_is_said(folder: Folder, key: str) -> None:
    """A batch that was begun by another version of a package goes on only by force."""
    arguments = ("starter:handover", folder.table([{"to": "Ann"}]))
    folder.batch(*arguments)
    path = folder.path / "out" / "manifest.json"
    manifest = json.loads(path.read_text())
    versions = manifest["libraries" if ":" in key else "versions"]
    now, versions[key] = versions[key], "0.0"
    path.write_text(json.dumps(manifest))
    done = folder.batch(*arguments, "--resume")
    assert (2, True) == (done.code, f"{key} was '0.0', and is {now!r}" in done.err)
    assert 0 == folder.batch(*arguments, "--resume", "--force").code


def test_a_prompt_that_is_another_each_time_is_found(folder: Folder) -> None:
    """The first request of each file has to come out as it did."""
    code = "import time\n\n\ndef now():\n    return Timeline(User(str(time.time_ns())))\n"
    folder.path.joinpath("prompts.py").write_text(PROMPTS + code)
    arguments = ("now", folder.table([{}, {}]))
    folder.batch(*arguments)
    before = contents(folder.path / "out")
    done = folder.batch(*arguments, "--resume")
    problem = "row 1, the first row of requests-00001.jsonl, gives another request now"
    assert (2, True) == (done.code, problem in done.err)
    assert 0 == folder.batch(*arguments, "--resume", "--force").code
    assert before.keys() == contents(folder.path / "out").keys()


@pytest.mark.usefixtures("small")
def test_a_second_file_that_begins_with_another_request() -> None:
    """Each file is looked at, not the first one alone."""
    with closing(steps()) as batch:
        assert 8 == len([*islice(batch, 8)])

    def other(question: str) -> Timeline:
        return ask("Is it 44?" if question == "Is it 4?" else question)

    renderer = RowRenderer(other, model="gpt-5")
    reader = RowReader(["rows.jsonl"], renderer.parameters.columns)
    problem = "row 5, the first row of requests-00002.jsonl, gives another request now"
    with pytest.raises(DataError, match=problem):
        next(write_batch(Job(reader, renderer, lambda: renderer, {}), "out", resume=True))


@pytest.mark.parametrize(
    ("files", "options", "problem"),
    [
        (
            {},
            ("--resume",),
            "out has no batch: there is no file out/manifest.json: name the folder of a batch",
        ),
        ({"notes.txt": ""}, (), "the folder out already has files: name a new folder"),
        ({"manifest.json": "{}"}, (), "the folder out already has a batch: --resume continues it"),
        ({"manifest.json": "{"}, ("--resume",), "cannot read out/manifest.json: "),
        (
            {"manifest.json": "{}"},
            ("--resume",),
            "out/manifest.json is not the manifest of a batch",
        ),
        (
            {"manifest.json": "[]"},
            ("--resume",),
            "out/manifest.json is not the manifest of a batch",
        ),
    ],
)
def test_folders_that_are_not_gone_on_with(
    folder: Folder, files: dict[str, str], options: tuple[str, ...], problem: str
) -> None:
    """A folder that has no batch, or anything else in it, is left as it is."""
    out = folder.path / "out"
    for name, text in files.items():
        out.mkdir(exist_ok=True)
        out.joinpath(name).write_text(text)
    done = folder.batch("ask", folder.table([{"question": "One?"}]), *options)
    assert (2, True) == (done.code, done.err.startswith(f"promptdsl batch: error: {problem}"))
    assert (
        files == {name: data.decode() for name, data in contents(out).items()}
        if files
        else (not out.exists())
    )


@pytest.mark.slow
@pytest.mark.parametrize("engine", [kills.ONE, kills.TWO])
def test_kills_of_real_processes(tmp_path: Path, engine: tuple[str, str]) -> None:
    """Processes are killed at random moments: nothing is lost, and no worker stays."""
    faults, figures = kills.killed(tmp_path, kills=3, seed=1, rows=1_000, engines=(engine,))
    assert ([], 3) == (faults, figures["kills"])


@pytest.mark.slow
@pytest.mark.skipif(
    signal.getsignal(signal.SIGINT) is signal.SIG_IGN, reason="Ctrl-C is ignored here"
)
@pytest.mark.parametrize("engine", [kills.ONE, kills.TWO])
def test_an_interrupt_is_clean(tmp_path: Path, engine: tuple[str, str]) -> None:
    """Ctrl-C ends all processes with a message, and the batch goes on."""
    assert [] == kills.interrupted(tmp_path, engine=engine, rows=2_000)


def test_another_service_is_refused(folder: Folder) -> None:
    """No file gets requests for two services, not even by force."""
    arguments = ("ask", folder.table([{"question": "One?"}, {}, {"question": "Two?"}]))
    folder.batch(*arguments, "--on-error", "stop")
    done = folder.batch(*arguments, "--model", "gpt-5", "--resume", "--force")
    assert (2, True) == (done.code, "the batch was started in another format" in done.err)


def test_what_is_gone_is_said(folder: Folder) -> None:
    """A file that is not there any more is not filled; files of the user's stay."""
    arguments = ("ask", folder.table([{"question": "One?"}]))
    folder.batch(*arguments)
    mine = folder.path / "out" / "requests-00001.results.jsonl"
    mine.write_text("Paid.", "utf-8")
    assert (0, "Paid.") == (folder.batch(*arguments, "--resume").code, mine.read_text("utf-8"))
    folder.path.joinpath("out", "ids.jsonl").unlink()
    done = folder.batch(*arguments, "--resume")
    assert (2, True) == (done.code, "ids.jsonl is missing or incomplete" in done.err)


@pytest.mark.skipif(os.name == "nt", reason="Windows itself moves no file that is open")
def test_one_process_writes(folder: Folder) -> None:
    """A batch that another process writes is left alone."""
    import fcntl

    arguments = ("ask", folder.table([{"question": "One?"}]))
    folder.batch(*arguments)
    handle = os.open(folder.path / "out", os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    done = folder.batch(*arguments, "--resume")
    os.close(handle)
    assert (2, True) == (done.code, "another process is writing to out" in done.err)


def test_labels_after_a_change(folder: Folder) -> None:
    """After a change by force, no cell of the new table is added to an answer."""
    rows: list[object] = [{"question": "One?", "label": 1}, {}]
    arguments = ("ask", folder.table(rows), "--model", "gpt-5")
    folder.batch(*arguments, "--on-error", "stop")
    folder.table([{"question": "New?", "label": 0}, *rows])
    folder.batch(*arguments, "--resume", "--force")
    with pytest.raises(DataError, match="has changed since the batch"):
        next(read_results([folder.table([], "r.jsonl")], "out", ["label"]))
