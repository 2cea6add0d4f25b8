"""No value changes the instructions around it, in frames at random; and what the search reads."""

import pytest

from tests.instructions_frames import Part, Stranger
from tests.instructions_readers import READERS, TAGS, Page
from tests.instructions_search import Harmless, violations

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


@pytest.mark.parametrize(
    ("before", "is_judged"),
    [
        ("<!\n>", False),
        ("1. > <!\n", False),
        ("<![CDATA[>\n", False),
        ("a <!\n>", True),
        ("<!a>\n", True),
        ("<!-- a -->\n", True),
    ],
)
def test_what_marko_takes_for_a_declaration(before: str, *, is_judged: bool) -> None:
    """It judges no text in which it sees a declaration that is none."""
    frame = ((Part("plain", ((before, Stranger("a"), "a"),)),),)
    harmless = Harmless.of(frame, None)
    assert harmless is not None
    assert is_judged is ("marko" in harmless.things)
    assert [] == [*harmless.violations(["a\na"], None)]
