"""Tool results of a history that are cleared, the oldest first, in steps.

All results before one message are cleared: ``clear_before`` is the index of that message. It begins
the first round at which clearing has saved another ``at_least`` tokens. So it depends only on the
conversation before it.

If even the last possible ``clear_before`` does not make enough room, a budget cuts the history.
Results that are cleared later make room again. So that the cut does not move back then, it is not
before the cut of any earlier request that was longer.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import accumulate
from operator import sub
from typing import NamedTuple

import attrs

from promptdsl.budget.edited_history import (
    EditedHistory,
    edited_run,
    members_of,
    with_blocks,
    with_items,
)
from promptdsl.budget.measure_protocol import Measure
from promptdsl.budget.pins import Ranges
from promptdsl.foundation.json import write_json
from promptdsl.messages import Block, TextBlock, ToolResultBlock, ToolUseBlock
from promptdsl.messages.message import Message, answers_in
from promptdsl.tree.group_nodes import ClearResults, ConversationNode
from promptdsl.tree.node import Node
from promptdsl.tree.recorded import recording
from promptdsl.tree.rewrite import with_content
from promptdsl.tree.turn_nodes import RecordedNode

_WRITTEN = Message("user")


class LongerRequest(NamedTuple):
    """An earlier request of a history, which needed more tokens than the current one."""

    stop: int
    """The index of the message that answers it."""
    clear_before: int
    more: int
    """How many tokens more it needed, with all possible results cleared."""


@attrs.define(eq=False)
class Clearing:
    """How many tokens clearing the results of a history saves, and how far it may go.

    The lists are indexed by message; a turn that is written in the history counts as one message.
    """

    node: ConversationNode
    options: ClearResults
    cleared: Sequence[Message]
    """By message, the message with all results cleared; an empty one for a written turn."""
    sizes: Sequence[int]
    """By message, its tokens if it is cleared."""
    saved: Sequence[int]
    """By message, the tokens saved by clearing all messages before it."""
    called: Sequence[int]
    """By message, the count of results before it."""
    locations: Sequence[int]
    """The possible values of ``clear_before``, in order. The first one clears nothing."""
    starts: Sequence[int]
    """The first message, and those that begin a round."""
    called_at: Sequence[int]
    """By start, the count of results before it."""
    total: Sequence[int]
    """By message, the tokens of all messages before it, none of them cleared."""
    needed: Sequence[int] = ()
    """By round, the tokens of the request that it answers, with all possible results cleared."""
    longer_before: Sequence[int] = ()
    """By round, the last round before it whose request needed more tokens, -1 for none."""
    clear_points: Sequence[int] = (0,)
    """The possible values of ``clear_before`` for this request."""
    longer: Sequence[LongerRequest] = ()
    """The earlier requests that needed more tokens than this one, the last of them first.

    A request is left out if a later one needed more.
    """

    def summary(self, clear_before: int, kept: Ranges) -> str:
        """Return in words how many results of the ``kept`` messages before a message are cleared.

        Empty if there are none.
        """
        within = {index for start, stop in kept for index in range(start, min(stop, clear_before))}
        count = 0
        for begin, _, member in members_of(self.node):
            items: Sequence[Message] = member.items if isinstance(member, RecordedNode) else ()
            for index, old in enumerate(items, begin):
                new = self.cleared[index]
                if new is not old and index in within:
                    pairs = zip(old.content, new.content, strict=True)
                    count += sum(a is not b for a, b in pairs if b.type == "tool_result")
        if count == 1:
            return "1 of its results is cleared"
        return f"{count} of its results are cleared" if count else ""

    def reached(self, stop: int) -> int:
        """Return how many values of ``clear_before`` are possible for the messages before ``stop``.

        The results of their last calls stay.
        """
        kept = bisect_right(self.called_at, self.called[stop] - self.options.keep)
        return bisect_right(self.locations, self.starts[max(kept - 1, 0)])

    def clear_before(self, stop: int) -> int:
        """Return the last possible ``clear_before`` for the messages before ``stop``."""
        return self.locations[self.reached(stop) - 1]

    def until(self, stop: int) -> "Clearing":
        """Return how a request with the messages before ``stop`` is cleared."""
        clear_points = self.locations[: self.reached(stop)]
        longer = [*self._longer(stop, self.total[stop] - self.saved[clear_points[-1]])]
        if self.options.at_least is not None:
            clear_points = (0,)  # such a history is cleared before
        return attrs.evolve(self, clear_points=clear_points, longer=longer)

    def _longer(self, stop: int, newest: int) -> Iterator[LongerRequest]:
        number, longest = bisect_left(self.starts, stop, 1) - 2, newest
        while number >= 0:
            if self.needed[number] > longest:
                longest = self.needed[number]
                end = self.starts[number + 1]
                yield LongerRequest(end, self.clear_before(end), longest - newest)
            number = self.longer_before[number]

    def applied(self, clear_before: int) -> ConversationNode:
        """Return the history with all results before a message cleared."""
        members: list[Node] = []
        for begin, end, member in members_of(self.node):
            if isinstance(member, RecordedNode):
                stop = max(min(clear_before, end), begin)
                items = (*self.cleared[begin:stop], *member.items[stop - begin :])
                old = recording(member)
                known = EditedHistory(member.items, items, old.mask, member.start, made_of=old)
                members.append(with_items(member, items, known))
            else:
                members.append(member)
        return with_content(self.node, tuple(members))


def clearing_of(
    node: ConversationNode,
    tokens: Sequence[int],
    rounds: Sequence[int],
    measure: Measure,
    *,
    step: int,
    pinned: Ranges = (),
) -> Clearing:
    """Return how the results of a history are cleared; ``step`` is that of its cut.

    ``tokens`` has the tokens of each message, ``rounds`` the messages that begin a round.
    The messages in ``pinned`` are not cleared.
    """
    options = node.clear_results or ClearResults()
    cleared: list[Message] = []
    sizes, results = [*tokens], [0] * len(tokens)
    stays = {index for start, stop in pinned for index in range(start, stop)}
    for begin, _, member in members_of(node):
        cleared += member.items if isinstance(member, RecordedNode) else (_WRITTEN,)
        if isinstance(member, RecordedNode):
            run = edited_run(member, ("cleared", options), partial(_cleared, options=options))
            counts = zip(run.items, measure.messages(run), strict=True)
            for index, (message, count) in enumerate(counts, begin):
                results[index] = len(answers_in(message))
                if count < sizes[index] and index not in stays:
                    sizes[index], cleared[index] = count, message
    saved = [0, *accumulate(map(sub, tokens, sizes))]
    at_least = options.at_least
    if at_least is None:
        at_least = max(step, 1)
    locations, reached = [0], at_least
    for start in rounds:
        if saved[start] >= reached:
            locations.append(start)
            reached = at_least * (saved[start] // at_least + 1)
    called, starts = [0, *accumulate(results)], [0, *rounds]
    total = [0, *accumulate(tokens)]
    called_at = [called[start] for start in starts]
    clearing = Clearing(
        node, options, cleared, sizes, saved, called, locations, starts, called_at, total
    )
    # One request was sent before each turn of the model.
    clearing.needed = [total[stop] - saved[clearing.clear_before(stop)] for stop in rounds]
    clearing.longer_before = [*_longer_before(clearing.needed)]
    return clearing


def _longer_before(sizes: Sequence[int]) -> Iterator[int]:
    """Yield for each size the index of the last one before it that is larger, -1 for none."""
    larger: list[int] = []
    for index, size in enumerate(sizes):
        while larger and sizes[larger[-1]] <= size:
            larger.pop()
        yield larger[-1] if larger else -1
        larger.append(index)


def _cleared(
    messages: Sequence[Message], start: int, *, options: ClearResults
) -> Iterator[Message]:
    """Yield the messages from ``start`` on, with placeholders for their results.

    With ``inputs``, the inputs of their calls are replaced, too.
    """
    # A result may have no name. An id may be used again: the last call before the result counts.
    names = {call.id: call.name for message in messages[:start] for call in message.calls}
    change = partial(_cleared_block, options=options, names=names)
    for message in messages[start:]:
        names.update((call.id, call.name) for call in message.calls)
        yield with_blocks(message, change)


def _cleared_block(block: Block, *, options: ClearResults, names: dict[str, str]) -> Block:
    new: Block
    if isinstance(block, ToolResultBlock):
        name = block.name or names.get(block.tool_use_id, "")
        new = attrs.evolve(block, content=(TextBlock(options.placeholder),))
    elif isinstance(block, ToolUseBlock) and options.inputs:
        name = block.name
        new = attrs.evolve(block, arguments=write_json({"input": options.placeholder}))
    else:
        return block
    return new if {name, as_sent(name)}.isdisjoint(options.exclude) else block


def as_sent(name: str) -> str:
    """Return a tool name with only the signs that providers allow: letters, digits, ``_``, ``-``.

    Each other sign becomes ``_``.
    """
    return re.sub("[^A-Za-z0-9_-]", "_", name)
