"""Calls and their results, which before Gemini 3 did not have to have ids."""

from collections.abc import Iterable, Iterator
from itertools import count, takewhile

import attrs

from promptdsl import blocks as b
from promptdsl.messages import Message, message


def paired(messages: Iterable[Message]) -> Iterator[Message]:
    """Yield messages whose calls have ids, and whose results have those of their calls.

    A result without an id is that of the first open call of its name.
    """
    waiting: list[b.ToolUseBlock] = []
    told: set[str] = set()
    turns = [*_whole_turns(messages)]
    for number, said in enumerate(turns):
        if said.role == "assistant":
            content = named(said.content)
            told = _told(turns, number + 1)
            waiting = [block for block in content if isinstance(block, b.ToolUseBlock)] or waiting
        else:
            content = tuple(_answer(waiting, block, told) for block in said.content)
        yield said if content == said.content else message(said.role, content, kind="recorded")


def named(content: tuple[b.Block, ...]) -> tuple[b.Block, ...]:
    """Return the blocks of a turn, its calls without an id with one that no other call has."""
    taken = {block.id for block in content if isinstance(block, b.ToolUseBlock)}
    free = (id for id in map("call_{}".format, count()) if id not in taken)
    return tuple(
        attrs.evolve(block, id=next(free))
        if isinstance(block, b.ToolUseBlock) and not block.id
        else block
        for block in content
    )


def _whole_turns(messages: Iterable[Message]) -> Iterator[Message]:
    """Yield messages; what a model said directly behind its calls is of one turn with them."""
    calling: list[b.Block] = []
    for said in messages:
        if calling and said.role != "assistant":
            yield message("assistant", tuple(calling), kind="recorded")
            calling = []
        if calling or (said.role == "assistant" and _calls(said)):
            calling += said.content
        else:
            yield said
    if calling:
        yield message("assistant", tuple(calling), kind="recorded")


def _calls(said: Message) -> bool:
    return any(block.type == "tool_use" for block in said.content)


def _told(turns: list[Message], start: int) -> set[str]:
    """Return the ids that the results up to the next answer name themselves."""
    later = map(turns.__getitem__, range(start, len(turns)))
    heard = takewhile(lambda said: said.role != "assistant", later)
    blocks = (block for said in heard for block in said.content)
    return {block.tool_use_id for block in blocks if isinstance(block, b.ToolResultBlock)}


def _answer(waiting: list[b.ToolUseBlock], block: b.Block, told: set[str]) -> b.Block:
    if not isinstance(block, b.ToolResultBlock):
        return block
    for place, call in enumerate(waiting):
        # What another result names itself is not answered by name.
        named = not block.tool_use_id and block.name == call.name and call.id not in told
        if named or block.tool_use_id == call.id:
            del waiting[place]
            return attrs.evolve(block, tool_use_id=call.id)
    return block
