"""The indentation of source code: removed from instructions, kept in conversations."""

import textwrap
from time import process_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from tests.errors import lines_of, raised
from tests.internals import dedent_parts
from tests.renders import only_text, said

WRITTEN = """
    First line.
      Indented line.

    Last line.
    """
DEDENTED = "First line.\n  Indented line.\n\nLast line."

lines = st.text(st.characters(exclude_categories=["Cs", "Cc", "Z"]), min_size=1)
"""A line that holds something and has no white space at its ends."""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (WRITTEN, DEDENTED),
        ("", ""),
        ("\n", ""),
        ("\n\n  \n", ""),
        ("   ", ""),
        ("one line", "one line"),
        ("  one line", "one line"),
        ("one line  ", "one line  "),
        ("\n  a\n    b\n", "a\n  b"),
        ("\n    a\n  b\n", "  a\nb"),
        ("\n\n\n  a\n\n\n  b\n\n\n", "a\n\n\nb"),
        ("\n\ta\n\t\tb\n", "a\n\tb"),
        ("\n\ta\n    b\n", "\ta\n    b"),
        ("\n\t  a\n\t    b\n", "a\n  b"),
        ("\n  a\n   \n  b\n", "a\n\nb"),
        ("\n  a\tb\n  c\n", "a\tb\nc"),
        ("a\n  b", "a\n  b"),
        ("\n  a  \n  b\n", "a  \nb"),
    ],
)
def test_dedent_removes_outer_blank_lines_and_common_indentation(text: str, expected: str) -> None:
    """Outer blank lines and the indentation all lines share go; tabs stay tabs."""
    assert expected == dedent(text)


@given(st.lists(st.tuples(st.integers(0, 6), lines), min_size=1), st.integers(0, 12))
def test_dedent_undoes_any_indentation(body: list[tuple[int, str]], margin: int) -> None:
    """A text indented by any margin comes back as it was, relative indentation included."""
    flush = [("x", 0), *((text, depth) for depth, text in body)]
    text = "\n".join(" " * depth + line for line, depth in flush)
    assert text == dedent("\n" + textwrap.indent(text, " " * margin) + "\n")


@given(st.text())
def test_dedent_twice_is_dedent_once(text: str) -> None:
    """Dedenting any text again changes nothing."""
    assert dedent(text) == dedent(dedent(text))


@given(st.text(st.sampled_from("ab \t\n")))
def test_dedent_keeps_every_visible_character(text: str) -> None:
    """Dedenting removes white space alone, whatever the text."""
    assert text.split() == dedent(text).split()


@pytest.mark.parametrize(
    "parts",
    [("{blank}",), ("{blank}a{blank}",), ("{blank}", Value("v"), "{blank}")],
    ids=["alone", "around text", "around a value"],
)
def test_many_blank_lines_take_linear_time(parts: tuple[Any, ...]) -> None:
    """Eight times as many blank lines take about eight times as long: squared is 64."""

    def seconds(count: int) -> float:
        blank = "\n" * count
        texts = [part.format(blank=blank) if isinstance(part, str) else part for part in parts]
        start = process_time()
        dedent_parts(texts)
        return process_time() - start

    few, many = (min(seconds(count) for _ in range(3)) for count in (5_000, 40_000))
    assert many < 24 * max(few, 0.002)


def test_dedent_takes_a_string_only() -> None:
    """Dedenting what is no string is an error with the author's line."""

    def write() -> None:
        dedent(["a"])  # type: ignore[arg-type]

    assert lines_of(write, 1) == raised(ContentError, write).at


@given(st.text(), st.text(), st.text())
def test_parts_that_are_no_strings_are_never_touched(before: str, value: str, after: str) -> None:
    """Between strings that are dedented, any value is the same object as before."""
    node = Value(value)
    assert node is dedent_parts((before, node, after))[1]


def test_margin_is_of_line_starts_only() -> None:
    """What follows a value on its line has no indentation to remove or to share."""
    value = Value("v")
    assert ("a ", value, " b\nc") == dedent_parts(("\n    a ", value, " b\n    c\n"))


def test_a_line_that_begins_with_a_value_shares_the_margin() -> None:
    """White space before a value is indentation of its line."""
    value = Value("v")
    assert ("a\n", value, "\n  b") == dedent_parts(("\n    a\n    ", value, "\n      b\n    "))


@pytest.mark.parametrize("value", ["d", "D", "D\na"])
def test_strings_side_by_side_are_dedented_as_one(value: str) -> None:
    """Whether a space is missing before a value, which is told, changes no indentation."""
    assert f"x\n\na.{value}" == only_text(System("\n  x\n", "\n  a.", Value(value)))


@pytest.mark.parametrize(
    "tree",
    [
        Timeline(System(WRITTEN)),
        Timeline(System(Text(WRITTEN))),
        Timeline(Section("rules", WRITTEN)),
        Timeline(System(Section("rules", Text(WRITTEN)))),
        Timeline(System(Fragment(WRITTEN))),
        Timeline(User("q"), Developer(WRITTEN)),
        Timeline(User(Section("rules", WRITTEN))),
        Timeline(User(Section("rules", Fragment(Text(WRITTEN))))),
    ],
)
def test_instruction_text_is_dedented(tree: Node) -> None:
    """Text written in a System, a Developer or a Section loses the indentation of its source."""
    assert [DEDENTED] == said(tree)[-1][1]


def conversation(tree: Node) -> list[str]:
    """Return the texts of the last message."""
    return said(tree)[-1][1]


@pytest.mark.parametrize(
    "tree",
    [
        Timeline(User(WRITTEN)),
        Timeline(User(Text(WRITTEN))),
        Timeline(User(Fragment(WRITTEN))),
        Timeline(User("q"), Assistant(WRITTEN)),
    ],
)
def test_conversation_text_keeps_its_indentation(tree: Node) -> None:
    """Text of a user or an assistant is sent as written, indentation and outer lines too."""
    assert [WRITTEN] == conversation(tree)


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        (Timeline(Ephemeral(WRITTEN)), f"<context>\n{WRITTEN}\n</context>"),
        (Timeline(Grounding("facts", WRITTEN)), f"<context>\n{WRITTEN}\n</context>"),
        (Timeline(Event(WRITTEN)), f"<event>\n{WRITTEN}\n</event>"),
    ],
)
def test_request_only_and_event_text_keeps_its_indentation(tree: Node, expected: str) -> None:
    """Text of events and request-only turns is no instruction text: nothing is removed."""
    assert [expected] == conversation(tree)


def test_text_that_does_not_start_with_a_newline_is_kept() -> None:
    """Instruction text that starts on its line is sent as written."""
    assert [("system", ["  a\n    b\n"])] == said(Timeline(System("  a\n    b\n")))


def test_values_in_instruction_text_keep_their_indentation() -> None:
    """A value inside dedented text keeps every space it has."""
    tree = Timeline(System("\n    Plan: ", Value("  x\n      y  "), "\n    End.\n    "))
    (text,) = said(tree)[0][1]
    assert "Plan:   x\n      y  \nEnd." == decode(text)


def test_a_text_that_begins_with_a_value_is_kept() -> None:
    """Author text behind a value at the start of a text is not dedented."""
    tree = Timeline(System(Value("v"), "\n    a"))
    assert [("system", ["v\n    a"])] == said(tree)


def test_a_detached_text_is_dedented_by_what_is_around_it() -> None:
    """The same text is an instruction in a System and to the byte in a User."""
    part = Text("\n    a\n      b\n")
    tree = Timeline(System(part), User(part), Assistant(Section("note", part)), User(part))
    expected = [
        ("system", ["a\n  b"]),
        ("user", ["\n    a\n      b\n"]),
        ("assistant", ["a\n  b"]),
        ("user", ["\n    a\n      b\n"]),
    ]
    assert expected == said(tree)


@given(st.text(min_size=1))
def test_any_conversation_text_is_sent_to_the_byte(text: str) -> None:
    """Whatever a user or an assistant said arrives unchanged."""
    tree = Timeline(User(text), Assistant(text))
    assert [("user", [text]), ("assistant", [text])] == said(tree)


@given(st.text(min_size=1))
def test_any_tool_answer_is_sent_to_the_byte(text: str) -> None:
    """Whatever a tool answered arrives unchanged."""
    tree = Timeline(User("q"), Assistant(ToolUse("t", {}, id="1")), ToolMessage("1", text))
    answer = render(tree).messages[-1].content[0]
    assert [text] == [block.text for block in answer.content]  # type: ignore[union-attr]
