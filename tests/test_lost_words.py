"""The words lost, dropped, cut and cleared: each page that uses one links to their table.

The table is in `docs/index.md#lost-dropped-cut-cleared`. It says what each word means, and where
the content is listed.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TABLE = "index.md#lost-dropped-cut-cleared"
WORDS = re.compile(r"\b(lost|dropped|cut|cleared)\b", re.IGNORECASE)
OTHER_MEANINGS = re.compile(r"\b(cut\s+off|id\s+is\s+cut|cached\s+prefix\s+is\s+lost)\b")
"""A stream that ends early, a long id, and a cache: no content of a prompt is meant."""
NOT_PROSE = re.compile(r"^ *```.*?^ *```$|<!--.*?-->|^#.*?$", re.MULTILINE | re.DOTALL)
CODE_OR_ADDRESS = re.compile(r"`[^`]*`|\]\([^)]*\)")
PAGES = sorted(
    {*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")}
    - {ROOT / "CHANGELOG.md", ROOT / "docs/changelog.md", ROOT / "docs/index.md"}
)


def blocks_of(page: str) -> list[str]:
    """Return the paragraphs, the items of lists and the rows of tables of a page."""
    prose = NOT_PROSE.sub("", page)
    return re.split(r"\n\s*\n|\n(?=\s*[-|]|\s*\d+\. )", prose)


def unlinked_use(page: str) -> str | None:
    """Return the first block that uses one of the words, unless a link is in it or before it."""
    for block in blocks_of(page):
        if TABLE in block:
            return None
        if WORDS.search(OTHER_MEANINGS.sub("", CODE_OR_ADDRESS.sub("", block))):
            return block
    return None


@pytest.mark.parametrize("path", PAGES, ids=[str(path.relative_to(ROOT)) for path in PAGES])
def test_first_use_has_a_link(path: Path) -> None:
    """The first of the four words on a page links to the table."""
    assert unlinked_use(path.read_text("utf-8")) is None


def test_the_table_is_there() -> None:
    """The heading to which the pages link is in the index."""
    assert "\n### Lost, dropped, cut, cleared\n" in (ROOT / "docs/index.md").read_text("utf-8")


def test_a_planted_page() -> None:
    """Words in code, headings and addresses do not count, nor does a stream that is cut off."""
    assert unlinked_use("# Lost\n\nSee `dropped` and [it](#cut).\n\n```py\nlost\n```\n") is None
    assert unlinked_use("A stream that is cut off.\n") is None
    assert unlinked_use("A row.\n\n- one\n- two is dropped\n") == "- two is dropped\n"
    assert unlinked_use(f"It is [lost](../{TABLE}).\n\nAnd cut.\n") is None
