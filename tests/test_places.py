"""What no value can do, wherever it goes: the promises of docs/safety.md, place by place."""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from time import process_time
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import Developer, List, Text, Timeline, Value, decode, render
from tests.hostile import FENCES, HOSTILE, LARGEST_REFERENCE, VALUES
from tests.internals import skeleton, valid_unicode
from tests.searching import examples
from tests.tolerant_reader import OWN, literals_in, tags_in
from tests.value_places import (
    GROUPS,
    PLACES,
    WHOLLY,
    WORD,
    ValueFrame,
    ValuePlace,
    frame,
)

CORPUS = [value for value in HOSTILE if value]
CHOSEN = (*FENCES, "\n# x", "x\n\n</context>\n", "\ud800\r")
SOME = list(dict.fromkeys([*CORPUS[::9], *CHOSEN]))
"""For places that differ from another in what stands around them alone."""
FEW = list(dict.fromkeys([*CORPUS[::90], *CHOSEN]))
"""For every place, where there is little time."""
SHARES = {"all": CORPUS, "some": SOME, "few": FEW}
FEW_PLACES = {
    name: places if name in WHOLLY else places[number % 3 :: 3] or places
    for number, (name, places) in enumerate(GROUPS.items())
}
"""The places where few values are tried: of groups that are alike a third, in each another one."""

Parser = Callable[[str], list[str]]
TAG = re.compile(r"<\s*/?\s*([A-Za-z_][\w.\-]*)")
"""A tag: white space, attributes, left open."""


class Heard(NamedTuple):
    """A value in a place, the frame around it, and what it became; ``None`` outside the frame."""

    place: ValuePlace
    value: str
    frame: ValueFrame
    encoded: str | None

    @property
    def text(self) -> str:
        """The whole text the value stands in."""
        return f"{self.frame.before}{self.encoded}{self.frame.behind}"

    @property
    def calm(self) -> str:
        """That text with a harmless word instead of the value."""
        return f"{self.frame.before}{WORD}{self.frame.behind}"

    @property
    def tags(self) -> frozenset[str]:
        """The names of tags that the value may not forge.

        In a fence these are all that are written, elsewhere those around it.
        """
        before, behind = map(TAG.findall, (self.frame.before, self.frame.behind))
        if self.place.fenced:
            return OWN.union(map(str.lower, (*before, *behind)))
        return frozenset(before).intersection(behind)

    def __str__(self) -> str:
        return f"{self.place}: {self.value[:60]!r} -> {self.encoded and self.encoded[:60]!r}"


def hear(place: ValuePlace, values: list[str]) -> Iterator[Heard]:
    """Yield what values come to in a place, each beside a harmless word in the same place."""
    word, *written = place.texts([WORD, *values])
    around = frame(word)
    for value, text in zip(values, written, strict=True):
        yield Heard(place, value, around, around.within(text))


def in_groups(*kinds: str) -> pytest.MarkDecorator:
    """Try a test in every group with a place of these kinds: few values, and more if it is slow."""
    shares = {name: "all" if name in WHOLLY else "some" for name in _with(kinds, GROUPS)}
    few = [pytest.param((name, "few"), id=f"few in {name}") for name in _with(kinds, FEW_PLACES)]
    more = [
        pytest.param((name, share), id=f"{share} in {name}", marks=pytest.mark.slow)
        for name, share in shares.items()
    ]
    return pytest.mark.parametrize("written", [*few, *more], indirect=True)


def _with(kinds: tuple[str, ...], groups: Mapping[str, list[ValuePlace]]) -> list[str]:
    """Return the groups with a place of these kinds."""
    return [
        name
        for name, places in groups.items()
        if any(all(getattr(place, kind) for kind in kinds) for place in places)
    ]


@pytest.fixture(scope="module")
def written(request: pytest.FixtureRequest) -> list[Heard]:
    """Return what hostile strings come to in the places of a group."""
    name, share = request.param
    places = FEW_PLACES[name] if share == "few" else GROUPS[name]
    return [heard for place in places for heard in hear(place, SHARES[share])]


@pytest.fixture
def inside(written: list[Heard]) -> list[Heard]:
    """Return those that stand in their frame."""
    return [heard for heard in written if heard.encoded is not None]


@pytest.fixture
def encoded(inside: list[Heard]) -> list[Heard]:
    """Return those that are encoded, as all are but values in conversation."""
    return [heard for heard in inside if heard.place.encoded]


def test_corpus() -> None:
    """The corpus holds more than two hundred strings, none of them twice."""
    assert (True, len(HOSTILE)) == (len(HOSTILE) > 200, len(set(HOSTILE)))


@in_groups()
def test_one_frame(written: list[Heard]) -> None:
    """Whatever the value, roles, blocks and every byte outside its place stay as they are."""
    assert [] == [str(heard) for heard in written if heard.encoded is None]


def _back(place: ValuePlace, value: str) -> str:
    """Return what comes back: the value, as far as the place has a form for it.

    Conversation has none for lone surrogates, JSON none for two that together are a character.
    """
    if not place.encoded:
        return valid_unicode(value)[0]
    if place.notation == "json":
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    return value


@in_groups()
def test_values_come_back(inside: list[Heard]) -> None:
    """Every value comes back from its place, once what the place adds to its lines is undone."""
    assert [] == [
        str(heard)
        for heard in inside
        if heard.place.read(heard.encoded or "") != _back(heard.place, heard.value)
    ]


@in_groups("encoded", "strict")
def test_no_brackets(encoded: list[Heard]) -> None:
    """Outside of fences and tags, and in full, no encoded value holds an angle bracket."""
    strict = [heard for heard in encoded if heard.place.strict]
    texts = [(heard, heard.place.unindented(heard.encoded or "")) for heard in strict]
    assert [] == [str(heard) for heard, text in texts if "<" in text or ">" in text]


@in_groups("encoded")
def test_same_tags(encoded: list[Heard]) -> None:
    """A tolerant reader sees the tags of fences and components as around a harmless word."""
    tags_around = lru_cache(1)(tags_in)
    assert [] == [
        str(heard)
        for heard in encoded
        if tags_in(heard.text, heard.tags) != tags_around(heard.calm, heard.tags)
    ]


@in_groups("encoded", "strict")
def test_all_tags(encoded: list[Heard]) -> None:
    """In full, and outside of fences, a reader sees no other tag either."""
    strict = [heard for heard in encoded if heard.place.strict]
    pairs = [(heard, *map(TAG.findall, (heard.calm, heard.text))) for heard in strict]
    assert [] == [str(heard) for heard, around, tags in pairs if around != tags]


@in_groups("encoded", "literals")
def test_no_delimiters(encoded: list[Heard]) -> None:
    """A delimiter that is no tag stands where the fence is."""
    assert [] == [
        str(heard)
        for heard in encoded
        for literal in heard.place.literals
        if heard.text.count(literal) != heard.calm.count(literal)
    ]


@in_groups("encoded", "literals")
def test_no_delimiters_in_values(encoded: list[Heard]) -> None:
    """A tolerant reader sees one in no value."""
    assert [] == [
        str(heard)
        for heard in encoded
        for literal in heard.place.literals
        if literals_in(heard.place.unindented(heard.encoded or ""), literal)
    ]


@in_groups("encoded", "line")
def test_one_line(encoded: list[Heard]) -> None:
    """A value in a field, a title, a heading or a cell is one line to every reader."""
    lines = [heard for heard in encoded if heard.place.line]
    assert [] == [str(heard) for heard in lines if len((heard.encoded or "").splitlines()) > 1]


@in_groups("encoded", "open")
def test_same_headings(encoded: list[Heard]) -> None:
    """Where nothing is around it, it makes no heading, rule or code fence of a text."""
    bare, around = [heard for heard in encoded if heard.place.open], lru_cache(1)(skeleton)
    assert [] == [str(heard) for heard in bare if skeleton(heard.text) != around(heard.calm)]


@in_groups("encoded", "open")
def test_same_headings_to_commonmark(encoded: list[Heard], commonmark: Parser) -> None:
    """Neither does it to a CommonMark parser of others."""
    bare, around = [heard for heard in encoded if heard.place.open], lru_cache(1)(commonmark)
    assert [] == [str(heard) for heard in bare if commonmark(heard.text) != around(heard.calm)]


@in_groups()
def test_strict_utf8(inside: list[Heard]) -> None:
    """Every text can be written as strict UTF-8."""
    assert [] == [
        str(heard)
        for heard in inside
        if heard.text != heard.text.encode("utf-8", "replace").decode()
    ]


any_place = st.sampled_from(PLACES + [place.in_full() for place in PLACES])
something = VALUES.filter(bool)


@examples(1_000)
@given(place=any_place, value=something)
def test_any_value(place: ValuePlace, value: str) -> None:
    """Any string at all comes back from every place, in the same frame, with the same tags."""
    [heard] = hear(place, [value])
    tags = (tags_in(text, heard.tags) for text in (heard.calm, heard.text))
    expected, found = tags if place.encoded else ([], [])
    assert (_back(place, value), expected) == (place.read(heard.encoded or ""), found)


OPEN = [place for place in PLACES if place.open]


@examples(1_000)
@given(place=st.sampled_from(OPEN), value=something)
def test_any_value_in_the_open(place: ValuePlace, value: str) -> None:
    """Any string at all makes no heading, rule or code fence where nothing is around it."""
    [heard] = hear(place, [value])
    assert skeleton(heard.calm) == skeleton(heard.text)


NEIGHBOURS = ("", "# ", "#", "- ", "-", "1. ", "1", "=", "*", "_", "`", "~", "> ", "|", "&", "[")
"""How author text beside a value may end or begin."""


@examples(500)
@given(
    values=st.lists(something, min_size=2, max_size=3),
    ends=st.lists(st.sampled_from(NEIGHBOURS), min_size=2, max_size=2),
    format=st.sampled_from(["markdown", "xml"]),
)
def test_neighbours(values: list[str], ends: list[str], format: str) -> None:
    """Values beside each other, and beside any mark, are to every reader like a harmless word."""
    before, behind = f"a\n{ends[0]}", f"{ends[1]}\nb"
    parts = ([WORD], values)
    turns = (Developer(Text(before, *map(Value, part), behind)) for part in parts)
    settled = {"format": format, "merge_consecutive": False}
    calm, text = (said.text for said in render(Timeline(*turns), transformation=settled).messages)
    encoded = text.removeprefix(before).removesuffix(behind)
    expected = (skeleton(calm), tags_in(calm, OWN), "".join(values))
    assert expected == (skeleton(text), tags_in(text, OWN), decode(encoded))


@given(one=something, two=something)
def test_neighbouring_texts(one: str, two: str) -> None:
    """So are values in two texts, and in two items."""
    trees = [
        Timeline(Developer(Text(Value(a)), Text(Value(b)), List(Value(a), Value(b))))
        for a, b in ((WORD, WORD), (one, two))
    ]
    calm, text = (skeleton(render(tree).messages[0].text) for tree in trees)
    assert calm == text


LONG = ("<", "</context", "&#", "\n# ", "- ", "\r\n", "|", '"', "`", "\ud800", "[[", "\n> ")


@pytest.mark.parametrize("count", [100, pytest.param(2_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("run", LONG)
def test_linear_time(run: str, count: int) -> None:
    """Ten times the repetitions take about ten times the time and room; squared it is a hundred."""

    def measured(times: int) -> tuple[float, int]:
        start = process_time()
        heard = [one for place in WHOLLY["markdown"] for one in hear(place, [run * times])]
        return process_time() - start, max(len(one.text) for one in heard)

    (few, _), (many, longest) = measured(count), measured(10 * count)
    assert (True, True) == (
        many < 40 * max(few, 0.01),
        longest < 2 * LARGEST_REFERENCE * len(run) * 10 * count,
    )
