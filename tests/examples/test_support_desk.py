"""The support desk, a project that uses the library: its tests pass, and its page is up to date."""

import re
from pathlib import Path

import pytest

from tests.examples.desk import DESK, PAGE, change, copy_of_desk, page_today, run

WORKFLOWS = DESK / ".github" / "workflows"
TESTS, PROMPTS = ((WORKFLOWS / f"{name}.yml").read_text("utf-8") for name in ("tests", "prompts"))
NEW_RULE = """\
-            Item("If you do not know, say so.")
+            Item("If you do not know, say so at once.")
"""


def steps_of(workflow: str) -> list[str]:
    """Return the commands of each step of a workflow."""
    return [
        "\n".join(line.strip() for line in step.removeprefix("|").strip().splitlines())
        for step in re.findall(r"^ {8}run: (.*\n(?: {10}.*\n)*)", workflow, re.MULTILINE)
    ]


@pytest.mark.slow
def test_its_tests_pass(tmp_path: Path) -> None:
    """Every snapshot of the project is used and matches, and nothing warns."""
    code, printed = run(copy_of_desk(tmp_path), "pytest -q -W error")
    assert (0, ["8 snapshots passed.", "12 passed"]) == (code, printed.splitlines()[-2:])


@pytest.mark.slow
def test_the_workflow_passes(tmp_path: Path) -> None:
    """The steps of the workflow but the one that installs run in a shell; nothing changed."""
    _, check, test, show = steps_of(TESTS)
    desk = copy_of_desk(tmp_path)
    assert [0, 0, 0] == [run(desk, step)[0] for step in (check, test, show)]
    assert (0, "") == run(desk, "git diff")


@pytest.mark.slow
def test_the_workflow_shows_a_change(tmp_path: Path) -> None:
    """Where a snapshot is not up to date a step fails, and the next shows what would change."""
    _, _, test, show = steps_of(TESTS)
    desk = copy_of_desk(tmp_path)
    change(desk, NEW_RULE)
    assert (1, 0) == (run(desk, test)[0], (shown := run(desk, show))[0])
    assert 4 == shown[1].count("+- If you do not know, say so at once.\n")


@pytest.mark.slow
def test_the_workflow_on_prompts_tells_a_change(tmp_path: Path) -> None:
    """Its step writes the summary of a pull request and the page; other prompts are no failure."""
    _, tell = steps_of(PROMPTS)
    here = "BASE=main GITHUB_STEP_SUMMARY=summary.md"
    desk = copy_of_desk(tmp_path)
    assert (0, "") == run(desk, f"export {here}\n{tell}")
    change(desk, NEW_RULE)
    run(desk, "pytest -q --snapshot-update")
    assert (0, "") == run(desk, f"export {here}\n{tell}")
    summary = (desk / "summary.md").read_text("utf-8")
    assert "<code>rules</code> changed alike in" in summary
    assert "+ - If you do not know, say so at once.\n" in summary
    assert "<!doctype html>" in (desk / "prompts.html").read_text("utf-8").lower()


def test_the_page_has_the_workflow() -> None:
    """The workflow in the page is that of the project."""
    assert f"```yaml\n{PROMPTS}```" in PAGE.read_text("utf-8")


@pytest.mark.slow
def test_the_page_is_up_to_date(tmp_path: Path) -> None:
    """The page on a changed rule is what ``python -m tests.examples`` writes."""
    assert page_today(tmp_path) == PAGE.read_text("utf-8")
