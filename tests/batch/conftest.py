"""The folder in which a test makes its batches."""

import os
from pathlib import Path

import pytest

from tests.batch.folders import Folder
from tests.internals import batch_job_module

TESTS = os.path.join(Path(__file__).resolve().parents[1], "")


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the tests, of which a whole run loads hundreds of files, out of what batches read."""
    is_ours_or_installed = batch_job_module.is_ours_or_installed
    monkeypatch.setattr(
        batch_job_module,
        "is_ours_or_installed",
        lambda path: path.startswith(TESTS) or is_ours_or_installed(path),
    )


@pytest.fixture
def folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> Folder:
    """Return the current folder, with ``prompts.py``."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "fsync", int)  # nobody cuts the power

    def read() -> tuple[str, str]:
        out, err = capsysbinary.readouterr()
        return out.decode(), err.decode()

    return Folder(tmp_path, read)
