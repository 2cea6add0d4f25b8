"""Messages as people read them."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from tests.internals import all_visible, as_explanation, as_json, as_messages
from tests.tolerant_reader import UNSEEN
from tests.views.conversation import CONVERSATION

MESSAGES = """\
0 system
  text
    Be brief.

1 user ada
  text
    Look at this:
  image https://example.com/a.png

2 assistant
  text
    I will.
  tool_use look (call_1)
    {"at": "it"}
  tool_use wait (call_2)
    {"seconds":  2}

3 tool
  tool_result call_1
    text
      Seen.

      Twice.

4 tool
  tool_result call_2 timeout_error
    text
      Too long.

5 assistant
  text
    It is a cat."""
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)
ANY_TEXT = st.text(st.characters(exclude_categories=()))


def test_a_conversation_reads_as_messages() -> None:
    """Messages are shown with their blocks, and what belongs to them is indented."""
    assert MESSAGES == as_messages(render(CONVERSATION).messages)


@pytest.mark.parametrize(
    ("block", "lines"),
    [
        pytest.param(
            {"type": "image", "data": "QUJD", "media_type": "image/png"},
            ["  image image/png, about 3 bytes"],
            id="bytes",
        ),
        pytest.param({"type": "document", "file_id": "file_1"}, ["  document file_1"], id="file"),
        pytest.param(
            ReasoningBlock("Hm.\nYes.", origin="anthropic"),
            ["  reasoning", "    Hm.", "    Yes."],
            id="reasoning",
        ),
        pytest.param({"type": "dance", "steps": 2}, ["  dance"], id="unknown"),
        pytest.param(
            {"type": "text", "text": "Long.", "cache": "5m"},
            ["  text cached", "    Long."],
            id="cached",
        ),
    ],
)
def test_every_block_can_be_read(block: Any, lines: list[str]) -> None:
    """Whatever is recorded has a line: what it is, and what tells it from others."""
    messages = render(History([Message("assistant", (block,), id="m1")])).messages  # type: ignore[arg-type]
    assert ["0 assistant (m1)", *lines] == as_messages(messages).split("\n")


def test_both_texts_of_a_result_can_be_read() -> None:
    """A result with two texts has both, each under its own line."""
    result = ToolResultBlock("a", (TextBlock("One."), TextBlock("Two.")))
    assert [
        "0 tool",
        "  tool_result a",
        *("    text", "      One.", "    text", "      Two."),
    ] == as_messages((Message("tool", [result]),)).split("\n")


def test_a_configuration_is_read_as_it_is_written() -> None:
    """Delimiters, prefixes and functions are shown in the words of their author."""

    def shout(block: object) -> None:
        """Format nothing."""

    layer: Any = {
        "delimiters": {
            "event": {"user_action": ("<did>\n", "</did>"), "text": "NB:"},
            "ephemeral": None,
        },
        "format_block": shout,
    }
    lines = as_explanation(render(User("Hi."), transformation=layer).explain()).split("\n")
    rows = [re.split(r" {2,}", line) for line in lines]
    name = "test_a_configuration_is_read_as_it_is_written.<locals>.shout"
    assert [
        ["delimiters.event.user_action", "<did>\\n ... </did>", "render"],
        ["delimiters.event.text", "NB:", "render"],
        ["delimiters.ephemeral", "None", "render"],
        ["format_block", name, "render"],
    ] == [row for row in rows if row[-1] == "render"]


@given(JSON)
def test_any_json_value_is_kept(value: Any) -> None:
    """JSON that is printed is read as the same value."""
    assert value == json.loads(as_json(value))


@given(st.lists(ANY_TEXT))
def test_any_text_is_json_that_can_be_printed(texts: list[str]) -> None:
    """JSON is UTF-8 and has no control characters but its own newlines, whatever text is in it."""
    printed = as_json(texts)
    assert (printed, []) == (
        printed.encode().decode(),
        re.findall("[\x00-\x09\x0b-\x1f\x7f-\x9f]", printed),
    )


def test_what_json_has_no_word_for_is_there_as_text() -> None:
    """Metadata that is no JSON value is printed as its text."""
    assert '[\n  "(1+2j)"\n]' == as_json([1 + 2j])


@given(ANY_TEXT)
def test_any_text_can_be_shown(text: str) -> None:
    """Shown text is UTF-8, and newlines and tabs are all it has of control characters."""
    shown = all_visible(text)
    assert (shown, []) == (
        shown.encode().decode(),
        re.findall("[\x00-\x08\x0b-\x1f\x7f-\x9f]", shown),
    )


@given(st.text(st.characters(exclude_categories=("C",), exclude_characters=UNSEEN)))
def test_any_plain_text_is_shown_as_it_is(text: str) -> None:
    """Text without control characters and invisible characters is shown unchanged."""
    assert text == all_visible(text)
