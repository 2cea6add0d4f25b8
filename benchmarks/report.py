"""What was measured, as Markdown tables and as data."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median, quantiles
from typing import Any


@dataclass(frozen=True, slots=True)
class Report:
    """What a benchmark found: as Markdown, and as data ready for JSON."""

    text: str
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Measured:
    """One entrant's samples: seconds for one build, by the number of messages built."""

    name: str
    version: str
    note: str
    seconds: Mapping[int, Sequence[float]]

    def median(self, messages: int) -> float:
        """Return the median, in seconds, of one build of this many messages."""
        return median(self.seconds[messages])

    def per_message(self, messages: int) -> float:
        """Return the median, in nanoseconds, divided by the number of messages."""
        return self.median(messages) / messages * 1e9


def cost_table(rows: Sequence[Measured], messages: int, instructions: Mapping[str, float]) -> str:
    """Return what one build of this many messages costs; ratios are to the first row.

    ``instructions`` are those of one build, by name; where they are not counted, time is all.
    """
    counted = ("thousand instructions", f"times {rows[0].name}") if instructions else ()
    header = (
        *("built by", "version", *counted, "µs, median", "middle half", "ns a message"),
        *(f"times {rows[0].name}, in time", "remarks"),
    )
    return table(header, (_cost(row, messages, rows[0], instructions) for row in rows))


def growth_table(rows: Sequence[Measured]) -> str:
    """Return the nanoseconds a message costs at each size; linear growth keeps the ratio near 1."""
    sizes = sorted(rows[0].seconds)
    header = ("ns a message, built by", *(f"{size:,} messages" for size in sizes), "last / first")
    return table(header, (_growth(row, sizes) for row in rows))


def as_data(rows: Iterable[Measured]) -> list[dict[str, Any]]:
    """Return every sample, in seconds, and the medians, ready for JSON."""
    return [
        {
            "name": row.name,
            "version": row.version,
            "note": row.note,
            "sizes": [
                {"messages": size, "median": row.median(size), "samples": list(samples)}
                for size, samples in row.seconds.items()
            ],
        }
        for row in rows
    ]


def table(header: Sequence[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a Markdown table."""
    lines = [header, ["---"] * len(header), *map(tuple, rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def skipped_list(skipped: Mapping[str, str]) -> str:
    """Return why peers were not measured, as a list that stands behind the tables."""
    if not skipped:
        return ""
    return "\n\nNot measured:\n\n" + "\n".join(f"- {name}: {why}" for name, why in skipped.items())


def _cost(
    row: Measured, messages: int, baseline: Measured, instructions: Mapping[str, float]
) -> Iterator[str]:
    yield from (row.name, row.version)
    if instructions:
        count = instructions[row.name]
        yield from (f"{count / 1e3:,.0f}", f"{count / instructions[baseline.name]:,.1f}")
    low, _, high = quantiles(row.seconds[messages], n=4)
    yield f"{row.median(messages) * 1e6:,.1f}"
    yield f"{low * 1e6:,.1f} to {high * 1e6:,.1f}"
    yield f"{row.per_message(messages):,.0f}"
    yield f"{row.median(messages) / baseline.median(messages):,.1f}"
    yield row.note


def _growth(row: Measured, sizes: Sequence[int]) -> tuple[str, ...]:
    costs = [row.per_message(size) for size in sizes]
    return (row.name, *(f"{cost:,.0f}" for cost in costs), f"{costs[-1] / costs[0]:.2f}")
