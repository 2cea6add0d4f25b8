"""Cache marks: each on the part it stands behind, at most four in a request."""

from collections.abc import Iterator
from itertools import chain
from typing import Any, cast

from promptdsl.blocks import Block, Cache, TextBlock
from promptdsl.wire.marks import settle_marks
from promptdsl.wire.request import Mark, Param, Request

MARK = "prompt_cache_breakpoint"
JOINT = "\n\n"
"""What stands between neighbouring texts."""


def marked(request: Request, role: str, cache: Cache | None, part: Param | None) -> Param | None:
    """Return the part with its block's cache mark, where there may be one (never on an answer)."""
    if cache is None or (part and MARK in part):
        return part
    if part is None or role == "assistant" or not request.facts.cache_marks:
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
        if part["type"] == "text":
            opening = [""] if sent and sent[-1]["type"] == "text" else []
            part = {**part, "text": JOINT.join([*opening, *(one["text"] for one in run)])}
        sent.append(part)
    plain = len(sent) == 1 and sent[0]["type"] == "text" and MARK not in sent[0]
    return str(sent[0]["text"]) if plain else sent or ""


def _runs(parts: list[Param]) -> Iterator[list[Param]]:
    """Yield neighbouring texts up to a mark, and each other part alone."""
    run: list[Param] = []
    for part in parts:
        if run and (part["type"] != "text" or run[-1]["type"] != "text" or MARK in run[-1]):
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


def write_marks(request: Request, messages: list[Param]) -> None:
    """Keep the four marks that cover most, none behind unanswered requests."""
    contents: list[list[Param]] = [
        entry["content"] for entry in messages if isinstance(entry["content"], list)
    ]
    kept = {id(mark.param) for mark in settle_marks(request, chain(*contents), ordered=False)}
    for mark in request.marks:
        if id(mark.param) not in kept:
            del mark.param[MARK]
    for entry in messages:
        if isinstance(entry["content"], list):
            entry["content"] = _finished(cast("list[Param]", entry["content"]))
