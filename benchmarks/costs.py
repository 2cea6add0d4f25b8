"""Costs of rows: the instructions of a run, and the time it takes."""

import gc
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from statistics import median
from time import process_time

from benchmarks.entrants import UnknownName
from benchmarks.instructions import counted
from benchmarks.report import Report, table
from benchmarks.rows import HAND, OURS, Build, Row, questions

CHECKED = 10
"""How many prompts of a row are compared with those by hand."""
Costs = Mapping[str, Mapping[str, float]]
"""What a run costs, by the name of the row and the entrant."""


def compared(benchmark: str, rows: Sequence[Row], only: Sequence[str], quick: bool) -> Report:
    """Return what each row of a module costs each entrant.

    Raises :class:`UnknownName` for an unknown entrant. Exits when a hand-written function returns
    something else than this library.
    """
    entrants = [*dict.fromkeys(entrant for row in rows for entrant in row.builds)]
    if unknown := {*only} - {*entrants}:
        raise UnknownName(unknown, entrants)
    rows = [row.of(only) for row in rows]
    for row in rows:
        # A row that keeps what it has sent builds another prompt each time.
        for question in islice(questions(), CHECKED if OURS in row.builds else 0):
            if row.builds[OURS](question) != row.builds[HAND](question):
                raise SystemExit(f"{row.name}: what is written by hand is something else")
    samples, least = (3, 0.001) if quick else (21, 0.01)
    seconds = {row.name: measured(row, samples=samples, seconds=least) for row in rows}
    instructions = counted(benchmark, rows, quick=quick)
    costs = {"seconds": seconds, "instructions": instructions}
    shown = [name for name in entrants if not only or name in {*only, HAND}]
    return Report(cost_table(shown, instructions, seconds), costs)


def cost_table(entrants: Sequence[str], instructions: Costs, seconds: Costs) -> str:
    """Return a table of costs; ratios are of instructions, of time where these are not counted."""
    if not instructions:
        header = ("µs of the processor", *entrants, f"times {HAND}")
        return table(
            header,
            ((name, *_shown(row, entrants, 1e6), _ratio(row)) for name, row in seconds.items()),
        )
    header = (
        *("thousand instructions", *entrants, f"times {HAND}"),
        *(f"µs, {entrant}" for entrant in (OURS, HAND)),
    )
    lines = (
        (
            *(name, *_shown(row, entrants, 1e-3), _ratio(row)),
            *_shown(seconds[name], (OURS, HAND), 1e6),
        )
        for name, row in instructions.items()
    )
    return table(header, lines)


def _shown(costs: Mapping[str, float], entrants: Sequence[str], scale: float) -> Iterator[str]:
    for entrant in entrants:
        yield f"{costs[entrant] * scale:,.1f}" if entrant in costs else ""


def _ratio(costs: Mapping[str, float]) -> str:
    return f"{costs[OURS] / costs[HAND]:,.1f}" if OURS in costs else ""


def measured(row: Row, *, samples: int, seconds: float) -> dict[str, float]:
    """Return by entrant the median seconds of the processor; the entrants take turns.

    A sample lasts at least so many ``seconds``.
    """
    asked = questions()
    number = dict.fromkeys(row.builds, 1)
    for name, build in row.builds.items():
        while _sample(build, asked, number[name]) * number[name] < seconds:
            number[name] *= 2
    gc.collect()
    gc.freeze()
    taken: dict[str, list[float]] = {name: [] for name in row.builds}
    for _ in range(samples):
        for name, build in row.builds.items():
            taken[name].append(_sample(build, asked, number[name]))
    gc.unfreeze()
    return {name: median(times) / row.turns for name, times in taken.items()}


def _sample(build: Build, asked: Iterator[str], number: int) -> float:
    sample = [*islice(asked, number)]
    gc.collect()
    start = process_time()
    for question in sample:
        build(question)
    return (process_time() - start) / number
