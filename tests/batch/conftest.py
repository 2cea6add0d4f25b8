"""The folder in which a test makes its batches."""

import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.batch.folders import Folder
from tests.internals import batch_job_module

USUAL = ("attrs", "json", "promptdsl", "pytest", "sys")


class Loaded:
    """What a batch sees of ``sys``: what its test loads, and some usual modules.

    A run of all tests has loaded thousands, and a batch would look at the file of each.
    """

    def __init__(self) -> None:
        self._before = {name: it for name, it in sys.modules.items() if name not in USUAL}

    @property
    def modules(self) -> dict[str, ModuleType]:
        """The modules by name."""
        before = self._before
        return {name: it for name, it in sys.modules.items() if before.get(name) is not it}


@pytest.fixture(autouse=True)
def loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out of a batch what was loaded before its test."""
    monkeypatch.setattr(batch_job_module, "sys", Loaded())


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
