"""Copies of the project: a mutant that only a process notices which loads the package anew."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory
from time import perf_counter

from tests.mutants.planted import ROOT, Planted

COPIED = (
    *("promptdsl", "tests", "docs", "templates", "examples", "benchmarks"),
    *("pyproject.toml", "conftest.py", "README.md", "CHANGELOG.md", "Makefile"),
)
PATIENCE = 5.0
"""How many times as long as without a mistake the tests of a copy may take."""


class Copy:
    """The project in a folder of its own, in which tests run as in a new process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in COPIED:
            if (ROOT / name).is_dir():
                shutil.copytree(
                    ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__")
                )
            elif (ROOT / name).exists():
                shutil.copy(ROOT / name, folder)

    def failed(
        self, tests: Sequence[str], *options: str, seconds: float | None = None
    ) -> list[str]:
        """Return which tests fail, by their ids; a run that ends otherwise is what it printed."""
        if not tests:  # pytest would run all that there are
            return []
        names = self.folder / "tests.txt"
        names.write_text("\n".join(tests), "utf-8")
        command = [sys.executable, "-m", "pytest", "-q", "-rfE", "--tb=no"]
        command += ["-p", "no:cacheprovider", "--hypothesis-profile=fast", *options, f"@{names}"]
        run = subprocess.Popen(
            command,
            cwd=self.folder,
            env=os.environ | {"PYTHONPATH": str(self.folder), "PROMPTDSL_DATA": _data()},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        try:
            printed, _ = run.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            return [f"more than {seconds:.0f} seconds"]
        finally:
            _kill(run)
        lines = {line.partition(" ")[2] for line in printed.splitlines()}
        failed = [test for test in tests if _is_in(test, lines)]
        return failed or ([] if run.returncode == 0 else [printed[-500:]])

    def killer(self, mutant: Planted, tests: Sequence[str], seconds: float) -> str | None:
        """Return the test that fails first with a mistake in the file, if one does."""
        file = self.folder / mutant.path.relative_to(ROOT)
        file.write_text(mutant.after, "utf-8")
        try:
            failed = self.failed(tests, "-x", seconds=seconds)
        finally:
            file.write_text(mutant.before, "utf-8")
        return failed[0] if failed else None


def killers(mutants: Mapping[Planted, Sequence[str]], jobs: int) -> dict[Planted, str | None]:
    """Return for each mutant which of its tests kills it in a copy, so many at a time."""
    every = sorted({test for tests in mutants.values() for test in tests})
    copies: SimpleQueue[Copy] = SimpleQueue()
    with TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        for copy in pool.map(Copy, (_made(Path(folder, str(job))) for job in range(jobs))):
            copies.put(copy)

        def killer(mutant: Planted) -> str | None:
            tests = [test for test in mutants[mutant] if test not in wrong]
            copy = copies.get()
            try:
                return copy.killer(mutant, tests, seconds) if tests else None
            finally:
                copies.put(copy)

        start = perf_counter()
        first = copies.get()
        wrong = {*first.failed(every)}
        copies.put(first)
        if not wrong.issubset(every):
            raise RuntimeError(f"the tests of a copy do not run: {wrong}")
        for test in sorted(wrong):
            print(f"left out, as it fails in a copy: {test}")
        seconds = PATIENCE * (perf_counter() - start)
        return dict(zip(mutants, pool.map(killer, mutants), strict=True))


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _data() -> str:
    """Return the folder of recorded conversations, which is not beside a copy."""
    return os.environ.get("PROMPTDSL_DATA") or str(ROOT.parent / "shared" / "data")


def _kill(run: "subprocess.Popen[str]") -> None:
    """End what a run has started and left behind, and the run."""
    with suppress(ProcessLookupError):
        os.killpg(run.pid, signal.SIGKILL)
    run.wait()


def _is_in(test: str, lines: set[str]) -> bool:
    return any(line == test or line.startswith(f"{test} - ") for line in lines)
