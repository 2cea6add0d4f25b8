"""Pictures of the page for the documentation: python -m tests.page.pictures writes them."""

import tempfile
from pathlib import Path
from typing import Any

from promptdsl.page import PagePrompt, write_page
from tests.browser import chromium
from tests.page.prompts import MODEL, agent, answer

FOLDER = Path(__file__).parents[2] / "docs" / "pictures"


def main() -> None:
    """Write a picture of a prompt, and one of the requests of an agent."""
    folder = Path(tempfile.mkdtemp())
    browser = chromium(folder / "profile")
    options: dict[str, Any] = {
        "model": MODEL,
        "cache": "auto",
        "models": ["gpt-5", "gemini"],
        "price": (3, 0.3),
    }
    pages = {
        "prompt-page": (PagePrompt("answer", (answer(),)), 230, "#at=2.0..5.8"),
        "agent-page": (PagePrompt("agent", [*map(agent, range(30))]), 4_500, "#r=22&tab=changes"),
    }
    FOLDER.mkdir(exist_ok=True)
    for name, (prompt, budget, address) in pages.items():
        write_page(folder / "page.html", prompt, budget=budget, reserve=30, **options)
        browser.look(1280)
        browser.open(f"{(folder / 'page.html').as_uri()}{address}")
        browser.run("new Promise(done => setTimeout(done, 300))")
        browser.picture(FOLDER / f"{name}.png")
    browser.close()


if __name__ == "__main__":
    main()
