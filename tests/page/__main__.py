"""The file of the test that feeds the page: python -m tests.page writes it."""

import json
from pathlib import Path
from typing import Any

from promptdsl.page import PagePrompt, page_data
from tests.page.prompts import MODEL, answer

FILE = Path(__file__).with_name("data.json")


def data() -> str:
    """Return the data of a page with one prompt, with its folder as ``/srv/``."""
    options: dict[str, Any] = {"model": MODEL, "budget": 230, "reserve": 30, "models": ["gpt-5"]}
    text = json.dumps(page_data(PagePrompt("answer", (answer(),)), **options), indent=1)
    return text.replace(f"{Path(__file__).parent}/", "/srv/") + "\n"


if __name__ == "__main__":
    FILE.write_text(data(), "utf-8")
