"""Cache marks: each on the part it stands behind, at most four in a request."""

from collections.abc import Iterator
from itertools import chain
from typing import Any, cast

from promptdsl.adapters.openai_responses.request import Items
from promptdsl.blocks import Block, Cache, TextBlock
from promptdsl.wire.marks import settle_marks
from promptdsl.wire.request import Mark, Param

MARK = "prompt_cache_breakpoint"
JOINT = "\n\n"
"""What stands between neighbouring texts."""

_TEXTS = ("input_text", "output_text")


def marked(request: Items, cache: Cache | None, part: Param | None) -> Param | None:
    """Return the part with its block's cache mark, where there may be one (never on an answer)."""
    if cache is None or (part and MARK in part):
        return part
    able = request.facts.cache_marks and request.message.role != "assistant"
    if part is None or not able:
        request.lose("hint", "cache mark", "the target takes none here")
        return part
    if cache == "1h":
        request.lose("hint", "an hour to live", "a mark lives as long as the request says")
    part[MARK] = {"mode": "explicit"}
    request.marks.append(Mark(part, cache, request.index, request.message))
    return part


def joined(parts: list[Param]) -> str | list[Param]:
    """Return parts as they are sent; with marks among them only when it is known which stay."""
    return parts if any(MARK in part for part in parts) else _finished(parts)


def _finished(parts: list[Param]) -> str | list[Param]:
    """Return parts, neighbouring texts as one; what is all one text is a string.

    Behind a marked text the next one begins with the blank line, so no mark changes a token.
    """
    sent: list[Param] = []
    for run in _runs(parts):
        part = run[-1]
        if part["type"] in _TEXTS:
            opening = [""] if sent and sent[-1]["type"] in _TEXTS else []
            part = {**part, "text": JOINT.join([*opening, *(one["text"] for one in run)])}
        sent.append(part)
    plain = len(sent) == 1 and sent[0]["type"] in _TEXTS and MARK not in sent[0]
    return str(sent[0]["text"]) if plain else sent or ""


def _runs(parts: list[Param]) -> Iterator[list[Param]]:
    """Yield neighbouring texts up to a mark, and each other part alone."""
    run: list[Param] = []
    for part in parts:
        texts = run and part["type"] in _TEXTS and run[-1]["type"] in _TEXTS
        if run and (not texts or MARK in run[-1]):
            yield run
            run = []
        run.append(part)
    if run:
        yield run


def unjoined(blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    """Return blocks that were read, texts behind a marked one without the blank line."""
    return tuple(
        _unjoined(block) if number and _ends_marked(blocks[number - 1]) else block
        for number, block in enumerate(blocks)
    )


def _unjoined(block: Block) -> Block:
    if not isinstance(block, TextBlock) or "refusal" in block.extra:
        return block
    return TextBlock(block.text.removeprefix(JOINT) or block.text, block.cache, block.extra)


def _ends_marked(block: Any) -> bool:
    return isinstance(block, TextBlock) and bool(block.cache) and "refusal" not in block.extra


def write_marks(request: Items) -> None:
    """Keep the four marks that cover most, none behind unanswered requests."""
    places = [(item, key) for item in request.sent for key in ("content", "output")]
    lists = [(item, key) for item, key in places if _may_be_marked(item, key)]
    parts = chain.from_iterable(item[key] for item, key in lists)
    kept = {id(mark.param) for mark in settle_marks(request, parts, ordered=False)}
    for mark in request.marks:
        if id(mark.param) not in kept:
            del mark.param[MARK]
    for item, key in lists:
        item[key] = _finished(cast("list[Param]", item[key]))


def _may_be_marked(item: Param, key: str) -> bool:
    """Return whether parts under a key are those of an input: neither an answer nor unknown."""
    own = "type" not in item and item["role"] != "assistant"
    said = own if key == "content" else _is_result(item)
    return said and isinstance(item.get(key), list)


def _is_result(item: Param) -> bool:
    return item.get("type") in ("function_call_output", "custom_tool_call_output")
