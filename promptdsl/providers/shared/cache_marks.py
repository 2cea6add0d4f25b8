"""Cache marks: where they are placed for an author, and which of them a request may carry."""

from collections.abc import Container, Iterable, Sequence
from typing import Any

import attrs

from promptdsl.config.model_facts import ModelFacts
from promptdsl.messages import Block
from promptdsl.messages.block_keys import MEDIA_KINDS
from promptdsl.messages.message import Message
from promptdsl.messages.prompt import Prompt
from promptdsl.messages.roles import FLEETING
from promptdsl.providers.shared.request import Mark, Param, Request

MOST = 4
"""How many marks a request may carry, at every provider that has them."""


def auto_marked(prompt: Prompt, facts: ModelFacts) -> Prompt:
    """Return a prompt with marks where most can be reused, beside those its author placed.

    They are placed, as long as there are less than four, after the last turn that will be there the
    next time, after the system text and after the tools. A target without marks gets none.
    """
    held = [said for said in prompt.messages if said.plain is None]
    placed = sum(len(_marked_in(said)) for said in held)
    free = MOST - placed - sum(tool.cache is not None for tool in prompt.tools)
    if not facts.cache_marks or free <= 0:
        return prompt
    messages, tools = list(prompt.messages), list(prompt.tools)
    # Five minutes may not stand before an hour, which covers what is before it anyway.
    hour = _last_hour(prompt)
    for place in (_last_stable(messages, facts), _last_system(messages, facts)):
        marked = _marked(messages[place], facts) if place > max(hour, -1) and free else None
        if marked is not None and marked is not messages[place]:
            messages[place] = marked
            free -= 1
    able = facts.tool_marks and hour < -1
    if tools and free and able and tools[-1].cache is None:
        tools[-1] = attrs.evolve(tools[-1], cache="default")
    return attrs.evolve(prompt, messages=tuple(messages), tools=tuple(tools))


def _marked_in(message: Message) -> list[Any]:
    """Return the blocks of a message that carry a mark, those in results among them."""
    blocks: list[Any] = [*message.content]
    blocks += [inner for block in blocks for inner in getattr(block, "content", ())]
    return [block for block in blocks if getattr(block, "cache", None) is not None]


def _last_hour(prompt: Prompt) -> int:
    """Return the index of the last message with a mark of an hour, -1 for a tool, -2 for none."""
    for place in range(len(prompt.messages) - 1, -1, -1):
        said = prompt.messages[place]
        if said.plain is None and any(block.cache == "1h" for block in _marked_in(said)):
            return place
    return -1 if any(tool.cache == "1h" for tool in prompt.tools) else -2


def _last_stable(messages: Sequence[Message], facts: ModelFacts) -> int:
    """Return the index of the last turn that will be there the next time, -1 for none."""
    for index in range(_passing(messages) - 1, -1, -1):
        said = messages[index]
        able = said.role != "system" and (said.role != "assistant" or facts.answer_marks)
        if able and said.kind not in FLEETING and _markable(said, facts) >= 0:
            return index
    return -1


def _last_system(messages: Sequence[Message], facts: ModelFacts) -> int:
    """Return the index of the last message of the system text, -1 for none.

    Where there is no developer role, developer turns before the conversation are part of it.
    """
    roles = ("system",) if facts.developer else ("system", "developer")
    said = (n for n, m in enumerate(messages) if m.role not in roles or m.kind not in _WRITTEN)
    return next(said, len(messages)) - 1


_WRITTEN = ("written", "recorded", "recorded_system")


def _markable(message: Message, facts: ModelFacts) -> int:
    """Return the index of the last block that can carry a mark, -1 for none."""
    blocks = message.content
    return next((n for n in range(len(blocks) - 1, -1, -1) if _carries(blocks[n], facts)), -1)


def _carries(block: Any, facts: ModelFacts) -> bool:
    if not hasattr(block, "cache") or (block.type == "tool_result" and not block.content):
        return False
    if block.type in MEDIA_KINDS:
        return block.type in facts.media
    return block.type != "text" or bool(block.text and not block.text.isspace())


def _marked(message: Message, facts: ModelFacts) -> Message | None:
    """Return a message with a mark after it, itself when it has one, ``None`` if it cannot."""
    place = _markable(message, facts)
    if place < 0:
        return None
    blocks: list[Block] = [*message.content]
    carrier: Any = blocks[place]
    if carrier.cache is not None:
        return message
    blocks[place] = attrs.evolve(carrier, cache="default")
    return message.replace(content=tuple(blocks))


def settle_marks(request: Request, sent: Iterable[Any], *, ordered: bool) -> list[Mark]:
    """Return the marks that are kept, in the order of ``sent``, the params as they go out.

    None is kept after request-only content that no assistant turn follows. With ``ordered`` an hour
    has to come before five minutes, and what lives longest is kept; of equals the last, which cover
    more. For all others there is a hint.
    """
    order = {id(param): place for place, param in enumerate(sent)}
    lost: dict[int, str] = {}
    end = _passing(request.messages)
    for mark in request.marks:
        if not request.facts.cache_marks:
            lost[id(mark)] = "this model takes none"
        elif id(mark.param) not in order:
            lost[id(mark)] = "what it stands behind is not sent"
        elif mark.number >= end or getattr(mark.subject, "kind", None) in FLEETING:
            lost[id(mark)] = "behind request-only content, which is not there the next time"
    marks = [mark for mark in request.marks if id(mark) not in lost]
    marks.sort(key=lambda mark: order[id(mark.param)])
    if ordered:
        hours = [number for number, mark in enumerate(marks) if mark.cache == "1h"]
        early = [mark for mark in marks[: max(hours, default=0)] if mark.cache != "1h"]
        lost |= {id(mark): "five minutes may not stand before an hour" for mark in early}
        marks = [mark for mark in marks if id(mark) not in lost]
    latest = sorted([*reversed(marks)], key=lambda mark: ordered and mark.cache != "1h")
    lost |= {id(mark): f"a request carries {MOST}" for mark in latest[MOST:]}
    for mark in request.marks:
        if id(mark) in lost:
            request.lose(mark.subject, "hint", "cache mark", lost[id(mark)])
    return [mark for mark in marks if id(mark) not in lost]


def places_of(turns: Sequence[Param], marked: Container[int]) -> list[int]:
    """Return which turns hold params that are marked, by the ids of these."""
    return [
        place
        for place, turn in enumerate(turns)
        if any(map(marked.__contains__, map(id, turn["content"])))
    ]


def _passing(messages: Sequence[Message]) -> int:
    """Return the index of the first request-only message that no assistant turn follows."""
    behind = range(len(messages) - 1, -1, -1)
    answered = next((n for n in behind if messages[n].role == "assistant"), -1)
    passing = (n for n in range(answered + 1, len(messages)) if messages[n].kind in FLEETING)
    return next(passing, len(messages))
