"""Reuse: a chat of 400 turns in a budget of 32k tokens, with a clock near the end of each request.

Reuse is how much of a request is an unchanged prefix of the one before, what a provider's cache
serves again; fill is how much of the budget is used. Both are in the budget's own tokens, of what
is really sent, and from the first request on that was cut. For exchanges of g tokens, a budget of B
and steps of S, reuse is about 1 - g/S - g/B, and fill 1 - S/2B. A recorded clock is not in g.

The table of sizes has another chat of 400 turns, in a budget of 10,000 words and without a clock.
Its exchanges are half to one and a half times their mean size, from a fixed seed. Reuse there is in
characters of what is sent.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from random import Random
from typing import Any

from benchmarks.conversation import Shape
from benchmarks.growing import (
    CALLING,
    CHAT,
    CLOCKS,
    EPHEMERAL,
    Clock,
    Scene,
    count_of,
    exchange_tokens,
    rendered,
    trimmed,
)
from benchmarks.our_trimmers import OURS, instructions
from benchmarks.ours import MODEL
from benchmarks.prefixes import Request, fill, least_fill, pieces_of, reuse
from benchmarks.report import Report, skipped_list, table
from benchmarks.trimmers import chosen
from promptdsl import History, Message, Timeline, User, render

CLAUDE = "claude-opus-5-5"
MODELS = (MODEL, CLAUDE)
SHAPES = {
    "three times as many, short": (Shape(tools=0), 3),
    "chat": (CHAT, 1),
    "every other one calls a tool": (CALLING, 1),
}
"""Exchanges, and how many times the turns they need to fill the budget."""
PARTS = (0, 16, 8, 4)
"""What the budget is divided by to make a step: 0 is an exact fit."""

WORDS, SEED = 10_000, 7
"""The budget of the table of sizes, and the seed of its exchanges."""
FRACTIONS = (100, 50, 25, 20, 10, 5)
"""What that budget is divided by to make the mean exchange."""


@dataclass(frozen=True, slots=True)
class Found:
    """What was found of one series of requests; ``over`` counts those that were too big."""

    name: str
    model: str
    step: int | None
    exchange: float
    reuse: float
    fill: float
    over: int


def run(only: Sequence[str] = (), quick: bool = False) -> Report:
    """Return the tables of trimmers, of steps, and of clocks; raises :class:`UnknownName`."""
    trimmers, skipped = chosen(only)
    scene = Scene(turns=60, budget=4_096) if quick else Scene()
    ours = OURS[0] in trimmers
    others = [
        _found(trimmer.name, MODEL, None, scene=scene, requests=trimmed(scene, trimmer))
        for trimmer in trimmers
        if trimmer not in OURS
    ]
    found = {
        "trimmers": [*others, *(_ours(scene, MODEL, part) for part in (0, 8) if ours)],
        "steps": list(_steps(scene)) if ours else [],
        "clocks": list(_clocks(scene)) if ours else [],
    }
    texts = [_table(name, rows, scene) for name, rows in found.items() if rows]
    data: dict[str, Any] = {name: [asdict(row) for row in rows] for name, rows in found.items()}
    if ours:
        sizes = [*_sizes(100 if quick else scene.turns)]
        texts.append(_sizes_table(sizes))
        data["sizes"] = [asdict(row) for row in sizes]
    text = "\n\n".join(texts)
    return Report(text + skipped_list(skipped), {**data, "skipped": skipped})


def _steps(scene: Scene) -> Iterable[Found]:
    for name, (shape, times) in SHAPES.items():
        this = Scene(scene.turns * times, shape, scene.budget)
        for model in MODELS:
            yield from (_ours(this, model, part, name=name) for part in PARTS)


def _clocks(scene: Scene) -> Iterable[Found]:
    for clock in CLOCKS:
        yield from (_ours(scene, model, 8, name=clock.name, clock=clock) for model in MODELS)


def _ours(
    scene: Scene, model: str, part: int, *, name: str = "", clock: Clock = EPHEMERAL
) -> Found:
    step = scene.budget // part if part else 0
    name = name or f"promptdsl, {f'step {step:,}' if step else 'exact fit'}"
    requests = rendered(scene, model=model, step=step, clock=clock)
    return _found(name, model, step, scene=scene, requests=requests)


def _found(
    name: str, model: str, step: int | None, *, scene: Scene, requests: Iterable[Request]
) -> Found:
    sent = list(requests)
    return Found(
        name,
        model,
        step,
        exchange_tokens(scene, model),
        reuse(sent, count_of(model)),
        fill(sent, scene.budget),
        sum(request.tokens > scene.budget for request in sent),
    )


@dataclass(frozen=True, slots=True)
class Sized:
    """What was found of a chat whose mean exchange is this part of the budget."""

    fraction: int
    step: int | None
    fill: float
    least: float
    reuse: float


def _sizes(turns: int) -> Iterable[Sized]:
    for fraction in FRACTIONS:
        for step in (None, 0, WORDS // 2):
            sent = [*_chat(turns, WORDS // fraction, step)]
            filled, least = fill(sent, WORDS), least_fill(sent, WORDS)
            yield Sized(fraction, step, filled, least, reuse(sent, len))


def _chat(turns: int, exchange: int, step: int | None) -> Iterable[Request]:
    """Yield the requests of a chat with exchanges of about so many words."""
    random = Random(SEED)
    said: list[Message] = []
    for turn in range(turns):
        words = round(exchange * random.uniform(0.5, 1.5))
        question = Message("user", f"{turn} " + "why " * (words // 3))
        with Timeline() as timeline:
            instructions()
            History(said, step=step)
            User(question.text)
        sent = render(timeline, provider="openai", budget=WORDS, counter=_words)
        yield Request(pieces_of(sent.payload()), sent.tokens.total, cut=bool(sent.dropped))
        said += [question, Message("assistant", f"{turn} " + "so " * (words - words // 3))]


def _words(text: str) -> int:
    return len(text.split())


def _sizes_table(rows: Iterable[Sized]) -> str:
    header = (f"sizes: B = {WORDS:,} words", "S", "fill", "least fill", "reuse")
    cells = (
        (
            f"g = B/{row.fraction}",
            "default" if row.step is None else f"{row.step:,}",
            f"{row.fill:.1%}",
            f"{row.least:.1%}",
            f"{row.reuse:.1%}",
        )
        for row in rows
    )
    return table(header, cells)


def _table(name: str, rows: Iterable[Found], scene: Scene) -> str:
    header = (
        f"{name}: {scene.turns} turns, B = {scene.budget:,}",
        "model",
        "g",
        "S",
        "reuse",
        "1 - g/S - g/B",
        "fill",
        "1 - S/2B",
        "over the budget",
    )
    return table(header, (_row(row, scene.budget) for row in rows))


def _row(row: Found, budget: int) -> tuple[str, ...]:
    g, step = row.exchange, row.step
    return (
        row.name,
        row.model,
        f"{g:,.0f}",
        "" if step is None else f"{step:,}",
        f"{row.reuse:.1%}",
        f"{1 - g / step - g / budget:.1%}" if step else "",
        f"{row.fill:.1%}",
        f"{1 - step / 2 / budget:.1%}" if step else "",
        f"{row.over}",
    )
