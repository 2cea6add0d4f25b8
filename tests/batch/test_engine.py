"""Rows that are rendered here or by workers: their order, and how far ahead they are read."""

import pickle
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from promptdsl import DataError, OptionError, Timeline, User
from promptdsl.batch import RowRenderer, RowResult, TableRow, render_rows
from tests.batch.folders import Folder, contents
from tests.errors import lines_of, raised
from tests.internals import batch_engine_module

MOST = batch_engine_module.MAXIMUM_ROWS


def ask(question: str) -> Timeline:
    """Return a prompt; a question that says so fails."""
    if "fail" in question:
        raise KeyError(question)
    return Timeline(User(question))


class Rows:
    """Rows of which it is known how many were read."""

    def __init__(self, count: int, text: str = "") -> None:
        self.count, self.text, self.read = count, text, 0

    def __iter__(self) -> Iterator[dict[str, str]]:
        for number in range(self.count):
            self.read += 1
            yield {"question": f"fail {number}" if number % 10 == 7 else f"{number}{self.text}"}


class Pool:
    """A pool of one worker, which is this process."""

    submitted = 0
    closed = False

    def __init__(self, workers: int, *, initializer: Any, initargs: Any, **options: Any) -> None:
        initializer(*initargs)

    def submit(self, work: Callable[..., object], *args: object) -> "Future[object]":
        """Do some work, as it comes out of another process."""
        Pool.submitted += 1
        future = Future[object]()
        future.set_result(pickle.loads(pickle.dumps(work(*pickle.loads(pickle.dumps(args))))))
        return future

    def shutdown(self, *, cancel_futures: bool) -> None:
        """Note that the pool is closed."""
        Pool.closed = cancel_futures


@pytest.fixture(params=[1, 2, pytest.param(0, marks=pytest.mark.slow)])
def workers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Return a number of workers: 1, 2 that are this process, and 2 that are processes."""
    if request.param == 2:
        monkeypatch.setattr(batch_engine_module, "ProcessPoolExecutor", Pool)
        monkeypatch.setattr(signal, "signal", print)
    return request.param or 2


def test_the_order_of_the_rows_is_kept(workers: int) -> None:
    """Results come in the order of the rows, each with its row, and are the same anywhere."""
    rows = [*Rows(3 * MOST + 5)]
    results = [*render_rows(rows, ask, workers=workers, model="gpt-5")]
    assert rows == [result.row.cells for result in results]
    assert [*range(1, len(rows) + 1)] == [result.row.number for result in results]
    assert results == [*render_rows(rows, ask, model="gpt-5")]
    assert ("KeyError", "'fail 7'", lines_of(ask, 3)) == (
        results[7].problem
        and (results[7].problem.type, results[7].problem.what, results[7].problem.at)
    )


@pytest.mark.parametrize(("text", "max_rows"), [("", MOST), ("x" * 500_000, 3)])
def test_rows_are_read_as_far_as_they_are_needed(workers: int, text: str, max_rows: int) -> None:
    """However many rows there are, few are in memory: a part for each worker that waits."""
    rows = Rows(40 * MOST if max_rows == MOST else 60, text)
    results = render_rows(rows, ask, workers=workers)
    ahead = 1 if workers == 1 else max_rows * (2 * workers + 1)
    for number, _ in zip(range(1, 3 * max_rows), results, strict=False):
        assert number <= rows.read <= number + ahead
    results.close()  # type: ignore[attr-defined]
    assert rows.read < rows.count


class Slow:
    """A pool that begins chunks of two rows, and notes what is begun and what is waited for."""

    most_rows = 2

    def __init__(self, log: list[str], ahead: int, odd: str) -> None:
        self.log, self.ahead, self.odd = log, ahead, odd

    def submit(self, chunk: list[TableRow]) -> Callable[[], list[RowResult]]:
        """Begin with rows; some cannot be sent."""
        name = "".join(str(row.cells["n"]) for row in chunk)
        if self.odd in name:
            raise TypeError(name)
        self.log.append(f"begin {name}")

        def wait() -> list[RowResult]:
            self.log.append(f"wait {name}")
            return [RowResult(row, body=f"there {row.cells['n']}") for row in chunk]

        return wait

    def close(self) -> None:
        """Note it."""
        self.log.append("close")


WAYS: list[tuple[str, int, str, str]] = [
    (
        "abcde",
        1,
        "-",
        "begin ab, begin cd, wait ab, A, B, begin e, wait cd, C, D, wait e, E, close",
    ),
    (
        "abcde",
        2,
        "-",
        "begin ab, begin cd, begin e, wait ab, A, B, wait cd, C, D, wait e, E, close",
    ),
    ("abcd", 0, "-", "begin ab, wait ab, A, B, begin cd, wait cd, C, D, close"),
    ("abcde", 1, "c", "begin ab, wait ab, A, B, begin e, here c, here d, C, D, wait e, E, close"),
    ("abcde", 9, "a", "begin cd, begin e, here a, here b, A, B, wait cd, C, D, wait e, E, close"),
    ("abcd", 1, "", "here a, here b, A, B, here c, here d, C, D, close"),
    ("a", 1, "-", "begin a, wait a, A, close"),
    ("", 1, "-", "close"),
]


@pytest.mark.parametrize(("rows", "ahead", "odd", "expected"), WAYS)
def test_the_order_of_what_is_begun(rows: str, ahead: int, odd: str, expected: str) -> None:
    """Chunks are begun ahead; what cannot be sent is worked out here; results keep their rows."""
    log: list[str] = []

    def here(row: TableRow) -> RowResult:
        log.append(f"here {row.cells['n']}")
        return RowResult(row, body=f"here {row.cells['n']}")

    table = [TableRow(n, f"t:{n}", {"n": letter}) for n, letter in enumerate(rows, 1)]
    results = batch_engine_module.results(
        table, here, lambda: here, lambda _: Slow(log, ahead, odd)
    )
    for result in results:
        log.append(str(result.row.cells["n"]).upper())
    assert expected.split(", ") == log


@pytest.mark.parametrize(
    ("lengths", "max_rows", "expected"),
    [
        ([], 3, []),
        ([1, 1, 1], 3, [3]),
        ([1, 1, 1, 1], 3, [3, 1]),
        ([1_000_000, 1], 3, [2]),
        ([1_000_001, 1], 3, [1, 1]),
        ([600_000, 600_000, 600_000, 600_000, 1], 3, [2, 2, 1]),
        ([999_999, 1, 1, 1], 9, [3, 1]),
        ([1_000_001, 999_999, 1, 1], 9, [1, 3]),
    ],
)
def test_chunks_of_rows(lengths: list[int], max_rows: int, expected: list[int]) -> None:
    """A chunk ends with the most rows, or with the row whose texts are more than a million."""
    pool, log = Slow([], 0, "-"), list[int]()
    pool.most_rows = max_rows

    def begin(chunk: list[TableRow]) -> Callable[[], list[RowResult]]:
        log.append(len(chunk))
        return lambda: [RowResult(row) for row in chunk]

    pool.submit = begin  # type: ignore[method-assign]
    table = [
        TableRow(n, "", {"a": "x" * (length // 2), "n": 5, "b": "y" * (length - length // 2)})
        for n, length in enumerate(lengths)
    ]
    results = [*batch_engine_module.results(table, RowResult, lambda: RowResult, lambda _: pool)]
    assert (expected, table) == (log, [result.row for result in results])


def test_what_workers_cannot_load() -> None:
    """A target that another process cannot import is an option that is wrong."""

    def inner(question: str) -> Timeline:
        return ask(question)

    rows = [{"question": "Why?"}]
    assert 1 == len([*render_rows(rows, inner)])
    error = raised(OptionError, lambda: render_rows(rows, inner, workers=2))
    assert "workers cannot load inner" == error.what


@pytest.mark.slow
def test_a_worker_that_dies(folder: Folder) -> None:
    """A worker that ends in the middle is reported, and the batch goes on."""
    rows = [{"question": f"Is it {n}?"} for n in range(2 * MOST)]
    rows[MOST + 9] = {"question": "fail"}
    arguments = ("dying", folder.table(rows), "--workers", "2")
    command = folder.batch(*arguments)
    assert (2, "promptdsl batch: error: a worker process died: --resume continues the batch") == (
        command.code,
        command.err[: command.err.find(";")],
    )
    folder.path.joinpath("alive").touch()
    assert 0 == folder.batch(*arguments, "--resume").code
    assert 0 == folder.batch(*arguments[:2], "--output", "whole").code
    assert contents(folder.path / "whole") == contents(folder.path / "out")


@pytest.mark.slow
def test_workers_write_what_one_process_writes(folder: Folder) -> None:
    """The files of a batch are the same with any number of workers."""
    rows = [{} if n % 9 == 4 else {"question": f"Is it {n}?"} for n in range(3 * MOST)]
    arguments = ("loud", folder.table(rows))
    one = folder.batch(*arguments, "--output", "one")
    two = folder.batch(*arguments, "--output", "two", "--workers", "2")
    assert (1, 1) == (one.code, two.code)
    assert contents(folder.path / "one") == contents(folder.path / "two")


def test_a_renderer_can_be_pickled() -> None:
    """Other programs may send a renderer to processes of their own."""
    renderer = RowRenderer(ask, model="gpt-5", extra={"max_completion_tokens": 9})
    rows = [{"question": "Why?"}, {"question": "fail"}]
    expected = renderer(rows)
    assert expected == pickle.loads(pickle.dumps(renderer))(rows)
    assert [True, False] == [bool(result.body) for result in expected]


def test_a_renderer_takes_an_arrow_table() -> None:
    """An Arrow table comes back with the body or the problem of each row."""
    pyarrow = pytest.importorskip("pyarrow", reason="needs pyarrow")
    renderer = RowRenderer(ask, model="gpt-5")
    table = pyarrow.table({"question": ["Why?", None, "fail"], "other": [1, 2, 3]})
    results = renderer(table).to_pydict()
    body = '{"model":"gpt-5","messages":[{"role":"user","content":"Why?"}]}'
    assert ([1, 2, 3], [body, None, None]) == (results["other"], results["body"])
    null = "DataError: the cell 'question' is null, not str "
    null += "(add `| None` to the type of the parameter)"
    assert [None, null, f"{lines_of(ask, 3)[0]}: KeyError: 'fail'"] == results["problem"]
    empty = renderer(table.slice(0, 0))
    assert (["question", "other", "body", "problem"], 0) == (empty.column_names, len(empty))
    twice = raised(DataError, lambda: renderer(table.rename_columns(["question", "body"])))
    assert "the table already has a column 'body', which the result adds" == twice.what


class OneThread(RowRenderer):
    """A renderer whose calls all run in one thread, as Ray Data makes it."""

    def __call__(self, rows: Any) -> Any:
        """Render in the thread; a call out of the thread would wait for ever."""
        with ThreadPoolExecutor(1) as pool:
            self.calls = getattr(self, "calls", 0) + 1
            assert self.calls == 1, "a renderer calls itself"
            return pool.submit(super().__call__, rows).result()


def test_a_renderer_does_not_call_itself() -> None:
    """An Arrow table is rendered in one call, which an engine may put anywhere."""
    pyarrow = pytest.importorskip("pyarrow", reason="needs pyarrow")
    table = OneThread(ask, model="gpt-5")(pyarrow.table({"question": ["Why?"]}))
    assert [None] == table["problem"].to_pylist()


@pytest.mark.parametrize(
    ("target", "options", "problem"),
    [
        (3, {}, "the target of rows must be a function or a component"),
        (dict, {}, "the target of rows must be a function or a component"),
        (ask, {"format": "opnai"}, "'opnai' has no batch service"),
        (ask, {"format": "anthropic", "model": "claude-opus-5-5"}, "anthropic requires max_tokens"),
        (ask, {"format": "openai"}, "openai requires the name of a model"),
        (ask, {"model": "gpt-5", "extra": {"n": "2"}}, "n of openai must be a number, not '2'"),
        (ask, {"model": "unheard-of"}, "the provider of the model 'unheard-of' is not known"),
    ],
)
def test_options_that_cannot_be_right(target: Any, options: dict[str, Any], problem: str) -> None:
    """A wrong target or option is refused before a row is read."""
    assert raised(OptionError, lambda: render_rows([], target, **options)).what.startswith(problem)
