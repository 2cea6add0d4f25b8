"""What encoding costs: realistic samples in a fence and in instructions."""

import json
import re
from pathlib import Path

import pytest

from promptdsl import decode
from tests.encoding_cost import (
    BOUNDS,
    VALUES,
    added,
    fenced,
    instructed,
    pieces,
    table,
    table_of_instructions,
)

PAGE = Path(__file__).parents[1] / "docs" / "safety.md"
BOUNDED = {name: most for name, most in BOUNDS.items() if most is not None}
TEXTS = [name for name in BOUNDS if name != "JSON, as `Json`"]
TAG = re.compile(
    r"<[\s/]*(event|context|developer|untrusted|tool_use|tool_result|system|assistant)[^\w.-]",
    re.IGNORECASE,
)


@pytest.mark.parametrize("name", BOUNDED)
def test_the_minimal_encoding_costs_next_to_nothing(name: str) -> None:
    """A text without a tag of the prompt's vocabulary gets at most 1 % longer, HTML 1.5 %."""
    assert added(name, "minimal") <= BOUNDED[name]


@pytest.mark.parametrize("name", BOUNDED)
def test_a_bounded_sample_has_no_tag_of_the_vocabulary(name: str) -> None:
    """No sample with a bound has a tag that a prompt writes."""
    assert [] == [text for _, text in pieces(name) if TAG.search(text)]


@pytest.mark.parametrize("name", BOUNDS)
def test_the_minimal_encoding_costs_less_than_the_full(name: str) -> None:
    """Each sample has fewer tokens in the minimal encoding, also where it is made of tags."""
    assert added(name, "minimal") < added(name, "full")


@pytest.mark.parametrize("encoding", ["minimal", "full"])
@pytest.mark.parametrize("name", TEXTS)
def test_a_sample_is_decoded(name: str, encoding: str) -> None:
    """Each piece of a sample comes back from its encoding, to the byte."""
    texts = [text for _, text in pieces(name)]
    assert texts == [decode(fenced(text, encoding)) for text in texts]


@pytest.mark.parametrize("encoding", ["minimal", "full"])
def test_a_sample_of_data_is_read_back(encoding: str) -> None:
    """A JSON reader reads the same data from both encodings."""
    found = [*pieces("JSON, as `Json`")]
    assert [json.loads(text) for _, text in found] == [
        json.loads(fenced(piece, encoding)) for piece, _ in found
    ]


def test_the_figures_on_the_page_are_those_measured() -> None:
    """The tables of docs/safety.md are what ``python -m tests.encoding_cost`` prints."""
    page = PAGE.read_text("utf-8")
    assert "\n".join(table()) in page
    assert "\n".join(table_of_instructions()) in page


def test_a_line_in_instructions_is_as_written() -> None:
    """No text of one line changes: commands, usage, paths, generics, patterns, addresses."""
    assert VALUES["one line"] == [*map(instructed, VALUES["one line"])]


SEVERAL = VALUES["several lines"]
MARKS = re.compile(r"(?P<mark>#{1,6}(?:\s|$)|[-=*_](?:\s*[-=*_])*\s*$|```|~~~|<)")


AS_WRITTEN = ("C++", "CSV", "JSON", "SQL", "usage")
"""The texts none of whose lines could begin anything."""


def test_lines_that_begin_nothing_are_as_written() -> None:
    """A text of several lines that could head, rule, fence or begin nothing does not change."""
    assert [] == [name for name in AS_WRITTEN if SEVERAL[name] != instructed(SEVERAL[name])]


@pytest.mark.parametrize("name", [name for name in SEVERAL if name not in AS_WRITTEN])
def test_lines_in_instructions(name: str) -> None:
    """Of several lines those that could head, rule, fence or begin HTML change in one character."""
    pairs = zip(SEVERAL[name].split("\n"), instructed(SEVERAL[name]).split("\n"), strict=True)
    different = [(before, after) for before, after in pairs if before != after]
    references = [after.count("&") - before.count("&") for before, after in different]
    assert [1] * len(different) == references or name == "HTML"  # it has references of its own
    assert [] == [before for before, _ in different if not MARKS.search(before)]
    assert SEVERAL[name] == decode(instructed(SEVERAL[name]))
