"""The turn of any role, for generic code."""

from typing import Any

import pytest

from promptdsl import *
from tests.errors import lines_of, raised

TURNS = {
    "system": System,
    "developer": Developer,
    "user": User,
    "assistant": Assistant,
    "event": Event,
}
every_turn = pytest.mark.parametrize("role", TURNS)


@every_turn
def test_turn_writes_the_turn_of_a_role(role: str) -> None:
    """``Turn(role)`` is the turn of that role, with its content and its options."""
    assert TURNS[role]("x", id="a", tags=("b",)) == Turn(role, "x", id="a", tags=("b",))


@every_turn
def test_turn_is_a_block(role: str) -> None:
    """``Turn(role)`` is opened like the turn of that role."""
    with Turn(role, id="a") as block:
        Text("x")
    assert TURNS[role](Text("x"), id="a") == block


def test_turn_of_the_tool_role_holds_results() -> None:
    """A tool turn in general form holds results, each a message of its own."""
    tree = Timeline(
        User("q"),
        Assistant(ToolUse("t", {}, id="1"), ToolUse("t", {}, id="2")),
        Turn("tool", ToolResult("1", "a"), ToolResult("2", "b", is_error=True)),
    )
    answers = [m.content for m in render(tree).messages if m.role == "tool"]
    assert [
        (ToolResultBlock("1", (TextBlock("a"),)),),
        (ToolResultBlock("2", (TextBlock("b"),), is_error=True),),
    ] == answers


@pytest.mark.parametrize(
    ("role", "fix"),
    [
        ("usr", "did you mean 'user'?"),
        ("", "known: assistant, developer, ephemeral, event, system, tool, user"),
        (None, 'the role comes first: Turn("user", ...)'),
        (["user"], 'the role comes first: Turn("user", ...)'),
    ],
)
def test_an_unknown_role_is_an_error(role: Any, fix: str) -> None:
    """A role that is none is an error at its line with the nearest known one."""

    def write() -> None:
        Turn(role, "x")

    error = raised(OptionError, write)
    assert lines_of(write, 1) == error.at
    assert fix == error.fix


def test_turn_writes_an_ephemeral() -> None:
    """``Turn("ephemeral")`` is an Ephemeral with all its options."""
    options: dict[str, Any] = {"type": "k", "title": "t", "position": "end", "order": 1, "id": "x"}
    assert Ephemeral("x", **options) == Turn("ephemeral", "x", **options)
