"""Recorded messages: the calls and results of turns, and runs, which a budget cuts.

First come the ids of the tool calls and results in a turn. Then :func:`cut` makes a shorter run,
and :func:`remember` caches what a function finds out about a conversation.

A run is some messages of one recorded conversation. Its ``read_cache`` has all messages of the
conversation, so findings about them stay when the budget cuts the run.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar, cast

from promptdsl.messages import conversation_cache
from promptdsl.messages.conversation_cache import ReadCache
from promptdsl.messages.message import Message
from promptdsl.tree.masks import CALL, RECORDED, RESULT, SHIFT
from promptdsl.tree.node import Node, Options, walk
from promptdsl.tree.part_nodes import ToolResultNode, ToolUseNode
from promptdsl.tree.rewrite import below, copied
from promptdsl.tree.turn_nodes import RecordedNode, ToolTurnNode

# The ids of the tool calls of a turn, and of the results in it.


def calls_of(turn: Node) -> tuple[str, ...]:
    """Return the ids of the tool calls in a turn, in order."""
    if not turn._mask & CALL << SHIFT:
        return ()
    return tuple(node.block.id for node, _ in walk(turn) if isinstance(node, ToolUseNode))


def answers_of(turn: Node) -> tuple[str, ...]:
    """Return the ids of the calls whose results are in a turn, in order."""
    if isinstance(turn, ToolTurnNode):
        return (turn.tool_use_id,)
    if not turn._mask & RESULT << SHIFT:
        return ()
    return tuple(node.tool_use_id for node, _ in walk(turn) if isinstance(node, ToolResultNode))


# Runs of recorded messages: cut them, and remember findings about their conversation.

T = TypeVar("T")
_set = object.__setattr__

MAX_FINDINGS = 12
"""The maximum number of findings to remember. Each token counter of a request adds its own ones."""


def cut(
    run: RecordedNode, start: int, stop: int | None = None, *, mask: int | None = None
) -> RecordedNode:
    """Return the messages of a run from ``start`` to ``stop`` as a new run."""
    if mask is None:
        mask = run._mask
    shorter = copied(run, run.content, mask)
    _set(shorter, "items", run.items[start:stop])
    _set(shorter, "start", run.start + start)
    _set(shorter, "read_cache", getattr(run, "read_cache", None))
    return shorter


def options_of(message: Message) -> Options:
    """Return the turn options of a recorded message: its id, speaker, metadata and tags."""
    return Options(id=message.id, name=message.name, metadata=message.metadata, tags=message.tags)


def remember(run: RecordedNode, key: object, fold: Callable[[Sequence[Message], T | None], T]) -> T:
    """Return the result of ``fold`` for the messages of a conversation up to the end of a run.

    The conversation keeps the result under ``key``. ``fold`` gets the messages and its previous
    result, ``None`` at first. So it has to read only the new messages of a conversation that grows.
    The previous result may be about fewer messages, or about more.

    ``fold`` returns a new result and never changes the previous one, because two threads may use
    the same conversation.
    """
    read_cache = read_cache_of(run)
    stop = run.start - read_cache.start + len(run.items)
    previous = cast("T | None", read_cache.findings.get(key))
    result = fold(read_cache.items[:stop], previous)
    if result is not previous:
        findings = {**read_cache.findings, key: result}
        if len(findings) > MAX_FINDINGS:
            oldest_key = next(iter(findings))
            del findings[oldest_key]
        read_cache.findings = findings
    return result


def counts_of(
    run: RecordedNode, key: object, count: Callable[[Sequence[Message], int], Iterable[int]]
) -> Sequence[int]:
    """Return a count for each message of a run; the conversation caches the counts by ``key``.

    ``count`` gets messages and an index, and yields the counts of the messages from this index on.
    The counts of a short run are not cached.
    """

    def fold(messages: Sequence[Message], previous: Sequence[int] | None) -> Sequence[int]:
        counts = previous or ()
        if len(counts) >= len(messages):
            return counts
        return [*counts, *count(messages, len(counts))]

    if len(run.items) < conversation_cache.SHORTEST:
        return [*count(run.items, 0)]
    first = first_of(run)
    return remember(run, key, fold)[first : first + len(run.items)]


def recordings(root: Node) -> Iterator[RecordedNode]:
    """Yield the runs of recorded messages in a tree, in document order."""
    return (node for node in reversed(below(root, RECORDED)) if isinstance(node, RecordedNode))


def first_of(run: RecordedNode) -> int:
    """Return the index of the first message of a run in its recorded conversation."""
    return run.start - read_cache_of(run).start


def read_cache_of(run: RecordedNode) -> ReadCache:
    """Return the cache of a run's conversation; a run without a cache gets a new one."""
    read_cache: ReadCache | None = getattr(run, "read_cache", None)
    if read_cache is None:
        read_cache = ReadCache((), run.items, run._mask, run.start)
        _set(run, "read_cache", read_cache)
    return read_cache
