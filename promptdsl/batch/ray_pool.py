"""A pool of processes on a Ray cluster: a task for each chunk of rows."""

import os
import pickle
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor
from functools import lru_cache
from importlib.metadata import version
from secrets import token_hex
from socket import create_connection
from typing import Any, cast

from promptdsl.batch.engine import LoadWork, Work, without_rows
from promptdsl.batch.renderer import RowResult
from promptdsl.batch.rows import TableRow
from promptdsl.foundation.errors import OptionError
from promptdsl.foundation.extras import require


class RayPool:
    """Processes of a Ray cluster, which have a CPU each.

    The cluster is the one that this process is connected to, else that of ``address`` or of
    RAY_ADDRESS, else a new one on this machine, which ends with the pool. A cluster of an address
    gets the files of the current folder, but for those of ``left_out``. Without ``workers``, all
    its CPUs are used. When a process dies, Ray begins its task again, up to three times. Raises
    :class:`OptionError` for a cluster that cannot be used.
    """

    # A task takes 1.4 ms of this process, and a row of it about 8 µs.
    most_rows = 256

    def __init__(
        self,
        load: LoadWork,
        workers: int | None = None,
        address: str | None = None,
        left_out: Sequence[str] = (),
    ) -> None:
        self._ray, self._is_ours = _connected(address, left_out)
        cpus = max(1, int(self._ray.cluster_resources().get("CPU", 1)))
        self.ahead = 2 * cpus if workers is None else workers - 1
        self._load = self._ray.put(pickle.dumps((version("promptdsl"), os.getcwd(), load)))
        self._task = self._ray.remote(num_cpus=1, max_retries=3)(_results)

    def submit(self, chunk: list[TableRow]) -> Callable[[], list[RowResult]]:
        """Begin with rows, and return a function that waits for their results."""
        task = self._task.remote(self._load, chunk)

        def wait() -> list[RowResult]:
            errors = self._ray.exceptions
            try:
                return cast("list[RowResult]", self._ray.get(task))
            except errors.RayTaskError as error:  # a row raises nothing: it is about the target
                if isinstance(error.cause, OptionError):
                    raise error.cause from None
                what = str(error).strip().splitlines()[-1]
                raise OptionError(f"a process of the Ray cluster cannot begin: {what}") from None
            except errors.RayError as error:
                raise BrokenExecutor(str(error)) from None

        return wait

    def close(self) -> None:
        """Drop what is begun, and leave the cluster."""
        if self._is_ours:
            self._ray.shutdown()


def _connected(address: str | None, left_out: Sequence[str]) -> tuple[Any, bool]:
    """Return the module ``ray`` (it has no types of its own), and whether this connected it."""
    address = address or os.environ.get("RAY_ADDRESS") or "local"
    if address == "local" and "ray" not in sys.modules:
        # Ray reads them when it is imported. The token is for this run, and in no file.
        os.environ.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=token_hex(32))
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    ray = require("ray", "ray")
    if ray.is_initialized():
        return ray, False
    options: dict[str, Any] = {"logging_level": "error"}
    if address == "local":
        options["include_dashboard"] = False
    elif (
        "RAY_JOB_CONFIG_JSON_ENV_VAR" not in os.environ
    ):  # a job of the cluster has its files there
        left = [f"/{os.path.relpath(path)}" for path in left_out]
        options["runtime_env"] = {"working_dir": os.getcwd(), "excludes": left}
    host, _, port = address.rpartition(":")
    try:
        if port.isdecimal() and "/" not in host:  # Ray tries for minutes
            create_connection((host, int(port)), timeout=10).close()
        ray.init(address, **options)
    except Exception as error:  # Ray raises it as it is, where it does not start
        what = str(error).strip().partition("\n")[0]
        raise OptionError(f"there is no Ray cluster at {address}: {what}") from None
    return ray, True


@lru_cache(maxsize=1)
def _work(loaded: bytes) -> Work:
    needed, folder, load = pickle.loads(loaded)
    there = version("promptdsl")
    if needed != there:
        what = f"the Ray cluster has promptdsl {there}, and this process {needed}"
        raise OptionError(what, fix="install the same version on both")
    if os.path.isdir(folder):  # on this machine, or on a disk that machines share
        os.chdir(folder)
    return cast("LoadWork", load)()


def _results(loaded: bytes, chunk: list[TableRow]) -> list[RowResult]:
    """Return the results of rows: the task of a process of the cluster."""
    return without_rows(_work(loaded), chunk)
