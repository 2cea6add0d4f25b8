"""The command ``promptdsl`` in a process of its own, forked from one that has loaded the package.

A new interpreter takes a quarter of a second to load what a command needs, a fork a hundredth.
What a command does at its very start cannot be seen in a fork: tests of imports, of locales and of
settings of the interpreter start ``python -m promptdsl`` themselves.
"""

import atexit
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, NamedTuple, NoReturn

ROOT = Path(__file__).resolve().parents[1]
WARM = "import sys; from tests.commands import serve; serve(int(sys.argv[1]))"
"""What the process runs that is forked for each command."""
OF_THE_INTERPRETER = ("PYTHON", "LC_", "LANG")
"""How the variables begin that an interpreter reads when it starts."""


STARTED: list[Sequence[str]] = []
"""The arguments of every command that was started."""


class Done(NamedTuple):
    """What a command came to: its exit code and what it wrote."""

    code: int
    out: str
    err: str


def run_command(*arguments: str, cwd: Path, **variables: str) -> Done:
    """Return what ``promptdsl ARGUMENTS`` came to in a folder, with these variables too."""
    with TemporaryFile() as out, TemporaryFile() as err:
        wait = start_command(arguments, cwd, variables, out=out.fileno(), err=err.fileno())
        code = wait()
        out.seek(0)
        err.seek(0)
        return Done(code, out.read().decode(), err.read().decode())


def start_command(
    arguments: Sequence[str], cwd: Path, variables: dict[str, str], *, out: int, err: int
) -> Callable[[], int]:
    """Start a command that writes to these file descriptors; what it returns waits for its code."""
    STARTED.append(arguments)
    environment = os.environ | variables
    if not hasattr(os, "fork") or any(name.startswith(OF_THE_INTERPRETER) for name in variables):
        command = [sys.executable, "-W", "error", "-m", "promptdsl", *arguments]
        return subprocess.Popen(command, cwd=cwd, env=environment, stdout=out, stderr=err).wait
    request = {"arguments": arguments, "cwd": str(cwd), "variables": environment}
    connection = _warm_process()
    with TemporaryFile() as written:
        written.write(json.dumps(request).encode())
        written.seek(0)
        socket.send_fds(connection, [b"?"], [written.fileno(), out, err])
    return lambda: int(connection.recv(16))


@cache
def _warm_process() -> socket.socket:
    """Return the connection to the process that is forked; both end when this process does."""
    ours, theirs = socket.socketpair()
    number = theirs.fileno()
    command = [sys.executable, "-W", "error", "-c", WARM, str(number)]
    warm = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, pass_fds=[number])
    theirs.close()
    atexit.register(warm.wait)
    atexit.register(ours.close)
    return ours


def serve(number: int) -> None:
    """Fork a process for each command that is asked for at a socket, until nobody asks any more."""
    _load()
    connection = socket.socket(fileno=number)
    while True:
        asked, files, _, _ = socket.recv_fds(connection, 1, 3)
        if not asked:
            return
        child = os.fork()
        if not child:
            connection.close()
            _become(*files)
        for file in files:
            os.close(file)
        _, status = os.waitpid(child, 0)
        connection.sendall(str(os.waitstatus_to_exitcode(status)).encode())


def _load() -> None:
    """Load what most commands use: the whole of rendering, a tokenizer, the command line."""
    from promptdsl import Event, UserAction, render
    from promptdsl.cli import main

    render(Event(UserAction("x")), model="gpt-5", budget=1_000).to_openai()
    assert callable(main)


def _become(written: int, out: int, err: int) -> NoReturn:
    """Run the command that is asked for in a file, in this process, and end it."""
    from promptdsl.cli import main

    with os.fdopen(written) as file:
        request: dict[str, Any] = json.load(file)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["variables"])
    os.dup2(out, 1)
    os.dup2(err, 2)
    sys.path[0] = request["cwd"]
    sys.argv = ["promptdsl", *request["arguments"]]
    code = 1
    try:
        code = main()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)
