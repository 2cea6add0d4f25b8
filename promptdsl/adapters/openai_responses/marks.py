"""Cache marks: each on the part it stands behind, at most four in a request."""

from itertools import chain
from typing import Any, cast

from promptdsl.adapters.openai_responses.request import Items
from promptdsl.wire.marks import settle_marks
from promptdsl.wire.request import Mark, Param

MARK = "prompt_cache_breakpoint"
_TEXTS = ("input_text", "output_text")


def marked(request: Items, block: Any, part: Param | None) -> Param | None:
    """Return the part with its block's cache mark, where there may be one (never on an answer)."""
    if block.cache is None or (part and MARK in part):
        return part
    able = request.facts.cache_marks and request.message.role != "assistant"
    if part is None or not able:
        request.lose("hint", "cache mark", "the target takes none here")
        return part
    if block.cache == "1h":
        request.lose("hint", "an hour to live", "a mark lives as long as the request says")
    part[MARK] = {"mode": "explicit"}
    request.marks.append(Mark(part, block.cache, request.index, request.message))
    return part


def joined(parts: list[Param]) -> str | list[Param]:
    """Return texts without marks as one string, a blank line between them; else the parts."""
    plain = all(part["type"] in _TEXTS and MARK not in part for part in parts)
    return "\n\n".join(part["text"] for part in parts) if plain else parts


def write_marks(request: Items) -> None:
    """Keep the four marks that live longest and cover most, none behind unanswered requests."""
    places = [(item, key) for item in request.sent for key in ("content", "output")]
    lists = [(item, key) for item, key in places if _may_be_marked(item, key)]
    parts = chain.from_iterable(item[key] for item, key in lists)
    kept = {id(mark.param) for mark in settle_marks(request, parts, ordered=False)}
    for mark in request.marks:
        if id(mark.param) not in kept:
            del mark.param[MARK]
    for item, key in lists:
        item[key] = joined(cast("list[Param]", item[key]))


def _may_be_marked(item: Param, key: str) -> bool:
    """Return whether parts under a key are those of an input: neither an answer nor unknown."""
    said = item.get("role", "assistant") != "assistant" if key == "content" else _is_result(item)
    return said and isinstance(item.get(key), list)


def _is_result(item: Param) -> bool:
    return item.get("type") in ("function_call_output", "custom_tool_call_output")
