"""Run the tests in plain processes side by side: ``python -m tests.run --jobs 2 [PYTEST OPTIONS]``.

Each process is a pytest of its own with its share of the test files. The shares are balanced by the
table ``tests/seconds.json``, which ``--weigh`` writes. Nothing is shared while they run, so no test
costs a message to another process, and each file is collected once. Paths among the options choose
the files; the first process writes to the terminal, the others are shown when all have ended.
"""

import argparse
import json
import shutil
import sys
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from subprocess import Popen
from tempfile import TemporaryFile

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "tests/seconds.json"
USUAL = 0.5
"""The CPU seconds of a file that is not in the table."""
NOTHING = 5
"""The exit code of pytest when no test was chosen."""
WITH_VALUE = ("-k", "-m", "-p", "-c", "-o", "-W", "--deselect", "--ignore", "--rootdir")
"""The options of pytest that are followed by a value, which may look like a path."""
LATE = ("tests/test_audit.py",)
"""Files that make what follows them in a process slower: they run last."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tests; return the exit code of pytest."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.run", description=__doc__, allow_abbrev=False
    )
    parser.add_argument("--jobs", type=int, default=2, help="how many processes")
    parser.add_argument("--weigh", action="store_true", help="measure each file, in one process")
    options, others = parser.parse_known_args(arguments)
    if options.weigh:
        return _run([[str(path) for path in files_of([])]], [*others, "-p", "tests.weighing"])
    paths, rest = paths_of(others)
    if any("::" in path for path in paths):
        return _run([paths], rest)
    return _run(shares_of(files_of(paths), seconds(), options.jobs), rest)


def paths_of(options: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the files, folders and tests among the options of pytest, and the other options."""
    paths: list[str] = []
    rest: list[str] = []
    before = ""
    for option in options:
        is_path = before not in WITH_VALUE and (ROOT / option.partition("::")[0]).exists()
        (paths if is_path else rest).append(option)
        before = option
    return paths, rest


def files_of(paths: Sequence[str]) -> list[str]:
    """Return the test files in paths, relative to the root; in the project's own if there are none.

    Test files are ``test_*.py``, and Markdown files outside of ``tests``.
    """
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    places = paths or settings["tool"]["pytest"]["ini_options"]["testpaths"]
    return [str(file.relative_to(ROOT)) for place in places for file in _files_in(ROOT / place)]


def _files_in(place: Path) -> Iterator[Path]:
    if place.is_file():
        yield place
        return
    files = sorted(place.rglob("test_*.py"))
    is_new = sys.version_info >= (3, 14)
    yield from (file for file in files if is_new or file.parent.name != "python314")
    if not place.is_relative_to(ROOT / "tests"):
        yield from sorted(place.rglob("*.md"))


def seconds() -> dict[str, float]:
    """Return the CPU seconds of each test file, as they were when they were measured."""
    table: dict[str, float] = json.loads(TABLE.read_text("utf-8"))
    return table


def shares_of(files: Sequence[str], weights: dict[str, float], jobs: int) -> list[list[str]]:
    """Return the files in as many lists of about equal weight, each in the order of the files."""
    shares: list[list[str]] = [[] for _ in range(jobs)]
    sums = [0.0] * jobs
    for file in sorted(files, key=lambda file: -weights.get(file, USUAL)):
        lightest = sums.index(min(sums))
        shares[lightest].append(file)
        sums[lightest] += weights.get(file, USUAL)
    return [sorted(share, key=lambda file: (file in LATE, file)) for share in shares if share]


def _run(shares: Sequence[Sequence[str]], options: Sequence[str]) -> int:
    """Run pytest on each share at the same time; return the worst of their exit codes."""
    with ExitStack() as opened:
        outputs = [None, *(opened.enter_context(TemporaryFile()) for _ in shares[1:])]
        started = [
            Popen([sys.executable, "-m", "pytest", *options, *share], cwd=ROOT, stdout=output)
            for share, output in zip(shares, outputs, strict=True)
        ]
        codes = [_waited(process) for process in started]
        for output in filter(None, outputs):
            output.seek(0)
            shutil.copyfileobj(output, sys.stdout.buffer)
    return max((code for code in codes if code != NOTHING), default=NOTHING)


def _waited(process: Popen[bytes]) -> int:
    """Return the exit code of a process. Ctrl-C reaches it, too: it still prints its summary."""
    while True:
        with suppress(KeyboardInterrupt):
            return abs(process.wait())


if __name__ == "__main__":
    raise SystemExit(main())
