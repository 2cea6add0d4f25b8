"""Whole batches: what each command prints and writes, where two of a thing meet."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.batch.whole_batches import CASES, EXPECTED, done

WHOLE: dict[str, Any] = json.loads(EXPECTED.read_text("utf-8"))


@pytest.mark.parametrize("name", CASES)
def test_a_whole_batch(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit codes, both streams and all files of a batch are, word for word, what they were."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "fsync", int)  # nobody cuts the power
    assert WHOLE[name] == done(CASES[name])


def test_each_case_has_its_expectation() -> None:
    """The file has the cases that there are, in their order."""
    assert [*CASES] == [*WHOLE]
