"""``cut_line``: a line of a user where a budget drops messages of a history."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from tests.budget.fitted import broken, recorded_exchanges
from tests.errors import raised
from tests.searching import examples

LINE = "Earlier messages were left out."


def words(text: str) -> int:
    """Return the words of a text."""
    return len(text.split())


def sent(messages: list[Message], budget: int, **options: Any) -> Rendered:
    """Return a conversation in a budget, with the line."""
    given: dict[str, Any] = {"step": 0, "cut_line": True, **options}
    history = History(messages, **given)
    unmerged = {"merge_consecutive": False}
    prompt = Timeline(System("s"), history)
    return render(prompt, budget=budget, counter=words, transformation=unmerged)


def shape(rendered: Rendered) -> str:
    """Return the ids of questions and calls that are sent, ``-`` for the line."""
    spoken = [it for it in rendered.messages if it.role in ("user", "assistant")]
    return " ".join("-" if message.text == LINE else str(message.id) for message in spoken)


@pytest.mark.parametrize(
    ("exchanges", "budget", "pin", "expected"),
    [
        ((1, 1, 1), 86, None, "q1 q1a1 q2 q2a1 q3 q3a1"),
        ((1, 1, 1), 85, None, "- q2 q2a1 q3 q3a1"),
        ((1, 1, 1), 65, None, "- q3 q3a1"),
        ((1, 1, 1), 80, "q1", "q1 q1a1 - q3 q3a1"),
        ((4,), 81, None, "q1 - q1a3 q1a4"),
        ((4,), 81, "q1a1", "q1 - q1a1 q1a4"),
        ((2, 3), 83, None, "- q2 q2a1 q2a2 q2a3"),
        ((2, 3), 82, None, "q2 - q2a2 q2a3"),
    ],
)
def test_where_it_is(exchanges: tuple[int, ...], budget: int, pin: Any, expected: str) -> None:
    """It is before the first exchange that is kept, or after the question of the last one."""
    assert expected == shape(sent(recorded_exchanges(*exchanges), budget, pin=pin))


def test_beside_a_summary() -> None:
    """A transcript tells by its summary what was said."""
    transcript = Transcript(recorded_exchanges(2, 2, 2))
    transcript.compact("They asked.", keep=9)
    messages = sent([*transcript], 90).messages
    assert "They asked." in messages[1].text
    assert LINE not in [message.text for message in messages]


def test_it_is_after_pinned_rounds_of_a_history_without_a_question() -> None:
    """Rounds that a pin keeps were sent before those that were left out last."""
    rounds = recorded_exchanges(10)[1:]
    kept = History(rounds, cut_line=True, pin=["q1a4"], step=0)
    rendered = render(Timeline(User("Do it."), kept), budget=100, counter=words)
    lines = [message.text == "Earlier messages were left out." for message in rendered.messages]
    ids = [message.id for message in rendered.messages]
    assert ids.index("q1a4") < lines.index(True) < ids.index("q1a10")


@pytest.mark.parametrize("model", ["claude-opus-5-5", "gpt-5", "gemini-3-pro-preview"])
def test_at_a_target(model: str) -> None:
    """It is text of the user, in one turn with the question after it where these are one."""
    prompt = Timeline(History(recorded_exchanges(1, 1, 1), cut_line=True), User("Q"))
    rendered = render(prompt, budget=70, counter=words, model=model)
    assert rendered.tokens.total <= 70
    assert str(rendered.payload()).count(LINE) == 1
    assert rendered.messages[0].text.startswith(LINE)


def test_a_wrong_option() -> None:
    """The option is a flag."""
    error = raised(OptionError, lambda: History([], cut_line="yes"))  # type: ignore[arg-type]
    assert "write True or False" in str(error)


@examples(300, fast=40)
@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=4),
    st.integers(25, 250),
    st.fixed_dictionaries(
        {
            "step": st.sampled_from([0, 15, 40, None]),
            "pin": st.frozensets(st.sampled_from(["q1", "q1a1", "q2a1", "q3"]), max_size=2),
            "clear_results": st.sampled_from([None, 1, 3]),
        }
    ),
)
def test_any_history(exchanges: list[int], budget: int, options: dict[str, Any]) -> None:
    """It is sent once where something is dropped, and never beyond the budget."""
    messages = recorded_exchanges(*exchanges)
    try:
        rendered = sent(messages, budget, **options)
    except BudgetError:
        return
    assert rendered.tokens.total <= budget
    assert broken(rendered.messages) == []
    found = shape(rendered).split()
    ids = [str(message.id) for message in messages if message.role != "tool"]
    kept = [id for id in found if id != "-"]
    assert len(found) - len(kept) == (len(kept) < len(ids))
    assert kept == [id for id in ids if id in kept]


@examples(40, fast=6)
@given(st.integers(60, 200), st.sampled_from([20, 50, None]))
def test_between_two_moves(budget: int, step: int | None) -> None:
    """A request begins with the one before it, until the cut moves."""
    before: list[str] = []
    for count in range(1, 20):
        now = shape(sent(recorded_exchanges(count), budget, step=step)).split()
        has_moved = now[:3] != before[:3]
        assert now[: len(before)] == before or (has_moved and now[1] == "-")
        before = now
