"""The folder in which a test makes its batches."""

import os
from pathlib import Path

import pytest

from tests.batch.folders import Folder


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
