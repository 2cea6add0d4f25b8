"""A long chat in a budget: with a step, a provider's prompt cache stays warm.

The chat is made up. Before each question it has the time, so each request is different. The
chat is longer than its budget, so the budget drops the oldest exchanges.

Run it:     python examples/long_chat.py
Change it:  promptdsl render examples/long_chat.py:demo -p turns:=9
"""

from collections.abc import Sequence
from itertools import pairwise
from random import Random
from statistics import fmean

from promptdsl import (
    Grounding,
    History,
    Message,
    Rendered,
    System,
    Timeline,
    User,
    prefix_report,
    render,
)

BUDGET = 4_000
STEPS = (0, 250, 500, 1_000)
"""How many tokens a budget drops at once: 0 drops no more than needed."""
TURNS = range(60, 120)
NEWS = (
    "The parcel left the depot this morning.",
    "It waits at the border for a signature.",
    "The driver comes again tomorrow before noon.",
    "A neighbour on the second floor took it in.",
)


def asked(number: int) -> Message:
    """Return the question of a turn."""
    return Message("user", f"Where is parcel {number} now, and who signed for it?")


def answered(number: int) -> Message:
    """Return the answer to the question of a turn, the same answer at each call."""
    return Message("assistant", f"Parcel {number}: {' '.join(Random(number).choices(NEWS, k=6))}")


def demo(turns: int = 3, step: int = BUDGET // 8) -> Timeline:
    """Return the prompt after some turns. Its history is complete; a budget drops exchanges."""
    with Timeline() as timeline:
        System("You answer questions about parcels, in two sentences.")
        History([say(number) for number in range(turns) for say in (asked, answered)], step=step)
        Grounding("clock", f"It is {9 + turns // 60}:{turns % 60:02}.")
        User(asked(turns).text)
    return timeline


def requests(step: int) -> list[Rendered]:
    """Return the requests of the turns that are compared."""
    return [render(demo(turns, step), model="gpt-5", budget=BUDGET) for turns in TURNS]


def exchange() -> float:
    """Return the number of tokens of an exchange."""
    none, many = (render(demo(turns), model="gpt-5").tokens.total for turns in (0, 100))
    return (many - none) / 100


def row(step: int, sent: Sequence[Rendered], long: float) -> str:
    """Return a row: the share of cached tokens and of used budget, each with its expected value."""
    cached = fmean(prefix_report(*pair).shared / pair[1].tokens.total for pair in pairwise(sent))
    used = fmean(one.tokens.total / BUDGET for one in sent)
    reuse = f"{1 - long / step - long / BUDGET:.0%}" if step else ""
    return f"{step:>5,}{cached:>8.0%}{reuse:>15}{used:>6.0%}{1 - step / 2 / BUDGET:>10.0%}"


def main() -> None:
    """Print the results of the steps, then how much two consecutive requests share."""
    long, sent = exchange(), {step: requests(step) for step in STEPS}
    print(f"{len(TURNS)} turns of a chat: B = {BUDGET:,} tokens, g = {long:.0f} an exchange\n")
    print("    S  cached  1 - g/S - g/B  used  1 - S/2B")
    for step, these in sent.items():
        print(row(step, these, long))
    for step in (0, 500):
        print(f"\nstep={step}: {prefix_report(*sent[step][:2])}")


if __name__ == "__main__":
    main()
