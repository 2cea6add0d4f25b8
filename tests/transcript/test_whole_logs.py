"""Whole logs: every entry and turn of transcripts in which two of a thing meet."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.transcript.whole_logs import CASES, EXPECTED, described

WHOLE: dict[str, Any] = json.loads(EXPECTED.read_text("utf-8"))


@pytest.mark.parametrize("name", CASES)
def test_a_whole_log(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Entries, turns, forks and copies of a transcript are, word for word, what they were."""
    monkeypatch.setattr(os, "fsync", int)  # nobody cuts the power
    assert WHOLE[name] == described(CASES[name], tmp_path)


def test_each_case_has_its_expectation() -> None:
    """The file has the cases that there are, in their order."""
    assert [*CASES] == [*WHOLE]
