"""The data of a page as its script reads it: with the values in the places of their references."""

import json
import re
from pathlib import Path
from typing import Any

DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)
VALUES = re.compile(
    r'<script type="application/json" class="values" data-first="(\d+)">(.*?)</script>', re.DOTALL
)


def data_in(page: str | Path) -> dict[str, Any]:
    """Return the data in the text or the file of a page, as ``page_data`` returns it."""
    text = page.read_text("utf-8") if isinstance(page, Path) else page
    match = DATA.search(text)
    assert match, "the page has no data"
    data: dict[str, Any] = json.loads(match[1])
    data["values"] = []
    for first, values in VALUES.findall(text):
        assert int(first) == len(data["values"])
        data["values"] += json.loads(values)
    return data


def requests_of(data: dict[str, Any]) -> list[dict[str, Any]]:
    """Return all requests of a page, with the values in the places of their references."""
    known: dict[str, Any] = {}

    def read(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: read(part) for key, part in value.items()}
        if isinstance(value, list):
            return [*map(read, value)]
        if not isinstance(value, str) or not value.startswith("~"):
            return value
        if value.startswith("~~"):
            return value[1:]
        if value.startswith("~n"):
            return json.loads(value[2:])
        if value not in known:
            known[value] = referred(value)
        return known[value]

    def referred(text: str) -> Any:
        target = data["values"][int(text.lstrip("~to"))]
        if text.startswith("~t"):
            return "".join(map(read, target))
        if text.startswith("~o"):
            return dict(zip(target[0], map(read, target[1:]), strict=True))
        return read(target)

    return [read(request) for prompt in data["prompts"] for request in prompt["requests"]]
