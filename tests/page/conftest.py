"""A browser for the tests of the page, and axe, which finds what not everybody can use."""

from collections.abc import Iterator

import pytest

from tests.browser import Browser, axe_script, chromium


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Return a browser that is closed after the tests."""
    browser = chromium(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def axe() -> str:
    """Return the script of axe."""
    return axe_script()
