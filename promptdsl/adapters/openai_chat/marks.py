"""Cache marks: each on the part it stands behind, at most four in a request."""

from itertools import chain
from typing import Any, cast

from promptdsl.wire.marks import settle_marks
from promptdsl.wire.request import Mark, Param, Request

MARK = "prompt_cache_breakpoint"


def marked(request: Request, role: str, block: Any, part: Param | None) -> Param | None:
    """Return the part with its block's cache mark, where there may be one (never on an answer)."""
    if block.cache is None or (part and MARK in part):
        return part
    if part is None or role == "assistant" or not request.facts.cache_marks:
        request.lose("hint", "cache mark", "the target takes none here")
        return part
    if block.cache == "1h":
        request.lose("hint", "an hour to live", "a mark lives as long as the request says")
    part[MARK] = {"mode": "explicit"}
    request.marks.append(Mark(part, block.cache, request.index, request.message))
    return part


def joined(parts: list[Param]) -> str | list[Param]:
    """Return texts without marks as one string, a blank line between them; else the parts."""
    plain = all(part["type"] == "text" and MARK not in part for part in parts)
    return "\n\n".join(part["text"] for part in parts) if plain else parts


def write_marks(request: Request, messages: list[Param]) -> None:
    """Keep the four marks that live longest and cover most, none behind unanswered requests."""
    contents: list[list[Param]] = [
        entry["content"] for entry in messages if isinstance(entry["content"], list)
    ]
    kept = {id(mark.param) for mark in settle_marks(request, chain(*contents), ordered=False)}
    for mark in request.marks:
        if id(mark.param) not in kept:
            del mark.param[MARK]
    for entry in messages:
        if isinstance(entry["content"], list):
            entry["content"] = joined(cast("list[Param]", entry["content"]))
