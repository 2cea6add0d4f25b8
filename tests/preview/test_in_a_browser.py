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


FIRST_CARD = """[...document.querySelectorAll('[data-message]')]
    .map(card => [card.dataset.message, Math.round(card.getBoundingClientRect().top)])
    .find(([, top]) => top > 0)"""
"""The message that is the first on the screen, and where."""


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


def save(project: Path, code: str) -> None:
    """Save the code of the prompt."""
    (project / "support.py").write_text(code)


def test_errors(browser: Browser, project: Path) -> None:
    """An error stands over the last page, with its line marked; the next good save removes it."""
    with preview(project, *OPTIONS) as running:
        opened(browser, running)
        save(project, SUPPORT.replace("        Grounding", "        Grouding", 1))
        error = wait_for(browser, "#live-error", lambda text: "Grouding" in text)
        assert "name 'Grouding' is not defined" in error
        assert 'Grouding("terms/billing.md"' in text_of(browser, "#live-error mark")
        assert "Be kind." in text_of(browser, ".card.system")
        save(project, SUPPORT + "\nx = (\n")
        wait_for(browser, "#live-error", lambda text: "SyntaxError" in text)
        (project / "support.py").unlink()
        wait_for(browser, "#live-error", lambda text: "no such file" in text)
        browser.ask("Page.reload")
        wait_for(browser, "#live-error", lambda text: "no such file" in text)
        wait_for(browser, ".card.system", lambda text: "Be kind." in text)
        save(project, SUPPORT.replace("kind", "brief"))
        wait_for(browser, ".card.system", lambda text: "Be brief." in text)
        assert "" == text_of(browser, "#live-error")


def test_what_stays(browser: Browser, project: Path) -> None:
    """A save keeps the scroll, the parts that were opened, the tab, the search and the focus."""
    code = SUPPORT.replace("        User(", "        History(TURNS)\n        User(") + (
        'TURNS = [{"role": r, "content": f"turn {n} " * 30} for n in range(60)'
        ' for r in ("user", "assistant")]\n'
    )
    save(project, code)
    with preview(project, *OPTIONS[:3]) as running:
        browser.look()
        browser.open(running.address)
        wait_for(browser, "[data-message='0']", lambda text: text)
        browser.run("document.querySelector('#tab-settings').click()")
        browser.run("document.querySelector('.fold[aria-expanded=true]').click()")
        browser.press("/")
        browser.ask("Input.insertText", text="turn 3 ")
        for _ in range(2):
            browser.press("Enter")
        browser.run("document.querySelector('#message-list').scrollTop += 40")
        before = browser.run(FIRST_CARD)
        renders = "document.querySelectorAll('.fold[aria-expanded=false]').length"
        folded = browser.run(renders)
        save(project, code.replace("Be kind.", "Be brief."))
        wait_for(browser, "#tree-rows", lambda _: "Be brief." in page_of(running))
        wait_for(browser, "#live-state", lambda text: "Rendered" in text)
        message, top = browser.run(FIRST_CARD)
        assert before[0] == message
        assert abs(before[1] - top) < 60
        assert [1, 1] == [folded, browser.run(renders)]
        assert "Settings" == text_of(browser, "[aria-selected=true]")
        assert "turn 3 " == browser.run("document.querySelector('#q').value")
        assert "q" == browser.run("document.activeElement.id")


def page_of(running: Preview) -> str:
    """Return the page data of a preview."""
    if not running.states:
        running.follow()
    return json.dumps([state.get("page") for state in running.states])


def test_the_slider(browser: Browser, project: Path) -> None:
    """The slider drops a part and brings it back, goes beyond the budget, and is set back."""
    with preview(project, *OPTIONS) as running:
        opened(browser, running)
        wait_for(browser, ".interval .part", lambda text: "terms/" in text)
        slide(browser, 150)
        dropped = wait_for(browser, ".card.dropped", lambda text: "terms/hours.md" in text)
        assert "left out" in dropped
        assert "150 tokens" == browser.run("document.querySelector('#live-slider').ariaValueText")
        assert 230 < browser.run("Number(document.querySelector('#live-slider').max)")
        rows = browser.run("[...document.querySelectorAll('.interval')].map(row => row.innerText)")
        assert any("terms/hours.md" in row and "with 2" in row for row in rows)
        browser.run(
            "[...document.querySelectorAll('.interval')]"
            ".find(row => row.innerText.includes('hours')).querySelector('button').click()"
        )
        wait_for(browser, "#message-list", lambda text: "left out" not in text)
        slide(browser, 20)
        wait_for(browser, "#live-error", lambda text: "the prompt needs" in text)
        browser.run("document.querySelector('#live-reset').click()")
        wait_for(browser, "#budget b", lambda text: "of 230 tokens" in text)
        wait_for(browser, "#live-error", lambda text: text == "")
        assert [] == browser.complaints()


def slide(browser: Browser, budget: int) -> None:
    """Move the slider."""
    browser.run(
        f"(slider => {{ slider.value = {budget}; slider.dispatchEvent(new Event('input')); }})"
        "(document.querySelector('#live-slider'))"
    )


def test_models_and_prompts(browser: Browser, project: Path) -> None:
    """Another model, a payload for another provider, and another prompt of a list."""
    (project / "more.py").write_text(
        "from promptdsl import *\n\nFIRST = System('One.')\nSECOND = System('Two.')\n"
    )
    with preview(project, "more.py", *OPTIONS) as running:
        browser.look()
        browser.open(running.address)
        wait_for(browser, ".card.system", lambda text: "One." in text)
        fill(browser, "#live-model", "gpt-5")
        wait_for(browser, "#budget b", lambda text: "gpt-5:" in text)
        fill(browser, "#live-target", "gemini")
        wait_for(browser, ".buttons", lambda text: "gemini" in text)
        browser.run("document.querySelector('#prompt').value = '1'")
        browser.run("document.querySelector('#prompt').dispatchEvent(new Event('change'))")
        wait_for(browser, ".card.system", lambda text: "Two." in text)
        assert "more.py:SECOND" == text_of(browser, "#title")
        save(project, SUPPORT.replace("kind", "brief"))
        browser.run("document.querySelector('#prompt').value = '2'")
        browser.run("document.querySelector('#prompt').dispatchEvent(new Event('change'))")
        wait_for(browser, ".card.system", lambda text: "Be brief." in text)
        assert [] == browser.complaints()


def fill(browser: Browser, selector: str, text: str) -> None:
    """Write a text into a field."""
    browser.run(
        f"(field => {{ field.value = {json.dumps(text)};"
        f" field.dispatchEvent(new Event('change')); }})(document.querySelector('{selector}'))"
    )


def test_a_token(browser: Browser, project: Path) -> None:
    """The token leaves the address, stays for a reload, and is asked for without it."""
    with preview(project, *OPTIONS) as running:
        opened(browser, running)
        assert running.token not in browser.run("location.href")
        browser.ask("Page.reload")
        wait_for(browser, ".card.system", lambda text: "Be kind." in text)
        assert "" == browser.run("document.cookie")
        browser.run("sessionStorage.clear()")
        browser.ask("Page.reload")
        wait_for(browser, "#live-state", lambda text: "not have the token" in text)
        assert "" == text_of(browser, ".card.system")


def test_two_previews(browser: Browser, project: Path) -> None:
    """Two previews in one browser each keep their own token."""
    (project / "other.py").write_text(SUPPORT.replace("kind", "brief"))
    with preview(project, *OPTIONS) as running, preview(project, "other.py:answer") as other:
        opened(browser, running)
        browser.open(other.address)
        wait_for(browser, ".card.system", lambda text: "Be brief." in text)
        browser.open(f"http://127.0.0.1:{running.port}/")
        wait_for(browser, ".card.system", lambda text: "Be kind." in text)


def test_the_end(browser: Browser, project: Path) -> None:
    """When the preview ends, its page stays and says so; a new one at the same port is followed."""
    with preview(project, *OPTIONS) as running:
        opened(browser, running)
        port = running.port
    wait_for(browser, "#live-state", lambda text: "The preview has ended" in text)
    assert "Be kind." in text_of(browser, ".card.system")
    with preview(project, *OPTIONS, "--port", str(port)) as running:
        browser.run(f"location.hash = 'token={running.token}'")
        wait_for(browser, "#live-state", lambda text: "Rendered" in text)


def test_importing(browser: Browser, project: Path) -> None:
    """A slow import is counted on the page, and its limit is named."""
    save(project, "while True:\n    pass\n")
    with preview(project, *OPTIONS, "--timeout", "5") as running:
        browser.look()
        browser.open(running.address)
        wait_for(browser, "#live-state", lambda text: "importing, 2 s" in text)
        wait_for(browser, "#live-error", lambda text: "longer than 5 s" in text)


def test_a_server_that_is_killed(browser: Browser, project: Path) -> None:
    """The page of a preview that was killed during an import does not count on."""
    save(project, "while True:\n    pass\n")
    with preview(project, *OPTIONS) as running:
        browser.look()
        browser.open(running.address)
        wait_for(browser, "#live-state", lambda text: "importing, 1 s" in text)
        running.process.kill()
        wait_for(browser, "#live-state", lambda text: "The preview has ended" in text)
        for _ in range(30):
            time.sleep(0.05)
            assert "The preview has ended" in text_of(browser, "#live-state")


def test_a_hidden_tab(browser: Browser, project: Path) -> None:
    """A tab that is hidden holds no connection; when it is seen again, it shows the last save."""
    with preview(project, *OPTIONS) as running:
        opened(browser, running)
        hide(browser, "true")
        running.follow()
        since = len(running.states)
        save(project, SUPPORT.replace("kind", "brief"))
        running.wait(lambda state: "Be brief." in json.dumps(state.get("page")), since)
        time.sleep(0.5)
        assert "Be kind." in text_of(browser, ".card.system")
        assert "Rendered" in text_of(browser, "#live-state")
        hide(browser, "false")
        wait_for(browser, ".card.system", lambda text: "Be brief." in text)
        assert [] == browser.complaints()


def hide(browser: Browser, is_hidden: str) -> None:
    """Hide the tab, or show it again, as far as its page can know."""
    browser.run(
        f"Object.defineProperty(document, 'hidden', {{ value: {is_hidden}, configurable: true }})"
        " && document.dispatchEvent(new Event('visibilitychange'))"
    )


@pytest.mark.parametrize("width", [400, 1400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_use_it(browser: Browser, project: Path, width: int, scheme: str) -> None:
    """The live page has no finding of axe, and is not wider than its window."""
    with preview(project, *OPTIONS) as running:
        opened(browser, running)
        browser.look(width, scheme)
        assert [] == browser.findings()
        save(project, SUPPORT.replace("    with", "    print('x')\n    oops\n    with", 1))
        wait_for(browser, "#live-error", lambda text: "oops" in text)
        browser.run("document.querySelector('#live-output').open = true")
        assert [] == browser.findings()
        wider = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert 0 == browser.run(wider)
