"""The README as a new user follows it: a first snapshot, one that fails, and its mend."""

import re
from pathlib import Path

import pytest

from tests.examples.desk import ROOT, run

README = (ROOT / "README.md").read_text("utf-8")
PROMPT = re.findall(r"^```python\n(.*?)^assert", README, re.DOTALL | re.MULTILINE)[0]
TEST = re.findall(r"^```py\n(from support .*?)^```", README, re.DOTALL | re.MULTILINE)[0]


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
