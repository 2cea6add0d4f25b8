"""Runs of recorded messages: their calls, cutting them, and results about them."""

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

# The ids of the tool calls that turns make and answer.


def calls_of(turn: Node) -> tuple[str, ...]:
    """Return the ids of the calls a turn makes, in order."""
    if not turn._mask & CALL << SHIFT:
        return ()
    return tuple(part.block.id for part, _ in walk(turn) if isinstance(part, ToolUseNode))


def answers_of(turn: Node) -> tuple[str, ...]:
    """Return the ids of the calls a turn answers, in order."""
    if isinstance(turn, ToolTurnNode):
        return (turn.tool_use_id,)
    if not turn._mask & RESULT << SHIFT:
        return ()
    return tuple(part.tool_use_id for part, _ in walk(turn) if isinstance(part, ToolResultNode))


# Runs of recorded messages: cut them, and remember results about their conversation.

T = TypeVar("T")
_set = object.__setattr__

MOST = 12
"""The most results to remember: each token counter of a request adds its own results."""


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
    """Return the turn options of a recorded message: its id, its speaker, its metadata and tags."""
    return Options(id=message.id, name=message.name, metadata=message.metadata, tags=message.tags)


def remember(run: RecordedNode, key: object, fold: Callable[[Sequence[Message], T | None], T]) -> T:
    """Return the result of ``fold`` for the messages of a conversation up to the end of a run.

    ``fold`` gets these messages and its previous result, ``None`` at first. The previous result may
    cover fewer messages, or more. So ``fold`` has to read only the new messages of a growing
    conversation. A result is replaced under its ``key``, never changed: two threads may use the
    same conversation.
    """
    known = recording(run)
    stop = run.start - known.start + len(run.items)
    before = cast("T | None", known.findings.get(key))
    result = fold(known.items[:stop], before)
    if result is not before:
        kept = {**known.findings, key: result}
        if len(kept) > MOST:
            del kept[next(iter(kept))]
        known.findings = kept
    return result


def counts_of(
    run: RecordedNode, key: object, count: Callable[[Sequence[Message], int], Iterable[int]]
) -> Sequence[int]:
    """Return a count for each message of a run; the conversation caches the counts by ``key``.

    ``count`` gets messages, and yields the counts of those from an index on.
    """

    def fold(messages: Sequence[Message], before: Sequence[int] | None) -> Sequence[int]:
        known = before or ()
        if len(known) >= len(messages):
            return known
        return [*known, *count(messages, len(known))]

    if len(run.items) < conversation_cache.SHORTEST:
        return [*count(run.items, 0)]
    first = first_of(run)
    return remember(run, key, fold)[first : first + len(run.items)]


def recordings(root: Node) -> Iterator[RecordedNode]:
    """Yield the runs of recorded messages in a tree, in document order."""
    return (node for node in reversed(below(root, RECORDED)) if isinstance(node, RecordedNode))


def first_of(run: RecordedNode) -> int:
    """Return the index of the first message of a run in its recorded conversation."""
    return run.start - recording(run).start


def recording(run: RecordedNode) -> ReadCache:
    """Return the cache of a run's conversation; a run without one gets a cache of its own."""
    known: ReadCache | None = getattr(run, "read_cache", None)
    if known is None:
        known = ReadCache((), run.items, run._mask, run.start)
        _set(run, "read_cache", known)
    return known
