"""Instructions: how many the processor carries out in a run, counted by callgrind of valgrind.

Counts repeat to one percent on any machine, however busy it is. All rows of a benchmark run in one
process: warm, without the garbage collector, with a fixed seed of hashes. callgrind writes what it
counted, and begins anew, at each call of ``getppid`` in the C library: nobody else calls it.
"""

import gc
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from itertools import islice
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory

from benchmarks.rows import Build, Row, questions

RUNS = 5
"""How often each row runs while it is counted; it runs as often before."""

_TOTALS = re.compile(r"^totals: (\d+)$", re.MULTILINE)
_ROOT = Path(__file__).resolve().parents[1]


def counted(benchmark: str, rows: Sequence[Row], *, quick: bool) -> dict[str, dict[str, float]]:
    """Return the instructions of one run, by row and entrant; nothing without valgrind.

    ``benchmark`` is a module. Its ``rows`` returns these rows, maybe of more entrants. Raises
    ``CalledProcessError`` when it cannot be run.
    """
    valgrind = which("valgrind")
    if valgrind is None:
        return {}
    runs = 1 if quick else RUNS
    names = {entrant: None for row in rows for entrant in row.builds}
    with TemporaryDirectory() as folder:
        callgrind = [
            *(valgrind, "--tool=callgrind", "--dump-before=getppid"),
            f"--callgrind-out-file={folder}/out",
        ]
        command = [sys.executable, "-m", "benchmarks.instructions", benchmark, str(runs), *names]
        environment = {**os.environ, "PYTHONHASHSEED": "0"}
        subprocess.run(
            [*callgrind, *command], cwd=_ROOT, env=environment, check=True, capture_output=True
        )
        # Of each pair of calls the first ends what is not counted.
        counts = [_total(Path(folder, f"out.{number}")) / runs for number in _numbers(rows)]
    each = iter(counts)
    return {row.name: {entrant: next(each) / row.turns for entrant in row.builds} for row in rows}


def _numbers(rows: Sequence[Row]) -> range:
    """Return the numbers of the files with counts of runs, one for each row and entrant."""
    return range(2, 2 * sum(len(row.builds) for row in rows) + 1, 2)


def _total(file: Path) -> int:
    match = _TOTALS.search(file.read_text("utf-8"))
    if match is None:
        raise ValueError(f"callgrind wrote no total into {file.name}")
    return int(match[1])


def main(benchmark: str, runs: int, entrants: Sequence[str]) -> None:
    """Run the rows of a benchmark for the parent process, which knows their order."""
    asked = questions()
    rows: list[Row] = import_module(benchmark).rows()
    gc.disable()
    for build in _builds(rows, entrants):
        for question in islice(asked, runs):
            build(question)
        counted_questions = [*islice(asked, runs)]
        os.getppid()
        for question in counted_questions:
            build(question)
        os.getppid()


def _builds(rows: Sequence[Row], entrants: Sequence[str]) -> Iterator[Build]:
    for row in rows:
        yield from (build for name, build in row.builds.items() if name in entrants)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
