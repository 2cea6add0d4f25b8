"""The live page in Chromium: it follows saves, errors and choices."""

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.browser import Browser
from tests.preview.running import PATIENCE, SUPPORT, Preview, preview

pytestmark = [pytest.mark.browser, pytest.mark.slow]
OPTIONS = ("support.py:answer", "--model", "claude-sonnet-4-5", "--budget", "230")


def text_of(browser: Browser, selector: str) -> str:
    """Return the text of the first element that a selector finds."""
    text: str = browser.run(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''")
    return text


def wait_for(browser: Browser, selector: str, is_wanted: Callable[[str], object]) -> str:
    """Return the text of an element when a condition holds for it."""
    end = time.monotonic() + PATIENCE
    text = text_of(browser, selector)
    while not is_wanted(text):
        assert time.monotonic() < end, (selector, text, browser.complaints())
        time.sleep(0.02)
        text = text_of(browser, selector)
    return text


def opened(browser: Browser, running: Preview) -> None:
    """Open the page of a preview, and wait until it shows the prompt."""
    browser.look()
    browser.open(running.address)
    wait_for(browser, ".card.system", lambda text: "Be kind." in text)


def test_a_save(browser: Browser, project: Path) -> None:
    """A save is on the page without a reload, and the tab Changes has what it changed."""
    with preview(project, *OPTIONS) as running:
        opened(browser, running)
        browser.run("document.querySelector('#tab-changes').click()")
        (project / "support.py").write_text(SUPPORT.replace("Be kind.", "Be brief."))
        wait_for(browser, ".card.system", lambda text: "Be brief." in text)
        changes = wait_for(browser, "#tab", lambda text: "Be brief." in text)
        assert "Be kind." in changes
        assert "true" == browser.run("document.querySelector('#tab-changes').ariaSelected")
        assert [] == browser.complaints()
