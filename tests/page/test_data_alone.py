"""The page is fed by its data alone: nothing here imports the package, and no server answers it."""

import json
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.browser import Browser

pytestmark = pytest.mark.browser

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "promptdsl" / "page"
HTML = """<!doctype html><html lang="en"><title>Page</title><link rel="stylesheet" href="page.css">
<div id="app"></div><script type="application/json" id="data">{}</script>
<script type="module" src="js/app.js"></script></html>"""


class Quiet(SimpleHTTPRequestHandler):
    """Answers with files, and writes no log."""

    def log_message(self, format: str, *args: object) -> None:
        """Write nothing."""


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """Return the address of a page that a server of files serves: the modules and ``data.json``."""
    data = json.loads((HERE / "data.json").read_text("utf-8"))
    (tmp_path / "index.html").write_text(HTML.format(json.dumps(data).replace("<", "\\u003c")))
    (tmp_path / "js").symlink_to(PAGE / "js")
    (tmp_path / "page.css").symlink_to(PAGE / "page.css")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/index.html"
    server.shutdown()
    server.server_close()


def test_the_modules_show_a_file(browser: Browser, address: str) -> None:
    """The modules, as they are in the package, show what is in the file."""
    browser.look()
    browser.open(address)
    browser.run("new Promise(done => setTimeout(done, 200))")
    texts = browser.run(
        "['#title', '#budget b', '.card.system', '.card.dropped', '#tab'].map("
        "selector => document.querySelector(selector).innerText)"
    )
    title, budget, system, dropped, payload = texts
    assert "answer" == title
    assert budget.endswith("129 of 230 tokens · 30 for the answer · 71 free")
    assert "You are a support agent." in system
    assert "terms/hours.md" in dropped
    assert '"messages": [' in payload
    assert [] == [line for line in browser.complaints() if "favicon" not in line]
