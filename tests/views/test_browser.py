"""The views of a hostile prompt in a browser: nothing runs, nothing is loaded, all can be read.

Debian's package ``chromium`` is all it needs. Without it the tests are skipped, but where ``CI`` is
set they fail.
"""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from html import escape, unescape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

import pytest
from markdown_it import MarkdownIt

from promptdsl import Rendered, Timeline, User, render
from tests.views.hostile_prompt import ATTACKS, LONG, hostile_prompt

pytestmark = pytest.mark.browser

WIDTHS = (400, 1400)
PAGE = """\
<!doctype html><html style="color-scheme: {scheme}"><head><title>calm</title></head>\
<body>{view}</body></html>"""
MEASURING = """\
<!doctype html><body>{frames}<pre id="seen"></pre><script>
addEventListener("load", () => setTimeout(() => {
  const pages = [...document.querySelectorAll("iframe")].map(frame => {
    const page = frame.contentDocument
    page.querySelectorAll("details").forEach(part => { part.open = true })
    const wide = [...page.querySelectorAll("body, body *")].filter(part =>
      part.getBoundingClientRect().right > page.documentElement.clientWidth + 0.5)
    const small = [...page.querySelectorAll("pre, summary")].filter(part =>
      parseFloat(frame.contentWindow.getComputedStyle(part).fontSize) < 12)
    return {
      title: page.title,
      overflow: page.documentElement.scrollWidth - page.documentElement.clientWidth,
      wide: wide.map(part => part.tagName),
      small: small.length,
      texts: page.querySelectorAll("pre").length,
    }
  })
  document.getElementById("seen").textContent = JSON.stringify(pages)
}, 500))
</script></body>"""


class Site(NamedTuple):
    """A server on this machine: its address, its pages by path, and the paths it was asked for."""

    address: str
    pages: dict[str, str]
    asked: list[str]


@pytest.fixture
def site() -> Iterator[Site]:
    """Return a server that is stopped after the test."""
    pages: dict[str, str] = {}
    asked: list[str] = []

    class Pages(BaseHTTPRequestHandler):
        """Serves the pages and notes every other path."""

        def do_GET(self) -> None:
            """Answer a request."""
            page = pages.get(self.path)
            if page is None and self.path != "/favicon.ico":
                asked.append(self.path)
            self.send_response(200 if page else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write((page or "").encode())

        def log_message(self, *_: object) -> None:
            """Write no log."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    Thread(target=server.serve_forever, daemon=True).start()
    yield Site(f"http://127.0.0.1:{server.server_port}", pages, asked)
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def chromium() -> str:
    """Return the browser."""
    found = shutil.which("chromium")
    if found is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("there is no chromium")
    return str(found)


def seen(views: list[str], site: Site, chromium: str, folder: Path) -> list[dict[str, Any]]:
    """Return what a browser makes of views, each in a frame of each width, light and dark."""
    frames = [
        f'<iframe width="{width}" height="600" srcdoc="{escape(page)}"></iframe>'
        for view in views
        for page in (PAGE.format(scheme=scheme, view=view) for scheme in ("light", "dark"))
        for width in WIDTHS
    ]
    site.pages["/seen"] = MEASURING.replace("{frames}", "".join(frames))
    command = [
        *(chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
        *(f"--user-data-dir={folder}", "--virtual-time-budget=5000", "--window-size=1600,900"),
        *("--dump-dom", f"{site.address}/seen"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    report = re.search(r'<pre id="seen">(.+?)</pre>', done.stdout, re.DOTALL)
    assert report is not None
    measured: list[dict[str, Any]] = json.loads(unescape(report[1]))
    return measured


def as_markdown(rendered: Rendered) -> str:
    """Return the Markdown of a request as a notebook shows it."""
    return MarkdownIt("commonmark", {"html": True}).render(rendered._repr_markdown_())


def test_a_hostile_prompt_in_a_browser(site: Site, chromium: str, tmp_path: Path) -> None:
    """No script of a prompt runs, no address in it is asked, and no line is wider than the page."""
    rendered = render(hostile_prompt(site.address), model="claude-opus-4-5")
    pages = seen([rendered._repr_html_()], site, chromium, tmp_path)
    expected = {"title": "calm", "overflow": 0, "wide": [], "small": 0}
    assert [expected] * 4 == [{key: page[key] for key in expected} for page in pages]
    assert [18] * 4 == [page["texts"] for page in pages]
    assert [] == site.asked


def test_a_hostile_prompt_as_markdown(site: Site, chromium: str, tmp_path: Path) -> None:
    """As Markdown, no script of a prompt runs and no address in it is asked."""
    view = as_markdown(render(hostile_prompt(site.address), model="claude-opus-4-5"))
    pages = seen([view], site, chromium, tmp_path)
    assert ["calm"] * 4 == [page["title"] for page in pages]
    assert [] == site.asked


def test_the_outline_in_a_browser(site: Site, chromium: str, tmp_path: Path) -> None:
    """The outline of a prompt runs nothing and asks nothing; its table may be scrolled."""
    pages = seen([hostile_prompt(site.address)._repr_html_()], site, chromium, tmp_path)
    assert [("calm", 0)] * 4 == [(page["title"], page["overflow"]) for page in pages]
    assert [] == site.asked


def test_the_browser_would_notice(site: Site, chromium: str, tmp_path: Path) -> None:
    """Unescaped, such a text runs, is loaded, and is wider than the page."""
    raw = f"<p>{LONG}</p><img src={site.address}/1.png>{ATTACKS[0]}"
    pages = seen([raw], site, chromium, tmp_path)
    assert ["RAN"] * 4 == [page["title"] for page in pages]
    assert [] == [page for page in pages if not page["overflow"]]
    assert {"/1.png"} == {*site.asked}


def test_an_empty_view(site: Site, chromium: str, tmp_path: Path) -> None:
    """A request of one word fits, too."""
    pages = seen([render(Timeline(User("Hi.")))._repr_html_()], site, chromium, tmp_path)
    assert [("calm", 0, 1)] * 4 == [(p["title"], p["overflow"], p["texts"]) for p in pages]
