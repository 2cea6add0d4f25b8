"""How long a page takes in Chromium: python -m tests.page.opening FILE.html prints the times.

The medians of five runs: the time until the first content and until all is shown, the longest task
while it opens and at each action (0 if none takes 50 ms), and the nodes. The browser notes no
requests: it would decode the whole file once more for its debugger, in one task of the page.
"""

import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from tests.browser import Browser, chromium

RUNS = 5
OBSERVER = """
window.tasks = [];
new PerformanceObserver(list => list.getEntries().forEach(
  task => tasks.push(task.duration))).observe({ type: "longtask", buffered: true });
"""
PAUSE = "new Promise(done => setTimeout(done, 400))"
LONGEST = "Math.max(0, ...tasks.splice(0))"
PAINT = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
NODES = "document.querySelectorAll('*').length"
BUSY = "document.querySelector('#app[aria-busy]') !== null"
TABS = ("losses", "changes", "budgets", "settings", "inputs", "beside", "payload")
ACTIONS = {
    "scroll the messages": "document.querySelector('#message-list').scrollTop += 4000",
    "scroll to the end": "document.querySelector('#message-list').scrollTop = 1e9",
    "scroll the payload": "(document.querySelector('.json') ?? {}).scrollTop = 4000",
    **{f"tab {name}": f"document.querySelector('#tab-{name}').click()" for name in TABS},
    "point at a piece": "document.querySelector('.piece')?.click()",
    "request after": "document.dispatchEvent(new KeyboardEvent('keydown', { key: ']' }))",
    "last request": "[...document.querySelectorAll('.column')].at(-1)?.click()",
}


def settled(browser: Browser) -> None:
    """Wait until the page has read what it shows."""
    while browser.run(BUSY):
        time.sleep(0.02)


def opened(browser: Browser, address: str) -> dict[str, float]:
    """Open a page, do each action, and return the figures, in milliseconds."""
    browser.open(address)
    settled(browser)
    shown = browser.run("performance.now()")
    browser.run(PAUSE)
    figures = {"first content": browser.run(PAINT), "all shown": shown}
    figures |= {"longest task at opening": browser.run(LONGEST), "nodes": browser.run(NODES)}
    for name, action in ACTIONS.items():
        browser.run(f"void ({action})")
        settled(browser)
        browser.run(PAUSE)
        figures[name] = browser.run(LONGEST)
        figures["nodes"] = max(figures["nodes"], browser.run(NODES))
    browser.press("/")
    browser.ask("Input.insertText", text="99")
    browser.press("Enter")
    browser.run(PAUSE)
    figures["search"] = browser.run(LONGEST)
    return figures


def main(file: Path) -> None:
    """Print the medians of five runs."""
    with tempfile.TemporaryDirectory() as folder:
        browser = chromium(Path(folder))
        browser.look()
        browser.ask("Network.disable")
        browser.ask("Page.addScriptToEvaluateOnNewDocument", source=OBSERVER)
        runs = [opened(browser, file.resolve().as_uri()) for _ in range(RUNS)]
        browser.close()
    for name in runs[0]:
        print(f"{name:28} {median(run[name] for run in runs):8,.0f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
