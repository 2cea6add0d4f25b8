"""The examples of README.md and of docs/ are tests: every Python code block runs, by itself.

A block that uses names of the blocks above it lists them in a comment:

    <!-- uses: prompt, said -->

For each name, the last block above that assigns it runs first, and only these names are passed
on. A block that is only shown, such as one that calls a model, is of the language `py`. One that
shows a mistake names the rule that finds it:

    <!-- finds: PD105 -->
"""

import gc
import re
import symtable
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis.strategies import none
from sybil import Example, Sybil
from sybil.evaluators.python import PythonEvaluator
from sybil.integration.pytest import SybilItem
from sybil.parsers.markdown import CodeBlockParser

from tests.checking.corpus import findings_in
from tests.good_prompts import careful_hints, noted_results

pytest_plugins = ("pytester", "tests.seeds")

LAST_FILE = pytest.StashKey[Path]()
"""The file of the last test."""

USES = re.compile(r"^<!-- uses: (.+) -->\n\Z", re.MULTILINE)

FINDS = re.compile(r"^<!-- finds: (PD\d+) -->\n\Z", re.MULTILINE)

SDKS = {
    "anthropic": "anthropic",
    "boto3": "boto3",
    "google": "google.genai",
    "openai": "openai",
    "promptdsl.integrations.langchain": "langchain_core",
    "promptdsl.integrations.mcp": "mcp",
    "promptdsl.integrations.pydantic_ai": "pydantic_ai",
    "yaml": "yaml",
}
"""What an example may import, and the package without which it is skipped then."""


def run(example: Example) -> None:
    """Run an example by itself, or skip it where a package is missing.

    It has no hint at a mistake and no finding, if it does not show losses or hints.
    """
    for package in sorted(needed(example)):
        pytest.importorskip(package)
    with noted_results() as results:
        names_after(example, {})
    if not re.search(r"losses|\.hints", example.parsed):
        assert [] == careful_hints(results)
    is_wrong = Path(example.path).stem.startswith("checking")  # the examples of rules
    mistake = FINDS.search(example.document.text, 0, example.start)
    if mistake:
        assert [mistake[1]] == [it[:5] for it in findings_in(results, example.parsed)]
    elif not is_wrong and not re.search(r"losses|\.hints|assert_injection_safe", example.parsed):
        assert [] == findings_in(results, example.parsed)


def names_after(example: Example, ran: dict[int, dict[str, Any]]) -> dict[str, Any]:
    """Return the names there are when an example ran, in a namespace with what it uses alone."""
    if example.line not in ran:
        taken = {name: names_after(above, ran)[name] for name, above in used(example).items()}
        example.namespace = ran[example.line] = taken
        PythonEvaluator()(example)
    return ran[example.line]


def used(example: Example) -> dict[str, Example]:
    """Return the names an example says it uses, each with the last one above that assigns it."""
    said = USES.search(example.document.text, 0, example.start)
    names = said[1].split(", ") if said else []
    above = [one for one in example.document.examples() if one.line < example.line]
    return {name: one for one in above for name in names if name in assigned(one)}


def assigned(example: Example) -> set[str]:
    """Return the names an example assigns; what does not compile assigns none, and fails alone."""
    try:
        table = symtable.symtable(str(example.parsed), example.path, "exec")
    except SyntaxError:
        return set()
    return {symbol.get_name() for symbol in table.get_symbols() if symbol.is_assigned()}


def needed(example: Example) -> set[str]:
    """Return the packages that an example needs, and those of what it uses."""
    modules = re.findall(r"^ *(?:from|import) ([\w.]+)", example.parsed, re.MULTILINE)
    own = {SDKS[name] for name in SDKS for module in modules if f"{module}.".startswith(f"{name}.")}
    return own.union(*map(needed, used(example).values()))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Leave what is collected, which stays to the end, out of every search for garbage."""
    gc.disable()
    result = yield
    # Hypothesis asks once who holds its random numbers, and a frozen holder is not found.
    given(none())(lambda _: None)()
    gc.collect()
    gc.freeze()
    gc.enable()
    return result


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leave out what the files before this one keep, too: runs of pytest in tests search often."""
    if item.path != item.session.stash.get(LAST_FILE, None):
        item.session.stash[LAST_FILE] = item.path
        gc.collect()
        gc.freeze()


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark an example that needs the package of a provider or of an integration."""
    if isinstance(item, SybilItem) and needed(item.example):
        item.add_marker("sdk")


pytest_collect_file = Sybil(
    parsers=[CodeBlockParser("python", run)],
    patterns=["README.md", "docs/*.md", "docs/**/*.md"],
).pytest()
