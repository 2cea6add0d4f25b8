"""Tool results of a history that are cleared, the oldest first, in steps.

All results before one message are cleared: ``clear_before`` is the index of that message. It begins
the first round at which clearing has saved another ``at_least`` tokens. So it depends only on the
conversation before it.

If even the last possible ``clear_before`` does not make enough room, a budget cuts the history.
Results that are cleared later make room again. So that the cut does not move back then, it is not
before the cut of any earlier request that was longer.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

import attrs

from promptdsl.budget.edited_history import EditedHistory, with_items
from promptdsl.budget.measure_protocol import Measure
from promptdsl.budget.pins import Ranges
from promptdsl.foundation.json import write_json
from promptdsl.messages import TextBlock, ToolResultBlock, ToolUseBlock
from promptdsl.messages.message import Message
from promptdsl.tree.group_nodes import ClearResults, ConversationNode
from promptdsl.tree.node import Node
from promptdsl.tree.recorded import first_of, recording, remember
from promptdsl.tree.rewrite import with_content
from promptdsl.tree.turn_nodes import RecordedNode


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
    members: Sequence[tuple[Message, ...]]
    """By part of the history, its messages with all results cleared. A written turn has none."""
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
        count = begin = 0
        for member, cleared in zip(self.node.content, self.members, strict=True):
            items: Sequence[Message] = member.items if isinstance(member, RecordedNode) else ()
            for index, (old, new) in enumerate(zip(items, cleared, strict=True), begin):
                if old is not new and index in within:
                    pairs = zip(old.content, new.content, strict=True)
                    count += sum(a is not b for a, b in pairs if b.type == "tool_result")
            begin += len(items) if isinstance(member, RecordedNode) else 1
        return f"{count} of its results {'is' if count == 1 else 'are'} cleared" if count else ""

    def reached(self, stop: int) -> int:
        """Return how many values of ``clear_before`` are possible for the messages before ``stop``.

        The results of their last calls stay.
        """
        options = self.node.clear_results or ClearResults()
        kept = bisect_right(self.called_at, self.called[stop] - options.keep)
        return bisect_right(self.locations, self.starts[max(kept - 1, 0)])

    def clear_before(self, stop: int) -> int:
        """Return the last possible ``clear_before`` for the messages before ``stop``."""
        return self.locations[self.reached(stop) - 1]

    def until(self, stop: int) -> "Clearing":
        """Return how a request with the messages before ``stop`` is cleared."""
        clear_points = self.locations[: self.reached(stop)]
        longer = [*self._longer(stop, self.total[stop] - self.saved[clear_points[-1]])]
        options = self.node.clear_results
        if options is not None and options.at_least is not None:
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
        begin = 0
        for member, cleared in zip(self.node.content, self.members, strict=True):
            if not isinstance(member, RecordedNode):
                members.append(member)
                begin += 1
                continue
            size = len(member.items)
            count = min(max(clear_before - begin, 0), size)
            items = (*cleared[:count], *member.items[count:])
            old = recording(member)
            known = EditedHistory(member.items, items, old.mask, member.start, made_of=old)
            members.append(with_items(member, items, known))
            begin += size
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
    cleared: list[tuple[Message, ...]] = []
    sizes, results = [*tokens], [0] * len(tokens)
    stays = {index for start, stop in pinned for index in range(start, stop)}
    begin = 0
    for member in node.content:
        if not isinstance(member, RecordedNode):
            cleared.append(())
            begin += 1
            continue
        run = _cleared_run(member, options)
        counts = tokens[begin : begin + len(run.items)] if run is member else measure.messages(run)
        items = [*member.items]
        for number, message in enumerate(run.items):
            index = begin + number
            if counts[number] < sizes[index] and index not in stays:
                sizes[index], items[number] = counts[number], message
            if message._plain is None:
                results[index] = sum(block.type == "tool_result" for block in message.content)
        cleared.append(tuple(items))
        begin += len(items)
    saved = [0, *accumulate(a - b for a, b in zip(tokens, sizes, strict=True))]
    at_least = max(step, 1) if options.at_least is None else options.at_least
    locations, reached = [0], at_least
    for start in rounds:
        if saved[start] >= reached:
            locations.append(start)
            reached = at_least * (saved[start] // at_least + 1)
    called, total, starts = [0, *accumulate(results)], [0, *accumulate(tokens)], [0, *rounds]
    called_at = [called[start] for start in starts]
    clearing = Clearing(node, cleared, sizes, saved, called, locations, starts, called_at, total)
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


def _cleared_run(run: RecordedNode, options: ClearResults) -> RecordedNode:
    """Return a run with all results cleared, the same run if it has none.

    The conversation caches the cleared messages.
    """

    def fold(messages: Sequence[Message], before: EditedHistory | None) -> EditedHistory:
        done = before.items if before else ()
        if before and len(done) >= len(messages):
            return before
        names: dict[str, str] = {}
        first = len(done)
        while first and not names:
            first -= 1
            names = {call.id: call.name for call in messages[first].calls}
        items = [*done]
        for message in messages[len(done) :]:
            if message.role == "assistant":
                names = {call.id: call.name for call in message.calls}
            is_plain = message._plain is not None
            items.append(message if is_plain else _cleared(message, options, names))
        start = recording(run).start
        edited = EditedHistory(tuple(messages), tuple(items), run._mask, start)
        edited.findings = before.findings if before else {}
        return edited

    edited, first = remember(run, ("cleared", options), fold), first_of(run)
    return with_items(run, edited.items[first : first + len(run.items)], edited)


def _cleared(message: Message, options: ClearResults, names: dict[str, str]) -> Message:
    """Return a message with placeholders for its results, and with ``inputs`` for its calls.

    ``names`` has the names of tools by the id of the call.
    """

    def stays(name: str) -> bool:
        return name in options.exclude or as_sent(name) in options.exclude

    blocks = [*message.content]
    for index, block in enumerate(blocks):
        if isinstance(block, ToolResultBlock):
            if not stays(block.name or names.get(block.tool_use_id, "")):
                blocks[index] = attrs.evolve(block, content=(TextBlock(options.placeholder),))
        elif isinstance(block, ToolUseBlock) and options.inputs and not stays(block.name):
            arguments = write_json({"input": options.placeholder})
            blocks[index] = attrs.evolve(block, arguments=arguments)
    same = all(new is old for new, old in zip(blocks, message.content, strict=True))
    return message if same else message.replace(content=tuple(blocks))


def as_sent(name: str) -> str:
    """Return a tool name with only the signs that providers allow: letters, digits, ``_``, ``-``.

    Each other sign becomes ``_``.
    """
    return "".join(
        sign if sign.isascii() and (sign.isalnum() or sign in "_-") else "_" for sign in name
    )
