"""The pool on a Ray cluster, with a stand-in for Ray: what it asks of Ray, in which order."""

import pickle
import sys
from collections.abc import Callable
from concurrent.futures import BrokenExecutor
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from promptdsl import DataError, OptionError
from promptdsl.batch import RowResult, TableRow
from tests.errors import raised
from tests.internals import batch_engine_module, ray_pool_module


class RayError(Exception):
    """An error of Ray."""


class RayTaskError(RayError):
    """An error that a task raised."""

    def __init__(self, text: str, cause: BaseException | None = None) -> None:
        super().__init__(text)
        self.cause = cause


class Ray:
    """What the pool uses of the module ``ray``; each task runs when it is waited for."""

    exceptions = SimpleNamespace(RayTaskError=RayTaskError, RayError=RayError)

    def __init__(self, cpus: float = 1, *, connected: bool = False) -> None:
        self.cpus, self.connected, self.log = cpus, connected, list[Any]()
        self.errors: dict[str, Exception] = {}
        self.patch = pytest.MonkeyPatch()

    def is_initialized(self) -> bool:
        """Return whether this process is connected."""
        return self.connected

    def init(self, address: str, **options: Any) -> None:
        """Connect, or raise."""
        self.log.append(("init", address, options))
        if "init" in self.errors:
            raise self.errors["init"]

    def cluster_resources(self) -> dict[str, float]:
        """Return what the cluster has."""
        return {"GPU": 9.0, "CPU": self.cpus} if self.cpus else {"GPU": 9.0}

    def remote(self, **options: Any) -> Callable[..., Any]:
        """Return what makes tasks of a function."""
        self.log.append(("remote", options))

        def decorated(function: Callable[..., Any]) -> Any:
            def begin(loaded: bytes, chunk: list[TableRow]) -> tuple[str, Any]:
                name = "".join(str(row.cells["n"]) for row in chunk)
                self.log.append(f"begin {name}")
                return name, partial(function, loaded, chunk)

            return SimpleNamespace(remote=begin)

        return decorated

    def get(self, task: tuple[str, Callable[[], Any]]) -> Any:
        """Return the result of a task, or raise."""
        self.log.append(f"get {task[0]}")
        if task[0] in self.errors:
            raise self.errors[task[0]]
        return task[1]()

    def cancel(self, task: tuple[str, Any]) -> None:
        """Note it."""
        self.log.append(f"cancel {task[0]}")

    def shutdown(self) -> None:
        """Note it."""
        self.log.append("shutdown")


def work(row: TableRow) -> RowResult:
    """Return a result of a row."""
    return RowResult(row, body=f"{row.number}: {row.cells['n']}")


def load() -> Callable[[TableRow], RowResult]:
    """Return the work."""
    return work


def leaving() -> Any:
    """End the process."""
    sys.exit("left")


TABLE = [TableRow(n, "", {"n": letter}) for n, letter in enumerate("abcde", 1)]


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Ray:
    """Put a stand-in in the place of Ray."""
    made = Ray()
    made.patch = monkeypatch
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "ray", made)  # type: ignore[arg-type]
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.delenv("RAY_JOB_CONFIG_JSON_ENV_VAR", raising=False)
    monkeypatch.setattr(ray_pool_module.RayPool, "most_rows", 2)
    return made


def bodies(**options: Any) -> list[str]:
    """Return the bodies of the rows of the table."""
    pools = partial(ray_pool_module.RayPool, **options)
    results = batch_engine_module.results(TABLE, work, load, pools)
    return [f"{result.row.number} {result.body}" for result in results]


BODIES = ["1 1: a", "2 2: b", "3 3: c", "4 4: d", "5 5: e"]
LOCAL = [
    ("init", "local", {"logging_level": "error", "include_dashboard": False}),
    ("remote", {"num_cpus": 1, "max_retries": 3}),
]


@pytest.mark.parametrize(
    ("cpus", "workers", "order"),
    [
        (1, None, "begin ab, begin cd, begin e, get ab, get cd, get e"),
        (1, 1, "begin ab, get ab, begin cd, get cd, begin e, get e"),
        (9, 2, "begin ab, begin cd, get ab, begin e, get cd, get e"),
        (0, 2, "begin ab, begin cd, get ab, begin e, get cd, get e"),
        (9, 3, "begin ab, begin cd, begin e, get ab, get cd, get e"),
    ],
)
def test_tasks_that_are_begun_ahead(ray: Ray, cpus: int, workers: int | None, order: str) -> None:
    """So many as there are workers, or twice the CPUs; each result has its row."""
    ray.cpus = cpus
    assert BODIES == bodies(workers=workers)
    assert [*LOCAL, *order.split(", "), "shutdown"] == ray.log


@pytest.mark.parametrize(("cpus", "ahead"), [(1, 2), (3.5, 6), (64, 128), (65, 128)])
def test_the_most_cpus(ray: Ray, cpus: float, ahead: int) -> None:
    """Of a large cluster 64 CPUs are used, unless workers are named."""
    ray.cpus = cpus
    pool = ray_pool_module.RayPool(load)
    assert (ahead, 99) == (pool.ahead, ray_pool_module.RayPool(load, workers=100).ahead)


def test_a_cluster_without_cpus(ray: Ray) -> None:
    """Nobody would ever work."""
    ray.cpus = 0
    error = raised(OptionError, bodies)
    assert ("the Ray cluster has no CPU", "add a machine with CPUs, or give --workers") == (
        error.what,
        (error.fix or "")[:42],
    )


def test_a_connection_of_others(ray: Ray) -> None:
    """It is used as it is, and stays; what is begun and not waited for is cancelled."""
    ray.connected, ray.errors["cd"] = True, RayError("a node died")
    error = raised(BrokenExecutor, bodies)
    assert "a node died" == str(error)
    assert [
        *(LOCAL[1], "begin ab", "begin cd", "begin e", "get ab", "get cd"),
        "cancel e",
    ] == ray.log


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (RayTaskError("outer", DataError("inner", fix="x")), DataError, "inner"),
        (
            RayTaskError("outer", ValueError("two\n  lines ")),
            OptionError,
            "a process of the Ray cluster cannot start: two lines",
        ),
        (
            RayTaskError(" no\tcause"),
            OptionError,
            "a process of the Ray cluster cannot start: no cause",
        ),
        (
            RayTaskError("outer", ValueError()),
            OptionError,
            "a process of the Ray cluster cannot start: ValueError",
        ),
    ],
)
def test_an_error_of_a_task(ray: Ray, error: Exception, kind: Any, words: str) -> None:
    """It is that of the target; the tasks behind it are cancelled, the first one was done."""
    ray.errors["cd"] = error
    assert words == raised(kind, bodies).what
    assert ["get ab", "get cd", "cancel e", "shutdown"] == ray.log[-4:]


@pytest.mark.parametrize(
    ("address", "environment", "where"),
    [
        (None, "auto", "auto"),
        ("ray://a:1", "auto", "ray://a:1"),
        ("", "ray://b:2", "ray://b:2"),
        ("", "", "local"),
        ("local", "auto", "local"),
    ],
)
def test_the_address(ray: Ray, address: Any, environment: str, where: str) -> None:
    """The one that is given counts more than that of the environment."""
    ray.patch.setenv("RAY_ADDRESS", environment)
    assert BODIES == bodies(address=address)
    assert where == ray.log[0][1]


@pytest.mark.parametrize("was_sent", [False, True])
def test_what_a_cluster_gets(ray: Ray, tmp_path: Path, was_sent: bool) -> None:
    """A cluster of an address gets the current folder, but for two files; no folder is entered."""
    files = [str(tmp_path / "a*.jsonl"), "out"]
    options: Any = {"address": "auto"} if was_sent else {}
    pool = ray_pool_module.RayPool(load, left_out=files, **options)
    excludes = {"working_dir": str(tmp_path), "excludes": ["/a[*].jsonl", "/out"]}
    expected = {"runtime_env": excludes} if was_sent else {"include_dashboard": False}
    assert ("init", [*options.values(), "local"][0], {"logging_level": "error", **expected}) == (
        ray.log[0]
    )
    _, folder, work_of = pickle.loads(pool._load)
    assert (None if was_sent else str(tmp_path), load) == (folder, work_of)


@pytest.mark.usefixtures("ray")
def test_a_target_that_ends_the_process() -> None:
    """It is an error of the target, which ends no process of the cluster."""
    pools = ray_pool_module.RayPool
    rows = batch_engine_module.results(TABLE, work, leaving, pools)
    assert (
        "the file of the prompt ends the process: left" == raised(OptionError, lambda: [*rows]).what
    )


def test_ray_that_does_not_start(ray: Ray) -> None:
    """Its error is one line, and names the address where there is one."""
    ray.errors["init"] = RuntimeError("no\n room")
    assert ["Ray cannot start: no room", "Ray cannot use the cluster at auto: no room"] == [
        raised(OptionError, partial(bodies, **options)).what
        for options in ({}, {"address": "auto"})
    ]
