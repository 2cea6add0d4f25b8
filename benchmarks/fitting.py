"""Fitting: a conversation of 100 to 100,000 messages, fitted to half of its tokens.

Every sample is of texts nobody has counted before; ``again`` is the same conversation fitted once
more. Who takes too long for a size is stopped, and measured at no larger one. Ratios and growth are
of the processor's time: everybody here works in one thread, and large sizes have few samples.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from math import log
from typing import Any

from benchmarks.conversation import Chat, conversation, total
from benchmarks.counting import COUNTERS, Counter
from benchmarks.entrants import version_of
from benchmarks.our_trimmers import NOT_FITTED, OURS
from benchmarks.report import Report, skipped_list, table
from benchmarks.timing import Stopped, Times, timed
from benchmarks.trimmers import chosen
from benchmarks.trimming import REMEMBERING, Trimmer


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured: samples by number of messages, and when somebody is stopped.

    ``shown`` is the size of the table of costs; no further sample is taken after ``seconds``.
    """

    samples: dict[int, int]
    shown: int
    seconds: float


FULL = Plan({100: 15, 1_000: 9, 5_000: 7, 10_000: 3, 100_000: 1}, 5_000, 10)
QUICK = Plan({100: 3, 1_000: 2}, 1_000, 3)


@dataclass(slots=True)
class Fit:
    """What one trimmer took, by the number of messages; ``kept`` is the share of the budget."""

    trimmer: Trimmer
    first: dict[int, Times] = field(default_factory=dict[int, Times])
    again: dict[int, Times] = field(default_factory=dict[int, Times])
    kept: dict[int, float] = field(default_factory=dict[int, float])
    stopped: bool = False


def run(only: Sequence[str] = (), quick: bool = False) -> Report:
    """Return what fitting costs with each counter; raises :class:`UnknownName`."""
    plan = QUICK if quick else FULL
    trimmers, skipped = chosen(only)
    trimmers.insert(1, REMEMBERING)
    if OURS[0] in trimmers:
        trimmers.append(NOT_FITTED)
    texts: list[str] = []
    found: dict[str, Any] = {"unit": "seconds", "skipped": skipped}
    for counter in COUNTERS:
        fits = measure(trimmers, counter, plan)
        texts += [f"Counted with {counter.name}:", costs(fits, plan), growth(fits, plan)]
        found[counter.name] = [_as_data(fit) for fit in fits]
    return Report("\n\n".join(texts) + skipped_list(skipped), found)


def measure(trimmers: Sequence[Trimmer], counter: Counter, plan: Plan) -> list[Fit]:
    """Return what every trimmer takes at every size; they take turns, one sample each."""
    fits = [Fit(trimmer) for trimmer in trimmers]
    numbers = count(1)
    for size, samples in plan.samples.items():
        for _ in range(samples):
            for fit in fits:
                _sample(fit, size, counter=counter, plan=plan, number=next(numbers))
    return fits


def _sample(fit: Fit, size: int, *, counter: Counter, plan: Plan, number: int) -> None:
    first = fit.first.setdefault(size, Times([], []))
    again = fit.again.setdefault(size, Times([], []))
    if fit.stopped or sum(first.wall + again.wall) > plan.seconds:
        return
    said, budget = _problem(size, number, counter)
    held = fit.trimmer.hold(said)

    def trim() -> Any:
        return fit.trimmer.trim(held, budget, counter)

    try:
        left = timed(trim, first, seconds=plan.seconds)
        fit.kept[size] = total(fit.trimmer.chat(left), counter.of) / budget
        timed(trim, again, seconds=plan.seconds)
    except Stopped:
        fit.stopped = True


def _problem(size: int, number: int, counter: Counter) -> tuple[list[Chat], int]:
    said = conversation(size, start=number * 100_000)
    return said, total(said, counter.of) // 2


def costs(fits: Sequence[Fit], plan: Plan) -> str:
    """Return what it costs at one size; ratios are to the first row."""
    header = (
        f"{plan.shown:,} messages fitted by",
        "version",
        "ms, median",
        "ms of the processor",
        "again",
        f"times {fits[0].trimmer.name}",
        "of the budget",
        "remarks",
    )
    baseline = fits[0].first[plan.shown].cpu_median
    return table(header, (_cost(fit, plan, baseline) for fit in fits))


def growth(fits: Sequence[Fit], plan: Plan) -> str:
    """Return what a message costs at each size, beside what n log n would make of the first."""
    sizes = list(plan.samples)
    header = ("µs a message, fitted by", *(f"{size:,}" for size in sizes), "last / first")
    ratio = f"{log(sizes[-1]) / log(sizes[0]):.2f}"
    reference = ("n log n", *("" for _ in sizes), ratio)
    return table(header, [reference, *(_growth(fit, sizes) for fit in fits)])


def _cost(fit: Fit, plan: Plan, baseline: float) -> tuple[str, ...]:
    name, version = fit.trimmer.name, version_of(fit.trimmer.package)
    first, again = fit.first[plan.shown], fit.again[plan.shown]
    if not first.wall:
        said = f"over {plan.seconds:g} s" if fit.stopped else ""
        return (name, version, "stopped", "", "", said, "", fit.trimmer.note)
    return (
        name,
        version,
        f"{first.median * 1e3:,.2f}",
        f"{first.cpu_median * 1e3:,.2f}",
        f"{again.cpu_median * 1e3:,.2f}" if again.wall else "stopped",
        f"{first.cpu_median / baseline:,.1f}",
        f"{fit.kept[plan.shown]:.1%}",
        fit.trimmer.note,
    )


def _growth(fit: Fit, sizes: Sequence[int]) -> tuple[str, ...]:
    each = [fit.first[size].cpu_median / size * 1e6 for size in sizes if fit.first[size].wall]
    shown = [f"{cost:,.2f}" for cost in each]
    shown += ["stopped"] * (len(sizes) - len(each))
    last = f"{each[-1] / each[0]:.2f}" if len(each) == len(sizes) else ""
    return (fit.trimmer.name, *shown, last)


def _as_data(fit: Fit) -> dict[str, Any]:
    return {
        "name": fit.trimmer.name,
        "version": version_of(fit.trimmer.package),
        "note": fit.trimmer.note,
        "stopped": fit.stopped,
        "sizes": list(_sizes(fit)),
    }


def _sizes(fit: Fit) -> Iterator[dict[str, Any]]:
    for size, first in fit.first.items():
        yield {
            "messages": size,
            "kept": fit.kept.get(size),
            "first": first.wall,
            "processor": first.cpu,
            "again": fit.again[size].wall,
            "processor, again": fit.again[size].cpu,
        }
