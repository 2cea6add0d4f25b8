"""Counting needs no network, no cache and no file of anyone else."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODELS = ("gpt-4o", "gpt-4", "gpt-oss-20b", None)
COUNT = f"""
from promptdsl.tokens import counter
print([counter(model).of("Hello, world") for model in {MODELS}])
"""
UNSHARE = shutil.which("unshare")


def run(folder: Path, *before: str, code: str = COUNT) -> str:
    """Return what a fresh process with an empty cache prints, run by a command."""
    done = subprocess.run(
        [*before, sys.executable, "-B", "-W", "error", "-c", code],
        cwd=ROOT,
        env={"TIKTOKEN_CACHE_DIR": str(folder), "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "" == done.stderr
    return done.stdout


@pytest.mark.parametrize("models", [("gpt-4",), pytest.param(MODELS, marks=pytest.mark.slow)])
def test_counting_opens_no_socket(tmp_path: Path, models: tuple[str | None, ...]) -> None:
    """Where sockets and changes to folders are errors, texts are counted and nothing is written."""
    count = COUNT.replace(str(MODELS), str(models))
    blocked = f"from tests.tokens.offline import block\nblock()\n{count}"
    assert f"{[3 for _ in models]}\n" == run(tmp_path, code=blocked)
    assert [] == list(tmp_path.iterdir())


def _can_cut_off() -> bool:
    command = [UNSHARE or "", "--map-root-user", "--net", "true"]
    return (
        bool(UNSHARE) and subprocess.run(command, capture_output=True, check=False).returncode == 0
    )


@pytest.mark.slow
@pytest.mark.skipif(not _can_cut_off(), reason="this machine cannot cut off a process's network")
def test_counting_without_a_network(tmp_path: Path) -> None:
    """In a process that has no network at all texts are counted."""
    assert "[3, 3, 3, 3]\n" == run(tmp_path, UNSHARE or "", "--map-root-user", "--net")
