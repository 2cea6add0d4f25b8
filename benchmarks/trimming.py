"""What trims a conversation to a budget, and a hand-written function that does."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from benchmarks.conversation import Chat, cost
from benchmarks.counting import Counter


@dataclass(frozen=True, slots=True)
class Trimmer:
    """A way to trim.

    ``hold`` makes of Chat messages what its users hold between two requests. ``trim`` is what they
    do for a request: given that, a budget in tokens and a counter, it returns what is left in their
    own form. ``chat`` returns that as Chat messages. ``package`` is the distribution whose version
    is shown.
    """

    name: str
    hold: Callable[[Sequence[Chat]], Any]
    trim: Callable[[Any, int, Counter], Any]
    chat: Callable[[Any], list[Chat]]
    package: str | None = None
    note: str = ""


def one_pass(messages: Sequence[Chat], budget: int, counter: Counter) -> list[Chat]:
    """Return the system message and the newest messages that fit, beginning at a user turn."""
    system, count = messages[0], counter.of
    left = budget - 3 - cost(system, count)
    start = len(messages)
    while start > 1 and (left := left - cost(messages[start - 1], count)) >= 0:
        start -= 1
    while start < len(messages) and messages[start]["role"] != "user":
        start += 1
    return [system, *messages[start:]]


def one_pass_remembering(messages: Sequence[Chat], budget: int, counter: Counter) -> list[Chat]:
    """Do the same with counts that are remembered by text."""
    return one_pass(messages, budget, remembering(counter))


@cache
def remembering(counter: Counter) -> Counter:
    """Return the counter, one that counts each text once per process."""
    return Counter(f"{counter.name}, remembered", cache(counter.of), counter.given)


HANDWRITTEN = Trimmer("hand-written", list, one_pass, list, note="counts what it keeps only")
REMEMBERING = Trimmer("hand-written, remembering", list, one_pass_remembering, list)
