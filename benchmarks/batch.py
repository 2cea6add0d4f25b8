"""Prompts over rows: what ``promptdsl batch`` costs beside loops that its users would write.

Every run is a process of its own over the same file of rows. Times are of the processor, with those
of the worker processes; the memory is that of the largest process.
"""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from subprocess import DEVNULL, Popen
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, NamedTuple

from benchmarks.entrants import UnknownName
from benchmarks.report import Report, table
from benchmarks.row_loops import LOOPS, MODEL
from benchmarks.triage import row

TARGET = "benchmarks/triage.py:triage"
KINDS = ("times", "memory", "million")
"""What may be measured alone; a million rows only by its name."""


class Cost(NamedTuple):
    """What a run took: seconds by the clock, seconds of the processor, and most bytes at once."""

    wall: float
    cpu: float
    peak: int


NAMES = {
    "loop": "the loop: `render` and `json.dumps`, no file",
    "batch": "`promptdsl batch`",
    "workers": "`promptdsl batch --workers 2`",
    "handwritten": "by hand, `str.format`; checks nothing",
    "jinja": "by hand, Jinja; checks nothing",
}


def run(only: Sequence[str] = (), quick: bool = False) -> Report:
    """Return what rows cost; raises :class:`UnknownName` for what is none of ``KINDS``."""
    if others := {*only} - {*KINDS}:
        raise UnknownName(others, KINDS)
    kinds = only or KINDS[:2]
    size, samples = (300, 1) if quick else (20_000, 3)
    found: dict[tuple[str, int], list[Cost]] = {}
    with TemporaryDirectory() as folder:
        if "times" in kinds:
            for _ in range(samples):
                for name in NAMES:
                    found.setdefault((name, size), []).append(_cost(name, size, folder))
            _compare(folder, size)
        if "memory" in kinds:
            for rows in (size, 10 * size):
                if ("batch", rows) not in found:
                    found["batch", rows] = [_cost("batch", rows, folder)]
        if "million" in kinds:
            found["batch", 50 * size] = [_cost("batch", 50 * size, folder)]
    data: dict[str, Any] = {
        f"{name}, {rows}": [cost._asdict() for cost in costs]
        for (name, rows), costs in found.items()
    }
    return Report(_table(found), {"unit": "seconds and bytes", **data})


def _cost(name: str, size: int, folder: str) -> Cost:
    """Return what a run over so many rows takes; it must succeed."""
    rows, output = Path(folder, f"{size}.jsonl"), Path(folder, f"{name}-{size}")
    if not rows.exists():
        with rows.open("w", encoding="utf-8") as file:
            file.writelines(f"{json.dumps(row(number))}\n" for number in range(size))
    if output.is_dir():
        for old in output.iterdir():
            old.unlink()
    command = ["-m", "benchmarks.row_loops", name, str(rows), str(output)]
    if name not in LOOPS:
        command = ["-m", "promptdsl", "batch", TARGET, str(rows), "--model", MODEL]
        command += ["--output", str(output), "--workers", "2" if name == "workers" else "1"]
    root = Path(__file__).parents[1]
    started = perf_counter()
    process = Popen(
        [sys.executable, *command],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
        stdout=DEVNULL,
        stderr=DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    wall = perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{name} failed over {size:,} rows")
    return Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)


def _compare(folder: str, size: int) -> None:
    """Raise an error if not all that write lines wrote the same."""
    lines = Path(folder, f"handwritten-{size}").read_bytes()
    for name in ("batch", "workers", "jinja"):
        path = Path(folder, f"{name}-{size}")
        files = sorted(path.glob("requests-*.jsonl")) if path.is_dir() else [path]
        if b"".join(file.read_bytes() for file in files) != lines:
            raise RuntimeError(f"{name} wrote other lines than those that are written by hand")


def _table(found: dict[tuple[str, int], list[Cost]]) -> str:
    """Return the medians of each run; the ratio is to the loop of the same sample."""
    lines: list[Sequence[str]] = []
    for (name, rows), costs in found.items():
        loops = found.get(("loop", rows), ())
        ratios = [cost.cpu / loop.cpu for cost, loop in zip(costs, loops, strict=False)]
        cpu = median(cost.cpu for cost in costs)
        lines.append(
            (
                NAMES[name],
                f"{rows:,}",
                f"{median(cost.wall for cost in costs):,.1f}",
                f"{cpu:,.1f}",
                f"{cpu / rows * 1e6:,.0f}",
                f"{median(ratios):.2f}" if ratios else "",
                f"{max(cost.peak for cost in costs) / 1e6:,.0f}",
            )
        )
    header = ("run", "rows", "s", "s of CPU", "µs of CPU a row", "times the loop", "peak MB")
    shown = table(header, lines)
    for (name, rows), costs in found.items():
        if name == "workers":
            pairs = zip(costs, found["batch", rows], strict=True)
            ratio = median(two.cpu / one.cpu for two, one in pairs)
            shown += f"\n\nTwo workers take {ratio:.2f} times the CPU of one."
    return shown
