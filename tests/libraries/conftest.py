"""The packages that the tests of libraries install."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.libraries.packages import REFUNDS, SUPPORT, installed, package


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give a folder on the path, in which the library ``surgery`` is installed."""
    monkeypatch.delenv("PROMPTDSL_LIBRARIES", raising=False)
    folder = tmp_path / "site"
    templates = {
        "refunds.md.j2": REFUNDS,
        "billing/late.md.j2": "Pay {{ soon }}.{% include '_end.md.j2' %}",
        "_end.md.j2": " Thanks.",
        "broken.md.j2": "---\ninputs:\n  a: thing\n---\n",
    }
    package(folder, "surgery", SUPPORT, version="1.2.0", templates=templates)
    with installed(folder):
        yield folder
