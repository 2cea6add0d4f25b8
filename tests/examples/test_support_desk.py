"""The support desk, a project that uses the library: its tests pass, and its page is up to date."""

import re
from pathlib import Path

import pytest

from tests.examples.desk import DESK, PAGE, change, copy_of_desk, page_today, run

WORKFLOW = (DESK / ".github" / "workflows" / "tests.yml").read_text("utf-8")
STEPS = [
    "\n".join(line.strip() for line in step.removeprefix("|").strip().splitlines())
    for step in re.findall(r"^ {8}run: (.*\n(?: {10}.*\n)*)", WORKFLOW, re.MULTILINE)
]
NEW_RULE = """\
-            Item("If you do not know, say so.")
+            Item("If you do not know, say so at once.")
"""


@pytest.mark.slow
def test_its_tests_pass(tmp_path: Path) -> None:
    """Every snapshot of the project is used and matches, and nothing warns."""
    code, printed = run(copy_of_desk(tmp_path), "pytest -q -W error")
    assert (0, ["8 snapshots passed.", "12 passed"]) == (code, printed.splitlines()[-2:])


@pytest.mark.slow
def test_the_workflow_passes(tmp_path: Path) -> None:
    """The steps of the workflow but the one that installs run in a shell; nothing changed."""
    _, test, show = STEPS
    desk = copy_of_desk(tmp_path)
    assert (0, 0) == (run(desk, test)[0], run(desk, show)[0])
    assert (0, "") == run(desk, "git diff")


@pytest.mark.slow
def test_the_workflow_shows_a_change(tmp_path: Path) -> None:
    """Where a snapshot is not up to date a step fails, and the next shows what would change."""
    _, test, show = STEPS
    desk = copy_of_desk(tmp_path)
    change(desk, NEW_RULE)
    assert (1, 0) == (run(desk, test)[0], (shown := run(desk, show))[0])
    assert 4 == shown[1].count("+- If you do not know, say so at once.\n")


@pytest.mark.slow
def test_the_page_is_up_to_date(tmp_path: Path) -> None:
    """The page on a changed rule is what ``python -m tests.examples`` writes."""
    assert page_today(tmp_path) == PAGE.read_text("utf-8")
