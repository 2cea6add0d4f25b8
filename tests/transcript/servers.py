"""Databases for tests: each a server of its own in a folder, which ends with the tests."""

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from glob import glob
from pathlib import Path

import pytest


@contextmanager
def postgres() -> Iterator[str]:
    """Return the address of a PostgreSQL, for SQLAlchemy."""
    pytest.importorskip("psycopg")
    initdb = Path(_program("initdb", "/usr/lib/postgresql/*/bin/initdb"))
    with _folder() as folder:
        _run(folder, initdb, "-D", "data", "-A", "trust", "-U", "ann", "-E", "UTF8", "--no-sync")
        control = (initdb.with_name("pg_ctl"), "-D", "data", "-w", "-l", "log")
        _run(folder, *control, "-o", f"-k {folder} -c listen_addresses= -c fsync=off", "start")
        try:
            yield f"postgresql+psycopg://ann@/postgres?host={folder}"
        finally:
            _run(folder, *control, "-m", "immediate", "stop")


@contextmanager
def redis() -> Iterator[str]:
    """Return the path of the socket of a Redis."""
    pytest.importorskip("redis")
    program = _program("redis-server")
    with _folder() as folder:
        socket = folder / "redis.sock"
        options = ("--port", "0", "--unixsocket", socket, "--unixsocketperm", "777", "--save", "")
        server = subprocess.Popen([program, *options, "--dir", folder], stdout=subprocess.DEVNULL)
        try:
            while not socket.exists() and server.poll() is None:
                time.sleep(0.01)
            yield str(socket)
        finally:
            server.kill()
            server.wait()


def _program(name: str, pattern: str = "") -> str:
    """Return the path of a program; skip the test without it, fail it where CI is set."""
    found = shutil.which(name) or next(iter(sorted(glob(pattern), reverse=True)), None)
    if found is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"there is no {name}")
    return str(found)


@contextmanager
def _folder() -> Iterator[Path]:
    """Return a folder of whom a server runs as, with a name that is short enough for a socket."""
    with tempfile.TemporaryDirectory(prefix="promptdsl-") as name:
        os.chown(name, *_user())
        yield Path(name)


def _run(folder: Path, *command: object) -> None:
    user, group = _user()
    subprocess.run(
        [*map(str, command)],
        cwd=folder,
        check=True,
        stdout=subprocess.DEVNULL,
        **({"user": user, "group": group, "extra_groups": []} if os.getuid() == 0 else {}),
    )


def _user() -> tuple[int, int]:
    """Return user and group of a server: PostgreSQL does not run as root."""
    if os.getuid() == 0:
        nobody = pwd.getpwnam("nobody")
        return nobody.pw_uid, nobody.pw_gid
    return os.getuid(), os.getgid()
