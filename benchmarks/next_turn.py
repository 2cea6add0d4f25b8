"""Next turn: a prompt of 10,000 messages rendered, and rendered again with one exchange more.

What was said is a History of Message values, kept from one request to the next as a transcript
keeps them. Every sample is of values and texts nobody has seen before. A request is the tree
written and rendered, its payload, whose containers are copied, and the number of its tokens: all of
the processor's time.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, product
from typing import Any

from benchmarks.conversation import conversation, exchanges, total
from benchmarks.counting import COUNTERS, Counter
from benchmarks.entrants import UnknownName
from benchmarks.growing import values
from benchmarks.our_trimmers import instructions
from benchmarks.ours import MODEL
from benchmarks.report import Report, table
from benchmarks.reuse import CLAUDE
from benchmarks.timing import Times, timed
from promptdsl import History, Message, Rendered, Timeline, User, render

QUESTION = "And now?"
STEPS = ("render", "payload", "tokens")
BUDGETS = ("none", "all fits", "half fits")


@dataclass(slots=True)
class Turns:
    """What the steps of the first request took, and those of the next ones."""

    model: str
    counter: Counter
    budget: str
    first: list[Times] = field(default_factory=lambda: [Times([], []) for _ in STEPS])
    again: list[Times] = field(default_factory=lambda: [Times([], []) for _ in STEPS])


def run(only: Sequence[str] = (), quick: bool = False) -> Report:
    """Return what the next turn costs; raises :class:`UnknownName`: here is nobody but us."""
    if others := {*only} - {"ours"}:
        raise UnknownName(others, ("ours",))
    size, samples = (1_000, 2) if quick else (10_000, 3)
    rows = [Turns(*each) for each in product((MODEL, CLAUDE), COUNTERS, BUDGETS)]
    numbers = count(1_000)
    for _ in range(samples):
        for row in rows:
            _sample(row, size, next(numbers))
    header = (
        f"{size:,} messages for",
        "counted with",
        "budget",
        *(f"ms, first {step}" for step in STEPS),
        *(f"ms, next {step}" for step in STEPS),
        "first / next",
    )
    return Report(table(header, map(_row, rows)), {"unit": "seconds", "rows": list(_data(rows))})


def _sample(row: Turns, size: int, number: int) -> None:
    chat = conversation(size, start=number * 100_000)[1:-1]
    budget = _budget(row, total(chat, row.counter.of))
    said = list(values(chat))
    _request(row, said, budget, row.first)
    for exchange in exchanges(3, start=number * 100_000 + 90_000):
        said += values(exchange)
        _request(row, said, budget, row.again)


def _budget(row: Turns, tokens: int) -> int | None:
    if row.budget == "all fits":
        return 3 * tokens  # Of an estimate, too.
    return tokens // 2 if row.budget == "half fits" else None


def _request(
    row: Turns, said: Sequence[Message], budget: int | None, taken: Sequence[Times]
) -> None:
    def rendered() -> Rendered:
        timeline = Timeline(instructions(), History(said), User(QUESTION))
        return render(timeline, model=row.model, budget=budget, counter=row.counter.given)

    result = timed(rendered, taken[0], seconds=600)
    timed(result.payload, taken[1], seconds=600)
    timed(lambda: result.tokens.total, taken[2], seconds=600)


def _row(row: Turns) -> tuple[str, ...]:
    costs = [times.cpu_median * 1e3 for times in (*row.first, *row.again)]
    return (
        row.model,
        row.counter.name if row.counter.given else "the model's own",
        row.budget,
        *(f"{cost:,.2f}" for cost in costs),
        f"{sum(costs[: len(STEPS)]) / sum(costs[len(STEPS) :]):,.1f}",
    )


def _data(rows: Sequence[Turns]) -> Iterator[dict[str, Any]]:
    for row in rows:
        yield {
            "model": row.model,
            "counter": row.counter.name,
            "budget": row.budget,
            "first": [times.cpu for times in row.first],
            "next": [times.cpu for times in row.again],
        }
