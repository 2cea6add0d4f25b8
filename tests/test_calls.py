"""Which tool calls a turn makes, and which it answers."""

import pytest

from promptdsl import Assistant, Fragment, Message, Node, ToolMessage, ToolResult, ToolUse, User
from tests.internals import answers_in, answers_of, calls_in, calls_of

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
