"""Pinned messages: the rounds of a history that are neither cleared nor cut."""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any

from promptdsl.budget.edited_history import as_recorded
from promptdsl.foundation.errors import OptionError, shown
from promptdsl.foundation.source import note_caller
from promptdsl.messages.message import Message
from promptdsl.tree.group_nodes import ConversationNode
from promptdsl.tree.turn_nodes import RecordedNode

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
