"""Reuse: a chat of 400 turns in a budget of 32k tokens, with a clock near the end of each request.

Reuse is how much of a request is an unchanged prefix of the one before, what a provider's cache
serves again; fill is how much of the budget is used. Both are in the budget's own tokens, of what
is really sent, and from the first request on that was cut. For exchanges of g tokens, a budget of B
and steps of S, reuse is about 1 - g/S - g/B, and fill 1 - S/2B. A recorded clock is not in g.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

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
from benchmarks.our_trimmers import OURS
from benchmarks.ours import MODEL
from benchmarks.prefixes import Request, fill, reuse
from benchmarks.report import Report, skipped_list, table
from benchmarks.trimmers import chosen

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
    text = "\n\n".join(_table(name, rows, scene) for name, rows in found.items() if rows)
    data = {name: [asdict(row) for row in rows] for name, rows in found.items()}
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
