"""Cache marks: each on the part it stands behind, at most four in a request."""

from collections.abc import Sequence
from typing import Any, cast

from promptdsl.adapters.openai_chat.request import Mark, Part, Request
from promptdsl.messages import FLEETING, Message

MARK = "prompt_cache_breakpoint"
_MOST = 4


def marked(request: Request, role: str, block: Any, part: Part | None) -> Part | None:
    """Return the part with its block's cache mark, where there may be one (never on an answer)."""
    if block.cache is None or (part and MARK in part):
        return part
    if part is None or role == "assistant" or not request.facts.cache_marks:
        request.lose("hint", "a cache mark", "the target takes none here")
        return part
    if block.cache == "1h":
        request.lose("hint", "an hour to live", "a mark lives as long as the request says")
    part[MARK] = {"mode": "explicit"}
    request.marks.append(Mark(part, block.cache, request.index, request.message))
    return part


def joined(parts: list[Part]) -> str | list[Part]:
    """Return texts without marks as one string, a blank line between them; else the parts."""
    plain = all(part["type"] == "text" and MARK not in part for part in parts)
    return "\n\n".join(part["text"] for part in parts) if plain else parts


def settle_marks(request: Request, messages: Sequence[Message]) -> None:
    """Keep the four marks that live longest and cover most, none behind unanswered requests."""
    answers = (i for i in reversed(range(len(messages))) if messages[i].role == "assistant")
    tail = range(next(answers, 0), len(messages))
    fresh = next((i for i in tail if messages[i].kind in FLEETING), len(messages))
    fitting = [mark for mark in reversed(request.marks) if mark.place < fresh]
    kept = {id(mark) for mark in sorted(fitting, key=lambda mark: mark.cache != "1h")[:_MOST]}
    for mark in request.marks:
        if id(mark) not in kept:
            request.message = mark.message
            del mark.part[MARK]
            request.lose("hint", "a cache mark", "over four, or behind a request not answered yet")
    for entry in request.messages:
        if isinstance(entry["content"], list):
            entry["content"] = joined(cast("list[Part]", entry["content"]))
