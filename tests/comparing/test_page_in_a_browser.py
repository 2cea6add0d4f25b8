"""The page of a report in Chromium: filters and keys work, nothing runs, nothing is loaded."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from promptdsl.comparing import DiffReport
from tests.browser import Browser, chromium
from tests.comparing.reports import friday, hostile

pytestmark = pytest.mark.browser

SHOWN = """[...document.querySelectorAll('.change, .prompt')]
    .filter(it => it.checkVisibility()).map(it => it.id)"""
LOOKS = [(width, scheme) for width in (400, 1400) for scheme in ("light", "dark")]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Return a browser that is closed after the tests."""
    browser = chromium(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


def address(report: DiffReport, folder: Path) -> str:
    """Return the address of the page of a report."""
    page = folder / "report.html"
    page.write_text(report.html, "utf-8")
    return page.as_uri()


@pytest.fixture
def page(browser: Browser, tmp_path: Path) -> Browser:
    """Return a browser with the page of a Friday."""
    browser.look()
    browser.open(address(friday(), tmp_path))
    return browser


def chosen(page: Browser, id: str, value: str) -> list[str]:
    """Return what is shown with a filter."""
    page.run(f"document.getElementById('{id}').value = {value!r}")
    page.run(f"document.getElementById('{id}').dispatchEvent(new Event('input'))")
    shown: list[str] = page.run(SHOWN)
    return shown


def spoken(page: Browser, role: str) -> list[str]:
    """Return what a reader of screens says for all parts of a role."""
    page.ask("Accessibility.enable")
    nodes = page.ask("Accessibility.getFullAXTree")["nodes"]
    of_role = (it for it in nodes if it.get("role", {}).get("value") == role)
    return sorted(it["name"]["value"] for it in of_role)


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_hostile_prompts_run_nothing(
    browser: Browser, tmp_path: Path, width: int, scheme: str
) -> None:
    """No text of a prompt runs, loads or leaves the page, nor is it wider; nobody complains."""
    browser.look(width, scheme)
    there = address(hostile(), tmp_path)
    browser.open(there)
    assert "6 of 6 prompts differ" == browser.run("document.title")
    assert [there] == browser.loaded()
    assert [] == browser.complaints()
    assert 0 == browser.run(
        "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("report", [friday, hostile])
def test_everybody_can_use_it(
    browser: Browser, tmp_path: Path, report: Callable[[], DiffReport], scheme: str
) -> None:
    """Axe finds nothing, also with all parts open and the list of keys shown."""
    browser.look(1400, scheme)
    browser.open(address(report(), tmp_path))
    assert [] == browser.findings()
    browser.run("document.querySelectorAll('details').forEach(part => { part.open = true })")
    assert [] == browser.findings()
    browser.press("?")
    assert [] == browser.findings()


def test_the_browser_would_notice(browser: Browser, tmp_path: Path) -> None:
    """A page with a foreign script complains of it, and does not run it."""
    foreign = "<script>document.title = 'RAN'</script><img src=http://127.0.0.1:9/x.png></body>"
    page = tmp_path / "report.html"
    page.write_text(friday().html.replace("</body>", foreign), "utf-8")
    browser.look()
    browser.open(page.as_uri())
    assert "10 of 11 prompts differ" == browser.run("document.title")
    assert 2 == len(browser.complaints())


def test_without_scripts_all_can_be_read(browser: Browser, tmp_path: Path) -> None:
    """Without its script the page has all changes, and no filters."""
    browser.look(script=False)
    browser.open(address(friday(), tmp_path))
    prompts = ["p0", "p1", "p2", "p3", "p4", "p4-0", "p5", "p5-0", "p7", "p8", "p9", "p10"]
    assert ["g0", *prompts] == browser.run(SHOWN)
    assert not browser.run("document.querySelector('#filters').checkVisibility()")


def test_filters(page: Browser) -> None:
    """Each filter leaves the changes and the prompts that it names; the hash keeps it."""
    assert ["p4", "p4-0", "p5", "p5-0"] == chosen(page, "section", "event")
    assert ["p5", "p5-0"] == chosen(page, "model", "gpt-5")
    assert ["g0", "p1", "p3", "p5", "p5-0"] == chosen(page, "section", "")
    assert "2 of 3 changes" == page.run("document.getElementById('count').textContent")
    page.press("c")
    assert ["g0", *(f"p{number}" for number in range(6))] == chosen(page, "kind", "changed")
    page.press("c")
    assert ["p4-0", "p5-0"] == [it for it in chosen(page, "q", "INVOICE 1881") if "-" in it]
    page.run("new Promise(done => setTimeout(done, 150))")
    assert "#q=INVOICE+1881" == page.run("location.hash")


def test_keys(page: Browser) -> None:
    """The keys go from change to change, fold, search and help."""
    at = "document.activeElement.closest('details')?.id"
    steps: list[str] = []
    for key in ("j", "j", "j", "j", "k", "k"):
        page.press(key)
        steps.append(page.run(at))
    assert ["g0", "p4-0", "p5-0", "p5-0", "p4-0", "g0"] == steps
    page.press("f")
    assert not page.run("document.getElementById('g0').open")
    page.press("f", "?")
    assert [True, True] == page.run(
        "[document.getElementById('g0').open, document.getElementById('help').open]"
    )
    page.run("document.getElementById('help').close()")
    page.press("F")
    assert [False] * 3 == page.run("changes.map(it => it.open)")
    page.press("/", "j")
    assert "j" == page.run("document.getElementById('q').value")


def test_a_shared_change_in_its_prompts(page: Browser) -> None:
    """Where a prompt names a change that it shares, the lines open in their place."""
    page.run("document.querySelector('#p3 .shared').open = true")
    page.run("new Promise(requestAnimationFrame)")
    assert page.run("document.querySelector('#g0 td').textContent") == page.run(
        "document.querySelector('#p3 .shared td').textContent"
    )


def test_names_that_are_read_aloud(page: Browser) -> None:
    """Each control has a name for a reader of screens."""
    expected = {
        "button": ["Clear", "Keys", "↑ Previous", "↓ Next"],
        "combobox": ["Kind", "Model", "Section"],
        "search": ["Filter the changes"],
        "searchbox": ["Search"],
    }
    assert expected == {role: spoken(page, role) for role in expected}


def test_an_address_that_was_sent(browser: Browser, tmp_path: Path) -> None:
    """The hash restores the filters, the place and what is folded."""
    browser.look()
    browser.open(address(friday(), tmp_path) + "#model=gpt-5&at=p5-0&folded=g0")
    assert ["g0", "p1", "p3", "p5", "p5-0"] == browser.run(SHOWN)
    assert "p5-0" == browser.run("document.querySelector('.current').id")
    assert not browser.run("document.getElementById('g0').open")


@pytest.mark.parametrize("width", [400, 1400])
def test_a_report_of_a_thousand_prompts(browser: Browser, tmp_path: Path, width: int) -> None:
    """A page of a thousand prompts that differ can be read and filtered."""
    browser.look(width)
    browser.open(address(friday(500), tmp_path))
    assert 1_007 == len(browser.run(SHOWN))
    assert 502 == len(chosen(browser, "model", "gpt-5"))
