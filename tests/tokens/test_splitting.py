"""Splitting: the parts give the text back, and none is too large."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import ContentError, ModelFacts, OptionError, PromptError, split_text
from promptdsl.tokens import counter
from tests.errors import lines_of, raised
from tests.internals import tokens_for
from tests.tokens.texts import HOSTILE_RUNS, SCRIPTS, texts

delimiters = st.sampled_from(["\n", "---", " ", "a", "\n\n"])
counters: st.SearchStrategy[Any] = st.sampled_from(
    [None, counter("gpt-4o"), counter("claude-opus-5-5"), len, lambda text: len(text.split())]
)


@given(texts, delimiters)
def test_any_parts_joined_with_the_delimiter_are_the_text(text: str, on: str) -> None:
    """Between delimiters nothing is lost."""
    assert text == on.join(split_text(text, on))


@given(texts, st.integers(1, 40), counters)
def test_any_parts_joined_are_the_text(text: str, most: int, given: Any) -> None:
    """What was cut by tokens gives the text back joined with nothing."""
    assert text == "".join(split_text(text, max_tokens=most, counter=given))


@given(texts, delimiters, st.integers(1, 40), counters)
def test_any_parts_lose_the_delimiters_alone(text: str, on: str, most: int, given: Any) -> None:
    """Split by both, nothing but the delimiters is left out."""
    assert text.replace(on, "") == "".join(split_text(text, on, most, given))


@given(texts, st.none() | delimiters, st.integers(1, 40), counters)
def test_any_part_fits(text: str, on: str | None, most: int, given: Any) -> None:
    """No part is larger than told, unless it is a single character."""
    tokens = tokens_for(ModelFacts(), given)
    parts = split_text(text, on, most, given)
    assert [] == [part for part in parts if tokens.of(part) > most and len(part) > 1]


@given(texts, st.integers(1, 40))
def test_any_part_that_was_cut_holds_something(text: str, most: int) -> None:
    """Cutting by tokens makes no empty parts."""
    assert "" not in split_text(text, max_tokens=most)


@pytest.mark.parametrize(
    ("text", "on", "most", "parts"),
    [
        ("a---b", "---", None, ["a", "b"]),
        ("a---", "---", None, ["a", ""]),
        ("a", "---", None, ["a"]),
        ("", "---", None, []),
        ("", None, 5, []),
        ("One two. Three.", None, 8, ["One two.", " Three."]),
        ("One two. Three.", None, 100, ["One two. Three."]),
        ("One.\n\nTwo. Four. Five.", None, 11, ["One.\n\n", "Two. Four. ", "Five."]),
        ("One.|Two. Three.|", "|", 6, ["One.", "Two. ", "Three.", ""]),
        ("abc", None, 1, ["a", "b", "c"]),
    ],
)
def test_parts(text: str, on: str | None, most: int | None, parts: list[str]) -> None:
    """First the delimiter splits, then where a paragraph, a sentence or a word ends."""
    assert parts == split_text(text, on, most, counter=len)


def test_without_a_counter_the_newest_encoding_counts() -> None:
    """By default tokens are those of o200k_base."""
    parts = split_text(" ".join(SCRIPTS), max_tokens=40)
    assert max(map(counter("gpt-4o").of, parts)) <= 40


def test_a_part_larger_than_told_is_a_single_character() -> None:
    """A character that is more than a part may be is a part of its own."""
    assert ["a", "b"] == split_text("ab", max_tokens=1, counter=lambda text: 2 * len(text))


@pytest.mark.parametrize("run", HOSTILE_RUNS, ids=repr)
def test_a_run_of_letters_is_split(run: str) -> None:
    """A text in which nothing ends is split, too."""
    text = run * 5_000
    parts = split_text(text, max_tokens=200)
    assert (text, True) == ("".join(parts), max(map(counter("gpt-4o").of, parts)) <= 200)


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        (
            (5, "a"),
            ContentError,
            "split_text() takes a string, not int\n  pass the text itself, as a str",
        ),
        (
            ("text",),
            OptionError,
            "split_text() needs on= or max_tokens=\n  write on='---', or max_tokens=500",
        ),
        (("text", ""), OptionError, "on=''\n  write the delimiter, a string, as on='---'"),
        (("text", 5), OptionError, "on=5\n  write the delimiter, a string, as on='---'"),
        (
            ("text", None, 0),
            OptionError,
            "max_tokens=0\n  write a whole number of tokens, 1 or more",
        ),
        (
            ("text", None, True),
            OptionError,
            "max_tokens=True\n  write a whole number of tokens, 1 or more",
        ),
        (
            ("text", None, 5, "gpt-4o"),
            OptionError,
            "counter='gpt-4o' cannot count\n"
            "  pass a function that returns the number of tokens of a text, or the counter of "
            'a model: promptdsl.tokens.counter("gpt-5")',
        ),
    ],
)
def test_what_cannot_be_split(
    arguments: tuple[Any, ...], kind: type[PromptError], message: str
) -> None:
    """An argument that cannot be is an error at your line."""

    def split() -> object:
        return split_text(*arguments)

    assert f"{lines_of(split, 1)[0]}: {message}" == str(raised(kind, split))
