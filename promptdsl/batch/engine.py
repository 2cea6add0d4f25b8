"""Renders rows in order and in bounded memory: in this process, in others, or on Ray.

Read :func:`render_rows` first, then :func:`results`. The pool of processes comes next, then the
pool on a Ray cluster.
"""

import os
import pickle
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from contextlib import contextmanager
from functools import lru_cache, partial
from glob import escape
from multiprocessing import connection, get_context, parent_process
from secrets import token_hex
from threading import Thread
from typing import Any, Protocol, TypeAlias, cast

from promptdsl import __version__
from promptdsl.batch.renderer import RowRenderer, RowResult
from promptdsl.batch.rows import TableRow, numbered
from promptdsl.foundation.errors import OptionError, PromptError, require
from promptdsl.foundation.frozen import is_mapping

# Rendering rows in this process or in worker processes.

Work: TypeAlias = Callable[[TableRow], RowResult]
LoadWork: TypeAlias = Callable[[], Work]
"""A function that a worker process calls once; it returns the work for each row."""
PICKLE_ERRORS = (pickle.PicklingError, AttributeError, TypeError, RecursionError)
"""The errors that pickle raises for an object that it cannot write."""
MAXIMUM_ROWS, MAXIMUM_CHARACTERS = 64, 1_000_000
"""The maximum number of rows that a worker process gets at once, and of the characters in them.

A chunk may have more characters: it ends with the row that passes the maximum.
"""


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
    ``workers`` is the number of processes that render. With more than one, they import the target,
    so it must be a function of a module. The error of a row is the ``problem`` of its result.
    Raises :class:`OptionError` for a wrong target or option.
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
    """Processes that render chunks of rows.

    ``most_rows`` is the maximum number of rows in a chunk. ``ahead`` is the number of chunks that
    are started before the results of the first one are needed.
    """

    most_rows: int
    ahead: int

    def submit(self, chunk: list[TableRow]) -> Callable[[], list[RowResult]]:
        """Start a chunk, and return a function that waits for its results, which have no rows.

        Raises one of ``PICKLE_ERRORS`` for rows that cannot be sent to another process.
        """
        ...

    def close(self) -> None:
        """End the processes; a pool that did not start them only leaves them."""
        ...


Pools: TypeAlias = Callable[[LoadWork], Pool]
"""A function that makes a pool; each process of the pool calls its :data:`LoadWork` once."""


def results(
    rows: Iterable[TableRow], work: Work, load: LoadWork, pools: Pools | None = None
) -> Iterator[RowResult]:
    """Yield the results of rows in their order; without ``pools``, this process renders them."""
    if pools is None:
        yield from map(work, rows)
        return
    pool = pools(load)
    pending_chunks: deque[tuple[list[TableRow], Callable[[], list[RowResult]]]] = deque()

    def results_of_first() -> Iterator[RowResult]:
        """Yield the results of the first pending chunk; wait for them if necessary."""
        chunk, results_of_chunk = pending_chunks.popleft()
        for row, result in zip(chunk, results_of_chunk(), strict=True):
            yield result._replace(row=row)

    try:
        for chunk in _chunks(rows, pool.most_rows):
            try:
                pending_chunks.append((chunk, pool.submit(chunk)))
            except PICKLE_ERRORS:  # a cell cannot be sent to another process
                pending_chunks.append((chunk, partial(without_rows, work, chunk)))
            if len(pending_chunks) > pool.ahead:
                yield from results_of_first()
        while pending_chunks:
            yield from results_of_first()
    finally:
        pool.close()


def without_rows(work: Work, chunk: list[TableRow]) -> list[RowResult]:
    """Return the results of rows without the rows: the process that receives them has the rows."""
    return [work(row)._replace(row=cast("TableRow", None)) for row in chunk]


class ProcessPool:
    """Processes of this machine. Each is a new interpreter, because a fork would copy locks."""

    most_rows = MAXIMUM_ROWS

    def __init__(self, load: LoadWork, workers: int) -> None:
        self.ahead = 2 * workers
        self._executor = ProcessPoolExecutor(
            workers, mp_context=get_context("spawn"), initializer=_start_worker, initargs=(load,)
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
    """Delay Ctrl-C during a block. A worker that starts in it never gets it, except on Windows."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _chunks(rows: Iterable[TableRow], max_rows: int) -> Iterator[list[TableRow]]:
    """Yield rows in lists, each as long as one worker process gets at once."""
    chunk: list[TableRow] = []
    characters = 0
    for row in rows:
        chunk.append(row)
        cells: object = row.cells
        if is_mapping(cells):
            characters += sum(len(cell) for cell in cells.values() if isinstance(cell, str))
        if len(chunk) == max_rows or characters > MAXIMUM_CHARACTERS:
            yield chunk
            chunk, characters = [], 0
    if chunk:
        yield chunk


_WORK: list[Work] = []
"""The work of this process, if it is a worker."""


def _start_worker(load: LoadWork) -> None:
    """Prepare a worker: it ignores Ctrl-C, and ends when its parent ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    if parent is not None:
        Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()
    _WORK[:] = [load()]


def _end_with(sentinel: int) -> None:
    """End this process when the process of a sentinel ends."""
    connection.wait([sentinel])
    os._exit(1)


def _chunk_results(pickled: bytes) -> list[RowResult]:
    [work] = _WORK
    return without_rows(work, pickle.loads(pickled))


# A pool of processes on a Ray cluster: a task for each chunk of rows.

MAXIMUM_CPUS = 64
"""The maximum number of CPUs without ``workers``: one process cannot send rows to more."""


class RayPool:
    """Processes of a Ray cluster; each has its own CPU.

    If this process is already connected to a cluster, the pool uses it. Else it uses the cluster at
    ``address`` or at RAY_ADDRESS. Without an address, the pool starts a cluster on this machine,
    and ends it. A cluster at an address gets the files of the current folder, except those of
    ``left_out``. Without ``workers``, all CPUs of the cluster are used, at most 64. When a process
    dies, Ray starts its task again, up to three times. Raises :class:`OptionError` for a cluster
    that cannot be used.
    """

    # A task takes 1.4 ms of this process, and a row of it about 8 µs.
    most_rows = 128

    def __init__(
        self,
        load: LoadWork,
        workers: int | None = None,
        address: str | None = None,
        left_out: Sequence[str] = (),
    ) -> None:
        address = address or os.environ.get("RAY_ADDRESS") or "local"
        self._ray, self._connected_here = _connect(address, left_out)
        cpus = int(self._ray.cluster_resources().get("CPU", 0))
        if not (cpus or workers):
            fix = "add a machine with CPUs, or give --workers to wait for one"
            raise OptionError("the Ray cluster has no CPU", fix=fix)
        self.ahead = 2 * min(cpus, MAXIMUM_CPUS) if workers is None else workers - 1
        # The processes of a cluster find the files in their working folder, so they must not change
        # to the folder of this process: on their machine it may have other files.
        has_sent_files = self._connected_here and address != "local"
        folder = None if has_sent_files else os.getcwd()
        self._load = pickle.dumps((__version__, folder, load))
        self._task = self._ray.remote(num_cpus=1, max_retries=3)(_task_results)
        self._running_tasks = set[Any]()  # Any: a reference of Ray

    def submit(self, chunk: list[TableRow]) -> Callable[[], list[RowResult]]:
        """Start a chunk, and return a function that waits for its results."""
        task = self._task.remote(self._load, chunk)
        self._running_tasks.add(task)

        def wait() -> list[RowResult]:
            errors = self._ray.exceptions
            try:
                return cast("list[RowResult]", self._ray.get(task))
            except errors.RayTaskError as error:  # no row raises it: loading the target failed
                cause = error.cause or error
                if isinstance(cause, PromptError):
                    raise cause from None
                problem = f"a process of the Ray cluster cannot start: {_one_line(cause)}"
                raise OptionError(problem) from None
            except errors.RayError as error:
                raise BrokenExecutor(str(error)) from None
            finally:
                self._running_tasks.discard(task)

        return wait

    def close(self) -> None:
        """Cancel the tasks that run, and leave the cluster."""
        for task in self._running_tasks:
            self._ray.cancel(task)
        if self._connected_here:
            self._ray.shutdown()


def _connect(address: str, left_out: Sequence[str]) -> tuple[Any, bool]:
    """Return the module ``ray``, which has no types, and whether this call connected to it."""
    if address == "local" and "ray" not in sys.modules:
        # Ray reads these variables when it is imported. The token is only for this run; no file has
        # it.
        os.environ.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=token_hex(32))
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    ray = require("ray", "ray")
    if ray.is_initialized():
        return ray, False
    options: dict[str, Any] = {"logging_level": "error"}
    if address == "local":
        options["include_dashboard"] = False
    # The files of a job of the cluster are already there.
    elif "RAY_JOB_CONFIG_JSON_ENV_VAR" not in os.environ:
        excluded = [f"/{escape(os.path.relpath(path))}" for path in left_out]
        options["runtime_env"] = {"working_dir": os.getcwd(), "excludes": excluded}
    if address.rpartition(":")[2].isdecimal() and "//" not in address:
        _check_health(address)
    try:
        ray.init(address, **options)
    except Exception as error:  # Ray raises errors of many types if it does not start
        what = "start" if address == "local" else f"use the cluster at {address}"
        raise OptionError(f"Ray cannot {what}: {_one_line(error)}") from None
    return ray, True


def _check_health(address: str) -> None:
    """Raise :class:`OptionError` for an address without a cluster: Ray would try it for minutes."""
    command = [sys.executable, "-m", "ray.scripts.scripts", "health-check", "--address", address]
    try:
        subprocess.run(command, check=True, timeout=20, capture_output=True)
    except subprocess.SubprocessError:
        fix = "give HOST:PORT as ray start prints it; a cluster with a token needs RAY_AUTH_TOKEN"
        raise OptionError(f"there is no Ray cluster at {address}", fix=fix) from None


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:500] or type(error).__name__


@lru_cache(maxsize=1)
def _work(pickled: bytes) -> Work:
    """Return the work of this process of the cluster; it is loaded only once."""
    version, folder, load = pickle.loads(pickled)
    if version != __version__:
        what = f"the Ray cluster has promptdsl {__version__}, and this process {version}"
        raise OptionError(what, fix="install the same version on both")
    if folder is not None:
        os.chdir(folder)
    try:
        return cast("LoadWork", load)()
    except SystemExit as error:
        raise OptionError(f"the file of the prompt ends the process: {error}") from None


def _task_results(pickled: bytes, chunk: list[TableRow]) -> list[RowResult]:
    """Return the results of rows; a process of the cluster runs this as its task."""
    return without_rows(_work(pickled), chunk)
