"""Which tool calls a turn makes, and which it answers."""

import pytest

from promptdsl import Assistant, Fragment, Message, Node, ToolMessage, ToolResult, ToolUse, User
from tests.internals import (
    OpenCalls,
    answers_in,
    answers_of,
    calls_in,
    calls_of,
    closes_calls,
    last_calls,
)

CALLS = [{"type": "tool_use", "id": id, "name": "f", "input": {}} for id in ("b", "a")]
RESULT = {"type": "tool_result", "tool_use_id": "a", "content": "x"}


@pytest.mark.parametrize(
    ("turn", "calls", "answers"),
    [
        (User("q"), (), ()),
        (Assistant("t", ToolUse("f", {}, id="b"), ToolUse("f", {}, id="a")), ("b", "a"), ()),
        (ToolMessage("a", "x"), (), ("a",)),
        (User(ToolResult("b"), Fragment(ToolResult("a")), "x"), (), ("b", "a")),
    ],
)
def test_the_calls_of_a_turn(turn: Node, calls: tuple[str, ...], answers: tuple[str, ...]) -> None:
    """A turn makes and answers calls in the order they stand in it, in fragments too."""
    assert (calls, answers) == (calls_of(turn), answers_of(turn))


@pytest.mark.parametrize(
    ("message", "calls", "answers"),
    [
        (Message("user", "q"), (), ()),
        (Message("assistant", CALLS), ("b", "a"), ()),
        (Message("tool", [RESULT]), (), ("a",)),
    ],
)
def test_the_calls_in_a_message(
    message: Message, calls: tuple[str, ...], answers: tuple[str, ...]
) -> None:
    """A recorded message makes and answers calls as a turn does."""
    assert (calls, answers) == (calls_in(message), answers_in(message))


def test_which_call_a_result_answers() -> None:
    """A result answers the first open call with its id, and none if there is none."""
    calls = OpenCalls[int]()
    for number, id in enumerate(["a", "b", "a", "c"]):
        calls.add(id, number)
    copy = calls.copy()
    assert [0, 1, 2, None, None] == [calls.answer(id) for id in ("a", "b", "a", "a", "x")]
    assert (["c"], ["a", "a", "b", "c"], []) == (calls.close(), copy.close(), copy.close())


@pytest.mark.parametrize(
    ("message", "closes"),
    [
        (Message("user", "q"), True),
        (Message("assistant", "q"), True),
        (Message("user", "q", kind="event"), False),
        (Message("tool", [RESULT]), False),
        (Message("developer", "d"), False),
    ],
)
def test_what_closes_calls(message: Message, closes: bool) -> None:
    """A turn of the assistant or the user closes the calls before it, no other turn does."""
    assert closes == closes_calls(message)


def test_the_last_calls() -> None:
    """The calls of the last assistant message wait, without those that are answered after it."""
    calls, result = Message("assistant", CALLS), Message("tool", [RESULT])
    caller, waiting = last_calls(reversed([calls, calls, result, Message("event", "e")]))
    assert (calls, ["b"]) == (caller, [call.id for call in waiting])
    assert (None, []) == last_calls(reversed([Message("user", "q"), result]))
