"""Neighbours that merge are counted as they are sent, wherever a budget decides what is dropped."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from tests.budget.cases import talk
from tests.budget.descriptions import Part, built, weigh
from tests.budget.trees import trees
from tests.searching import examples


def words(text: str) -> int:
    """Count words: the frame of a message is 4 with its role, an answer begins with 3."""
    return len(text.split())


def totals(prompt: Node, *budgets: int, **request: Any) -> list[tuple[int, int]]:
    """Return the tokens that are sent in each budget, and how many parts are dropped."""
    found = [render(prompt, budget=budget, **request) for budget in budgets]
    return [(one.tokens.total, len(one.dropped)) for one in found]


def jobs() -> Node:
    """Return a prompt of 200 events, which are sent as one message with the question."""
    events = [Event(SystemEvent(f"job {n} done", source="cron"), priority=1) for n in range(200)]
    return Timeline(System("You are a monitor."), *events, User("What failed?"))


def runs(**options: Any) -> Node:
    """Return a conversation in which three turns of a user follow each other, 40 times."""
    kinds = ("user A", "user B", "user C", "assistant D")
    said = [f"{kind} {number}" for number in range(40) for kind in kinds]
    return Timeline(History(talk(*said), **options), User("Q"))


def test_a_budget_of_the_whole_drops_nothing() -> None:
    """What fits whole is sent whole; with a token less the cheapest part goes, and no more."""
    model = {"model": "gpt-5"}
    assert 3423 == render(jobs(), **model).tokens.total
    assert [(3423, 0), (3423, 0), (3406, 1), (3389, 2)] == totals(
        jobs(), 3523, 3423, 3422, 3403, **model
    )
    counted = {"counter": words}
    assert 648 == render(runs(), **counted).tokens.total
    assert [(648, 0), (632, 1), (632, 1), (616, 1)] == totals(
        runs(step=0), 648, 647, 632, 631, **counted
    )


def test_a_larger_budget_keeps_no_less() -> None:
    """A turn that merges with the first exchange that is left has no frame of its own."""
    first, second = ("user k l m n", "assistant o p"), ("user q r s t u v", "assistant w x")
    history = History(talk(*first, *second), keep=1, step=0, priority=-1)
    prompt = Timeline(System("s"), User("a b c d e f g h i j k l", priority=0), history, User("z"))
    assert [(55, 0), (41, 1), (41, 1), (41, 1)] == totals(prompt, 55, 54, 45, 44, counter=words)


def asked(*turns: str) -> History:
    """Return a recorded conversation whose cut may be at any exchange."""
    return History(talk(*turns), step=0)


CALL = ToolUse("t", {"q": "A"}, id="c")
MERGED: dict[str, Callable[[], list[Node]]] = {
    "turns": lambda: [*[User(f"{n} n", priority=n) for n in range(6)], User("q")],
    "an answer between questions": lambda: [User("a"), Assistant("b", priority=1), User("c")],
    "turns that stay apart": lambda: [User("a", merge=False, priority=1), User("b"), User("c")],
    "speakers": lambda: [*[User("a", name=n, priority=1) for n in ("x", "x", "y")], User("q")],
    "events": lambda: [*[Event(SystemEvent(n), priority=1) for n in "abc"], User("q")],
    "instructions": lambda: [*[Developer(n, priority=1) for n in "abc"], User("q")],
    "an event before a result": lambda: [
        Assistant(CALL),
        Event(SystemEvent("a"), priority=1),
        ToolMessage("c", "b"),
        User("q"),
    ],
    "results in turns of a user": lambda: [
        Assistant(CALL),
        User(ToolResult("c", "r")),
        User("a", priority=1),
        User("q"),
    ],
    "groups": lambda: [Group(User("a"), Assistant("b"), User("c"), priority=1), User("q")],
    "forms": lambda: [
        User("a"),
        FirstFit(Fragment(User("b b b b b b"), Assistant("c")), User("d"), priority=1),
        User("q"),
    ],
    "parts of a turn": lambda: [User("a"), User(Section("s", "b", priority=1)), User("q")],
    "system text": lambda: [
        System("a", priority=1),
        Section("s", "b", priority=2),
        asked("system c", "user d"),
        User("q"),
    ],
    "only system text that goes": lambda: [System("a", priority=1), User("q")],
    "runs of a recording": lambda: [
        User("a", priority=-1),
        asked("user b", "user c", "assistant d", "assistant e", "user f", "user g", "assistant h"),
        User("q"),
    ],
    "rounds of a recording": lambda: [
        asked("user a", "user b", "call 1 c", "result 1 d", "assistant e", "assistant f"),
    ],
    "a question before an answer": lambda: [
        User("a b c d e f", priority=1),
        Assistant("b", priority=2),
        User("q"),
    ],
    "a question that goes": lambda: [
        asked("user a", "assistant b", "user c", "assistant d"),
        Grounding("g", "e"),
        User("f", priority=3),
        User("g", priority=2),
    ],
    "positions": lambda: [
        User("a", priority=1),
        *[
            Ephemeral(position, position=position, priority=2)  # type: ignore[arg-type]
            for position in ("end", "start", "before_user", "flow", "after_system")
        ],
        Assistant("b", priority=1),
        User("q"),
    ],
}


def sent(prompt: Node, budgets: Iterable[int], **request: Any) -> Iterator[tuple[int, int, int]]:
    """Yield budgets, the tokens that are sent in each, 0 if it is refused, and those dropped."""
    for budget in budgets:
        try:
            found = render(prompt, budget=budget, **request)
        except BudgetError:
            yield budget, 0, 0
        else:
            yield budget, found.tokens.total, sum(part.tokens for part in found.dropped)


def wrong(prompt: Node, near: Iterable[int], **request: Any) -> list[tuple[int, int, int]]:
    """Return the budgets, given by how much larger than the whole they are, that drop too much.

    What is sent fits, is no less than in a smaller budget, and is all but what is told.
    """
    whole, last = render(prompt, **request).tokens.total, 0
    found: list[tuple[int, int, int]] = []
    budgets = sorted({max(whole + more, 0) for more in near})
    for budget, total, dropped in sent(prompt, budgets, **request):
        told = not total or total + dropped == whole
        if not (min(last, whole) <= total <= budget or total == last == 0) or not told:
            found.append((budget, total, dropped))
        if budget >= whole != total:
            found.append((budget, total, dropped))
        last = max(total, last)
    return found


def test_no_part_is_told_with_less_than_nothing() -> None:
    """Without the section its neighbours need more: what is dropped after it makes up for that."""
    prompt = Timeline(
        Assistant("a"),
        User(Section("x", "d d", priority=1)),
        Grounding("g", "h"),
        Event(SystemEvent("e")),
        Assistant("i", priority=0),
    )
    found = render(prompt, budget=20, counter=words)
    assert 19 == found.tokens.total
    told = [(part.path, part.tokens) for part in found.dropped]
    assert [("user[0]/x", 0), ("assistant[1]", 7)] == told


# Without the turn before them, instructions begin, and behind them a user turn is sent before the
# model's, which is not known.
TOLD = [(name, provider) for name in MERGED for provider in (None, "openai")]
TOLD.remove(("positions", "openai"))


@pytest.mark.parametrize(("parts", "provider"), [(MERGED[name], to) for name, to in TOLD])
def test_every_budget(parts: Callable[[], list[Node]], provider: str | None) -> None:
    """In every budget what is dropped is what is told, and a larger one never sends less."""
    assert [] == wrong(Timeline(*parts()), range(-99, 3), counter=words, provider=provider)


@pytest.mark.parametrize(
    "provider",
    ["anthropic", *(pytest.param(name, marks=pytest.mark.slow) for name in ("gemini", "bedrock"))],
)
@pytest.mark.parametrize("parts", MERGED.values(), ids=MERGED)
def test_every_budget_of_a_target_of_two_sides(
    parts: Callable[[], list[Node]], provider: str
) -> None:
    """A target that merges more is sent no less in a larger budget, and all that fits."""
    request = {"counter": words, "provider": provider}
    whole = render(Timeline(*parts()), **request).tokens.total
    totals = [total for _, total, _ in sent(Timeline(*parts()), range(whole + 3), **request)]
    assert (sorted(totals), [whole] * 3) == (totals, totals[whole:])


FIXED = trees(st.sampled_from([0, 1, 4, 7, 12, 20]))
NEAR = st.lists(st.integers(-200, 200) | st.integers(-40_000, 0), min_size=3, max_size=3)


@examples(100)
@given(FIXED, NEAR)
def test_what_fits_is_sent(tree: Part, near: list[int]) -> None:
    """What fits whole is sent whole, and a larger budget never sends less."""
    assert [] == wrong(built(tree), [-200, -1, 0, 200, *near], counter=weigh)


@pytest.mark.slow
@examples(1_000, fast=25)
@given(FIXED, NEAR)
def test_what_fits_is_sent_of_many_prompts(tree: Part, near: list[int]) -> None:
    """So it is of a thousand prompts."""
    assert [] == wrong(built(tree), [-200, -1, 0, 200, *near], counter=weigh)
