"""``pin``: the rounds of messages that are neither cleared nor dropped."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from tests.budget.fitted import broken, recorded_exchanges
from tests.errors import raised
from tests.searching import examples


def words(text: str) -> int:
    """Return the words of a text."""
    return len(text.split())


def kept(messages: list[Message], budget: int, pin: Any, **options: Any) -> str:
    """Return the ids of the questions and calls that are sent, those cleared in brackets."""
    prompt = Timeline(System("s"), History(messages, step=0, pin=pin, **options))
    sent = render(prompt, budget=budget, counter=words).messages
    assert broken(sent) == []
    shown: list[str] = []
    for message in sent:
        if message.role == "tool":
            text = message.content[0].content[0].text  # type: ignore[union-attr]
            shown[-1] = f"({shown[-1]})" if text == "[cleared]" else shown[-1]
        elif message.id is not None:
            shown.append(message.id)
    return " ".join(shown)


@pytest.mark.parametrize(
    ("pin", "expected"),
    [
        (None, "q3 q3a1 q3a2"),
        ([], "q3 q3a1 q3a2"),
        ("q1a1", "q1 q1a1 q3 q3a2"),
        (["q1r1"], "q1 q1a1 q3 q3a2"),
        (["q1"], "q1 q1a1 q3 q3a2"),
        ({"q2a2"}, "q2 q2a2 q3 q3a2"),
        (["q3a1"], "q3 q3a1 q3a2"),
        (["q3"], "q3 q3a1 q3a2"),
        (lambda message: message.id == "q1r1", "q1 q1a1 q3 q3a2"),
        (["nobody"], "q3 q3a1 q3a2"),
    ],
)
def test_what_stays(pin: Any, expected: str) -> None:
    """The round of a pinned message stays, with the question of its exchange."""
    assert kept(recorded_exchanges(2, 2, 2), 62, pin) == expected


def test_it_is_not_cleared() -> None:
    """What is pinned keeps its result."""
    assert (
        kept(recorded_exchanges(5), 100, ["q1a2"], clear_results=1)
        == "q1 (q1a1) q1a2 (q1a3) q1a4 q1a5"
    )


def test_written_turns() -> None:
    """In a block, the id of a written turn pins it."""
    with History(step=0, pin=["name"]) as history:
        for number in range(5):
            User("Tell me.", id="name" if number == 1 else None)
            Assistant(f"It is {number}.")
    prompt = Timeline(history, User("Well?"))
    texts = [message.text for message in render(prompt, budget=40, counter=words).messages]
    assert texts == ["Tell me.", "It is 1.", "Tell me.", "It is 4.", "Well?"]


def test_it_is_required() -> None:
    """What is pinned has to stay, and the error counts it."""
    prompt = Timeline(History(recorded_exchanges(9), step=0, pin=lambda _message: True))
    error = raised(BudgetError, lambda: render(prompt, budget=60, counter=words))
    assert error.required == render(prompt, counter=words).tokens.total
    assert [(part.what, part.tokens) for part in error.largest] == [("history", error.required - 3)]


@pytest.mark.parametrize("pin", [1, [1], {"a": 1}, True])
def test_a_bad_pin(pin: Any) -> None:
    """Anything but ids or a function is an error, and so is another answer of a function."""
    assert "pin" in str(raised(OptionError, lambda: History([], pin=pin)))


def test_a_bad_answer() -> None:
    """A function has to return a boolean."""
    prompt = Timeline(History(recorded_exchanges(3), pin=lambda message: message.id))
    error = raised(OptionError, lambda: render(prompt, budget=40, counter=words))
    assert "the function pin of a History returned 'q1'" in str(error)


@pytest.mark.parametrize(
    ("options", "budget", "why"),
    [
        (
            {},
            62,
            "the first round of its last exchange; the pinned messages stay",
        ),
        ({"clear_results": 1}, 100, "2 of its results are cleared"),
    ],
)
def test_what_is_pinned_is_not_told(options: Any, budget: int, why: str) -> None:
    """The reports tell what was dropped and cleared, and not what is pinned."""
    history = History(
        recorded_exchanges(*([5] if options else [2, 2, 2])), step=0, pin="q1a1", **options
    )
    [dropped] = render(Timeline(System("s"), history), budget=budget, counter=words).dropped
    assert dropped.why.endswith(why)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"max_result_tokens": 4},
        {"clear_results": ClearResults(keep=1, at_least=5)},
        {"clear_results": ClearResults(keep=1, at_least=5), "max_result_tokens": 4},
        {"clear_results": 1, "max_result_tokens": 4},
    ],
)
def test_a_function_gets_what_was_recorded(options: Any) -> None:
    """A function is asked once for each message, as it was before its result was edited."""
    messages = recorded_exchanges(3, 3)
    asked: list[Message] = []

    def pin(message: Message) -> bool:
        asked.append(message)
        return message.id == "q1r2"

    rendered = render(Timeline(History(messages, pin=pin, **options)), budget=70, counter=words)
    assert "q1r2" in [message.id for message in rendered.messages]
    assert [*map(id, asked)] == [*map(id, messages)]


def test_a_function_that_raises() -> None:
    """The error of a function is told with the line of the history, and the message."""

    def pin(message: Message) -> bool:
        raise KeyError(message.id)

    prompt = Timeline(History(recorded_exchanges(3), pin=pin))
    error = raised(KeyError, lambda: render(prompt, budget=40, counter=words))
    assert error.__notes__ == [
        f"{prompt.content[0].source}: raised by the function pin for history[0]"
    ]


class AskLater:
    """An object that is called as an async function is."""

    async def __call__(self, message: Message) -> bool:
        """Return what nobody awaits."""
        return True


@pytest.mark.parametrize("pin", [AskLater(), AskLater().__call__])
def test_an_async_function(pin: Any) -> None:
    """Nobody would await it."""
    error = raised(OptionError, lambda: History([], pin=pin))
    assert "write a function without async" in str(error)


@examples(40)
@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=4),
    st.sets(st.integers(0, 30), min_size=1, max_size=4),
    st.integers(30, 250),
    st.sampled_from([None, 1, 3]),
)
def test_pins_stay(exchanges: list[int], pins: set[int], budget: int, clear: int | None) -> None:
    """In any budget every pinned message is sent unchanged, or the budget is refused."""
    messages = recorded_exchanges(*exchanges)
    pinned = [messages[index % len(messages)] for index in pins]
    history = History(messages, step=20, pin=[m.id for m in pinned], clear_results=clear)
    try:
        found = render(Timeline(System("s"), history), budget=budget, counter=words)
    except BudgetError:
        return
    assert found.tokens.total <= budget
    assert broken(found.messages) == []
    texts = {message.id: message.content for message in found.messages}
    assert all(texts.get(message.id) == message.content for message in pinned)
