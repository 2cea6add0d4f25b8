"""Cells of every type, and errors of every kind: a row that fails stops nothing."""

import decimal
import threading
from collections.abc import Callable, Iterator
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import pytest

from promptdsl import Output, System, Template, Timeline, User
from promptdsl.batch import RowRenderer, RowResult, render_rows
from tests.batch import odd_tables
from tests.batch.folders import Folder
from tests.internals import json_cell

pyarrow: Any = pytest.importorskip("pyarrow", reason="needs pyarrow")
parquet: Any = pytest.importorskip("pyarrow.parquet", reason="needs pyarrow")

_BUFFERS = [None, *map(pyarrow.py_buffer, (b"\0\0\0\0\1\0\0\0\3\0\0\0", b"a\xffb"))]
NOT_UTF8 = pyarrow.Array.from_buffers(pyarrow.string(), 2, _BUFFERS)
"""Two texts, the second of which is no UTF-8."""
ODD_CELLS = [
    pyarrow.array([1, 3_000_000], pyarrow.date32()),
    pyarrow.array([1, 3 * 10**14], pyarrow.timestamp("s")),
    pyarrow.array([10**9, 1_500_000_000_000_000_001], pyarrow.timestamp("ns")),
    pyarrow.array([1_000, 1_001], pyarrow.time64("ns")),
    pyarrow.array([1_000, 1_001], pyarrow.duration("ns")),
    pyarrow.array([None, 2], pyarrow.timestamp("us", tz="Nowhere/X")),
    pyarrow.array([[], [1, 3_000_000]], pyarrow.list_(pyarrow.date32())),
    pyarrow.array([1, 3_000_000], pyarrow.date32()).dictionary_encode(),
    NOT_UTF8,
]
every_odd_cell = pytest.mark.parametrize("cells", ODD_CELLS, ids=lambda cells: str(cells.type))
odd_cells = pytest.mark.parametrize(
    "cells",
    [
        *(ODD_CELLS[0], NOT_UTF8),
        *(pytest.param(cells, marks=pytest.mark.slow) for cells in ODD_CELLS[1:-1]),
    ],
    ids=lambda cells: str(cells.type),
)


@odd_cells
def test_a_cell_that_python_cannot_read(folder: Folder, cells: Any) -> None:
    """The row of such a cell fails, with the name of the column; the other one is sent."""
    (folder.path / "loud.py").write_text(
        "from promptdsl import Timeline, User\ndef ask(text): return Timeline(User(str(text)))\n"
    )
    parquet.write_table(pyarrow.table({"text": cells, "label": cells}), "rows.parquet")
    for resume in ((), ("--resume",)):
        command = folder.batch("loud.py:ask", "rows.parquet", *resume)
        assert 1 == command.code
        [error] = folder.entries("errors.jsonl")
        assert 2 == error["row"]
        assert error["what"].startswith("the cell 'text', ")
        assert 1 == len(folder.requests())


@odd_cells
def test_a_cell_that_no_function_takes(folder: Folder, cells: Any) -> None:
    """A column that the function does not take fails no row, wherever it is read."""
    table = pyarrow.table({"question": ["One?", "Two?"], "label": cells})
    parquet.write_table(table, "rows.parquet")
    assert 0 == folder.batch("ask", "rows.parquet").code
    assert 2 == len(folder.requests())
    found = RowRenderer(lambda question: Timeline(User(question)), model="gpt-5")(table)
    assert [None, None] == found["problem"].to_pylist()


@every_odd_cell
def test_a_table_in_memory(cells: Any) -> None:
    """A table is returned with a problem for the row of such a cell, and a body for the other."""
    renderer = RowRenderer(lambda text: Timeline(User(str(text))), model="gpt-5")
    found = renderer(pyarrow.table({"text": cells}))
    bodies, problems = (found[name].to_pylist() for name in ("body", "problem"))
    assert (True, None) == (bodies[0] is not None, bodies[1])
    assert (None, True) == (problems[0], problems[1].startswith("DataError: the cell 'text', "))


IDS: list[tuple[Any, list[Any]]] = [
    (pyarrow.array([*map(decimal.Decimal, range(1, 6))], pyarrow.decimal128(38, 0)), ["3"]),
    (pyarrow.array([1, 2, 3, 4, 5], pyarrow.time64("us")), ["00:00:00.000003"]),
    (pyarrow.array([[1.0], [2.0], [float("nan")], None, [5.0]]), [[None]]),
    (pyarrow.array([1.0, 2.0, float("nan"), float("nan"), 5.0]), []),
    (pyarrow.array([b"a", b"b", b"\xff", b"d", b"e"]), ["/w=="]),
    (pyarrow.array([1, 2, 3_000_000, 3_000_000, 5], pyarrow.date32()), None),
]


@pytest.mark.parametrize(
    ("ids", "expected_id"),
    [
        *IDS[2:4],
        *(pytest.param(*case, marks=pytest.mark.slow) for case in (*IDS[:2], IDS[4])),
        IDS[5],
    ],
    ids=lambda value: str(getattr(value, "type", "")),
)
def test_ids_that_json_cannot_have(folder: Folder, ids: Any, expected_id: Any) -> None:
    """A row that fails is reported with its id, whatever that is; with --resume, too."""
    table = pyarrow.table({"uid": ids, "question": ["a", "b", None, "d", "e"]})
    parquet.write_table(table, "rows.parquet")
    for resume in ((), ("--resume",)):
        assert 1 == folder.batch("rated", "rows.parquet", "--id", "uid", *resume).code
        errors = folder.entries("errors.jsonl")
        assert 3 in [error["row"] for error in errors]
        found = [error["id"] for error in errors if "id" in error and error["row"] == 3]
        assert found == expected_id or (expected_id is None and "cannot be read" in found[0])
        sent = [journal_line["row"] for journal_line in folder.entries("ids.jsonl")]
        assert [1, 2, 3, 4, 5] == sorted([*sent, *(error["row"] for error in errors)])


class Odd:
    """An object that fails whatever is done with it."""

    def __str__(self) -> str:
        raise RuntimeError("odd")

    __repr__ = __str__


class OddError(Exception):
    """An error that cannot be printed."""

    def __str__(self) -> str:
        raise RuntimeError("odd")


class Stop(BaseException):
    """An error that is no Exception."""


def raising(error: BaseException | None) -> Timeline:
    """Raise an error, or return a prompt."""
    if error is not None:
        raise error
    return Timeline(User("Fine."))


ERRORS: list[BaseException] = [
    OddError(),
    Stop("stop"),
    GeneratorExit(),
    SystemExit(3),
    MemoryError(),
    RecursionError("deep"),
    ExceptionGroup("many", [ValueError("a"), OddError()]),
    SyntaxError("odd", ("file", 9, None, None)),
    ValueError("\ud800 \x1b[31m"),
    UnicodeDecodeError("utf-8", b"\xff", 0, 1, "odd"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_of_any_kind(error: BaseException) -> None:
    """Whatever a function raises is the problem of its row: in a list, a table, and a generator."""
    rows = [{"error": error}, {"error": None}]
    first, second = render_rows(rows, raising, model="gpt-5")
    assert first.problem is not None
    assert type(error).__name__ == first.problem.type
    assert "Fine." in second.body
    renderer = RowRenderer(lambda n: raising(error if n else None), model="gpt-5")
    table = renderer(pyarrow.table({"n": [1, 0]}))
    assert [True, False] == [problem is not None for problem in table["problem"].to_pylist()]


def test_an_error_of_the_first_rows_in_files(folder: Folder) -> None:
    """An error that is no Exception stops no batch, though it is in the first row."""
    (folder.path / "odd.py").write_text(
        "from promptdsl import Timeline, User\n"
        "class Stop(BaseException): pass\n"
        "def ask(question):\n"
        "    if question == 'One?': raise Stop(question)\n"
        "    return Timeline(User(question))\n"
    )
    folder.table([{"question": "One?"}, {"question": "Two?"}])
    assert 1 == folder.batch("odd.py:ask", "rows.jsonl").code
    assert ["Two?"] == folder.users()
    assert 1 == folder.batch("odd.py:ask", "rows.jsonl", "--dry-run").code


def shown(text: Any = "none") -> Timeline:
    """Return a prompt that shows a cell."""
    return Timeline(User(str(text)))


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_rows_of_any_kind(workers: int) -> None:
    """What is no row, and what cannot be sent to another process, is a problem or a request."""
    rows: list[Any] = [{"text": "a"}, None, 5, ["text"], {"text": Odd()}, {5: "a", "text": "b"}]
    rows += [{"text": threading.Lock()}, {"text": lambda: 0}, {"text": "z"}]
    results = [*render_rows(rows, shown, model="gpt-5", workers=workers)]
    assert [*range(1, 10)] == [result.row.number for result in results]
    failed = [result.row.number for result in results if result.problem is not None]
    assert [2, 3, 4, 5] == failed
    assert all('"content":"' in result.body for result in results if result.problem is None)


SOURCES = ("{{ 1 / text }}", "{% for i in text %}{{ i }}{% endfor %}", "{{ text.a.b }}")
PROMPTS: list[Callable[[Any], Any]] = [
    lambda text: Timeline(Output({"type": text}), User("a")),
    *(
        lambda text, source=source: Timeline(
            System(Template.from_string(source, text=text)), User("a")
        )
        for source in SOURCES
    ),
    lambda text: text,
    lambda text: Timeline(text, User("a")),
    lambda text: (part for part in [text]),
    lambda text: Timeline(User("a")) if text == "good" else Odd(),
]


@pytest.mark.parametrize("prompt", PROMPTS)
@pytest.mark.parametrize("cell", [0, Odd(), object(), float("nan"), "\ud800", [[]], b"\xff"])
def test_what_a_prompt_is_made_of(prompt: Callable[[Any], Any], cell: Any) -> None:
    """A schema, a template or a part that cannot be used never raises."""
    results: Iterator[RowResult] = render_rows([{"text": cell}] * 2, prompt, model="gpt-5")
    assert [1, 2] == [result.row.number for result in results]


@pytest.mark.parametrize(
    ("cell", "data"),
    [
        (float("inf"), None),
        (decimal.Decimal("NaN"), None),
        (decimal.Decimal("1.50"), "1.50"),
        (date(2026, 11, 27), "2026-11-27"),
        (datetime(2026, 11, 27, 14, 3), "2026-11-27T14:03:00"),
        (time(14, 3), "14:03:00"),
        (timedelta(1), "1 day, 0:00:00"),
        (b"\xff", "/w=="),
        ([1, {"a": float("nan"), 5: (True, None)}], [1, {"a": None, "5": [True, None]}]),
        (10**4_000, "<int that cannot be printed>"),
        (Odd(), "<Odd that cannot be printed>"),
    ],
)
def test_a_cell_as_json(cell: object, data: object) -> None:
    """Every cell is JSON data where it is reported or read again."""
    found = json_cell(cell)
    assert data == (found if not str(found).startswith("1000") else data)


@pytest.mark.parametrize("tables", [4, pytest.param(100, marks=pytest.mark.slow)])
def test_tables_of_random_types(tmp_path: Path, tables: int) -> None:
    """Each row of any table is a request or a failure with a reason; the same when it goes on."""
    faults, figures = odd_tables.tried(tmp_path, tables=tables, seed=1)
    assert [] == faults
    assert 0 < figures["failed"] < figures["rows"]
