"""A conversation that grows, and the requests somebody sends for it, turn by turn."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean

from benchmarks.conversation import SYSTEM, Chat, Shape, cost, exchanges, total
from benchmarks.counting import O200K
from benchmarks.our_trimmers import instructions
from benchmarks.prefixes import Count, Request, pieces_of
from benchmarks.trimming import Trimmer, remembering
from promptdsl import (
    Ephemeral,
    Event,
    Grounding,
    History,
    Message,
    SystemEvent,
    Timeline,
    User,
    read_payload,
    render,
)
from promptdsl.messages import SystemEventBlock
from promptdsl.tokens import counter

CHAT = Shape((1, 5), (4, 22), tools=0)
"""Exchanges of about 240 tokens."""

CALLING = Shape((1, 5), (4, 22), (4, 26), tools=2)
"""The same, but every other one calls a tool."""


@dataclass(frozen=True, slots=True)
class Scene:
    """A chat: so many turns, exchanges of a shape, and a budget in tokens."""

    turns: int = 400
    shape: Shape = CHAT
    budget: int = 32_768

    @property
    def exchanges(self) -> list[list[Chat]]:
        """The exchanges, the messages of each; the first of them is the user's."""
        return exchanges(self.turns, self.shape)


def time_of(turn: int) -> str:
    """Return what a clock shows, another time each turn."""
    return f"{9 + turn // 60:02}:{turn % 60:02}"


def trimmed(scene: Scene, trimmer: Trimmer) -> Iterator[Request]:
    """Yield the requests of a trimmer's users, who write the clock into what it left."""
    remembered, said = remembering(O200K), list[Chat]()
    for turn, exchange in enumerate(scene.exchanges):
        whole = [SYSTEM, *said, exchange[0]]
        clock: Chat = {"role": "developer", "content": f"<context>\n{time_of(turn)}\n</context>"}
        budget = scene.budget - cost(clock, remembered.of)
        left = trimmer.chat(trimmer.trim(trimmer.hold(whole), budget, remembered))
        sent = [*left[:-1], clock, left[-1]]
        pieces = pieces_of({"messages": sent})
        yield Request(pieces, total(sent, remembered.of), cut=left != whole)
        said += exchange


@dataclass(frozen=True, slots=True)
class Clock:
    """How the time is written into a prompt, and what is recorded of it, if anything."""

    name: str
    write: Callable[[str], object]
    record: Callable[[str], Iterable[Message]] = lambda _time: ()


def _event(time: str) -> Event:
    return Event(SystemEvent("time", time=time))


def _recorded_event(time: str) -> list[Message]:
    return [Message("event", (SystemEventBlock("time", data={"time": time}),))]


EPHEMERAL = Clock("Ephemeral before the question", Ephemeral)
CLOCKS = (
    EPHEMERAL,
    Clock("Ephemeral at the end", partial(Ephemeral, position="end")),
    Clock("Ephemeral behind the system text", partial(Ephemeral, position="after_system")),
    Clock("Grounding", partial(Grounding, "clock")),
    Clock("Event, recorded", _event, _recorded_event),
)


def rendered(
    scene: Scene, *, model: str, step: int | None = None, clock: Clock = EPHEMERAL
) -> Iterator[Request]:
    """Yield the requests of this library's users, the conversation as one History."""
    said: list[Message] = []
    for turn, exchange in enumerate(scene.exchanges):
        now = time_of(turn)
        with Timeline() as timeline:
            instructions()
            History(said, step=step)
            clock.write(now)
            User(exchange[0]["content"])
        yield request_of(timeline, model=model, budget=scene.budget)
        said += [*clock.record(now), *values(exchange)]


def request_of(timeline: Timeline, *, model: str, budget: int) -> Request:
    """Return the request a prompt comes to."""
    result = render(timeline, model=model, budget=budget)
    pieces = pieces_of(result.payload())
    return Request(pieces, result.tokens.total, cut=bool(result.dropped))


def values(messages: Sequence[Chat]) -> Sequence[Message]:
    """Return Chat messages as values, as a transcript keeps them."""
    return read_payload({"messages": messages}, "openai").messages


def exchange_tokens(scene: Scene, model: str) -> float:
    """Return the mean tokens of an exchange, as a model's budget counts them."""
    count = count_of(model)
    return fmean(sum(cost(message, count) for message in each) for each in scene.exchanges)


def count_of(model: str) -> Count:
    """Return what counts texts as a model's budget does."""
    count: Count = counter(model).of
    return count
