"""Agent: one user turn, then 400 tool calls, a request after each, in a budget of 32k tokens.

What the agent has to know stands in that one user turn. The counts are of requests. Everybody is
called as for a chat.
"""

from collections import Counter as Tally
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.conversation import SYSTEM, Chat, Shape, rounds, total
from benchmarks.counting import O200K
from benchmarks.faults import FAULTS
from benchmarks.growing import count_of, values
from benchmarks.our_trimmers import OURS, instructions
from benchmarks.ours import MODEL
from benchmarks.prefixes import Request, fill, pieces_of, reuse
from benchmarks.report import Report, skipped_list, table
from benchmarks.trimmers import chosen
from benchmarks.trimming import Trimmer, remembering
from promptdsl import History, Timeline, render

TASK: Chat = {"role": "user", "content": "Find out where order 1881 was lost. Ask every depot."}
SHAPE = Shape(result=(6, 26))
"""Rounds of about 250 tokens."""

OVER, REFUSED = "over the budget", "refused with an error"
COLUMNS = (*FAULTS, OVER, REFUSED)

Send = Callable[[Sequence[Chat], int], tuple[list[Chat], int]]
"""Trims what was said to a budget: returns what is sent, and how many tokens that is."""


@dataclass(slots=True)
class Loop:
    """The requests of one agent, and what is wrong with them."""

    name: str
    requests: list[Request] = field(default_factory=list[Request])
    faults: Tally[str] = field(default_factory=Tally[str])


def run(only: Sequence[str] = (), quick: bool = False) -> Report:
    """Return what becomes of the loop; raises :class:`UnknownName`."""
    trimmers, skipped = chosen(only)
    calls, budget = (40, 4_096) if quick else (400, 32_768)
    senders = {t.name: _trimmed(t) for t in trimmers if t not in OURS}
    if OURS[0] in trimmers:
        senders["promptdsl"] = _rendered(None)
        senders["promptdsl, exact fit"] = _rendered(0)
    loops = [_loop(name, send, calls=calls, budget=budget) for name, send in senders.items()]
    header = (f"{calls} calls, B = {budget:,}", "reuse", "fill", *COLUMNS)
    shown = table(header, (_row(loop, budget) for loop in loops))
    data = [_as_data(loop, budget) for loop in loops]
    return Report(shown + skipped_list(skipped), {"rows": data, "skipped": skipped})


def _loop(name: str, send: Send, *, calls: int, budget: int) -> Loop:
    loop, said = Loop(name), [SYSTEM, TASK]
    for made in rounds(calls, SHAPE):
        said += made
        try:
            left, tokens = send(said, budget)
        except Exception:
            loop.faults[REFUSED] += 1
            continue
        loop.requests.append(Request(pieces_of({"messages": left}), tokens, cut=left != said))
        loop.faults.update(fault for fault, has in FAULTS.items() if has(left, said))
        loop.faults[OVER] += tokens > budget
    return loop


def _trimmed(trimmer: Trimmer) -> Send:
    counter = remembering(O200K)

    def send(said: Sequence[Chat], budget: int) -> tuple[list[Chat], int]:
        left = trimmer.chat(trimmer.trim(trimmer.hold(said), budget, counter))
        return left, total(left, counter.of)

    return send


def _rendered(step: int | None) -> Send:
    def send(said: Sequence[Chat], budget: int) -> tuple[list[Chat], int]:
        timeline = Timeline(instructions(), History(values(said[1:]), step=step))
        result = render(timeline, model=MODEL, budget=budget)
        sent: list[Any] = result.to_openai()["messages"]
        return sent, result.tokens.total

    return send


def _row(loop: Loop, budget: int) -> tuple[str, ...]:
    counts = (f"{loop.faults[fault]}" for fault in COLUMNS)
    return (loop.name, *_shares(loop, budget), *counts)


def _shares(loop: Loop, budget: int) -> tuple[str, str]:
    sent = loop.requests
    return f"{reuse(sent, count_of(MODEL)):.1%}", f"{fill(sent, budget):.1%}"


def _as_data(loop: Loop, budget: int) -> dict[str, Any]:
    sent = loop.requests
    return {
        "name": loop.name,
        "reuse": reuse(sent, count_of(MODEL)),
        "fill": fill(sent, budget),
        "faults": dict(loop.faults),
    }
