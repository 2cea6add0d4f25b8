"""The examples of the documentation: each runs by itself, with what it says it uses."""

import ast
import doctest
import re
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.internals import tree_module

pytest_plugins = ["pytester"]

"""The public names whose docstrings have an example."""

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
DECLARED = re.compile(
    r"^<!-- uses: ([^\n]+) -->\n(?:```python|<!-+ invisible-code-block: python)\n(.*?)^(?:```|-+>)",
    re.DOTALL | re.MULTILINE,
)

GIVEN = "```python\nbook = 'Oslo'\nshelf = 3\n```\n\n"
HIDDEN = "<!-- invisible-code-block: python\nassert book == 'Oslo'\n-->\n"
LEANING = "```python\nassert book == 'Oslo'\n```\n"


@pytest.fixture(autouse=True)
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the pages of a test the rules of this project, and no plugin that is installed."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makeconftest((ROOT / "conftest.py").read_text("utf-8"))
    pytester.makeini("[pytest]\naddopts = -ra --strict-markers\nmarkers = sdk")


def ran(pytester: pytest.Pytester, page: str, *options: str) -> pytest.RunResult:
    """Return how the examples of a page went."""
    (pytester.path / "README.md").write_text(page, "utf-8")
    return pytester.runpytest_inprocess("-p", "no:cacheprovider", *(options or ["README.md"]))


def test_an_example_that_leans_on_another_fails(pytester: pytest.Pytester) -> None:
    """What another example assigned is not there for one that does not say it uses it."""
    went = ran(pytester, GIVEN + LEANING)
    assert {"passed": 1, "failed": 1} == went.parseoutcomes()
    went.stdout.fnmatch_lines("*README.md::line:6,column:1*NameError: name 'book' is not defined")


@pytest.mark.parametrize("example", [LEANING, HIDDEN], ids=["shown", "hidden"])
def test_an_example_uses_what_it_says(pytester: pytest.Pytester, example: str) -> None:
    """An example that says what it uses has it, also where it runs alone."""
    page = f"{GIVEN}<!-- uses: book -->\n{example}"
    assert {"passed": 2} == ran(pytester, page).parseoutcomes()
    assert {"passed": 1} == ran(pytester, page, "README.md::line:7,column:1").parseoutcomes()


def test_an_example_has_nothing_else_of_what_it_uses(pytester: pytest.Pytester) -> None:
    """Of the example that assigns a name, no other name is there."""
    page = GIVEN + "<!-- uses: book -->\n```python\nprint(book, shelf)\n```\n"
    went = ran(pytester, page)
    assert {"passed": 1, "failed": 1} == went.parseoutcomes()
    went.stdout.fnmatch_lines("*NameError: name 'shelf' is not defined")


def test_an_import_is_written_again(pytester: pytest.Pytester) -> None:
    """What another example imported cannot be used: who copies an example needs the import."""
    page = "```python\nimport json\n```\n\n<!-- uses: json -->\n```python\njson.dumps(1)\n```\n"
    went = ran(pytester, page)
    assert {"passed": 1, "failed": 1} == went.parseoutcomes()
    went.stdout.fnmatch_lines("*NameError: name 'json' is not defined*")


def test_what_is_used_may_use_something(pytester: pytest.Pytester) -> None:
    """Examples that use each other run in order, each once."""
    page = """
```python
runs = []
```

<!-- uses: runs -->
```python
runs.append("once")
first = "a"
```

<!-- uses: runs, first -->
```python
assert (runs, first) == (["once"], "a")
```
"""
    assert {"passed": 3} == ran(pytester, page).parseoutcomes()


def test_the_last_example_above_counts(pytester: pytest.Pytester) -> None:
    """Where several examples assign a name, the last one above is used."""
    page = f"{GIVEN.replace('Oslo', 'Rome')}{GIVEN}<!-- uses: book -->\n{LEANING}"
    assert {"passed": 4} == ran(pytester, page + GIVEN.replace("Oslo", "Bonn")).parseoutcomes()


def test_an_example_runs_anew(pytester: pytest.Pytester) -> None:
    """What is used is run for each example that uses it: no example sees what others changed."""
    page = "```python\nbooks = []\n```\n" + 2 * (
        "\n<!-- uses: books -->\n```python\nassert books == []\nbooks.append('Oslo')\n```\n"
    )
    assert {"passed": 3} == ran(pytester, page).parseoutcomes()


SDK_EXAMPLES = """
```python
import openai.types as types
```

<!-- uses: client -->
```python
assert client
```

```python
from promptdsl import render
import google.genai
client = google
```

<!-- uses: client -->
```python
assert client
```
"""


def test_examples_that_need_an_sdk_are_marked(pytester: pytest.Pytester) -> None:
    """What imports an SDK has the mark ``sdk``, and so has what uses such an example."""
    found = ran(pytester, SDK_EXAMPLES, "--collect-only", "-q", "-m", "sdk")
    assert ["line:2", "line:11", "line:18"] == re.findall(r"line:\d+", found.stdout.str())


def test_examples_without_their_sdk_are_skipped(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where an SDK is missing its examples are skipped, and the reason names it."""
    monkeypatch.setitem(sys.modules, "openai", None)
    went = ran(pytester, "```python\nimport openai.types\n```\n")
    assert {"skipped": 1} == went.parseoutcomes()
    went.stdout.fnmatch_lines("SKIPPED*could not import 'openai':*")


USING = [page for page in PAGES if DECLARED.search(page.read_text("utf-8"))]


@pytest.mark.parametrize("page", USING, ids=[page.name for page in USING])
def test_an_example_reads_what_it_says_it_uses(page: Path) -> None:
    """No example of the documentation says that it uses a name it does not read."""
    assert [] == unread(page.read_text("utf-8"))


def test_every_saying_is_found() -> None:
    """Every comment that says what is used stands right before an example."""
    text = "".join(page.read_text("utf-8") for page in PAGES)
    assert text.count("<!-- uses: ") == len(DECLARED.findall(text))


def unread(page: str) -> list[str]:
    """Return the names that examples of a page say they use, and do not read."""
    said = [(names.split(", "), loaded(code)) for names, code in DECLARED.findall(page)]
    return [name for names, read in said for name in names if name not in read]


def loaded(code: str) -> set[str]:
    """Return the names that a piece of code reads."""
    names = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)]
    return {node.id for node in names if isinstance(node.ctx, ast.Load)}


def test_the_example_of_the_masks() -> None:
    """The example in the docstring of the masks runs."""
    finder = doctest.DocTestFinder(recurse=False)
    (example,) = finder.find(tree_module, globs=dict(vars(tree_module)))
    assert 0 == doctest.DocTestRunner().run(example).failed


@cache
def anchors_of(page: Path) -> set[str]:
    """Return the names under which links find the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    texts = [re.sub(r"\[(.*?)\]\(.*?\)", r"\1", heading).lower() for heading in headings]
    return {re.sub(r"[^\w\- ]", "", text).replace(" ", "-") for text in texts}


def test_links_lead_to_headings() -> None:
    """A link to a part of a page names one of its headings."""
    for page in PAGES:
        for name, anchor in re.findall(r"\]\(([\w./-]*)#([\w-]+)\)", page.read_text("utf-8")):
            target = (page.parent / name).resolve() if name else page
            assert target.suffix != ".md" or anchor in anchors_of(target), (page.name, name, anchor)
