"""What ends a prompt, or the preview: nothing is left, and the page names what happened."""

import json
import os
import random
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.preview.killing import killed
from tests.preview.processes import command_of, marked, none_left
from tests.preview.running import SUPPORT, Preview, has_error, has_page, preview

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="needs /proc"),
]
TARGET = ("support.py:answer", "--model", "claude-sonnet-4-5")
WAYS = [(), ("--cold",)]


def code_with(line: str) -> str:
    """Return the code of the prompt with a line before it is made."""
    return SUPPORT.replace(
        "    with Timeline", f"    import os, sys, time\n    {line}\n    with Timeline"
    )


def child_of(running: Preview, *, kind: str = "") -> int:
    """Return the process of the child, or of the nursery."""
    server = running.process.pid
    child_pids = [pid for pid in marked(running.mark) if pid != server]
    nurseries = [
        pid for pid in child_pids if "nursery" in command_of(pid) and _parent(pid) == server
    ]
    if kind == "nursery":
        return nurseries[0]
    return next(pid for pid in child_pids if pid not in nurseries)


def programs_of(running: Preview) -> list[str]:
    """Return the program of each process of a preview."""
    return [command_of(pid)[0] for pid in marked(running.mark)]


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


@pytest.mark.parametrize("options", WAYS)
@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("while True: pass", "the prompt ran longer than 8 s"),
        ("os.kill(os.getpid(), 9)", "ended by the signal SIGKILL"),
        ("os._exit(3)", "ended with the exit code 3"),
        ("raise SystemExit(4)", "SystemExit: 4"),
    ],
)
def test_code_that_ends(project: Path, options: tuple[str, ...], line: str, what: str) -> None:
    """A loop is ended, and what ended by itself is named; the next save is shown."""
    (project / "support.py").write_text(code_with(line))
    with preview(project, *TARGET, "--timeout", "8", *options) as running:
        running.follow()
        assert what in running.wait(has_error)["error"]["what"]
        (project / "support.py").write_text(SUPPORT)
        assert "Be kind." in running.shown(has_page)
    assert none_left(running.mark)


@pytest.mark.parametrize("options", WAYS)
def test_a_gigabyte_of_output(project: Path, options: tuple[str, ...]) -> None:
    """Of what the code prints the page shows 64 kB."""
    line = "[os.write(1, b'x' * 1_000_000) for _ in range(1_000)]"
    (project / "support.py").write_text(code_with(line))
    with preview(project, *TARGET, *options) as running:
        running.follow()
        state = running.wait(has_page)
        assert 64 * 1024 == len(state["output"])
        assert "Be kind." in json.dumps(state["page"])


@pytest.mark.parametrize("options", WAYS)
def test_what_the_code_starts(project: Path, options: tuple[str, ...]) -> None:
    """A process that the code started ends with the child."""
    line = "import subprocess; subprocess.Popen(['sleep', '600'])"
    (project / "support.py").write_text(code_with(line))
    with preview(project, *TARGET, *options) as running:
        running.follow()
        running.wait(has_page)
        assert 1 == programs_of(running).count("sleep")
        since = len(running.states)
        (project / "support.py").write_text(SUPPORT)
        running.wait(has_page, since)
        assert "sleep" not in programs_of(running)
    assert none_left(running.mark)


def test_a_child_that_dies_later(project: Path) -> None:
    """The end of a child that showed its page is named; the next choice starts another."""
    with preview(project, *TARGET, "--budget", "230") as running:
        running.follow()
        running.wait(has_page)
        os.kill(child_of(running), signal.SIGKILL)
        assert "by the signal SIGKILL" in running.wait(has_error)["error"]["what"]
        running.choose(budget=150)
        state = running.wait(lambda state: has_page(state) and state["choices"]["budget"] == 150)
        assert state["error"] is None


def test_a_nursery_that_dies(project: Path) -> None:
    """A nursery that died is named, and started again by the next save."""
    with preview(project, *TARGET) as running:
        running.follow()
        running.wait(has_page)
        os.kill(child_of(running, kind="nursery"), signal.SIGKILL)
        what = running.wait(has_error)["error"]["what"]
        assert "the process that starts the processes of prompts has ended" == what
        since = len(running.states)
        (project / "support.py").write_text(SUPPORT.replace("kind", "brief"))
        assert "Be brief." in running.shown(has_page, since)
    assert none_left(running.mark)


@pytest.mark.parametrize("options", WAYS)
@pytest.mark.parametrize("line", ["pass", "while True: pass"])
def test_a_server_that_is_killed(project: Path, options: tuple[str, ...], line: str) -> None:
    """When the server is killed, no process stays, also none with an endless loop."""
    (project / "support.py").write_text(code_with(f"open('began', 'w').close()\n    {line}"))
    with preview(project, *TARGET, *options) as running:
        running.follow()
        running.wait(lambda _: (project / "began").exists() or len(marked(running.mark)) > 1)
        running.process.kill()
        running.process.wait()
        assert none_left(running.mark)


def test_what_the_code_started_when_the_server_is_killed(project: Path) -> None:
    """When the server is killed, what the code started ends, too."""
    line = "import subprocess; subprocess.Popen(['sleep', '600'])"
    (project / "support.py").write_text(code_with(line))
    with preview(project, *TARGET) as running:
        running.follow()
        running.wait(has_page)
        assert "sleep" in programs_of(running)
        running.process.kill()
        running.process.wait()
        assert none_left(running.mark)


@pytest.fixture
def hangs_up() -> Iterator[None]:
    """Let SIGHUP end what a test starts, also where ``nohup`` runs the tests."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.usefixtures("hangs_up")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_clients_that_do_not_read(project: Path, number: int) -> None:
    """A signal ends the preview also while a client reads nothing, or sends half a request."""
    (project / "support.py").write_text(SUPPORT.replace("x ", "xyz " * 20_000))
    with preview(project, *TARGET) as running, ExitStack() as stack:
        running.follow()
        running.wait(has_page)
        head = f"Host: 127.0.0.1:{running.port}\r\nx-promptdsl-token: {running.token}\r\n"
        body = "content-type: application/json\r\ncontent-length: 9\r\n\r\n{"
        for request in (
            f"GET /states HTTP/1.1\r\n{head}\r\n",
            f"POST /choices HTTP/1.1\r\n{head}{body}",
        ):
            client = stack.enter_context(socket.socket())
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.connect(("127.0.0.1", running.port))
            client.sendall(request.encode())
        running.request("GET", "/")
        running.process.send_signal(number)
        assert 0 == running.process.wait(10)
    assert none_left(running.mark)


def test_a_terminal_that_ends(project: Path) -> None:
    """A preview that nohup started goes on when its terminal ends."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with preview(project, *TARGET) as running:
            running.follow()
            running.wait(has_page)
            running.process.send_signal(signal.SIGHUP)
            (project / "support.py").write_text(SUPPORT.replace("kind", "brief"))
            running.wait(lambda state: "Be brief." in json.dumps(state.get("page")))
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("options", WAYS)
@pytest.mark.parametrize("frame", [b"A\0\0\0\1{", b"A\0\0\0\2{}", b"AAAAA", b"Z\0\0\0\0"])
def test_code_that_writes_to_the_pipe(
    project: Path, options: tuple[str, ...], frame: bytes
) -> None:
    """An answer that the code wrote itself ends the child, and the next save starts another."""
    line = f"[os.write(4, {frame!r}), time.sleep(60)]"
    (project / "support.py").write_text(code_with(line))
    with preview(project, *TARGET, *options) as running:
        running.follow()
        assert "by the signal SIGKILL" in running.wait(has_error)["error"]["what"]
        (project / "support.py").write_text(SUPPORT)
        assert "Be kind." in running.shown(has_page)


def test_a_short_timeout(project: Path) -> None:
    """The time in which the nursery loads promptdsl is not that of the code."""
    with preview(project, *TARGET, "--timeout", "1") as running:
        running.follow()
        assert running.wait(lambda state: not state["work"])["error"] is None


def test_the_nursery(project: Path) -> None:
    """The nursery has no thread, no socket and no code of users; a child only has its pipes."""
    with preview(project, *TARGET) as running:
        running.follow()
        running.wait(has_page)
        nursery, child = child_of(running, kind="nursery"), child_of(running)
        assert 1 == len(os.listdir(f"/proc/{nursery}/task"))
        assert "socket" not in {kind for kind, _ in files_of(nursery)}
        assert not [name for _, name in files_of(nursery) if f"{project}/" in name]
        servers = {name for kind, name in files_of(running.process.pid) if kind == "pipe"}
        of_child = files_of(child)
        assert {"pipe", "/dev/null"} == {kind for kind, _ in of_child}
        assert servers.isdisjoint(name for _, name in of_child)
        assert os.getsid(child) == child


def files_of(pid: int) -> list[tuple[str, str]]:
    """Return the kind and the name of each open file of a process."""
    folder = Path(f"/proc/{pid}/fd")
    names = [os.readlink(path) for path in folder.iterdir()]
    return [(name.partition(":")[0], name) for name in names]


def test_killed_at_random(tmp_path: Path) -> None:
    """A preview that is killed at random leaves no process, nor does one of its others."""
    assert "" == killed(random.Random(7), tmp_path)
