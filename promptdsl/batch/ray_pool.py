"""A pool of processes on a Ray cluster: a task for each chunk of rows."""

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor
from functools import lru_cache
from glob import escape
from secrets import token_hex
from typing import Any, cast

from promptdsl import __version__
from promptdsl.batch.engine import LoadWork, Work, without_rows
from promptdsl.batch.renderer import RowResult
from promptdsl.batch.rows import TableRow
from promptdsl.foundation.errors import OptionError, PromptError
from promptdsl.foundation.extras import require

MOST_CPUS = 64
"""The most CPUs that are used without ``workers``: one process cannot feed more of them."""


class RayPool:
    """Processes of a Ray cluster, each with a CPU of its own.

    The cluster is the one to which this process is connected, else that of ``address`` or of
    RAY_ADDRESS, else a new one on this machine, which ends with the pool. A cluster with an address
    gets the files of the current folder, except those of ``left_out``. Without ``workers``, all its
    CPUs are used, at most 64. When a process dies, Ray starts its task again, up to three times.
    Raises :class:`OptionError` for a cluster that cannot be used.
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
        self._ray, self._is_ours = _connected(address, left_out)
        cpus = int(self._ray.cluster_resources().get("CPU", 0))
        if not (cpus or workers):
            fix = "add a machine with CPUs, or give --workers to wait for one"
            raise OptionError("the Ray cluster has no CPU", fix=fix)
        self.ahead = 2 * min(cpus, MOST_CPUS) if workers is None else workers - 1
        # The processes of a cluster find the sent files in their working folder. A folder with
        # the name of ours may have other files there.
        was_sent = self._is_ours and address != "local"
        folder = None if was_sent else os.getcwd()
        self._load = pickle.dumps((__version__, folder, load))
        self._task = self._ray.remote(num_cpus=1, max_retries=3)(_results)
        self._begun = set[Any]()  # Any: a reference of Ray

    def submit(self, chunk: list[TableRow]) -> Callable[[], list[RowResult]]:
        """Start a chunk, and return a function that waits for its results."""
        task = self._task.remote(self._load, chunk)
        self._begun.add(task)

        def wait() -> list[RowResult]:
            errors = self._ray.exceptions
            try:
                return cast("list[RowResult]", self._ray.get(task))
            except errors.RayTaskError as error:  # no row raises: it comes from the target
                cause = error.cause or error
                if isinstance(cause, PromptError):
                    raise cause from None
                problem = f"a process of the Ray cluster cannot start: {_one_line(cause)}"
                raise OptionError(problem) from None
            except errors.RayError as error:
                raise BrokenExecutor(str(error)) from None
            finally:
                self._begun.discard(task)

        return wait

    def close(self) -> None:
        """Cancel the tasks that run, and leave the cluster."""
        for task in self._begun:
            self._ray.cancel(task)
        if self._is_ours:
            self._ray.shutdown()


def _connected(address: str, left_out: Sequence[str]) -> tuple[Any, bool]:
    """Return the module ``ray``, which has no types, and whether this call connected it."""
    if address == "local" and "ray" not in sys.modules:
        # Ray reads these variables when it is imported. The token is for this run, and in no file.
        os.environ.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=token_hex(32))
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    ray = require("ray", "ray")
    if ray.is_initialized():
        return ray, False
    options: dict[str, Any] = {"logging_level": "error"}
    if address == "local":
        options["include_dashboard"] = False
    # A job of the cluster already has its files there.
    elif "RAY_JOB_CONFIG_JSON_ENV_VAR" not in os.environ:
        left = [f"/{escape(os.path.relpath(path))}" for path in left_out]
        options["runtime_env"] = {"working_dir": os.getcwd(), "excludes": left}
    if address.rpartition(":")[2].isdecimal() and "//" not in address:
        _check_health(address)
    try:
        ray.init(address, **options)
    except Exception as error:  # Ray raises errors of many types if it does not start
        what = "start" if address == "local" else f"use the cluster at {address}"
        raise OptionError(f"Ray cannot {what}: {_one_line(error)}") from None
    return ray, True


def _check_health(address: str) -> None:
    """Raise :class:`OptionError` for an address without a cluster, which Ray tries for minutes."""
    command = [sys.executable, "-m", "ray.scripts.scripts", "health-check", "--address", address]
    try:
        subprocess.run(command, check=True, timeout=20, capture_output=True)
    except subprocess.SubprocessError:
        fix = "give HOST:PORT as ray start prints it; a cluster with a token needs RAY_AUTH_TOKEN"
        raise OptionError(f"there is no Ray cluster at {address}", fix=fix) from None


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:500] or type(error).__name__


@lru_cache(maxsize=1)
def _work(loaded: bytes) -> Work:
    needed, folder, load = pickle.loads(loaded)
    if needed != __version__:
        what = f"the Ray cluster has promptdsl {__version__}, and this process {needed}"
        raise OptionError(what, fix="install the same version on both")
    if folder is not None:
        os.chdir(folder)
    try:
        return cast("LoadWork", load)()
    except SystemExit as error:
        raise OptionError(f"the file of the prompt ends the process: {error}") from None


def _results(loaded: bytes, chunk: list[TableRow]) -> list[RowResult]:
    """Return the results of rows; this is the task of a process of the cluster."""
    return without_rows(_work(loaded), chunk)
