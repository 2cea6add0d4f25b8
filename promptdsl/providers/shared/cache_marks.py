"""Cache marks: where promptdsl sets them for an author, and which of them a request may have.

``auto_marked`` sets marks before an adapter writes the prompt. ``choose_marks`` chooses among these
and the author's own marks, when all params of the payload are known.

A message is *temporary* here if its kind is in ``FLEETING``: it is a grounding or an ephemeral, or
has text of one. The next request has it only in part, or not at all.
"""

from collections.abc import Container, Iterable, Iterator, Sequence

import attrs

from promptdsl.config.model_facts import ModelFacts
from promptdsl.foundation.unicode import is_blank
from promptdsl.messages import Block, TextBlock, ToolResultBlock, ToolUseBlock
from promptdsl.messages.details import FLEETING
from promptdsl.messages.field_checks import Cache
from promptdsl.messages.message import Message
from promptdsl.messages.prompt import Prompt
from promptdsl.providers.shared.request import Carrier, Location, Mark, Param, Request

MAX_MARKS = 4
"""The greatest number of cache marks in a request, at every provider that has marks."""

_LEADING = ("written", "recorded", "recorded_system")
"""The kinds of messages that may be part of the system text."""


def auto_marked(prompt: Prompt, facts: ModelFacts) -> Prompt:
    """Return a prompt with cache marks where a cache can reuse the largest part of it.

    It sets the marks in this order: after the last turn that the next request repeats, after the
    system text, after the tools. It stops at four marks, and counts the author's marks, too. For a
    target that takes no marks it returns the prompt unchanged.
    """
    if not facts.cache_marks:
        return prompt
    messages, tools = list(prompt.messages), list(prompt.tools)
    caches = [
        (index, cache) for index, message in enumerate(messages) for cache in _caches(message)
    ]
    tool_caches = [tool.cache for tool in tools if tool.cache is not None]
    free = MAX_MARKS - len(caches) - len(tool_caches)
    # A mark of five minutes may not come before a mark of an hour, which covers the same content.
    last_hour = max((index for index, cache in caches if cache == "1h"), default=-1)
    for index in (_last_repeated(messages, facts), _last_of_system(messages, facts)):
        if index > last_hour and free > 0:
            free -= _add_mark(messages, index, facts)
    has_hours = last_hour >= 0 or "1h" in tool_caches
    if tools and free > 0 and facts.tool_marks and not has_hours:
        tools[-1] = attrs.evolve(tools[-1], cache=tools[-1].cache or "default")
    return attrs.evolve(prompt, messages=tuple(messages), tools=tuple(tools))


def _last_repeated(messages: Sequence[Message], facts: ModelFacts) -> int:
    """Return the index of the last turn that may have a mark and that the next request repeats.

    It is before all temporary messages that no assistant turn follows. Without such a turn, returns
    -1.
    """
    unmarked = ("system",) if facts.answer_marks else ("system", "assistant")
    for index in range(_first_temporary(messages) - 1, -1, -1):
        message = messages[index]
        is_repeated = message.role not in unmarked and message.kind not in FLEETING
        if is_repeated and _last_carrier(message, facts):
            return index
    return -1


def _last_of_system(messages: Sequence[Message], facts: ModelFacts) -> int:
    """Return the index of the last message of the system text, or -1."""
    roles = ("system",) if facts.developer else ("system", "developer")
    for index, message in enumerate(messages):
        if message.role not in roles or message.kind not in _LEADING:
            return index - 1
    return len(messages) - 1


def _add_mark(messages: list[Message], index: int, facts: ModelFacts) -> int:
    """Set a mark on the last block of a message that may have a mark.

    Returns 1 for a new mark, and 0 if no block may have one or if the block has a mark already.
    """
    carrier = _last_carrier(messages[index], facts)
    if carrier is None or carrier[1].cache is not None:
        return 0
    block_index, block = carrier
    blocks: list[Block] = [*messages[index].content]
    blocks[block_index] = attrs.evolve(block, cache="default")
    messages[index] = messages[index].replace(content=tuple(blocks))
    return 1


def _caches(message: Message) -> Iterator[Cache]:
    """Yield the cache marks of the blocks of a message, and of the blocks in its results."""
    if message._plain is not None:  # its content is one text without a mark: the usual case
        return
    for block in message.content:
        inner = block.content if isinstance(block, ToolResultBlock) else ()
        for carrier in (block, *inner):
            if isinstance(carrier, Carrier) and carrier.cache is not None:
                yield carrier.cache


def _last_carrier(message: Message, facts: ModelFacts) -> tuple[int, Carrier] | None:
    """Return the last block that may have a cache mark, with its index; ``None`` without one."""
    for index in range(len(message.content) - 1, -1, -1):
        block = message.content[index]
        if isinstance(block, TextBlock):
            may_have_mark = not is_blank(block.text)
        elif isinstance(block, ToolResultBlock):
            may_have_mark = bool(block.content)
        else:
            may_have_mark = isinstance(block, ToolUseBlock) or block.type in facts.media
        if may_have_mark and isinstance(block, Carrier):
            return index, block
    return None


def take_longest_mark(request: Request, before: int, cache: str | None) -> str | None:
    """Return the longest time to live of the marks on a result and in it; ``None`` without a mark.

    It also removes the marks in the result from ``request.marks``: they would count among the four,
    and gateways refuse them. The caller sends one mark after the result instead. ``before`` is the
    number of marks in ``request.marks`` before the result. ``cache`` is the time to live of the
    mark on the result itself.
    """
    # The marks in the result are the last ones, because its blocks were written last.
    caches = [cache, *(mark.cache for mark in request.marks[before:])]
    del request.marks[before:]
    if "1h" in caches:
        return "1h"
    return next(filter(None, caches), None)


def ttl_of(cache: str) -> Param:
    """Return the time to live of a mark as the key ``ttl``, or no key for the default."""
    if cache == "default":
        return {}
    return {"ttl": cache}


def choose_marks(
    request: Request, params_in_order: Iterable[Param], *, ordered: bool
) -> list[Mark]:
    """Return the cache marks to send, in the order of ``params_in_order``, those of the payload.

    ``ordered`` says that each mark has its time to live, and that the provider refuses a mark of
    five minutes before a mark of an hour. Without it, all marks live equally long.

    - A mark on a temporary message is not sent. Neither is a mark after one, if no assistant turn
      follows that message.
    - With ``ordered``, a mark of five minutes before a mark of an hour is sent as a mark of an
      hour. This costs nothing: the provider charges everything before the last mark of an hour as
      written for an hour (Anthropic, "Mixing different TTLs").
    - At most four marks are sent. With ``ordered``, the author's marks of an hour come first, then
      the marks after them, then the marks that became marks of an hour. Of equal marks the last are
      sent, because they cover more.

    It records a hint for each mark that is changed or not sent.
    """
    order = {id(param): index for index, param in enumerate(params_in_order)}
    end = _first_temporary(request.messages)
    reasons = {id(mark): _why_lost(request, mark, order, end) for mark in request.marks}
    marks = [mark for mark in request.marks if not reasons[id(mark)]]
    marks.sort(key=lambda mark: order[id(mark.param)])
    hour_ids = {id(mark) for mark in marks if ordered and mark.cache == "1h"}
    last_hour = max((n for n, mark in enumerate(marks) if id(mark) in hour_ids), default=0)
    # The marks of five minutes before the last mark of an hour: they become marks of an hour.
    early_ids = {id(mark) for mark in marks[:last_hour]} - hour_ids
    reasons |= dict.fromkeys(early_ids, _WHY_RAISED)
    # First the author's marks of an hour, then the marks after them, then the early marks.
    latest = [*reversed(marks)]
    ranked = sorted(latest, key=lambda mark: (id(mark) not in hour_ids, id(mark) in early_ids))
    not_chosen = {id(mark) for mark in ranked[MAX_MARKS:]}
    reasons |= dict.fromkeys(not_chosen, f"a request carries {MAX_MARKS}")
    for mark in request.marks:
        if reasons[id(mark)]:  # the mark is not sent, or it is sent as a mark of an hour
            request.lose_mark(mark, reasons[id(mark)])
    chosen = [mark for mark in marks if id(mark) not in not_chosen]
    for index, mark in enumerate(chosen):
        if id(mark) in early_ids:
            chosen[index] = mark._replace(cache="1h")
        _note_mark(request, chosen[index], ordered=ordered)
    return chosen


_WHY_RAISED = "it lives for an hour, since five minutes may not come before an hour"


def _why_lost(request: Request, mark: Mark, order: Container[int], end: int) -> str:
    """Return why a mark cannot be sent, empty if it can.

    ``order`` has the ``id()`` of each param in the payload. ``end`` is the index of the first
    temporary message that no assistant turn follows.
    """
    if not request.facts.cache_marks:
        return "this model takes no cache marks"
    if id(mark.param) not in order:
        return "the block before it is not sent"
    is_in_temporary = isinstance(mark.subject, Location) and mark.subject.message.kind in FLEETING
    if is_in_temporary or mark.message_index >= end:
        return "it is after grounding, which the next request does not have"
    return ""


def _note_mark(request: Request, mark: Mark, *, ordered: bool) -> None:
    """Note the time to live of a mark that is sent, for the locations in the payload.

    Only a param with a note has a location. The text that replaces a moved file has none.
    """
    notes, subject = request.notes, mark.subject
    if notes and isinstance(subject, Location) and id(mark.param) in notes.blocks:
        cache = mark.cache if ordered else "default"
        notes.caches[subject.message_index, *mark.at] = cache


def _first_temporary(messages: Sequence[Message]) -> int:
    """Return the index of the first temporary message that no assistant turn follows.

    Without one, returns the number of messages.
    """
    first = len(messages)
    for index in range(len(messages) - 1, -1, -1):
        if messages[index].role == "assistant":
            break
        if messages[index].kind in FLEETING:
            first = index
    return first
