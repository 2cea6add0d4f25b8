"""A folder with a prompt, and a browser."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser import Browser, chromium
from tests.preview.running import SUPPORT


@pytest.fixture(scope="session", autouse=True)
def extra() -> None:
    """Skip the tests where the extra is not installed."""
    pytest.importorskip("watchfiles", reason="needs the extra preview")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return the folder of a project with a prompt."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "pyproject.toml").write_text("")
    (folder / "support.py").write_text(SUPPORT)
    return folder


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Return a browser that is closed after the tests."""
    browser = chromium(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()
