"""A result that is valid JSON stays valid JSON, whatever kind of value it is."""

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from tests.reports.prompts import words

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=15,
)


def capped(text: str, most: int, counter: Callable[[str], int]) -> str:
    """Return the text of a recorded result with at most so many tokens."""
    said = [
        Message("user", "Look."),
        Message("assistant", [ToolUseBlock("c", "look", "{}")]),
        Message.tool_result("c", text),
    ]
    history = History(said, max_result_tokens=most)
    return render(Timeline(history), counter=counter).messages[-1].text


@given(VALUES, st.integers(2, 30), st.sampled_from([0, 2]))
def test_any_json_stays_json(value: object, most: int, indent: int) -> None:
    """Every kind of value is cut to JSON, down to two characters, and fits."""
    text = capped(json.dumps(value, indent=indent or None), most, len)
    json.loads(text)
    assert len(text) <= most


@pytest.mark.parametrize(
    "text",
    ["1e999", "-1.5e10000", "1" * 90, "true", '"a b c"', " [1, 2] ", '"\\u00e9"', "0" + " " * 60],
)
@pytest.mark.parametrize("most", [2, 3, 6, 7])
def test_lone_values_stay_json(text: str, most: int) -> None:
    """A number, a word, or a text alone is JSON after it was cut, too."""
    json.loads(capped(text, most, len))


def test_a_text_that_is_no_json_is_cut_at_a_word() -> None:
    """Other text stays text."""
    assert "one\n[...]" == capped("one two three four", 2, words)
