"""Rendering many rows in their order, here or in worker processes, in bounded memory."""

import os
import pickle
import signal
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from multiprocessing import connection, get_context, parent_process
from threading import Thread
from typing import Any, Protocol, TypeAlias, cast

from promptdsl.batch.renderer import RowRenderer, RowResult
from promptdsl.batch.rows import TableRow, numbered
from promptdsl.foundation.errors import OptionError
from promptdsl.foundation.frozen import is_mapping

Work: TypeAlias = Callable[[TableRow], RowResult]
LoadWork: TypeAlias = Callable[[], Work]
"""A function that a worker process calls once; it returns the work for each row."""
UNPICKLED = (pickle.PicklingError, AttributeError, TypeError, RecursionError)
"""The errors that pickle raises for a value that it cannot write."""
MOST_ROWS, MOST_CHARACTERS = 64, 1_000_000
"""The most rows that a worker process gets at once, and about how many characters they have."""


def render_rows(
    rows: Iterable[Mapping[str, object] | TableRow],
    target: Callable[..., object] | RowRenderer,
    *,
    workers: int = 1,
    **options: Any,  # Any: those of RowRenderer
) -> Iterator[RowResult]:
    """Yield the result of each row, in the order of the rows.

    >>> from promptdsl import Timeline, User
    >>> from promptdsl.batch import render_rows
    >>> def ask(question):
    ...     return Timeline(User("Answer briefly: ", question))
    >>> rows = [{"question": "Why?"}, {"text": "How?"}]
    >>> for result in render_rows(rows, ask, model="gpt-5"):
    ...     print(result.row.number, result.digest or result.problem.what)
    1 2fc64bba6ec7
    2 the row has no 'question', which ask needs

    ``rows`` is a :class:`RowReader` of files, or any iterable of mappings from column names to
    cells; it is read only as far as needed. The options are those of :class:`RowRenderer`.
    With ``workers``, so many processes render. They import the target, so it must be a function of
    a module. Raises :class:`OptionError` for a wrong target or option; the error of a row is the
    ``problem`` of its result.
    """
    if isinstance(target, RowRenderer) and options:
        raise OptionError("a RowRenderer already has its options", fix="pass them to RowRenderer")
    renderer = target if isinstance(target, RowRenderer) else RowRenderer(target, **options)
    if workers > 1:
        try:
            pickle.dumps(renderer)
        except (AttributeError, TypeError, pickle.PicklingError):
            fix = "the target must be a function of a module"
            raise OptionError(f"workers cannot load {renderer.name}", fix=fix) from None
    load = partial(getattr, renderer, "result")
    pools = partial(ProcessPool, workers=workers) if workers > 1 else None
    return results(numbered(rows), renderer.result, load, pools)


class Pool(Protocol):
    """Processes that render chunks of at most ``most_rows`` rows.

    ``ahead`` is the number of chunks that are started before the first one is waited for.
    """

    most_rows: int
    ahead: int

    def submit(self, chunk: list[TableRow]) -> Callable[[], list[RowResult]]:
        """Start a chunk, and return a function that waits for its results, which have no rows.

        Raises one of ``UNPICKLED`` for rows that cannot be sent to another process.
        """
        ...

    def close(self) -> None:
        """End the processes, or leave them to their owner."""
        ...


Pools: TypeAlias = Callable[[LoadWork], Pool]
"""A function that makes a pool; each process of the pool calls the given :data:`LoadWork`."""


def results(
    rows: Iterable[TableRow], work: Work, load: LoadWork, pools: Pools | None = None
) -> Iterator[RowResult]:
    """Yield the results of rows in their order, made in this process or in a pool."""
    if pools is None:
        yield from map(work, rows)
        return
    pool = pools(load)
    waiting: deque[tuple[list[TableRow], Callable[[], list[RowResult]]]] = deque()

    def first() -> Iterator[RowResult]:
        chunk, results_of_chunk = waiting.popleft()
        for row, result in zip(chunk, results_of_chunk(), strict=True):
            yield result._replace(row=row)

    try:
        for chunk in _chunks(rows, pool.most_rows):
            try:
                waiting.append((chunk, pool.submit(chunk)))
            except UNPICKLED:  # a cell cannot be sent to another process
                waiting.append((chunk, partial(without_rows, work, chunk)))
            if len(waiting) > pool.ahead:
                yield from first()
        while waiting:
            yield from first()
    finally:
        pool.close()


def without_rows(work: Work, chunk: list[TableRow]) -> list[RowResult]:
    """Return the results of rows without the rows, which the receiving process has."""
    return [work(row)._replace(row=cast("TableRow", None)) for row in chunk]


class ProcessPool:
    """Processes of this machine. Each is a new interpreter, as a fork would copy locks."""

    most_rows = MOST_ROWS

    def __init__(self, load: LoadWork, workers: int) -> None:
        self.ahead = 2 * workers
        self._executor = ProcessPoolExecutor(
            workers, mp_context=get_context("spawn"), initializer=_begin, initargs=(load,)
        )

    def submit(self, chunk: list[TableRow]) -> Callable[[], list[RowResult]]:
        """Start a chunk, and return a function that waits for its results."""
        with _uninterrupted():
            return self._executor.submit(_chunk_results, pickle.dumps(chunk)).result

    def close(self) -> None:
        """Wait for the chunks that run, and end the processes."""
        self._executor.shutdown(cancel_futures=True)


@contextmanager
def _uninterrupted() -> Generator[None]:
    """Hold back Ctrl-C; a worker that starts meanwhile never gets it, except on Windows."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _chunks(rows: Iterable[TableRow], most: int) -> Iterator[list[TableRow]]:
    chunk: list[TableRow] = []
    characters = 0
    for row in rows:
        chunk.append(row)
        cells: object = row.cells
        if is_mapping(cells):
            characters += sum(len(cell) for cell in cells.values() if isinstance(cell, str))
        if len(chunk) == most or characters > MOST_CHARACTERS:
            yield chunk
            chunk, characters = [], 0
    if chunk:
        yield chunk


_WORK: list[Work] = []
"""The work of this process, if it is a worker."""


def _begin(load: LoadWork) -> None:
    """Prepare a worker: it ignores Ctrl-C, and ends when its parent ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    if parent is not None:
        Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()
    _WORK[:] = [load()]


def _end_with(sentinel: int) -> None:
    connection.wait([sentinel])
    os._exit(1)


def _chunk_results(pickled: bytes) -> list[RowResult]:
    [work] = _WORK
    return without_rows(work, pickle.loads(pickled))
