"""What encoding costs: realistic samples in a fence, counted in tokens."""

import json
import re
from pathlib import Path

import pytest

from promptdsl import decode
from tests.encoding_cost import BOUNDS, added, fenced, pieces, table

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
    """The table of docs/safety.md is what ``python -m tests.encoding_cost`` prints."""
    assert "\n".join(table()) in PAGE.read_text("utf-8")
