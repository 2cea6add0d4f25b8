"""The processes of a preview, found by a variable that only they have."""

import os
import time
from pathlib import Path

from tests.preview.running import MARK, PATIENCE


def marked(mark: str) -> list[int]:
    """Return the processes whose environment has a mark, but for those that have ended."""
    variable = f"{MARK}={mark}".encode()
    return [
        int(folder.name)
        for folder in Path("/proc").iterdir()
        if folder.name.isdigit() and variable in _read(folder / "environ").split(b"\0")
    ]


def none_left(mark: str) -> bool:
    """Return whether all processes with a mark end in time."""
    end = time.monotonic() + PATIENCE
    while marked(mark):
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def command_of(pid: int) -> list[str]:
    """Return the command line of a process."""
    return os.fsdecode(_read(Path(f"/proc/{pid}/cmdline"))).split("\0")


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # it ended
        return b""
