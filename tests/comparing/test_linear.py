"""Snapshots and diffs take time in proportion to the prompt, also where turns are one message."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from promptdsl import *
from tests.internals import prompt_file
from tests.lines_run import times_more

Turns = Callable[[int], Sequence[Any]]

MANY: dict[str, Turns] = {
    "users": lambda n: [User(f"q{i}") for i in range(n)],
    "users with ids": lambda n: [User("q", id=f"u{i}") for i in range(n)],
    "events": lambda n: [Event(f"q{i}") for i in range(n)],
    "groundings": lambda n: [Grounding(f"d{i}", "q") for i in range(n)],
    "ephemerals": lambda n: [Ephemeral(f"q{i}") for i in range(n)],
    "developers": lambda n: [Developer(f"q{i}") for i in range(n)],
    "calls of a reply": lambda n: [
        Assistant(*(ToolUse("find", {}, id=f"c{i}") for i in range(n))),
        *(ToolMessage(f"c{i}", "found") for i in range(n)),
    ],
    "texts of a recorded message": lambda n: [
        History([Message("user", [TextBlock(f"q{i}") for i in range(n)])])
    ],
    "texts of a recorded result": lambda n: [
        Assistant(ToolUse("find", {}, id="c")),
        History([Message.tool_result("c", [TextBlock(f"q{i}") for i in range(n)])]),
    ],
}
every_kind = pytest.mark.parametrize("turns", MANY.values(), ids=MANY)


def rendered(turns: Turns, count: int) -> Rendered:
    """Return a request with so many turns side by side."""
    tree = Timeline(System("Be brief."), *turns(count), User("Go on."))
    return render(tree, provider="openai", counter=len)


@every_kind
def test_a_snapshot_is_linear_work(turns: Turns) -> None:
    """The snapshot of ten times as many turns is about ten times the work."""

    def work(count: int) -> Callable[[], object]:
        request = rendered(turns, count)
        return lambda: prompt_file(request)

    assert times_more(10, 40, work) < 11


@every_kind
def test_a_diff_is_linear_work(turns: Turns) -> None:
    """The diff of ten times as many turns, all of it shown, is about ten times the work."""

    def work(count: int) -> Callable[[], object]:
        before, after = rendered(turns, count), rendered(turns, count + 1)
        return lambda: str(diff(before, after))

    assert times_more(10, 40, work) < 11


CUT: dict[str, Turns] = {
    "events": lambda n: [Event(f"It rains {i}.", priority=1) for i in range(n)],
    "sections": lambda n: [User(*(Section(f"s{i}", "It rains.", priority=1) for i in range(n)))],
}


@pytest.mark.parametrize("turns", CUT.values(), ids=CUT)
def test_the_diff_of_what_a_budget_drops_is_linear_work(turns: Turns) -> None:
    """With ten times as many parts dropped for a budget, a diff is about ten times the work."""

    def work(count: int) -> Callable[[], object]:
        tree = Timeline(System("Be brief."), *turns(count), User("Go on."))
        before, after = render(tree, counter=len), render(tree, counter=len, budget=5 * count + 60)
        return lambda: str(diff(before, after))

    assert times_more(10, 40, work) < 11
