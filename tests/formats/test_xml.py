"""Sections as XML elements."""

import re
from collections.abc import Sequence
from functools import reduce
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import Grounding, Section, System, Text, User, Value, decode
from tests.hostile import HOSTILE
from tests.internals import XML, body
from tests.renders import only_text
from tests.tolerant_reader import OWN, guarded, minimal, tags_in

FORMAT: Any = {"format": "xml"}


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        (None, "<rules>\n"),
        ("Rules", '<rules title="Rules">\n'),
        ("\"<a> & 'b'\n", '<rules title="&quot;&lt;a&gt; &amp; &#39;b&#39;&#10;">\n'),
        ("", '<rules title="">\n'),
    ],
)
@pytest.mark.parametrize("as_value", [False, True])
@pytest.mark.parametrize("around", [0, 1, 8])
def test_opening(title: str | None, expected: str, as_value: bool, around: int) -> None:
    """An element is named by the section's id, its title is an attribute, on any level."""
    given = Value(title) if as_value and title is not None else title
    section = Section("rules", "a", title=given)
    outer = reduce(lambda inner, _: Section("s", inner), range(around), section)
    tree = only_text(System(outer), transformation=FORMAT)
    assert "<s>\n" * around + f"{expected}a\n</rules>" + "\n</s>" * around == tree


def test_closing() -> None:
    """An element is closed by its name on a line of its own, so its text must not close it."""
    frame = XML.section("rules", None, 2)
    assert ("\n</rules>", ("rules",), True) == (frame.close, frame.tags, XML.tagged)


@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        (System(Section("a", "x", title="A")), '<a title="A">\nx\n</a>'),
        (System(Section("a", "x")), "<a>\nx\n</a>"),
        (Section("a", "x"), "<a>\nx\n</a>"),
        (User(Section("a", "x")), "<a>\nx\n</a>"),
        (
            System("1", Section("a", "2", Section("b", "3"), "4"), "5"),
            "1\n\n<a>\n2\n\n<b>\n3\n</b>\n\n4\n</a>\n\n5",
        ),
        (Grounding("g", Section("a", "<x></a>")), "<context>\n<a>\n<x>&lt;/a>\n</a>\n</context>"),
    ],
)
def test_in_every_turn(turn: User, expected: str) -> None:
    """A section is an element in every turn, wherever it stands."""
    assert expected == only_text(turn, transformation=FORMAT)


@pytest.mark.parametrize(
    "nothing", [Section("a", ""), Section("a", None), Section("a", Section("b", ""))]
)
def test_empty(nothing: Section) -> None:
    """An element without content is left out, tags and all."""
    assert "1\n\n2" == only_text(System("1", nothing, "2"), transformation=FORMAT)


def test_author_text_stays_in_its_element() -> None:
    """Text cannot open or close the elements it stands in; other tags are as written."""
    assert "<a>\n&lt;/a> </b>\n\n<b>\n&lt;/a> &lt;/B > <c>\n</b>\n\n</b>\n</a>" == only_text(
        System(Section("a", "</a> </b>", Section("b", "</a> </B > <c>"), "</b>")),
        transformation=FORMAT,
    )


def test_elements_of_one_name() -> None:
    """Inside an element of the same name text is kept as inside of one, and still behind it."""
    assert "<a>\n<a>\n&lt;/a>\n</a>\n\n&lt;/a>\n</a>\n\n</a>" == only_text(
        System(Section("a", Section("a", "</a>"), "</a>"), "</a>"), transformation=FORMAT
    )


PLACES: dict[str, Any] = {
    "system": lambda v: System(Section("rules", Text("a ", Value(v), " b"))),
    "loose": lambda v: Section("rules", Value(v)),
    "user": lambda v: User(Section("rules", Value(v))),
    "nested": lambda v: System(Section("outer", Section("rules", Value(v)))),
}
some_values = pytest.mark.parametrize(
    "hostile", [HOSTILE[::6], pytest.param(HOSTILE, marks=pytest.mark.slow)], ids=["some", "all"]
)
every_place = pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)


@some_values
@every_place
def test_values(place: Any, hostile: Sequence[str]) -> None:
    """A value in an element is encoded for its body: nothing outside its place changes."""
    start, end = only_text(place("WORD"), transformation=FORMAT).split("WORD")
    values = [*filter(None, hostile), "</rules>", "</outer>"]
    names = {*OWN, "rules", *re.findall("<(outer)>", start)}
    expected = [start + minimal(value, names) + end for value in values]
    assert expected == [only_text(place(value), transformation=FORMAT) for value in values]


@some_values
@every_place
def test_values_in_full(place: Any, hostile: Sequence[str]) -> None:
    """In full no angle bracket of a value is left in an element."""
    full = {"format": "xml", "encoding": {"body": "full"}}
    start, end = only_text(place("WORD"), transformation=full).split("WORD")
    values = [*filter(None, hostile)]
    expected = [start + guarded(body(value), {*OWN, "rules"}) + end for value in values]
    assert expected == [only_text(place(value), transformation=full) for value in values]


@every_place
@given(value=st.text(min_size=1))
def test_any_value(place: Any, value: str) -> None:
    """Any value in an element can be read back, and holds no tag; in full, no bracket."""
    start, end = only_text(place("WORD"), transformation=FORMAT).split("WORD")
    whole = only_text(place(value), transformation=FORMAT)
    inner = whole.removeprefix(start).removesuffix(end)
    tags = tags_in(inner, {*OWN, "rules", "outer"})
    assert (start + inner + end, value, []) == (whole, decode(inner), tags)
    full = only_text(place(value), transformation={"format": "xml", "encoding": {"body": "full"}})
    inner = full.removeprefix(start).removesuffix(end)
    assert (start + inner + end, value, 0) == (full, decode(inner), inner.count("<"))
