"""Hints about options of a history that name nothing, clear nothing, or clear far too early."""

from typing import Any

import pytest

from promptdsl import *
from tests.reports.prompts import words


def rounds_of(rounds: int, size: int = 50) -> list[Message]:
    """Return a conversation with so many rounds of the tool ``run``."""
    messages = [Message("user", "go", id="first")]
    for number in range(rounds):
        call = ToolUseBlock(f"c{number}", "run", "{}")
        result = Message.tool_result(f"c{number}", "word " * size, name="run")
        messages += [Message("assistant", [call]), result]
    return messages


def hints(*parts: Any, **options: Any) -> list[tuple[str, str]]:
    """Return the names and the subjects of the hints about a history."""
    rendered = render(Timeline(System("s"), *parts), counter=words, **options)
    names = ("unknown_name", "unreached_clearing", "early_clearing")
    return [(hint.name, hint.what) for hint in rendered.hints if hint.name in names]


@pytest.mark.parametrize("tools", [(), (Tool(name="run", description="d"),)])
@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("rum",), [("unknown_name", "exclude='rum'")]),
        (("rum", "run", "nun"), [("unknown_name", f"exclude={name!r}") for name in ("rum", "nun")]),
        (("run",), []),
    ],
)
def test_unknown_tools_are_named_with_and_without_a_tool(
    tools: tuple[Any, ...], names: tuple[str, ...], expected: list[tuple[str, str]]
) -> None:
    """The names of recorded calls are known, too; the nearest is told."""
    clear = ClearResults(keep=1, at_least=60, exclude=names)
    assert expected == hints(*tools, History(rounds_of(4), clear_results=clear))


def test_what_cannot_be_known_is_no_hint() -> None:
    """A conversation without calls, and without tools, may get them elsewhere."""
    clear = ClearResults(keep=1, at_least=60, exclude=("rum",))
    assert [] == hints(History([], clear_results=clear), User("q"))
    assert [] == hints(History([Message("user", "a")], clear_results=clear))


def test_unknown_pins_are_named_in_every_history() -> None:
    """The id of a call is no id of a message, and a history in a block has ids, too."""
    assert [("unknown_name", "pin='c0'")] == hints(History(rounds_of(2), pin=["c0", "first"]))
    with History(pin=["plan", "other"]) as history:
        User("a", id="plan")
    assert [("unknown_name", "pin='other'")] == hints(history, User("q"))
    rendered = render(Timeline(System("s"), History(rounds_of(2), pin=["c0"])))
    assert any("the id of a call" in hint.why for hint in rendered.hints)


@pytest.mark.parametrize(
    ("clear", "budget", "expected"),
    [
        (ClearResults(keep=3, at_least=40_000), 300, [("unreached_clearing", "at_least=40,000")]),
        (ClearResults(keep=3, at_least=300), 300, [("unreached_clearing", "at_least=300")]),
        (50, 300, [("unreached_clearing", "keep=50")]),
        (8, 300, [("unreached_clearing", "keep=8")]),
        (50, 3_000, []),
        (2, 300, []),
        (ClearResults(keep=1, at_least=60), 30_000, [("early_clearing", "at_least=60")]),
        (ClearResults(keep=1, at_least=60), 500, []),
        (ClearResults(keep=1, at_least=60), 200, []),
        (ClearResults(keep=1, at_least=60), None, []),
    ],
)
def test_clearing_that_is_never_or_too_early_is_told(
    clear: Any, budget: int | None, expected: list[tuple[str, str]]
) -> None:
    """What can never be cleared, and what is cleared far below the budget, is told."""
    assert expected == hints(History(rounds_of(8), clear_results=clear), budget=budget)


def test_the_window_is_a_budget_for_what_is_never_reached() -> None:
    """Without a budget, the window of the model says what is never reached."""
    clear = ClearResults(keep=1, at_least=10**9)
    assert [("unreached_clearing", "at_least=1,000,000,000")] == hints(
        History(rounds_of(2), clear_results=clear), model="gpt-5"
    )


def test_each_of_two_histories_is_told() -> None:
    """Two histories have a hint each, with their own lines."""
    clear = ClearResults(keep=1, at_least=40_000)
    histories = [
        History(rounds_of(2), clear_results=clear),
        History(rounds_of(2), clear_results=clear),
    ]
    rendered = render(Timeline(System("s"), *histories), counter=words, budget=900)
    lines = [hint.source for hint in rendered.hints if hint.name == "unreached_clearing"]
    assert [history.source for history in histories] == lines
