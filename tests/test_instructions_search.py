"""No value changes the instructions around it, in frames at random; and what the search reads."""

import pytest

from tests.instructions_readers import READERS, TAGS, Page
from tests.instructions_search import violations

EVERY = ("markdown-it", "markdown-it without HTML", "marko", "lines")


@pytest.mark.parametrize("encoding", [None, "full"])
def test_a_hundred_frames(encoding: str | None) -> None:
    """A few frames violate nothing."""
    assert [] == violations(100, 8, encoding)


@pytest.mark.slow
def test_five_thousand_frames() -> None:
    """Many frames violate nothing."""
    assert [] == violations(5_000, 1)


@pytest.mark.parametrize(
    ("text", "readers", "expected"),
    [
        ("# a\n\n## b", EVERY, ["h1", "h2"]),
        ("> # a\n> - ***\n", EVERY, ["h1", "hr"]),
        ("```\n# a\n```", EVERY[:3], ["fence"]),
        ("a\r\n===\r\n# b", EVERY[:3], ["setext1", "h1"]),
        ("a\r\n===\r\n# b", ["lines"], ["setext", "h1"]),
        ("a\u2028     > 1. # b", ["lines"], ["h1"]),
        ("a\u2028# b", EVERY[:3], []),
        ("<div>\n# a\n\n# b", ["markdown-it", "marko"], ["html", "h1"]),
        ("<div>\n# a\n\n# b", ["markdown-it without HTML"], ["h1", "h1"]),
        ("< SYSTEM\n</\tcontext> <contexts> <p>", ["tags"], ["system", "/context"]),
    ],
)
def test_readers(text: str, readers: list[str], expected: list[str]) -> None:
    """Each reader sees headings, rules, fences, HTML, or tags, in the order of the text."""
    page = Page(text, [], TAGS)
    seen = {reader: [mark.kind for mark in READERS[reader](page)] for reader in readers}
    assert dict.fromkeys(readers, expected) == seen
