"""Tool calls and their results."""

import json
from enum import Enum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from tests.errors import lines_of, raised


def call(*uses: Any) -> tuple[Any, ...]:
    """Return the blocks of an assistant turn."""
    return render(Assistant(*uses)).messages[0].content


def test_a_call_is_a_block_of_its_turn() -> None:
    """A call has the tool's name, its input and its id, and is among the turn's texts."""
    assert (
        TextBlock("Let me look."),
        ToolUseBlock("1", "search", '{"query": "refund", "limit": 3}'),
        TextBlock("And here."),
    ) == call(
        "Let me look.", ToolUse("search", {"query": "refund", "limit": 3}, id="1"), "And here."
    )


def test_calls_are_written_in_a_block() -> None:
    """Calls in a block are calls of its turn."""
    with Assistant("a") as turn:
        ToolUse("t", {}, id="1")
        ToolUse("u", {}, id="2")
    assert ["t", "u"] == [b.name for b in render(turn).messages[0].content[1:]]  # type: ignore[union-attr]


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), json_values, max_size=4))
def test_any_input_survives(input: dict[str, Any]) -> None:
    """Whatever a call's input holds, the block has it and its text is JSON of it."""
    (block,) = call(ToolUse("t", input, id="1"))
    assert input == block.input == json.loads(block.arguments)


@pytest.mark.parametrize(
    "text", ["{}", '{"a": 1}', '{ "a" :1.0 }', '{"a":1,"a":2}', "", "not json", "[1]", '{"a": ']
)
def test_input_that_came_as_text_is_kept_to_the_byte(text: str) -> None:
    """The JSON text of an input is sent as the model wrote it."""
    assert text == call(ToolUse("t", text, id="1"))[0].arguments


def test_an_input_cannot_be_changed_later() -> None:
    """Changing a mapping after it was passed changes no call."""
    input = {"a": [1]}
    use = ToolUse("t", input, id="1")
    input["a"].append(2)
    assert {"a": [1]} == call(use)[0].input


@pytest.mark.parametrize(
    "input",
    [3, None, ["a"], {"a": object()}, {"a": {1, 2}}, {"a": float("nan")}, {"a": Text("x")}],
)
def test_an_input_that_is_no_plain_data_is_an_error(input: Any) -> None:
    """An input is a mapping of plain data or JSON text; the error has the line of the call."""

    def write() -> None:
        ToolUse("t", input, id="1")

    assert lines_of(write, 1) == raised(ContentError, write).at


@pytest.mark.parametrize(("name", "id"), [(3, "1"), (None, "1"), ("t", 1), ("t", None)])
def test_name_and_id_are_strings(name: Any, id: Any) -> None:
    """A call needs the tool's name and an id, and the error shows how it is written."""

    def write() -> None:
        ToolUse(name, {}, id=id)

    error = raised(ContentError, write)
    assert lines_of(write, 1) == error.at
    assert 'ToolUse("search", {"query": "..."}, id="call_1")' == error.fix


# Results.


def answers(*turns: Any) -> list[Any]:
    """Return the blocks of tool messages in a conversation with two calls."""
    calls = (ToolUse("t", {}, id="1"), ToolUse("t", {}, id="2"))
    messages = render(Timeline(User("q"), Assistant(*calls), *turns)).messages
    return [block for message in messages if message.role == "tool" for block in message.content]


def test_results_in_a_user_turn_are_tool_messages() -> None:
    """Results written in a user turn are messages of their own, before what the user says."""
    tree = Timeline(
        User("q"),
        Assistant(ToolUse("t", {}, id="1"), ToolUse("t", {}, id="2")),
        User("and", ToolResult("1", "a"), ToolResult("2", "b"), "now?"),
    )
    roles = [message.role for message in render(tree).messages]
    assert ["user", "assistant", "tool", "tool", "user"] == roles


def test_a_result_has_content_and_error() -> None:
    """A result has its blocks, its flag and its type of error."""
    first = ToolResult("1", "a", Image.from_url("https://example.com/x.png"))
    second = ToolResult("2", "no", is_error=True, error_type="execution_error")
    found = answers(User(first, second))
    assert ["text", "image"] == [block.type for block in found[0].content]
    assert ToolResultBlock("2", (TextBlock("no"),), None, True, "execution_error") == found[1]


def test_a_result_is_written_as_a_block() -> None:
    """A result is opened like a turn."""
    with User() as turn:
        with ToolResult("1"):
            Text("a")
            Section("s", "b")
        ToolResult("2", "c")
    assert [["a", "b"], ["c"]] == [[b.text for b in found.content] for found in answers(turn)]


@pytest.mark.parametrize("empty", [(), ("",), (None,)])
def test_a_result_may_be_empty(empty: tuple[Any, ...]) -> None:
    """A tool may answer with nothing at all."""
    found = answers(User(ToolResult("1", *empty), ToolResult("2", "x")))
    assert ToolResultBlock("1") == found[0]


def test_results_and_tool_messages_say_the_same() -> None:
    """A result in a user turn and a tool's turn come to the same blocks."""
    written = answers(ToolMessage("1", "a"), ToolMessage("2", "b", is_error=True))
    assert written == answers(User(ToolResult("1", "a"), ToolResult("2", "b", is_error=True)))


@given(st.text(min_size=1))
def test_any_answer_is_sent_to_the_byte(text: str) -> None:
    """Whatever a tool answered is sent unchanged."""
    found = answers(User(ToolResult("1", text), ToolResult("2", Text(text))))
    assert [text, text] == [block.content[0].text for block in found]


class Word(str, Enum):  # noqa: UP042 (StrEnum formats as its value)
    """Strings that format as something else."""

    ID = "a1"
    NAME = "search"
    INPUT = '{"a": 1}'

    def __str__(self) -> str:
        return "FORGED"


def test_strings_are_exact() -> None:
    """An id, a name and an input that are of a kind of string are the strings they hold."""
    (used,) = call(ToolUse(Word.NAME, Word.INPUT, id=Word.ID))
    assert ("search", '{"a": 1}', "a1") == (f"{used.name}", f"{used.arguments}", f"{used.id}")


def test_the_id_of_a_result_is_exact() -> None:
    """The id a result answers is the string it holds."""
    tree = Timeline(Assistant(ToolUse("f", {}, id="a1")), ToolMessage(Word.ID, "x"))
    (result,) = render(tree).messages[-1].content
    assert "a1" == f"{result.tool_use_id}"  # type: ignore[union-attr]
