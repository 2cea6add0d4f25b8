"""Text and values."""

import datetime
import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import (
    Assistant,
    ContentError,
    Section,
    System,
    Text,
    Timeline,
    User,
    Value,
    decode,
)
from promptdsl.tree import Node
from tests.places import places, raised, said


def test_a_text_joins_its_parts() -> None:
    """The parts of a text stand beside each other with nothing between them."""
    assert [("user", ["Plan: pro (3 of 4.5)"])] == said(
        User(Text("Plan: ", Value("pro"), " (", 3, " of ", 4.5, ")"))
    )


def test_neighbouring_strings_of_a_text_are_one_part() -> None:
    """Only values are parts of their own in a text."""
    assert Text("ab", Value("c"), "d1") == Text("a", "b", Value("c"), "d", 1)


def test_author_text_is_as_written() -> None:
    """Author text in instructions is sent as written, marks and all."""
    text = "# Rules\n<b> & *x*\n```\ncode\n```"
    assert [("system", [text])] == said(System(text)) == said(System(Text(text)))


def test_a_value_in_instructions_is_encoded() -> None:
    """A value in instructions heads nothing and opens nothing."""
    tree = System("Name: ", Value("# <b>"))
    (text,) = said(tree)[0][1]
    assert "<" not in text
    assert "Name: # <b>" == decode(text)


def test_a_value_in_a_conversation_is_to_the_byte() -> None:
    """A value in what a user or an assistant said is sent as it is."""
    tree = Timeline(User("Name: ", Value("# <b> &\n")), Assistant(Value("<c>")))
    assert [("user", ["Name: # <b> &\n"]), ("assistant", ["<c>"])] == said(tree)


@given(st.text(min_size=1))
def test_any_value_can_be_read_back(text: str) -> None:
    """Whatever a value holds, it is one frame and what it says can be decoded."""
    (sent,) = said(System(Section("s", "before ", Value(text), " after", title="S")))[0][1]
    heading, _, rest = sent.partition("\n")
    assert ("## S", "before " + text + " after") == (heading, decode(rest))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("x", "x"),
        (3, "3"),
        (0.5, "0.5"),
        (Decimal("1.10"), "1.10"),
        (True, "true"),
        (False, "false"),
        (datetime.date(2026, 2, 3), "2026-02-03"),
        (datetime.datetime(2026, 2, 3, 4, 5), "2026-02-03T04:05:00"),
        (uuid.UUID(int=7), "00000000-0000-0000-0000-000000000007"),
    ],
)
def test_values_of_other_types_are_text(value: Any, expected: str) -> None:
    """Numbers, booleans, dates and the like are values in their usual form."""
    assert [("user", [expected])] == said(User(Value(value)))


@pytest.mark.parametrize("value", [None, b"x", ["x"], {"a": 1}, object(), str])
def test_other_values_are_refused(value: Any) -> None:
    """What has no usual form as text is an error with the line, and says what to write."""

    def write() -> None:
        Value(value)

    error = raised(ContentError, write)
    assert places(write, 1) == error.at
    assert error.fix


def test_a_value_is_what_it_was_when_it_was_written() -> None:
    """Changing what a value was made of changes no prompt."""
    items = ["a"]
    value = Value(str(items))
    items.append("b")
    assert [("user", ["['a']"])] == said(User(value))


@pytest.mark.parametrize(
    "write",
    [
        lambda: Text(Section("s", "x")),
        lambda: Text("a", Text("b")),
        lambda: Text("a", User("b")),
    ],
)
def test_a_text_holds_no_components(write: Callable[[], Node]) -> None:
    """A component inside a text is an error that says where to write it."""
    error = raised(ContentError, write)
    assert "write it beside the Text, or Value(...) for text from elsewhere" == error.fix


def test_a_component_inside_a_text_is_named_with_both_lines() -> None:
    """The error has the line of the text and that of the component."""

    def write() -> None:
        part = Section("s", "x")
        Text("a", part)

    assert places(write, 2, 1) == raised(ContentError, write).at


def test_a_text_with_only_values_is_a_text() -> None:
    """A text may hold nothing but a value."""
    assert [("user", ["a"])] == said(User(Text(Value("a"))))


def test_a_lone_surrogate_is_replaced_and_told() -> None:
    """Half a character is sent as U+FFFD, in author text of any turn."""
    tree = Timeline(System("a\ud800"), User("b\udfff"))
    assert [("system", ["a\ufffd"]), ("user", ["b\ufffd"])] == said(tree)
