"""What a budget did to recorded messages, and the messages that it must not touch.

The edits come first: messages with edited results, and cuts. Then come the pinned messages.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from operator import is_
from typing import Any, TypeAlias

import attrs

from promptdsl.foundation.errors import OptionError, shown
from promptdsl.foundation.source import note_caller
from promptdsl.messages import Block
from promptdsl.messages.conversation_cache import ReadCache
from promptdsl.messages.message import Message
from promptdsl.tree.node import Node
from promptdsl.tree.recorded import first_of, read_cache_of, remember
from promptdsl.tree.rewrite import copied, with_content
from promptdsl.tree.turn_nodes import ConversationNode, RecordedNode

# What a budget did to recorded messages: it edited their results, or cut a history.

Edit: TypeAlias = Callable[[Sequence[Message], int], Iterable[Message]]
"""A function that gets messages and an index, and yields the edited messages from there on."""


@attrs.frozen
class Trimmed:
    """The note that a budget removed parts of a prompt, and since when no more were removed.

    ``since`` is the first message that was written after the last removal, ``None`` if that is not
    known. Some models bind their reasoning to the messages before it: they accept only the
    reasoning from that message on.
    """

    since: Message | None = None

    def untrimmed_from(self, messages: Sequence[Message]) -> int:
        """Return the index of the message ``since``; the count of messages if it is not known."""
        indices = (index for index, message in enumerate(messages) if message is self.since)
        return next(indices, len(messages))


@attrs.define(eq=False)
class EditedHistory(ReadCache):
    """Recorded messages whose results were edited; ``messages`` are the originals."""

    made_of: ReadCache | None = None
    """The cache of the original messages, if their results were cleared."""


def members_of(history: ConversationNode) -> Iterator[tuple[int, int, Node]]:
    """Yield the parts of a history, each as its start, its end and its node.

    Start and end are indices of messages; a turn that is written in the history counts as one.
    """
    begin = 0
    for member in history.content:
        end = begin + (len(member.items) if isinstance(member, RecordedNode) else 1)
        yield begin, end, member
        begin = end


def edited_run(run: RecordedNode, key: object, edit: Edit) -> RecordedNode:
    """Return a run with its messages edited; the same run if no message changed.

    The cache of the conversation keeps the edited messages under ``key``.
    """

    def fold(messages: Sequence[Message], before: EditedHistory | None) -> EditedHistory:
        before = before or EditedHistory((), (), run._mask, read_cache_of(run).start)
        start = len(before.items)
        if start >= len(messages):
            return before
        items = (*before.items, *edit(messages, start))
        edited = EditedHistory(tuple(messages), items, run._mask, before.start)
        edited.findings = before.findings
        return edited

    edited, first = remember(run, key, fold), first_of(run)
    return with_items(run, edited.items[first : first + len(run.items)], edited)


def with_blocks(message: Message, change: Callable[[Block], Block]) -> Message:
    """Return a message with its blocks changed; the same message if no block changed.

    ``change`` does not get the text of a message that is a single text.
    """
    if message._plain is not None:
        return message
    blocks = tuple(map(change, message.content))
    return message if all(map(is_, blocks, message.content)) else message.replace(content=blocks)


def with_items(run: RecordedNode, items: tuple[Message, ...], cache: EditedHistory) -> RecordedNode:
    """Return a run with other messages; the same run if no message differs."""
    if all(new is old for new, old in zip(items, run.items, strict=True)):
        return run
    edited = copied(run, run.content, run._mask)
    object.__setattr__(edited, "items", items)
    object.__setattr__(edited, "read_cache", cache)
    return edited


def uncleared(history: ConversationNode) -> ConversationNode:
    """Return a history with the results that were cleared without a budget put back."""
    members = [*history.content]
    for index, member in enumerate(members):
        cache = read_cache_of(member) if isinstance(member, RecordedNode) else None
        if isinstance(cache, EditedHistory) and cache.made_of is not None:
            members[index] = run = copied(member, member.content, member._mask)
            object.__setattr__(run, "items", cache.messages)
            object.__setattr__(run, "read_cache", cache.made_of)
    return with_content(history, tuple(members))


def as_recorded(run: RecordedNode) -> Sequence[Message]:
    """Return the messages of a run before their results were cut or cleared."""
    cache = read_cache_of(run)
    items: Sequence[Message] = run.items
    if isinstance(cache, EditedHistory):
        cache = cache.made_of if isinstance(cache.made_of, EditedHistory) else cache
        first = run.start - cache.start
        items = cache.messages[first : first + len(items)]
    return items


# Pinned messages: their rounds are neither cleared nor cut.

Ranges = Sequence[tuple[int, int]]
"""Messages of a history: the start and the end of each range, in order. No two ranges touch."""


def pinned_ranges(
    node: ConversationNode, exchanges: Sequence[int], rounds: Sequence[int], size: int
) -> Ranges:
    """Return the messages that the pins of a history keep.

    A pinned message keeps its round and the question of its exchange. A pinned question keeps
    itself and the first round after it. ``exchanges`` and ``rounds`` have the index of the first
    message of each; ``size`` is the count of messages.
    """
    ranges: list[tuple[int, int]] = []
    bounds = sorted({0, *exchanges, *rounds, size})
    for pinned in pinned_messages(node):
        # The exchange of the message, and the question at its beginning.
        following = bisect_right(exchanges, pinned)
        start = exchanges[following - 1] if following else 0
        stop = exchanges[following] if following < len(exchanges) else size
        first_round = bisect_left(rounds, start)
        question_stop = rounds[first_round] if first_round < len(rounds) else stop
        ranges.append((start, min(question_stop, stop)))
        # The round of the message; for a question, the first round after it.
        is_in_round = pinned >= question_stop
        round_start = rounds[bisect_right(rounds, pinned) - 1] if is_in_round else question_stop
        if round_start < stop:
            ranges.append((round_start, bounds[bisect_right(bounds, round_start)]))
    return united(ranges)


def united(ranges: Ranges) -> list[tuple[int, int]]:
    """Return ranges with the same messages, in order, so that no two of them touch."""
    merged: list[tuple[int, int]] = []
    for start, stop in sorted(ranges):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], stop))
        elif start < stop:
            merged.append((start, stop))
    return merged


def pinned_messages(node: ConversationNode) -> Iterator[int]:
    """Yield the index of each pinned message.

    If ``pin`` is a function, it gets each message as it was recorded, before any edit.
    """
    pin = node.pin
    indices = count()
    for member in node.content:
        if not isinstance(member, RecordedNode):
            index = next(indices)
            if not callable(pin) and (member.options.id in pin or index in pin):
                yield index
            continue
        for message, index in zip(as_recorded(member), indices, strict=False):
            if callable(pin):
                is_pinned = _is_pinned(pin, message, index, node)
            else:
                is_pinned = message.id in pin or index in pin
            if is_pinned:
                yield index


def _is_pinned(
    pin: Callable[[Message], Any], message: Message, index: int, node: ConversationNode
) -> bool:
    """Return what an author's function says about a message.

    Raises :class:`OptionError` for anything but a boolean, and any exception of the function, with
    a note of the author's line.
    """
    try:
        answer = pin(message)  # Any: an author's function may return anything
    except Exception as error:
        note_caller(error, node.source, f"the function pin for history[{index}]")
        raise
    if isinstance(answer, bool):
        return answer
    problem = f"the function pin of a History returned {shown(answer)} for history[{index}]"
    raise OptionError(problem, fix="return True or False", at=(node.source,))
