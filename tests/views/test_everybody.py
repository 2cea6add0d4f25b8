"""The views of notebooks in Chromium: axe finds nothing, light and dark."""

from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path

import pytest

from promptdsl import *
from tests.browser import Browser, chromium
from tests.views.hostile_prompt import hostile_prompt

pytestmark = pytest.mark.browser

PICTURE = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
    "+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
NOTEBOOK = """\
<!doctype html><html lang="en" style="color-scheme: {scheme}; {colours}"><head>
<meta charset="utf-8"><title>calm</title></head>
<body><main><h1>A notebook</h1>{view}</main></body></html>"""
COLOURS = {
    "light": "background: #fff; color: #212121",
    "dark": "background: #111; color: #e0e0e0",
}
"""Those of JupyterLab."""
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
BROKEN = """[...document.querySelectorAll('td:first-child, td:last-child')].filter(cell => {
  const range = document.createRange()
  range.selectNodeContents(cell)
  return new Set([...range.getClientRects()].map(box => Math.round(box.bottom / 8))).size > 1
}).map(cell => cell.innerText)"""
OPENED = "document.querySelectorAll('details').forEach(part => { part.open = true })"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Return a browser that is closed after the tests."""
    browser = chromium(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


def long_chat() -> Timeline:
    """Return a conversation of which the middle is not shown, and parts that are dropped."""
    turns = [
        Message("user" if n % 2 == 0 else "assistant", [TextBlock(f"Message {n}.")])
        for n in range(60)
    ]
    with Timeline() as prompt:
        with System():
            Section("rules", "Be kind.", cache=True)
            Section("hours", "We are open from nine to five. " * 20, priority=-1)
        History(turns)
        Grounding("account", Value("Pro"), title="Account")
        Event(UserAction("opened", target="invoice 7"))
        User("Look:", Image.from_bytes(b64decode(PICTURE)))
    return prompt


def views() -> dict[str, str]:
    """Return the notebook views: requests with all that they may show, a record, an outline."""
    hostile = hostile_prompt("http://127.0.0.1:9")
    chat = render(long_chat(), model="claude-sonnet-4-5", budget=1_000, reserve=100)
    sent = render(hostile, model="claude-opus-4-5")
    return {
        "chat": chat._repr_html_(),
        "hostile": sent._repr_html_(),
        "record": PromptRecord.from_dict(sent.record().to_dict())._repr_html_(),
        "outline": hostile._repr_html_(),
    }


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["chat", "hostile", "record", "outline"])
def test_everybody_can_use_it(browser: Browser, tmp_path: Path, name: str, scheme: str) -> None:
    """Axe finds nothing, closed and open; nothing runs or is loaded, no line is too wide."""
    file = tmp_path / "notebook.html"
    file.write_text(
        NOTEBOOK.format(scheme=scheme, colours=COLOURS[scheme], view=views()[name]), "utf-8"
    )
    browser.look(800, scheme)
    browser.open(file.as_uri())
    assert [] == browser.findings()
    browser.run(OPENED)
    assert [] == browser.findings()
    assert ("calm", 0) == (browser.run("document.title"), browser.run(WIDER))
    loaded = [address for address in browser.loaded() if not address.startswith("data:image/png;")]
    assert [file.as_uri()] == loaded


def test_no_number_is_broken(browser: Browser, tmp_path: Path) -> None:
    """On a phone, a number and the name of a file stay on one line; a small picture is drawn."""
    file = tmp_path / "notebook.html"
    view = views()["chat"]
    file.write_text(NOTEBOOK.format(scheme="light", colours=COLOURS["light"], view=view), "utf-8")
    browser.look(400)
    browser.open(file.as_uri())
    browser.run(OPENED)
    assert [] == browser.run(BROKEN)
    assert [1] == browser.run("[...document.images].map(image => image.naturalWidth)")
    assert 0 == browser.run(WIDER)
