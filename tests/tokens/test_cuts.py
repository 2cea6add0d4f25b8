"""Where a text can be cut and joined so that tokens add up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.internals import (
    FORCED_CUT,
    MAXIMUM_AT_ONCE,
    SHIPPED,
    adds_up,
    first_cut,
    last_cut,
    pieces,
)
from tests.internals import encoding_named as encoding
from tests.tokens.texts import texts

names = st.sampled_from(list(SHIPPED))


def tokens(name: str, text: str) -> int:
    """Return how many tokens tiktoken makes of a text."""
    return len(encoding(name).encode(text, disallowed_special=()))


def cut_at(text: str, place: int | None) -> tuple[str, str]:
    """Return both sides of a cut; without one, the text and nothing."""
    return text[:place], text[place:] if place is not None else ""


@given(names, st.lists(texts, max_size=3).map(" ".join))
def test_any_first_cut_is_certain(name: str, text: str) -> None:
    """The tokens on both sides of the first cut add up to those of the text."""
    assert tokens(name, text) == sum(tokens(name, part) for part in cut_at(text, first_cut(text)))


@given(names, st.lists(texts, max_size=3).map("\n".join))
def test_any_last_cut_is_certain(name: str, text: str) -> None:
    """The tokens on both sides of the last cut add up to those of the text."""
    assert tokens(name, text) == sum(tokens(name, part) for part in cut_at(text, last_cut(text)))


@given(names, texts, texts, st.sampled_from(["\n", "\r", "\r\n", ""]))
def test_any_text_after_a_line_end_adds_up(name: str, one: str, other: str, end: str) -> None:
    """Where two texts are said to add up, they do."""
    before = one + end
    parts = [before + other] if not adds_up(before, other) else [before, other]
    assert tokens(name, before + other) == sum(tokens(name, part) for part in parts)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("a\n", "b", True),
        ("a\r", "b", True),
        ("a\n", " b", True),
        ("a\n", "\tb", True),
        ("\n", "b", True),
        ("a", "b", False),
        ("a ", "b", False),
        ("", "b", False),
        ("a\n", "/b", False),
        ("a\n", "\nb", False),
        ("a\n", " \nb", False),
        ("a\n", " ", False),
        ("a\n", "", False),
    ],
)
def test_when_two_texts_add_up(before: str, after: str, expected: bool) -> None:
    """Behind a line end, when something follows that does not begin with a slash or a line end."""
    assert expected is adds_up(before, after)


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("a b c", 1, 3),
        ("a\tb", 1, 1),
        ("a\nb c", 2, 3),
        ("a\n/b", None, None),
        ("a\n\nb", 3, 3),
        ("a  b", 1, 1),
        ("abc", None, None),
        (" a", None, None),
        ("a ", 1, 1),
        ("\x1c a", None, None),
        ("", None, None),
        ("a b" + "c" * 500, 1, 1),
        ("a b c" + " " * 500, 1, 5),
    ],
)
def test_where_cuts_are(text: str, first: int | None, last: int | None) -> None:
    """A cut is before a space or tab behind something, and behind a line end before something."""
    assert (first, last) == (first_cut(text), last_cut(text))


@given(texts)
def test_any_text_has_both_cuts_or_none(text: str) -> None:
    """Looking from the front and from the back finds cuts in the same texts, in order."""
    found = (first_cut(text) or 0, last_cut(text) or 0)
    assert (found[0] > 0) is (found[1] > 0)
    assert sorted(found) == list(found)


@given(st.integers(0, 3 * MAXIMUM_AT_ONCE), st.sampled_from(["word ", "line\n", "a", "\n"]))
def test_any_pieces_are_the_text(size: int, unit: str) -> None:
    """The pieces of a text, one behind the other, are the text."""
    text = (unit * size)[:size]
    assert text == "".join(piece for piece, _ in pieces(text))


@pytest.mark.parametrize(
    ("text", "sizes", "certain"),
    [
        ("a" * MAXIMUM_AT_ONCE, [MAXIMUM_AT_ONCE], [True]),
        ("word " * (MAXIMUM_AT_ONCE // 5 + 1), [MAXIMUM_AT_ONCE - 1, 6], [True, True]),
        ("a" * (MAXIMUM_AT_ONCE + 5), [MAXIMUM_AT_ONCE + 5], [True]),
        ("a" * FORCED_CUT, [FORCED_CUT], [True]),
        ("a" * (FORCED_CUT + 9), [FORCED_CUT, 9], [False, True]),
        ("a" * FORCED_CUT + " b", [FORCED_CUT, 2], [True, True]),
        ("a" * (FORCED_CUT - 1) + " b" * 9, [FORCED_CUT - 1, 18], [True, True]),
        ("a" * (2 * FORCED_CUT + 1), [FORCED_CUT, FORCED_CUT, 1], [False, False, True]),
    ],
)
def test_where_a_long_text_is_cut(text: str, sizes: list[int], certain: list[bool]) -> None:
    """At the last cut before a piece is too long, else at the next one, else where it has to be."""
    found = list(pieces(text))
    assert (sizes, certain) == ([len(piece) for piece, _ in found], [sure for _, sure in found])
