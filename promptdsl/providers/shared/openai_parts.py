"""Parts as OpenAI takes them: neighbouring texts as one, and cache marks on the part before.

The blank line between two texts is the same whether a mark is there or not, so a mark that
comes or goes changes no token.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, TypeGuard, cast

from promptdsl.messages import Block, TextBlock
from promptdsl.messages.field_checks import Cache
from promptdsl.providers.shared.request import Mark, Param, Place, Request

MARK = "prompt_cache_breakpoint"
JOINT = "\n\n"
"""The blank line between neighbouring texts."""

_TEXTS = ("text", "input_text", "output_text")


def marked(request: Request, place: Place, cache: Cache | None, part: Param | None) -> Param | None:
    """Return the part with its block's cache mark, where there may be one (never on an answer)."""
    if cache is None:
        return part
    if part is None or place.message.role == "assistant" or not request.facts.cache_marks:
        request.lose(place, "hint", "cache mark", "the target takes none here")
        return part
    if cache == "1h":
        request.lose(place, "hint", "an hour to live", "a mark lives as long as the request says")
    if MARK not in part:
        part[MARK] = {"mode": "explicit"}
        request.mark(place, part, cache)
    return part


def joined(parts: list[Param]) -> str | list[Param]:
    """Return parts as they are sent; with marks among them only when it is known which stay."""
    return parts if any(MARK in part for part in parts) else finished(parts)


def finished(parts: list[Param]) -> str | list[Param]:
    """Return parts, neighbouring texts as one; what is all one text is a string.

    Behind a marked text the next one begins with the blank line.
    """
    sent: list[Param] = []
    for run in _runs(parts):
        part = run[-1]
        if _is_text(part):
            opening = [""] if sent and _is_text(sent[-1]) else []
            part = {**part, "text": JOINT.join([*opening, *(one["text"] for one in run)])}
        sent.append(part)
    plain = len(sent) == 1 and _is_text(sent[0]) and MARK not in sent[0]
    return str(sent[0]["text"]) if plain else sent or ""


def _is_text(part: Param) -> bool:
    return part["type"] in _TEXTS and isinstance(part.get("text"), str)


def _runs(parts: list[Param]) -> Iterator[list[Param]]:
    """Yield neighbouring texts up to a mark, and each other part alone."""
    run: list[Param] = []
    for part in parts:
        texts = run and _is_text(part) and _is_text(run[-1])
        if run and (not texts or MARK in run[-1]):
            yield run
            run = []
        run.append(part)
    if run:
        yield run


def unjoined(blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    """Return blocks that were read, texts after a marked one without the blank line."""
    found = list(blocks)
    for number, (before, block) in enumerate(pairwise(blocks), 1):
        if _is_joined(before) and _is_joined(block) and before.cache:
            text = block.text.removeprefix(JOINT) or block.text
            found[number] = TextBlock(text, block.cache, block.extra)
    return tuple(found)


def _is_joined(block: Block) -> TypeGuard[TextBlock]:
    return isinstance(block, TextBlock) and "refusal" not in block.extra


def tell_error(parts: list[Param], error: str, *, kind: str) -> None:
    """Put ``Error:`` before the first text of a result, or a text of its own where there is none.

    ``kind`` is the type of a part of text at this target.
    """
    told = next((part for part in parts if part["type"] == kind), None)
    if told is None:
        parts.insert(0, {"type": kind, "text": f"Error: {error}"})
    elif not told["text"].lower().startswith("error:"):
        told["text"] = f"Error: {told['text']}"


def is_marked(parts: Any) -> bool:
    """Return whether there are marks among parts, which are not :func:`joined` yet."""
    return isinstance(parts, list) and any(MARK in part for part in cast("list[Param]", parts))


def settled(parts: list[Param], kept: list[Mark]) -> str | list[Param]:
    """Return parts as they are sent, with the marks that they may carry."""
    held = {id(mark.param) for mark in kept}
    sent: list[Param] = []
    for part in parts:
        lost = MARK in part and id(part) not in held
        sent.append({k: v for k, v in part.items() if k != MARK} if lost else part)
    return finished(sent)
