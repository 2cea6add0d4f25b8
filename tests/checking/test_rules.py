"""Every rule: its examples, its explanation and its place on the page of rules."""

import re
from pathlib import Path

import pytest

from promptdsl.checking import RULES, CheckRule, CheckSettings
from tests.checking.looking import looked_at
from tests.checking.pages import PAGE, page

EACH = [pytest.param(rule, id=rule.id) for rule in RULES.values()]


@pytest.mark.parametrize("rule", EACH)
def test_examples(rule: CheckRule, tmp_path: Path) -> None:
    """The wrong example has one finding, of this rule; the right one has none of any."""
    file = tmp_path / "prompts.py"
    everything = CheckSettings(select=("PD", "hints") if rule.model else ("PD",))
    wrong = looked_at(file, rule.wrong, model=rule.model, settings=everything)
    right = looked_at(file, rule.right, model=rule.model, settings=everything)
    assert ([rule.id], []) == ([it.rule for it in wrong.findings], [*right.findings])


@pytest.mark.parametrize("rule", EACH)
def test_finding_is_a_line_with_advice(rule: CheckRule, tmp_path: Path) -> None:
    """A finding names its line, and says in words what is wrong and what to do."""
    [it] = looked_at(tmp_path / "prompts.py", rule.wrong, model=rule.model).findings
    assert re.fullmatch(r"[^\n:]*prompts\.py:[1-9][\d:]*: PD\d+ [^\n;]+; [a-z]+ [^\n]+", str(it))


@pytest.mark.parametrize("rule", EACH)
def test_explanation_fits_a_screen(rule: CheckRule) -> None:
    """An explanation has at most 23 lines of at most 79 characters, and a source with its year."""
    lines = str(rule).split("\n")
    assert [] == [it for it in lines if len(it) > 79] + lines[23:]
    assert re.search(r"\((?:19|20)\d\d\)\.$", rule.source)


def test_the_page_is_that_of_the_files() -> None:
    """The page of the rules is what ``python -m tests.checking`` writes."""
    assert page() == PAGE.read_text("utf-8")
