"""What a budget did to recorded messages, and the rounds that it leaves alone.

The edits come first (edited results in place of messages, or a cut); then the pins.
"""

from bisect import bisect_right
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

# What a budget did to recorded messages: edited results in place of them, or a cut.

Edit: TypeAlias = Callable[[Sequence[Message], int], Iterable[Message]]
"""A function that gets the messages of a conversation, and yields them edited from an index on."""


@attrs.frozen
class Trimmed:
    """What a budget did to a prompt from which it removed parts.

    ``since`` is the first message that was written after it last removed any, ``None`` if that is
    not known. Some models bind their reasoning to all that is before it, and take it only from that
    message on.
    """

    since: Message | None = None

    def untrimmed_from(self, messages: Sequence[Message]) -> int:
        """Return the index of the message ``since``, the count of messages if it is not known."""
        indices = (index for index, message in enumerate(messages) if message is self.since)
        return next(indices, len(messages))


@attrs.define(eq=False)
class EditedHistory(ReadCache):
    """Recorded messages whose results were edited; ``messages`` are the original ones."""

    made_of: ReadCache | None = None
    """The recording of the original messages, if they were cleared."""


def members_of(history: ConversationNode) -> Iterator[tuple[int, int, Node]]:
    """Yield each part of a history, after its first message and the end of its messages.

    A turn that is written in the history counts as one message.
    """
    begin = 0
    for member in history.content:
        end = begin + (len(member.items) if isinstance(member, RecordedNode) else 1)
        yield begin, end, member
        begin = end


def edited_run(run: RecordedNode, key: object, edit: Edit) -> RecordedNode:
    """Return a run with each message edited, the same run if no message changed.

    The conversation caches the edited messages under ``key``.
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
    """Return a message with each of its blocks changed, the same message if no block changed.

    ``change`` does not see the text of a message that is one text.
    """
    if message._plain is not None:
        return message
    blocks = tuple(map(change, message.content))
    return message if all(map(is_, blocks, message.content)) else message.replace(content=blocks)


def with_items(run: RecordedNode, items: tuple[Message, ...], known: EditedHistory) -> RecordedNode:
    """Return a run with other messages, the same run if no message differs."""
    if all(new is old for new, old in zip(items, run.items, strict=True)):
        return run
    edited = copied(run, run.content, run._mask)
    object.__setattr__(edited, "items", items)
    object.__setattr__(edited, "read_cache", known)
    return edited


def uncleared(history: ConversationNode) -> ConversationNode:
    """Return a history with its results as they were before they were cleared without a budget."""
    members = [*history.content]
    for index, member in enumerate(members):
        known = read_cache_of(member) if isinstance(member, RecordedNode) else None
        if isinstance(known, EditedHistory) and known.made_of is not None:
            members[index] = run = copied(member, member.content, member._mask)
            object.__setattr__(run, "items", known.messages)
            object.__setattr__(run, "read_cache", known.made_of)
    return with_content(history, tuple(members))


def as_recorded(run: RecordedNode) -> Sequence[Message]:
    """Return the messages of a run before their results were cut or cleared."""
    known = read_cache_of(run)
    items: Sequence[Message] = run.items
    if isinstance(known, EditedHistory):
        known = known.made_of if isinstance(known.made_of, EditedHistory) else known
        first = run.start - known.start
        items = known.messages[first : first + len(items)]
    return items


# Pinned messages: the rounds of a history that are neither cleared nor cut.

Ranges = Sequence[tuple[int, int]]
"""Messages of a history: the start and the end of each range, in order. No two ranges touch."""


def pinned_ranges(
    node: ConversationNode, exchanges: Sequence[int], rounds: Sequence[int], size: int
) -> Ranges:
    """Return the messages that the pins of a history keep.

    For each pinned message these are its round and the question of its exchange; for a pinned
    question, the question and the first round after it. ``exchanges`` and ``rounds`` have the first
    message of each. ``size`` is the count of messages.
    """
    ranges: list[tuple[int, int]] = []
    bounds = sorted({0, *exchanges, *rounds, size})
    for pinned in pinned_messages(node):
        number = bisect_right(exchanges, pinned)
        begin = exchanges[number - 1] if number else 0
        end = exchanges[number] if number < len(exchanges) else size
        first = bisect_right(rounds, begin - 1)
        question = (begin, rounds[first] if first < len(rounds) else end)
        ranges.append((question[0], min(question[1], end)))
        start = rounds[bisect_right(rounds, pinned) - 1] if pinned >= question[1] else question[1]
        if start < end:
            ranges.append((start, bounds[bisect_right(bounds, start)]))
    return united(ranges)


def united(ranges: Ranges) -> list[tuple[int, int]]:
    """Return the same messages as ranges in order, no two of which touch."""
    merged: list[tuple[int, int]] = []
    for start, stop in sorted(ranges):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], stop))
        elif start < stop:
            merged.append((start, stop))
    return merged


def pinned_messages(node: ConversationNode) -> Iterator[int]:
    """Yield the index of each pinned message; a function gets the message as it was recorded."""
    pin = node.pin
    numbers = count()
    for member in node.content:
        if not isinstance(member, RecordedNode):
            number = next(numbers)
            if not callable(pin) and (member.options.id in pin or number in pin):
                yield number
            continue
        for message, number in zip(as_recorded(member), numbers, strict=False):
            if callable(pin):
                is_pinned = _answer(pin, message, number, node)
            else:
                is_pinned = message.id in pin or number in pin
            if is_pinned:
                yield number


def _answer(
    pin: Callable[[Message], Any], message: Message, number: int, node: ConversationNode
) -> bool:
    try:
        answer = pin(message)  # Any: an author's function may return anything
    except Exception as error:
        note_caller(error, node.source, f"the function pin for history[{number}]")
        raise
    if isinstance(answer, bool):
        return answer
    problem = f"the function pin of a History returned {shown(answer)} for history[{number}]"
    raise OptionError(problem, fix="return True or False", at=(node.source,))
