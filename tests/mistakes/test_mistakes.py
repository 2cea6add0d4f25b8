"""The pages of mistakes: what a user is told is as written, and none of it leads astray."""

import gc
import re
from collections.abc import Iterator
from pathlib import Path
from weakref import WeakKeyDictionary

import pytest

from tests.folding import failures, unequal
from tests.internals import custom_module
from tests.mistakes.pages import PAGES, Mistake, fill, mistakes

MARKS = {"langchain": [pytest.mark.sdk("langchain_core")], "threads": [pytest.mark.native]}
"""The marks of a page that needs more than others do."""

# A mistake ends its code: what it has open is not closed any more.
pytestmark = [
    pytest.mark.filterwarnings("ignore:.* was not closed:ResourceWarning"),
    pytest.mark.filterwarnings("ignore:unclosed database:ResourceWarning"),
]

EACH = [pytest.param(page, marks=MARKS.get(page.stem, ())) for page in PAGES]


@pytest.fixture(autouse=True)
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Work in the folder of a shop, with its files, apart from the components of other tests."""
    fill(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(custom_module, "_MADE", WeakKeyDictionary())
    yield
    gc.collect()


def on_page(page: Path) -> dict[str, Mistake]:
    """Return the mistakes of a page by their headings."""
    return {mistake.title: mistake for mistake in mistakes(page)}


@pytest.mark.parametrize("page", EACH, ids=lambda page: page.stem)
def test_what_a_user_is_told(page: Path) -> None:
    """Each mistake is told in the words that stand below it."""
    rows = on_page(page)
    wrong = failures(rows, lambda title: unequal(rows[title].text, rows[title].told().text))
    assert [] == wrong


@pytest.mark.parametrize("page", EACH, ids=lambda page: page.stem)
def test_the_line_of_a_mistake(page: Path) -> None:
    """Each mistake is told, with the author's line that is marked in its code."""
    rows = on_page(page)
    wrong = failures(rows, lambda title: unequal(rows[title].place, rows[title].told().place))
    assert [] == wrong


def errors_on(page: Path) -> list[str]:
    """Return the errors of the library on a page."""
    return [row.text.rstrip("\n") for row in mistakes(page) if f": {row.place}: " in row.text]


@pytest.mark.parametrize("page", [*filter(errors_on, PAGES)], ids=lambda page: page.stem)
def test_an_error_has_advice(page: Path) -> None:
    """Each error of the library ends with a line that says what to do, and no line names twice."""
    lines = [text.split("\n") for text in errors_on(page)]
    assert [] == [told for told in lines if not re.match("  (?!see also)", told[-1])]
    assert [] == [told for told in lines if len({*told}) < len(told)]


def test_there_are_many_mistakes() -> None:
    """There are more than three hundred mistakes, all read, no two of one code."""
    codes = [row.code for page in PAGES for row in mistakes(page)]
    headings = [line for page in PAGES for line in page.read_text("utf-8").split("\n## ")[1:]]
    assert len(headings) == len(codes) == len({*codes})
    assert 300 < len(codes)
