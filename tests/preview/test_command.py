"""``promptdsl preview`` and what it refuses before it starts anything."""

import socket
from pathlib import Path

import pytest

from tests.commands import run_command


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            ("--host", "0.0.0.0", "--port", "9000"),
            "promptdsl preview: error: only the machine of a preview can open it: there is no "
            "--host. On yours, run\n  ssh -N -L 9000:127.0.0.1:9000 USER@MACHINE\n"
            "  and here: promptdsl preview --port 9000\n",
        ),
        (
            ("--port", "70000"),
            "promptdsl preview: error: --port 70000: the largest port is 65535\n",
        ),
        (
            ("--timeout", "0"),
            "promptdsl preview: error: --timeout 0 leaves no time to render: write --timeout 1 or "
            "more\n",
        ),
    ],
)
def test_what_is_refused(project: Path, arguments: tuple[str, ...], expected: str) -> None:
    """Another host, a port that is none and no time are refused, with what to write."""
    process = run_command("preview", "support.py", *arguments, cwd=project)
    assert (2, "", expected) == process


def test_a_port_that_is_taken(project: Path) -> None:
    """A port of another program is named."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        process = run_command("preview", "support.py", "--port", str(port), cwd=project)
    assert 2 == process.code
    assert f"port {port}: Address already in use: choose another --port\n" in process.err
