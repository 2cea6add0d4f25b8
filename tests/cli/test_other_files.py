"""A file that a command cannot use is not run: it is named for what it is."""

from pathlib import Path

import pytest

from promptdsl import *
from tests.cli.conftest import Command

FILES = {
    "x.csv": "print('I ran')\n",
    "y.jsonl": '{"a": false}\n',
    "z.json": "[]",
    "a.prompt.txt": "Hi.",
    "b.j2": "Hi.",
    "c.rules": "print('I ran')\n",
    "script": "print('I ran')\n",
}
KINDS = {
    "x.csv": "a table: promptdsl batch TARGET",
    "y.jsonl": "a table: promptdsl batch TARGET",
    "z.json": "JSON: promptdsl records show",
    "a.prompt.txt": "a snapshot: promptdsl diff",
    "b.j2": "a text: name a function",
    "c.rules": "is not a Python file",
    "script": "is not a Python file",
    "log": "a file of a log: promptdsl records list",
    "chat.db": "a database: promptdsl transcript list",
    "chat": "a transcript: promptdsl transcript show",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a file of each kind."""
    for name, content in FILES.items():
        (tmp_path / name).write_text(content)
    with PromptLog(tmp_path / "logs") as log:
        log.append(render(Timeline(User("Hi."))).record(), id="a")
    (file,) = (tmp_path / "logs").glob("*.jsonl")
    file.rename(tmp_path / "log")
    store = SqliteStore(tmp_path / "chat.db")
    Transcript.open("k", store=store).append("Hi.")
    Transcript.open("other", store=store).append("Hi.")
    store.close()
    with Transcript.open(tmp_path / "chat") as transcript:
        transcript.append("Hi.")
    return tmp_path


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("with_name", [False, True])
def test_only_python_files_are_run(
    cli: Command, folder: Path, *, name: str, with_name: bool
) -> None:
    """No other file is run, whatever it holds, and the error names the command that reads it."""
    target = f"{folder / name}:prompt" if with_name else str(folder / name)
    run = cli("render", target)
    assert (2, "", True) == (run.code, run.out, KINDS[name] in run.err), run.err
    assert "I ran" not in run.err


@pytest.mark.parametrize("command", ["render", "tokens", "diff"])
def test_a_file_in_the_working_folder_is_named(cli: Command, prompts: Path, command: str) -> None:
    """A name without a folder is a file, too, not a module."""
    (prompts / "rows.jsonl").write_text("{}\n")
    run = cli(command, "rows.jsonl")
    assert (2, True) == (run.code, "rows.jsonl is not a Python file, but a table" in run.err)


@pytest.mark.parametrize("command", ["show", "repair", "vacuum", "convert"])
def test_a_database_is_named_for_what_it_is(cli: Command, folder: Path, command: str) -> None:
    """The error for a database without a key lists its keys; it is never called damaged."""
    more = {
        "repair": ["out"],
        "vacuum": ["out"],
        "convert": ["--from", "transcript", "--to", "openai"],
    }
    run = cli("transcript", command, str(folder / "chat.db"), *more.get(command, []))
    assert (2, "", False) == (run.code, run.out, "damaged" in run.err)
    assert "chat.db is a database: write" in run.err
    assert "chat.db:k\n  promptdsl transcript list" in run.err


def test_a_database_of_another_program_and_a_folder_are_named(cli: Command, folder: Path) -> None:
    """There are errors for a database without transcripts, and for a folder, too."""
    import sqlite3
    from contextlib import closing

    with closing(sqlite3.connect(folder / "b.db")) as other:
        other.execute("CREATE TABLE t (a)")
    run = cli("transcript", "show", str(folder / "b.db"))
    assert (1, True) == (run.code, "without transcripts" in run.err)
    run = cli("transcript", "show", str(folder))
    assert (2, True) == (run.code, "is a folder: promptdsl transcript list" in run.err)


def test_other_files_are_no_transcripts(cli: Command, folder: Path) -> None:
    """A file that is no transcript is named for what it is."""
    run = cli("transcript", "show", str(folder / "log"))
    assert (1, True) == (run.code, "is not a transcript, but a file of a log" in run.err)
