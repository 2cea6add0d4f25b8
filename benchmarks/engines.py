"""Prompts over rows in Ray, Daft, Spark and datasets: what a row costs, and what the start costs.

Every run is a process, which may start others. The time of the processor is that of all of them,
looked up four times a second. A row costs what a long run takes more than a short one, so the start
is not in it. Run it where the engines are installed: ``python -m benchmarks.engines [NAME ...]``.
"""

import json
import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from subprocess import DEVNULL, Popen
from tempfile import TemporaryDirectory
from typing import NamedTuple

from benchmarks.report import table
from benchmarks.row_loops import MODEL
from benchmarks.triage import row

SHORT, LONG = 2_000, 102_000
COMMAND = ("-m", "promptdsl", "batch", "benchmarks/triage.py:triage", "ROWS", "--model", MODEL)
RUNS = {
    "process": (*COMMAND, "--output", "OUTPUT"),
    "workers": (*COMMAND, "--output", "OUTPUT", "--workers", "2"),
    "ray": (*COMMAND, "--output", "OUTPUT", "--engine", "ray"),
    **{
        name: ("-m", "benchmarks.engine_loops", name, "ROWS", "OUTPUT")
        for name in ("ray_data", "ray_by_hand", "daft", "spark", "datasets")
    },
}


class Cost(NamedTuple):
    """Seconds by the clock and of all processors, and the most bytes of a process, over time."""

    wall: float
    cpu: float
    peaks: list[int]


def cost(name: str, rows: int, folder: str) -> Cost:
    """Return what a run over so many rows takes; it must succeed."""
    path, output = Path(folder, f"{rows}.jsonl"), Path(folder, f"{name}-{rows}")
    if not path.exists():
        with path.open("w", encoding="utf-8") as file:
            file.writelines(f"{json.dumps(row(number))}\n" for number in range(rows))
    places = {"ROWS": str(path), "OUTPUT": str(output)}
    root, mark = Path(__file__).parents[1], f"{name}-{rows}-{time.time_ns()}"
    python = {"PYTHONPATH": str(root), "PYSPARK_PYTHON": sys.executable}
    begun = time.perf_counter()
    process = Popen(
        [sys.executable, *(places.get(part, part) for part in RUNS[name])],
        cwd=root,
        env={**os.environ, **python, "RAY_ADDRESS": "local", "PROMPTDSL_RUN": mark},
        stdout=DEVNULL,
        stderr=DEVNULL,
    )
    seconds: dict[str, float] = {}
    peaks: list[int] = []
    while process.poll() is None:
        time.sleep(0.25)
        peaks.append(_look(f"PROMPTDSL_RUN={mark}".encode(), seconds))
    if process.returncode:
        raise RuntimeError(f"{name} failed over {rows:,} rows")
    return Cost(time.perf_counter() - begun, sum(seconds.values()), peaks)


def _look(mark: bytes, seconds: dict[str, float]) -> int:
    """Note what each process of a run has used, and return the size of the largest."""
    peak = 0
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, IndexError):
            if path.name in seconds or mark in (path / "environ").read_bytes().split(b"\0"):
                fields = (path / "stat").read_text().rpartition(")")[2].split()
                used = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
                seconds[path.name] = used
                peak = max(peak, int(fields[21]) * os.sysconf("SC_PAGE_SIZE"))
    return peak


def run(names: list[str]) -> str:
    """Return the table of what a row costs in each engine."""
    lines: list[list[str]] = []
    with TemporaryDirectory() as folder:
        for name in names or [*RUNS]:
            short, long = cost(name, SHORT, folder), cost(name, LONG, folder)
            count = LONG - SHORT
            wall, cpu = (long.wall - short.wall) / count, (long.cpu - short.cpu) / count
            middle = long.peaks[len(long.peaks) // 3 :] or [0]
            sizes = f"{middle[0] / 1e6:.0f} to {max(middle) / 1e6:.0f}"
            start = short.cpu - cpu * SHORT
            lines.append([name, f"{wall * 1e6:,.0f}", f"{cpu * 1e6:,.0f}", f"{start:.1f}", sizes])
            print(*lines[-1], file=sys.stderr, flush=True)
    header = ("run", "µs a row", "µs of CPU a row", "s of CPU to start", "MB of a process")
    return table(header, lines)


if __name__ == "__main__":
    print(run(sys.argv[1:]))
