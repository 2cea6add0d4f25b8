"""What a batch is made of: a resumed one never has rows of two prompts."""

import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from promptdsl import (
    DataError,
    Library,
    System,
    Template,
    Timeline,
    User,
    UserAction,
    detached,
    register_templates,
)
from promptdsl import Event as EventTurn
from promptdsl.batch import Job, RowReader, RowRenderer, write_batch
from tests.batch.folders import Folder, contents

ROWS: list[object] = [{"question": f"Is it {n}?", "late": n > 5} for n in range(12)]
OLD, NEW = "Version one.", "Version two."


class Prompts:
    """Prompts that read a file outside of the current folder with the sixth row, each in a way."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "late.j2"
        self.file.write_text(OLD)
        (folder / "outer.j2").write_text("{% if late %}{% include 'late.j2' %}{% endif %}")
        (folder / "events").mkdir()
        self.rules = System(Template(self.file))

    def by_path(self, question: str, late: bool) -> Timeline:
        """Read it by its path."""
        return Timeline(System(Template(self.file)) if late else None, User(question))

    def by_name(self, question: str, late: bool) -> Timeline:
        """Read it in a registered folder."""
        return Timeline(System(Template("late.j2")) if late else None, User(question))

    def by_include(self, question: str, late: bool) -> Timeline:
        """Read it in a branch of another template."""
        return Timeline(System(Template("outer.j2", late=late)), User(question))

    def by_include_of_text(self, question: str, late: bool) -> Timeline:
        """Read it in a branch of a text."""
        source = "{% if late %}{% include 'late.j2' %}{% endif %}"
        return Timeline(System(Template.from_string(source, late=late)), User(question))

    def by_import(self, question: str, late: bool) -> Timeline:
        """Import it in a template."""
        source = "{% if late %}{% import 'late.j2' as it %}{{ it }}{% endif %}"
        return Timeline(System(Template.from_string(source, late=late)), User(question))

    def by_event(self, question: str, late: bool) -> Timeline:
        """Let it replace the text of an event."""
        self.file = self.folder / "events" / "user_action.md.j2"
        event = EventTurn(UserAction("opened")) if late else None
        return Timeline(event, User(question))

    def by_detached(self, question: str, late: bool) -> Timeline:
        """Use a part that was rendered before."""
        with detached():
            return Timeline(self.rules if late else None, User(question))

    def by_library(self, question: str, late: bool) -> Timeline:
        """Use a section of a library."""
        library = Library("house", templates=self.folder)
        self.file = self.folder / "tone.md.j2"
        return Timeline(System(library["tone"]()) if late else None, User(question))


WAYS = [name for name in vars(Prompts) if name.startswith("by_")]
SLOW = ("by_name", "by_include_of_text", "by_detached")
ways = pytest.mark.parametrize(
    "way", [pytest.param(way, marks=pytest.mark.slow if way in SLOW else ()) for way in WAYS]
)


@pytest.fixture
def prompts(tmp_path_factory: pytest.TempPathFactory, folder: Folder) -> Any:
    """Give prompts whose files are in another folder, which is registered, and a table."""
    folder.table(ROWS)
    made = Prompts(tmp_path_factory.mktemp("elsewhere"))
    for name in ("events/user_action.md.j2", "tone.md.j2"):
        (made.folder / name).write_text(OLD)
    with register_templates(made.folder):
        yield made


def batch(work: Callable[..., Timeline], *, rows: int = 20, **options: Any) -> int:
    """Write a batch until so many rows are done; return how many there are."""
    reader = RowReader(["rows.jsonl"], {"question", "late"})
    renderer = RowRenderer(work, model="gpt-5")
    job = Job(reader, renderer, lambda: renderer, {})
    done = 0
    with closing(write_batch(job, "out", **options)) as steps:
        for writer in steps:
            done = writer.rows
            if done == rows:
                break
    return done


@ways
def test_a_file_that_changed(prompts: Prompts, way: str) -> None:
    """A file that a done row read is in the manifest, wherever it is: a change is refused."""
    work = getattr(prompts, way)
    assert 9 == batch(work, rows=9)
    assert str(prompts.file) in json.loads(Path("out/manifest.json").read_text())["state"]["used"]
    prompts.file.write_text(NEW)
    with pytest.raises(DataError, match=f"{prompts.file.name} has changed"):
        batch(work, resume=True)
    prompts.file.unlink()
    with pytest.raises(DataError, match=f"{prompts.file.name} is missing"):
        batch(work, resume=True)
    prompts.file.write_text(OLD)
    assert 12 == batch(work, resume=True)


@pytest.mark.parametrize(
    "way",
    [
        *("by_path", "by_include", "by_event"),
        *(
            pytest.param(way, marks=pytest.mark.slow)
            for way in WAYS
            if way not in ("by_path", "by_include", "by_event")
        ),
    ],
)
def test_a_file_that_no_row_read(prompts: Prompts, way: str) -> None:
    """A file that no done row read may change: no row has its old text."""
    work = getattr(prompts, way)
    assert 3 == batch(work, rows=3)
    prompts.file.write_text(NEW)
    assert 12 == batch(work, resume=True)
    sent = b"".join(contents(Path("out")).values())
    assert OLD.encode() not in sent


def test_a_file_that_changes_meanwhile(prompts: Prompts) -> None:
    """A file that changes while the batch runs stops it, where it is read again."""
    with register_templates(prompts.folder, reload=True):
        writer = None
        with pytest.raises(DataError, match="has changed"):  # noqa: PT012
            reader = RowReader(["rows.jsonl"], {"question", "late"})
            renderer = RowRenderer(prompts.by_name, model="gpt-5")
            for writer in write_batch(Job(reader, renderer, lambda: renderer, {}), "out"):
                if writer.rows == 8:
                    prompts.file.write_text(NEW)
        assert writer is not None
        assert 8 == writer.rows
        with pytest.raises(DataError, match="has changed"):
            batch(prompts.by_name, resume=True)
        assert 12 == batch(prompts.by_name, resume=True, force=True)


def test_a_template_that_was_broken(prompts: Prompts) -> None:
    """A row that failed at a template depends on it, too."""
    prompts.file.write_text("{% if %}")
    assert 9 == batch(prompts.by_path, rows=9)
    prompts.file.write_text(NEW)
    with pytest.raises(DataError, match="has changed"):
        batch(prompts.by_path, resume=True)


def test_files_that_are_named(folder: Folder) -> None:
    """Files that a function reads by itself are named; a change is refused."""
    folder.table(ROWS)
    other = folder.path / "texts.toml"
    other.write_text("a = 1")
    arguments = ("ask", "rows.jsonl", "--depends-on")
    assert 2 == folder.batch(*arguments, "nothing.toml").code
    assert 0 == folder.batch(*arguments, "texts.toml").code
    assert 0 == folder.batch(*arguments, "texts.toml", "--resume").code
    done = folder.batch("ask", "rows.jsonl", "--resume")
    assert (2, True) == (done.code, "depends_on" in done.err)
    other.write_text("a = 2")
    done = folder.batch(*arguments, "texts.toml", "--resume")
    assert (2, True) == (done.code, "texts.toml has changed" in done.err)


TARGET = """\
import os, signal
from pathlib import Path
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell in the background ignores it
from promptdsl import Library, System, Template, Timeline, User, Value, register_templates
register_templates(Path(__file__).parent / "prompts")
def ask(n: str, late: str):
    if os.environ.get("STOP") == n: os.kill(os.getppid() if WORKERS else os.getpid(), signal.SIGINT)
    if late == "1":
        from lazily import TEXT
        return Timeline(System(Template("a.j2"), TEXT), User(Value(n)))
    return Timeline(User(Value(n)))
"""


@pytest.mark.slow
@pytest.mark.native
@pytest.mark.parametrize("changed", ["prompts/a.j2", "lazily.py"])
@pytest.mark.parametrize("workers", [1, 2])
def test_a_batch_that_is_interrupted(tmp_path: Path, changed: str, workers: int) -> None:
    """What rows read late, in any process, refuses the resumption: a template, and a module."""
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts/a.j2").write_text(OLD)
    (tmp_path / "lazily.py").write_text(f"TEXT = {OLD!r}\n")
    (tmp_path / "p.py").write_text(TARGET.replace("WORKERS", str(workers > 1)))
    rows = [f"{n},{n % 2 ^ 1}\n" for n in range(1, 1201)]
    (tmp_path / "t.csv").write_text("n,late\n" + "".join(rows))

    def run(*options: str, **environment: str) -> Any:
        command = [sys.executable, "-m", "promptdsl", "batch", "p.py:ask", "t.csv", *options]
        command += ["--output", "o", "--model", "gpt-5", "--workers", str(workers)]
        root = str(Path(__file__).parents[2])
        return subprocess.run(
            command,
            check=False,
            cwd=tmp_path,
            env={"PYTHONPATH": root, **environment},
            capture_output=True,
        )

    # Late enough for the first rows to be written, whichever worker is slow.
    assert 130 == run(STOP="1150").returncode
    state = json.loads((tmp_path / "o/manifest.json").read_text())["state"]
    assert state["rows"] > 0
    path = tmp_path / changed
    path.write_text(path.read_text().replace(OLD, NEW))
    done = run("--resume")
    assert (2, True) == (done.returncode, f"{changed} has changed" in done.stderr.decode())
