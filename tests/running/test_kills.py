"""A program that is killed while it runs calls."""

import subprocess
import sys

import pytest

from tests.running.kills import CALLS

pytestmark = [
    pytest.mark.native,
    pytest.mark.skipif(sys.platform == "win32", reason="processes are forked"),
]


@pytest.mark.parametrize("rounds", [1, pytest.param(60, marks=pytest.mark.slow)])
def test_killed_between_calls(rounds: int) -> None:
    """Every result that was handed over is in the store, and no stored call runs again."""
    command = [sys.executable, "-W", "error", "-m", "tests.running.kills"]
    process = subprocess.run(
        [*command, "--rounds", str(rounds)], capture_output=True, text=True, check=False
    )
    assert (0, "") == (process.returncode, process.stderr)
    assert f"{rounds * CALLS:6} calls" in process.stdout.splitlines()
