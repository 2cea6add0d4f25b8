"""Files that are written: whole or not at all, with the rights of one rule, and nobody else's."""

import json
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from promptdsl import *
from promptdsl.cli import main
from tests.commands import run_command
from tests.internals import files_module

PROMPTS = """\
from promptdsl import *
def ask(text): return Timeline(User(Value(text)))
def fine(): return Timeline(User("Fine."))
def other(): return Timeline(System("Be kind."), User("Fine. " * 20))
"""
RECORD = render(Timeline(User("hi")), model="gpt-5").record()
posix = pytest.mark.skipif(os.name != "posix", reason="rights are those of POSIX")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give the current folder, with prompts and a table; new files have wide rights."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.py").write_text(PROMPTS)
    (tmp_path / "t.csv").write_text("text\na\n")
    before = os.umask(0o022)
    yield tmp_path
    os.umask(before)


def save_transcript(path: str) -> None:
    """Save a transcript."""
    Transcript(["hi"]).save(path)


def diff(form: str) -> Callable[[str], object]:
    """Return what writes a diff in a format."""
    return lambda path: main(["diff", "p.py:fine", "p.py:fine", "--format", form, "--output", path])


def read_batch(path: str) -> None:
    """Write the answers of a batch."""
    main(["batch", "p.py:ask", "t.csv", "--model", "gpt-5", "--output", f"{path}.batch"])
    Path("r.jsonl").write_text("")
    main(["batch", "read", "r.jsonl", "--batch", f"{path}.batch", "--output", path])


OVER: Mapping[str, Callable[[str], object]] = {
    "record.save": RECORD.save,
    "transcript.save": save_transcript,
    "transcript.vacuum": lambda path: Transcript(["hi"]).vacuum(path),
    "render --record": lambda path: main(["render", "p.py:fine", "--record", path]),
    "diff of two": lambda path: main(["diff", "p.py:fine", "p.py:other", "--output", path]),
    "diff --cache": lambda path: main(
        ["diff", "--cache", "p.py:fine", "p.py:other", "--format", "json", "--output", path]
    ),
    **{f"diff {form}": diff(form) for form in ("text", "json", "markdown", "html")},
}
"""What writes over a file that it wrote before."""
NEW: Mapping[str, Callable[[str], object]] = {
    "batch read": read_batch,
    "transcript repair": lambda path: (
        save_transcript("a.jsonl"),
        main(["transcript", "repair", "a.jsonl", path]),
    ),
    "transcript convert": lambda path: (
        save_transcript("a.jsonl"),
        main(["transcript", "convert", "a.jsonl", path, "--from", "transcript", "--to", "openai"]),
    ),
}
"""What writes new files alone."""


def rights(path: str | Path) -> int:
    """Return the rights of a file."""
    return stat.S_IMODE(os.stat(path).st_mode)


@posix
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", [*OVER, *NEW])
def test_a_new_file_is_for_its_owner(name: str) -> None:
    """A new file with prompts in it has the mode 0600."""
    {**OVER, **NEW}[name]("out")
    assert 0o600 == rights("out")


@posix
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", OVER)
@pytest.mark.parametrize(
    "mode", [0o660, *(pytest.param(mode, marks=pytest.mark.slow) for mode in (0o644, 0o600))]
)
def test_a_file_that_is_written_over_keeps_its_rights(name: str, mode: int) -> None:
    """So does one behind a link, which stays a link."""
    OVER[name]("real")
    before = Path("real").read_bytes()
    os.chmod("real", mode)
    os.symlink("real", "link")
    OVER[name]("link")
    assert (mode, True) == (rights("real"), os.path.islink("link"))
    assert len(before) == len(Path("real").read_bytes())


@posix
def test_files_of_stores_logs_and_batches(folder: Path) -> None:
    """All files of a program's data have the mode 0600."""
    with Transcript.open(folder / "t.jsonl") as talk:
        talk.append("hi")
    Transcript.open("k", store=FolderStore(folder / "folder")).append("hi")
    store = SqliteStore(folder / "x.db")
    Transcript.open("k", store=store).append("hi")
    with PromptLog(folder / "log") as log:
        log.append(RECORD)
    main(["batch", "p.py:ask", "t.csv", "--model", "gpt-5", "--output", "o"])
    for own in ("p.py", "t.csv"):
        (folder / own).unlink()
    files = [
        path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in str(path)
    ]
    assert len(files) > 9
    assert {} == {str(path): oct(rights(path)) for path in files if rights(path) != 0o600}
    store.close()


@posix
def test_a_database_keeps_its_rights(folder: Path) -> None:
    """A database that is there keeps its rights, and so do its other files."""
    (folder / "x.db").touch(0o640)
    os.chmod(folder / "x.db", 0o640)
    store = SqliteStore(folder / "x.db")
    Transcript.open("k", store=store).append("hi")
    assert {0o640} == {rights(path) for path in folder.glob("x.db*")}
    store.close()
    SqliteStore(":memory:").close()
    assert not (folder / ":memory:").exists()


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", OVER)
def test_a_write_that_fails(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file is the old one after any fault, and nothing is left beside it."""
    OVER[name]("out")
    before = Path("out").read_bytes()
    there = {*os.listdir()}
    for call in ("write", "fsync", "replace"):

        def failing(*_: object, call: str = call) -> Any:
            raise OSError(28, f"No space left on device: {call}")

        with monkeypatch.context() as patch:
            if call == "write":
                patch.setattr(files_module, "write_all", failing)
            else:
                patch.setattr(os, call, failing)
            # A command tells what is wrong; a method raises.
            with suppress(OSError, TranscriptError):
                assert 2 == OVER[name]("out")
        assert before == Path("out").read_bytes(), call
        assert there == {*os.listdir()}, call


FOREIGN = (
    "mine",
    '{"a": 1}',
    "",
    "# Notes\n",
    "<!doctype html>\n<p>mine",
    "1,024 tokens are few\n",
)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "text",
    ["", FOREIGN[-1], *(pytest.param(it, marks=pytest.mark.slow) for it in FOREIGN[:-1] if it)],
)
@pytest.mark.parametrize("name", [name for name in [*OVER, *NEW] if " " in name])
def test_a_file_of_somebody_else(name: str, text: str) -> None:
    """No command writes over a file that it did not write itself."""
    Path("out").write_text(text)
    {**OVER, **NEW}[name]("out")
    is_empty = not text and name in OVER
    assert (text == Path("out").read_text()) != is_empty


@pytest.mark.usefixtures("folder")
def test_parts_of_somebody_else(capsys: pytest.CaptureFixture[str]) -> None:
    """A batch leaves files that only look like its own alone."""
    Path("o").mkdir()
    for name in ("movie.part", "answers.part"):
        Path("o", name).write_text("mine")
        assert 2 == main(["batch", "p.py:ask", "t.csv", "--model", "gpt-5", "--output", "o"])
        assert "the folder o already has files" in capsys.readouterr().err
        Path("o", name).unlink()
    Path("answers.jsonl.part").write_text("mine")
    read_batch("answers.jsonl")
    assert "mine" == Path("answers.jsonl.part").read_text()
    assert Path("answers.jsonl").exists()


@posix
@pytest.mark.native
def test_what_is_no_file(folder: Path) -> None:
    """A device, a pipe and a file that is for reading are not replaced."""
    done = run_command("render", "p.py:fine", "--record", "/dev/stderr", cwd=folder)
    assert '"messages"' in done.err
    RECORD.save("/dev/null")
    assert not stat.S_ISREG(os.stat("/dev/null").st_mode)
    with pytest.raises(IsADirectoryError):
        RECORD.save(folder)
    assert json.loads(done.err)["format"]


@pytest.mark.usefixtures("folder")
def test_a_long_name() -> None:
    """A name that is as long as a file system allows is written."""
    RECORD.save("\u6f22" * 83)
    assert Path("\u6f22" * 83).exists()
