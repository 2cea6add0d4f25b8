"""The README as a new user follows it: the demo, a first snapshot and a first batch."""

import re
from pathlib import Path

import pytest

from tests.examples.desk import ROOT, run

README = (ROOT / "README.md").read_text("utf-8")
PROMPT = re.findall(r"^```python\n(.*?)^assert", README, re.DOTALL | re.MULTILINE)[0]
TEST = re.findall(r"^```py\n(from support .*?)^```", README, re.DOTALL | re.MULTILINE)[0]
TABLE = README.partition("## Run it over a table")[2].split("```")[1].removeprefix("python\n")
BATCH = re.findall(r"^\$ (promptdsl batch prompts.*)$", README, re.MULTILINE)[0]
TRIAGE = "examples/evaluation/prompts.py:triage"
MAILS = ROOT / "examples" / "evaluation" / "mails.csv"
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
NEXT = re.findall(r"^\t@echo '  (.*)'$", MAKEFILE, re.MULTILINE)
"""The commands with which ``make demo`` ends."""


def test_the_demo_shows_the_first_prompt() -> None:
    """The program that ``make demo`` runs has the prompt of the README, and prints both forms."""
    program = (ROOT / "examples" / "first_prompt.py").read_text("utf-8")
    code, printed = run(ROOT, "python -W error examples/first_prompt.py")
    shown = re.findall(r'^assert str\(.*?"""\\\n(.*?)"""$', README, re.DOTALL | re.MULTILINE)
    assert (0, True, 1) == (code, PROMPT in program, len(shown))
    assert (True, True) == (shown[0] in printed, '"content": "I was charged twice."' in printed)


def test_the_demo_ends_with_three_commands() -> None:
    """They show the prompt for another model, a prompt over a table, and the first bot."""
    names = ["promptdsl render", "promptdsl batch", "pip install"]
    assert names == [" ".join(command.split("/", 1)[1].split()[:2]) for command in NEXT]


@pytest.mark.slow
@pytest.mark.parametrize(("number", "end"), [(0, "}\n"), (1, " tokens: 85% of all tokens\n")])
def test_a_command_of_the_demo(number: int, end: str) -> None:
    """A command that needs no key runs at the root of the project."""
    command = NEXT[number].replace("$(BIN)/", "").replace("$(TRIAGE)", TRIAGE)
    code, printed = run(ROOT, command)
    assert (0, end) == (code, printed[-len(end) :])


@pytest.mark.slow
def test_a_first_batch(tmp_path: Path) -> None:
    """The function of the README renders each row of a table."""
    (tmp_path / "prompts.py").write_text(TABLE, "utf-8")
    (tmp_path / "mails.csv").write_bytes(MAILS.read_bytes())
    code, printed = run(tmp_path, BATCH)
    assert (0, "16 requests of 16 rows in 1 file") == (code, printed.splitlines()[0])


@pytest.mark.slow
def test_a_first_snapshot(tmp_path: Path) -> None:
    """The file of the README holds the prompt; a changed rule fails until it is updated."""
    (tmp_path / "support.py").write_text(PROMPT, "utf-8")
    (tmp_path / "test_support.py").write_text(TEST, "utf-8")
    written = run(tmp_path, "pytest -q --snapshot-update")
    (tmp_path / "support.py").write_text(PROMPT.replace("Never", "Do not"), "utf-8")
    changed, mended = run(tmp_path, "pytest -q"), run(tmp_path, "pytest -q --snapshot-update")
    assert (0, 1, 0) == (written[0], changed[0], mended[0])
    assert "- Never promise a refund.\nE       + Do not promise a refund.\n" in changed[1]
