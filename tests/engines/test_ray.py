"""Batches on Ray: the files are those of one process, whatever happens to the processes."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from promptdsl.batch import Job, RayPool, RowReader, RowRenderer, write_batch
from tests.batch import kills
from tests.batch.bad_rows import CASES, GOOD, LAST, text_of
from tests.batch.folders import Folder, contents
from tests.conftest import ROOT
from tests.internals import ray_pool_module

ray = pytest.importorskip("ray", reason="make test-engines installs the engines")

ADDRESS = re.compile(r"--address='(.+?)'")
QUESTIONS = [{"question": f"Is it {n % 300}?", "key": f"k{n}"} for n in range(400)]


LISTING = """\
def listing(question):
    return Timeline(User(question, *os.listdir()))
"""


@pytest.fixture(scope="session")
def cluster() -> Iterator[None]:
    """Connect this process to a Ray of one CPU."""
    os.environ.update(RAY_AUTH_MODE="disabled", RAY_USAGE_STATS_ENABLED="0")
    ray.init("local", num_cpus=1, include_dashboard=False, logging_level="error")
    yield
    ray.shutdown()


def both(folder: Folder, *asked: str) -> tuple[Any, Any]:
    """Return the output and the files of a batch of one process, and of the same on Ray."""
    one = folder.batch(*asked, "--output", "out"), contents(folder.path / "out")
    (folder.path / "out").rename(folder.path / "one")
    return one, (folder.batch(*asked, "--engine", "ray"), contents(folder.path / "out"))


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("options", [(), ("--id", "key"), ("--dedupe",), ("--workers", "1")])
def test_a_batch_is_that_of_one_process(folder: Folder, options: tuple[str, ...]) -> None:
    """All files and all that the command says are the same, byte for byte."""
    rows = [*QUESTIONS, {"question": "fail", "key": "x"}, {}, *QUESTIONS[:3]]
    one, two = both(folder, "failing", folder.table(rows), *options)
    assert one == two
    assert 1 == two[0].code


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("name", sorted({*CASES} - {"larger than a file"}))
def test_a_bad_row(name: str, folder: Folder) -> None:
    """A bad row is told as in one process, and with it all that is good is sent."""
    case = CASES[name]
    good = [{**row, "key": key} for row, key in ((GOOD, "a"), (LAST, "b"))]
    text = f"{text_of(good[:1])}\n{text_of(case.rows)}{text_of(good[1:])}"
    one, two = both(folder, case.target, folder.table(text), *case.options)
    assert one == two
    assert 2 == len(folder.requests())


@pytest.mark.usefixtures("cluster")
def test_a_dry_run_counts_the_same(folder: Folder) -> None:
    """Tokens and bytes are those that one process counts; the progress is another."""
    asked = ("ask", folder.table(QUESTIONS), "--model", "gpt-5", "--dry-run")
    alone, on_ray = folder.batch(*asked), folder.batch(*asked, "--engine", "ray")
    assert (0, alone.out) == (alone.code, on_ray.out)
    assert 0 == on_ray.code


@pytest.mark.usefixtures("cluster")
def test_a_batch_is_gone_on_with_on_the_other_engine(folder: Folder) -> None:
    """What one engine began, the other ends, in both directions."""
    rows = [*QUESTIONS[:90], {}, *QUESTIONS[90:180], {}, *QUESTIONS[180:]]
    asked = ("ask", folder.table(rows))
    for options in (("--engine", "ray"), (), ("--engine", "ray")):
        resume = ("--resume",) if (folder.path / "out").exists() else ()
        done = folder.batch(*asked, "--on-error", "stop", *options, *resume)
        assert 1 == done.code, done.err
    folder.batch(*asked, "--output", "whole")
    assert contents(folder.path / "whole") == contents(folder.path / "out")


def slow_to_die(question: str) -> Any:
    """Return a prompt; twice, the process that renders it is killed."""
    from promptdsl import Timeline, User

    for number in range(2):
        if question == f"Kill {number}?" and not os.path.exists(f"killed-{number}"):
            Path(f"killed-{number}").touch()
            os.kill(os.getpid(), signal.SIGKILL)
    return Timeline(User(question))


def killed_renderer() -> RowRenderer:
    """Return what a process of the cluster loads."""
    return RowRenderer(slow_to_die, model="gpt-5")


@pytest.mark.usefixtures("cluster")
def test_a_process_that_is_killed_twice(folder: Folder) -> None:
    """Ray renders its rows again: none is lost, and none is there twice."""
    rows = [{"question": f"Is it {n}?"} for n in range(300)]
    rows[70], rows[280] = {"question": "Kill 0?"}, {"question": "Kill 1?"}
    reader = RowReader([folder.table(rows)])
    job = Job(reader, killed_renderer(), killed_renderer, {}, RayPool)
    [*_] = write_batch(job, "out")
    assert [True, True] == [Path(f"killed-{number}").exists() for number in range(2)]
    [*_] = write_batch(job._replace(pools=None), "one")
    assert contents(folder.path / "one") == contents(folder.path / "out")
    assert 300 == len(folder.requests())


@pytest.mark.usefixtures("cluster")
def test_a_row_that_kills_every_process(folder: Folder) -> None:
    """After its last try the command says what to do, and what is written stays."""
    rows = [*QUESTIONS[:100], {"question": "fail"}, *QUESTIONS[100:]]
    asked = ("dying", folder.table(rows))
    done = folder.batch(*asked, "--engine", "ray")
    problem = (
        "a worker process died: --resume continues the batch; leave out --engine to find the row"
    )
    assert (2, True) == (done.code, problem in done.err)
    folder.path.joinpath("alive").touch()
    assert 0 == folder.batch(*asked, "--engine", "ray", "--resume").code
    assert 401 == len(folder.requests())


@pytest.mark.usefixtures("cluster")
def test_another_version_on_the_cluster(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster with another version is refused before a row is rendered."""
    monkeypatch.setattr(ray_pool_module, "__version__", "9.9")
    done = folder.batch("ask", folder.table([GOOD]), "--engine", "ray")
    assert (2, True) == (done.code, "and this process 9.9: install the same version" in done.err)


def test_an_address_needs_the_engine(folder: Folder) -> None:
    """The address of a cluster says nothing without Ray."""
    done = folder.batch("ask", folder.table([GOOD]), "--address", "127.0.0.1:1")
    assert (2, True) == (done.code, "--address names a Ray cluster: add" in done.err)


def test_no_cluster_at_an_address(folder: Folder) -> None:
    """A program that is no Ray, and a name that is none, are errors in less than a minute."""
    folder.table([GOOD])
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        done = command(folder.path, "--address", address)
    assert (2, True) == (done.returncode, f"there is no Ray cluster at {address}" in done.stderr)
    shutil.rmtree(folder.path / "out")
    done = command(folder.path, "--address", "nowhere")
    assert (2, True) == (done.returncode, "Ray cannot use the cluster at nowhere" in done.stderr)


def command(
    folder: Path, *options: str, target: str = "ask", **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run the command on Ray in a process of its own; a hang is a failure."""
    asked = ["batch", f"prompts.py:{target}", "rows.jsonl", "--engine", "ray", "--output", "out"]
    return subprocess.run(
        [sys.executable, "-m", "promptdsl", *asked, *options],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), kills.MARK: str(folder), **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_new_ray_leaves_nothing(folder: Folder) -> None:
    """A Ray that the command starts ends with it, and writes no token to a file."""
    folder.table([{"question": f"Is it {n}?"} for n in range(400)])
    done = command(folder.path, HOME=str(folder.path), RAY_ADDRESS="local")
    assert (0, "") == (done.returncode, done.stderr)
    assert 400 == len(folder.requests())
    assert [] == kills.left(folder.path)
    assert not (folder.path / ".ray").exists()


def test_a_cluster_that_runs(folder: Folder, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A cluster of another folder gets the files of this one, but for the table, and stays."""
    folder.table([{"question": f"Is it {n}?"} for n in range(400)])
    prompts = folder.path / "prompts.py"
    prompts.write_text(f"{prompts.read_text('utf-8')}\n\n{LISTING}", "utf-8")
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    start = [os.path.join(os.path.dirname(sys.executable), "ray"), "start", "--head", "--port=0"]
    environment = {**os.environ, "RAY_AUTH_MODE": "disabled", "PYTHONPATH": str(ROOT)}
    options = ["--include-dashboard=false", "--disable-usage-stats", "--num-cpus=1", "--block"]
    cluster = subprocess.Popen(
        [*start, *options], cwd=elsewhere, env=environment, stdout=subprocess.PIPE, text=True
    )
    try:
        assert cluster.stdout is not None
        address = next(filter(None, map(ADDRESS.search, cluster.stdout)))[1]
        listed = ("--address", address, "--format", "messages")
        done = command(folder.path, *listed, target="listing", RAY_AUTH_MODE="disabled")
        assert (0, 400) == (done.returncode, len(folder.requests())), done.stderr
        assert cluster.poll() is None
        sent = {entry["messages"] for entry in folder.requests()}
        assert [True, False] == [any(name in it for it in sent) for name in ("prompts.py", "rows.")]
    finally:
        cluster.terminate()
        cluster.wait(60)


def test_kills_of_the_command(tmp_path: Path) -> None:
    """The command is killed at random moments: nothing is lost, and no process of Ray stays."""
    faults, figures = kills.killed(tmp_path, kills=2, seed=3, rows=2_000, engines=(kills.RAY,))
    assert ([], 2) == (faults, figures["kills"])


@pytest.mark.skipif(
    signal.getsignal(signal.SIGINT) is signal.SIG_IGN, reason="Ctrl-C is ignored here"
)
def test_an_interrupt_is_clean(tmp_path: Path) -> None:
    """Ctrl-C ends all processes with a message, and the batch goes on."""
    assert [] == kills.interrupted(tmp_path, engine=kills.RAY, rows=3_000)
