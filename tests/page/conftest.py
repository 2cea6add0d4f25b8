"""A browser for the tests of the page, and axe, which finds what not everybody can use."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser import Browser, chromium

AXE = Path(__file__).parents[2] / ".venv-page/node_modules/axe-core/axe.min.js"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Return a browser that is closed after the tests."""
    browser = chromium(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def axe() -> str:
    """Return the script of axe."""
    if not AXE.exists():
        (pytest.fail if os.environ.get("CI") else pytest.skip)("make .venv-page/.test installs axe")
    return AXE.read_text("utf-8")
