"""Cutting a text to a number of tokens: what is kept fits, and ends where something ends."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import ModelFacts
from promptdsl.tokens import counter
from tests.internals import Tokens, best_boundary, character_boundary, fitting_prefix, tokens_for
from tests.tokens.texts import HOSTILE_RUNS, texts


def by(given: Any) -> Tokens:
    """Return what counts with a given counter."""
    return tokens_for(ModelFacts(), given)


LETTERS = by(len)
counters = st.sampled_from(
    [counter("gpt-4o"), counter("claude-opus-5-5"), LETTERS, by(lambda text: len(text.split()))]
)


@given(texts, st.integers(0, 30), counters)
def test_any_head_fits(text: str, limit: int, tokens: Tokens) -> None:
    """What is kept is the beginning of the text and no more than the limit."""
    head = fitting_prefix(text, limit, tokens)
    assert text.startswith(head)
    assert tokens.of(head) <= limit


@given(texts, st.integers(0, 30), counters)
def test_any_tail_fits(text: str, limit: int, tokens: Tokens) -> None:
    """What is kept is the end of the text and no more than the limit."""
    tail = fitting_prefix(text, limit, tokens, end=True)
    assert text.endswith(tail)
    assert tokens.of(tail) <= limit


@given(texts, counters, st.booleans())
def test_any_text_that_fits_is_whole(text: str, tokens: Tokens, end: bool) -> None:
    """A text of exactly the limit is kept whole, and is the same object."""
    assert fitting_prefix(text, tokens.of(text), tokens, end=end) is text


@given(st.text(st.characters(codec="ascii"), min_size=1), st.integers(1, 30), st.booleans())
def test_any_cut_keeps_half_of_what_fits(text: str, limit: int, end: bool) -> None:
    """A boundary gives away no more than half of what fits, and CR LF one character."""
    kept = fitting_prefix(text, limit, LETTERS, end=end)
    assert len(kept) >= min(len(text), limit) // 2 - 1


SKIN_TONES = "\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"


@pytest.mark.parametrize(
    ("text", "limit", "head", "tail"),
    [
        ("One. Two.\n\nThree. Four.", 20, "One. Two.\n\n", "Three. Four."),
        ("One. Two. Three four five", 15, "One. Two. ", "Three four five"),
        ("One two three four", 12, "One two ", "three four"),
        ("One two\nthree four", 12, "One two\n", "three four"),
        ('He said "No." She left it', 18, 'He said "No." ', "She left it"),
        ("The U.S. and more of it", 12, "The U.S. ", "more of it"),
        ("onetwothreefour", 6, "onetwo", "eefour"),
        ("a bcdefghijklmnop", 10, "a bcdefghi", "ghijklmnop"),
        ("\u4e00\u4e8c\u3002\u4e09\u56db\u4e94", 5, "\u4e00\u4e8c\u3002", "\u4e09\u56db\u4e94"),
        ("One.\r\n\r\nTwo three", 11, "One.\r\n\r\n", "Two three"),
        *[(f"\U0001f44d{tone}" * 2, 3, *[f"\U0001f44d{tone}"] * 2) for tone in SKIN_TONES],
        ("One two", 0, "", ""),
        ("One two", -1, "", ""),
        ("", 0, "", ""),
    ],
)
def test_where_a_text_is_cut(text: str, limit: int, head: str, tail: str) -> None:
    """A text is cut at a paragraph, else a sentence, else a word, else between characters."""
    assert (head, tail) == (
        fitting_prefix(text, limit, LETTERS),
        fitting_prefix(text, limit, LETTERS, end=True),
    )


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("ab", [0, 1, 2]),
        ("\r\n", [0, 0, 2]),
        ("\n\r", [0, 1, 2]),
        ("e\u0301", [0, 0, 2]),
        ("\ud83d\ude00", [0, 0, 2]),
        ("\U0001f44d\U0001f3fd", [0, 0, 2]),
        ("\U0001f468\u200d\U0001f469", [0, 0, 0, 3]),
        ("\u0e01\u0e49", [0, 0, 2]),
        ("\u0301\u0301", [0, 0, 2]),
    ],
)
def test_what_is_one_character(text: str, places: list[int]) -> None:
    """CR LF, a surrogate pair, and a letter with its marks and joiners are not parted."""
    backwards = [character_boundary(text, place) for place in range(len(text) + 1)]
    forwards = [character_boundary(text, place, forwards=True) for place in range(len(text) + 1)]
    after = [next(near for near in sorted(set(places)) if near >= n) for n in range(len(text) + 1)]
    assert (places, after) == (backwards, forwards)


def test_very_many_marks_are_parted() -> None:
    """What nobody writes does not keep a text from being cut."""
    assert 500 == character_boundary("\u0301" * 1_000, 500)


@pytest.mark.parametrize("last", [True, False])
@pytest.mark.parametrize("text", ["", "word", "a-b_c"])
def test_nothing_ends_within_a_word(text: str, last: bool) -> None:
    """A text without white space has no boundary."""
    assert best_boundary(text, 0, len(text), last=last) is None


@pytest.mark.parametrize("run", HOSTILE_RUNS, ids=repr)
@pytest.mark.parametrize("end", [False, True])
def test_a_run_of_letters_is_cut(run: str, end: bool) -> None:
    """A text in which nothing ends is cut where it is full: some letters more are too many."""
    tokens, text = counter("gpt-4o"), run * 20_000
    kept = fitting_prefix(text, 100, tokens, end=end)
    more = text[len(text) - len(kept) - 300 :] if end else text[: len(kept) + 300]
    assert tokens.of(kept) <= 100 < tokens.of(more)
