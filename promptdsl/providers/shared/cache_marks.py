"""Cache marks: where they are set for an author, and which of them a request may have."""

from collections.abc import Iterable, Iterator, Sequence

import attrs

from promptdsl.config.model_facts import ModelFacts
from promptdsl.foundation.unicode import is_blank
from promptdsl.messages import Block, TextBlock, ToolResultBlock, ToolUseBlock
from promptdsl.messages.field_checks import Cache
from promptdsl.messages.message import Message
from promptdsl.messages.prompt import Prompt
from promptdsl.messages.roles import FLEETING
from promptdsl.providers.shared.request import Carrier, Location, Mark, Param, Request

MOST = 4
"""The greatest number of cache marks in a request, at every provider that has marks."""

_LEADING = ("written", "recorded", "recorded_system")
"""The kinds of messages that may be part of the system text."""


def auto_marked(prompt: Prompt, facts: ModelFacts) -> Prompt:
    """Return a prompt with cache marks where most of the prompt can be reused.

    The marks are set, in this order, after the last turn that the next request repeats, after the
    system text and after the tools, until there are four with the marks of the author. A target
    without marks gets none.
    """
    messages, tools = list(prompt.messages), list(prompt.tools)
    with_blocks = [(index, m) for index, m in enumerate(messages) if m._plain is None]
    placed = [(index, cache) for index, message in with_blocks for cache in _caches(message)]
    tool_caches = [tool.cache for tool in tools if tool.cache is not None]
    free = MOST - len(placed) - len(tool_caches)
    if not facts.cache_marks or free <= 0:
        return prompt
    # The last turn of the conversation that the next request repeats.
    stable = _first_fleeting(messages) - 1
    while stable >= 0:
        message = messages[stable]
        able = message.role != "system" and (message.role != "assistant" or facts.answer_marks)
        if able and message.kind not in FLEETING and _last_carrier(message, facts):
            break
        stable -= 1
    # The last message of the system text.
    roles = ("system",) if facts.developer else ("system", "developer")
    others = (n for n, m in enumerate(messages) if m.role not in roles or m.kind not in _LEADING)
    system = next(others, len(messages)) - 1
    # A mark of five minutes may not come before one of an hour, which covers the same content.
    last_hour = max((index for index, cache in placed if cache == "1h"), default=-1)
    for index in (stable, system):
        carrier = _last_carrier(messages[index], facts) if index > last_hour and free else None
        if carrier and carrier[1].cache is None:
            block_index, block = carrier
            blocks: list[Block] = [*messages[index].content]
            blocks[block_index] = attrs.evolve(block, cache="default")
            messages[index] = messages[index].replace(content=tuple(blocks))
            free -= 1
    no_hours = last_hour < 0 and "1h" not in tool_caches
    if tools and free and no_hours and facts.tool_marks and tools[-1].cache is None:
        tools[-1] = attrs.evolve(tools[-1], cache="default")
    return attrs.evolve(prompt, messages=tuple(messages), tools=tuple(tools))


def _caches(message: Message) -> Iterator[Cache]:
    """Yield the cache marks in a message, also those in results."""
    for block in message.content:
        inner = block.content if isinstance(block, ToolResultBlock) else ()
        for carrier in (block, *inner):
            if isinstance(carrier, Carrier) and carrier.cache is not None:
                yield carrier.cache


def _last_carrier(message: Message, facts: ModelFacts) -> tuple[int, Carrier] | None:
    """Return the last block that may have a cache mark, with its index."""
    for index in range(len(message.content) - 1, -1, -1):
        block = message.content[index]
        if isinstance(block, TextBlock):
            able = not is_blank(block.text)
        elif isinstance(block, ToolResultBlock):
            able = bool(block.content)
        else:
            able = isinstance(block, ToolUseBlock) or block.type in facts.media
        if able and isinstance(block, Carrier):
            return index, block
    return None


def longest_mark(request: Request, before: int, cache: str | None) -> str | None:
    """Return the mark of a result or in it that lives longest; remove the marks in the result.

    ``before`` is the number of marks before the result. A mark in a result counts as one of four,
    and gateways refuse it, so it is sent after the result.
    """
    caches = [cache, *(mark.cache for mark in request.marks[before:])]
    del request.marks[before:]
    return "1h" if "1h" in caches else next(filter(None, caches), None)


def ttl_of(cache: str) -> Param:
    """Return the time to live of a mark as the key ``ttl``, without a key for the default."""
    if cache == "default":
        return {}
    return {"ttl": cache}


def choose_marks(request: Request, sent: Iterable[Param], *, ordered: bool) -> list[Mark]:
    """Return the cache marks that are kept, in the order of ``sent``, the params of the payload.

    No mark is kept after grounding that no assistant turn follows. The marks that live longest are
    kept. Of marks that live equally long, the last are kept, because they cover more. With
    ``ordered``, a mark of five minutes may not come before one of an hour, so it lives for an hour,
    too. That costs nothing: everything before the last mark of an hour is charged as written for an
    hour (Anthropic, "Mixing different TTLs"). A mark that is changed or not sent is a hint.
    """
    order = {id(param): index for index, param in enumerate(sent)}
    lost: dict[int, str] = {}
    end = _first_fleeting(request.messages)
    for mark in request.marks:
        if not request.facts.cache_marks:
            lost[id(mark)] = "this model takes no cache marks"
        elif id(mark.param) not in order:
            lost[id(mark)] = "the block before it is not sent"
        elif mark.number >= end or (
            isinstance(mark.subject, Location) and mark.subject.message.kind in FLEETING
        ):
            lost[id(mark)] = "it is after grounding, which the next request does not have"
    marks = [mark for mark in request.marks if id(mark) not in lost]
    marks.sort(key=lambda mark: order[id(mark.param)])
    hours = [number for number, mark in enumerate(marks) if ordered and mark.cache == "1h"]
    early = {id(mark) for mark in marks[: max(hours, default=0)] if mark.cache != "1h"}
    ranks = {id(mark): (id(mark) in early, ordered and mark.cache != "1h") for mark in marks}
    latest = sorted([*reversed(marks)], key=lambda mark: ranks[id(mark)])
    lost |= {id(mark): f"a request carries {MOST}" for mark in latest[MOST:]}
    raised = dict.fromkeys(
        early, "it lives for an hour, since five minutes may not come before an hour"
    )
    for mark in request.marks:
        if why := lost.get(id(mark)) or raised.get(id(mark)):
            request.lose_mark(mark, why)
    kept = [mark for mark in marks if id(mark) not in lost]
    kept = [mark._replace(cache="1h") if id(mark) in early else mark for mark in kept]
    notes = request.notes
    for mark in kept:
        # A text that is sent instead of a block has no note: its mark is not noted either.
        if notes and isinstance(mark.subject, Location) and id(mark.param) in notes.blocks:
            notes.caches[mark.subject.number, *mark.at] = mark.cache if ordered else "default"
    return kept


def _first_fleeting(messages: Sequence[Message]) -> int:
    """Return the index of the first message with grounding that no assistant turn follows."""
    backwards = range(len(messages) - 1, -1, -1)
    answered = next((n for n in backwards if messages[n].role == "assistant"), -1)
    fleeting = (n for n in range(answered + 1, len(messages)) if messages[n].kind in FLEETING)
    return next(fleeting, len(messages))
