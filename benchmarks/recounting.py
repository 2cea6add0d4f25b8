"""Recounting: the texts of 10,000 messages counted, and counted once more.

tiktoken alone is the floor of the first time. Every sample is of texts nobody has counted before.
"""

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

from benchmarks.conversation import conversation
from benchmarks.counting import O200K
from benchmarks.entrants import UnknownName
from benchmarks.growing import count_of
from benchmarks.ours import MODEL
from benchmarks.prefixes import Count
from benchmarks.report import Report, table
from benchmarks.reuse import CLAUDE
from benchmarks.timing import Times, timed


def run(only: Sequence[str] = (), quick: bool = False) -> Report:
    """Return what counting costs; raises :class:`UnknownName`: here is nobody but us."""
    if others := {*only} - {"ours"}:
        raise UnknownName(others, ("ours",))
    size, samples = (1_000, 3) if quick else (10_000, 7)
    counters = {"tiktoken alone": O200K.of, MODEL: count_of(MODEL), CLAUDE: count_of(CLAUDE)}
    taken = {name: (Times([], []), Times([], [])) for name in counters}
    for counter in counters.values():
        counter("What is loaded with the first text is loaded now.")
    numbers = count(2_000)
    for _ in range(samples):
        for name, counter in counters.items():
            _sample(counter, taken[name], size=size, number=next(numbers))
    header = (
        f"{size:,} texts counted for",
        "µs of the processor a text, first",
        "again",
        "first / again",
    )
    shown = table(header, (_row(name, *times, size) for name, times in taken.items()))
    data: dict[str, Any] = {
        name: {"first": first.cpu, "again": again.cpu} for name, (first, again) in taken.items()
    }
    return Report(shown, {"unit": "seconds", "texts": size, **data})


def _sample(counter: Count, taken: tuple[Times, Times], *, size: int, number: int) -> None:
    said = conversation(size, start=number * 100_000)[1:]
    texts = [message["content"] or "" for message in said]
    for times in taken:
        timed(_all(counter, texts), times, seconds=600)


def _all(counter: Count, texts: Sequence[str]) -> Callable[[], int]:
    return lambda: sum(map(counter, texts))


def _row(name: str, first: Times, again: Times, size: int) -> tuple[str, ...]:
    costs = (first.cpu_median / size * 1e6, again.cpu_median / size * 1e6)
    return (name, *(f"{cost:,.3f}" for cost in costs), f"{costs[0] / costs[1]:,.0f}")
