"""The benchmarks start, each of them, and what is no peer is not loaded as one."""

import ast
import os
import subprocess
import sys
from pathlib import Path
from shutil import which

import pytest

from benchmarks.__main__ import BENCHMARKS
from benchmarks.instructions import counted
from benchmarks.rows import HAND
from tests import counted_rows

ROOT = Path(__file__).resolve().parents[1]
PEERS = sorted((ROOT / "benchmarks/peers").glob("*.py"))


def names_in(file: Path) -> set[str]:
    """Return the names that a module assigns."""
    statements = ast.parse(file.read_text("utf-8")).body
    assigned = [it for it in statements if isinstance(it, ast.Assign | ast.AnnAssign)]
    targets = [it.target if isinstance(it, ast.AnnAssign) else it.targets[0] for it in assigned]
    return {it.id for it in targets if isinstance(it, ast.Name)}


@pytest.mark.parametrize(
    "file", [it for it in PEERS if it.stem != "__init__"], ids=lambda it: it.stem
)
def test_a_peer_has_a_name(file: Path) -> None:
    """Each file among the peers is an entrant: it says how its row is called."""
    assert names_in(file) & {"NAME", "ENTRANTS"}


@pytest.mark.slow
@pytest.mark.parametrize("name", BENCHMARKS)
def test_it_starts(name: str) -> None:
    """Each benchmark prints its table; slow peers are left out where they fit conversations.

    Without a path no valgrind is found: to count instructions takes long.
    """
    only = ["--only", "ours"] if name == "fitting" else []
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", name, "--quick", *only],
        env={**os.environ, "PATH": ""},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (0, True) == (done.returncode, "| --- |" in done.stdout), done.stderr


@pytest.mark.slow
@pytest.mark.skipif(which("valgrind") is None, reason="needs valgrind")
def test_instructions_are_counted() -> None:
    """A loop that runs twice as often takes about twice as many instructions."""
    counts = counted(counted_rows.__name__, counted_rows.rows(), quick=True)
    few, many = (counts[row.name][HAND] for row in counted_rows.rows())
    assert 1.8 < many / few < 2.3
