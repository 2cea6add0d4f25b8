"""What rows leave behind: files and modules that they used, their errors, and their schemas."""

import importlib
import json
import os
import sys
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from promptdsl import DataError, Output, System, Template, Timeline, User
from promptdsl.batch import Job, RowReader, RowRenderer, write_batch
from tests.batch.folders import Folder
from tests.errors import lines_of, raised
from tests.internals import batch_writer_module

# Files that rows use.


def templated(question: str, name: str = "") -> Timeline:
    """Return a prompt of templates with these names, ``-`` between them."""
    systems = [System(Template(Path(part))) for part in name.split("-") if part]
    return Timeline(*systems, User(question))


def used(names: list[str], changes: dict[int, str] | None = None) -> list[str]:
    """Return the files that each row used first; before some rows a file is changed."""
    renderer = RowRenderer(templated, model="gpt-5")
    used_files = []
    for number, name in enumerate(names):
        if changes and number in changes:
            Path(changes[number]).write_text(f"New {number}.", "utf-8")
        [result] = renderer([{"question": "?", "name": name}])
        used_files.append(" ".join(os.path.basename(path) for path, _ in result.used))
    return used_files


@pytest.mark.parametrize(
    ("names", "changes", "expected"),
    [
        (["a", "a", "b", "b-a", "", "c-b"], {}, ["a", "", "b", "", "", "c"]),
        (["b-a", "a", "b"], {}, ["b a", "", ""]),
        (["a-b", "a", "b", "a-b"], {1: "a", 2: "b"}, ["a b", "a", "b", ""]),
        (["a", "b", "a", "b"], {2: "b"}, ["a", "b", "", "b"]),
    ],
)
def test_each_file_is_told_once(
    folder: Folder, names: list[str], changes: dict[int, str], expected: list[str]
) -> None:
    """A file is reported with the first row that used it, and again when it has changed."""
    for name in "abc":
        folder.table(f"Old {name}.", name)
    assert expected == used(names, changes)


def test_two_files_that_changed(folder: Folder) -> None:
    """Of four that rows used two have changed and one is gone: all three are reported."""
    for name in "abcd":
        folder.table(f"Old {name}.", f"{name}.txt")
    table = folder.table(
        [
            {"question": str(n), "name": name}
            for n, name in enumerate(["b.txt", "d.txt-a.txt", "c.txt"])
        ]
    )

    def job() -> Job:
        renderer = RowRenderer(templated, model="gpt-5")
        return Job(RowReader([table], {"question", "name"}), renderer, lambda: renderer, {})

    assert 3 == [*write_batch(job(), "out")][-1].rows
    folder.table("New a.", "a.txt")
    folder.table("New c.", "c.txt")
    (folder.path / "b.txt").unlink()
    error = raised(DataError, lambda: next(write_batch(job(), "out", resume=True)))
    assert (
        "since the batch began, b.txt is missing; a.txt has changed; c.txt has changed"
        == error.what
    )
    state = json.loads((folder.path / "out" / "manifest.json").read_text("utf-8"))["state"]
    assert ["b.txt", "d.txt", "a.txt", "c.txt"] == [*state["used"]]


def test_modules_that_rows_load(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two modules of one row, and one of a later row, are reported as its files; others are not."""
    monkeypatch.syspath_prepend(str(folder.path))
    for name in ("late_one", "late_two", "late_three"):
        folder.table("", f"{name}.py")

    def ask(modules: str) -> Timeline:
        for name in modules.split():
            importlib.import_module(name)
        return Timeline(User("Hi.", modules))

    renderer = RowRenderer(ask, model="gpt-5")
    names_by_row = ["", "late_two late_one", "late_one", "colorsys late_three", "late_two"]
    found = [
        sorted(os.path.basename(path) for path, _ in result.used)
        for result in renderer([{"modules": names} for names in names_by_row])
    ]
    for name in ("late_one", "late_two", "late_three"):
        sys.modules.pop(name)
    assert [[], ["late_one.py", "late_two.py"], [], ["late_three.py"], []] == found
    assert 3 == len(renderer.used)


# Errors.


def inner(question: str) -> Timeline:
    """Fail, in a function that another one calls."""
    if question == "here":
        raise KeyError(question)
    return Timeline(System(json.loads(question)), User(question))


def outer(question: str) -> Any:
    """Call it."""
    with suppress(KeyError):
        if question == "hidden":
            inner("here")
    return inner("here" if question == "hidden" else question)


def test_the_line_of_an_error() -> None:
    """It is the last line of the author: not that of the caller, nor that of installed code."""
    renderer = RowRenderer(outer, model="gpt-5")
    rows = [{"question": text} for text in ("here", "{", '{"a": 1}', "hidden", '"Fine."')]
    found = [result.problem for result in renderer(rows)]
    first, broken, wrong, hidden, fine = found
    assert ([*lines_of(inner, 3)], [*lines_of(inner, 4)], None) == (
        [*first.at],
        [*broken.at],
        fine,
    )
    assert (first, f"{first.at[0]}: KeyError: 'here'") == (hidden, str(first))
    assert ("JSONDecodeError", "Expecting property name enclosed in double quotes") == (
        broken.type,
        broken.what.partition(": line")[0],
    )
    assert [*lines_of(inner, 4)] == [*wrong.at]


class OwnError(Exception):
    """An error of an author."""


def noted(error: BaseException, *notes: str) -> BaseException:
    """Return an error with notes."""
    for note in notes:
        error.add_note(note)
    return error


@pytest.mark.parametrize(
    ("error", "what"),
    [
        (KeyError("a"), "'a'"),
        (KeyError(), "KeyError"),
        (OwnError("two words"), "two words"),
        (OwnError(), "tests.batch.test_two_rows.OwnError"),
        (OwnError("OwnError: a"), "OwnError: a"),
        (json.JSONDecodeError("Odd", "x", 0), "Odd: line 1 column 1 (char 0)"),
        (noted(ValueError("a"), "one", "two"), "a\none\ntwo"),
        (noted(OwnError("a\nb"), "ValueError: c"), "a\nb\nValueError: c"),
        (noted(SyntaxError("odd", ("file", 9, 1, "x = ("))), "odd"),
        (noted(SyntaxError("odd", ("file", 9, 1, "x = (")), "one"), "odd\none"),
    ],
)
def test_the_words_of_an_error(error: BaseException, what: str) -> None:
    """They are what it says, with its notes, but without its type, which stands before them."""

    def ask() -> Timeline:
        raise error

    [result] = RowRenderer(ask, model="gpt-5")([{}])
    assert (type(error).__name__, what) == result.problem[:2]


# Schemas.


def shaped(question: str) -> Timeline:
    """Return a prompt whose answer has a form of this title."""
    return Timeline(Output({"type": "object", "title": question}), User(question))


@pytest.mark.parametrize(
    "case",
    [
        (2, "xyxzzxy", "xyzxy"),
        (3, "xyxzzxy", "xyz"),
        (1, "xxyyx", "xyx"),
        (2, "xyzxz", "xyzx"),
    ],
)
@pytest.mark.parametrize("stop", [99, 5])
def test_a_schema_is_written_again_when_it_was_forgotten(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, case: tuple[int, str, str], stop: int
) -> None:
    """As many as may be are remembered, also when the batch was stopped and goes on."""
    most, titles, expected = case
    monkeypatch.setattr(batch_writer_module, "MAXIMUM_SCHEMAS", most)
    table = folder.table([{"question": title} for title in titles])

    def job() -> Job:
        renderer = RowRenderer(shaped, model="gpt-5")
        return Job(RowReader([table], {"question"}), renderer, lambda: renderer, {})

    with closing(write_batch(job(), "out")) as steps:
        done = [writer.rows for _, writer in zip(range(stop), steps, strict=False)]
    assert [*range(len(titles) + 1)][:stop] == done
    assert len(titles) == [*write_batch(job(), "out", resume=True)][-1].rows
    entries = folder.entries("schemas.jsonl")
    assert [*expected] == [journal_line["schema"]["title"] for journal_line in entries]
    names = {journal_line["name"]: journal_line["schema"]["title"] for journal_line in entries}
    assert [*titles] == [
        names[journal_line["schema"]] for journal_line in folder.entries("ids.jsonl")
    ]
