"""Results of tools that are cleared, the oldest first, in steps from a history's beginning.

The frontier is the first entry that is not cleared. It stands at the first round at which clearing
has saved another ``at_least`` tokens, so it depends on the conversation before it alone. The cut
of a budget begins when the largest frontier is not enough. That frontier moves on with the
conversation: so the cut makes room for the largest request so far, if it was longer by at most a
step, and seldom moves back.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate

import attrs

from promptdsl.budget.edited_recording import EditedRecording, with_items
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


@attrs.define(eq=False)
class Clearing:
    """What clearing the results of a history saves, and how far its frontier may move."""

    node: ConversationNode
    members: Sequence[tuple[Message, ...]]
    """By part of the history, its messages with every result cleared; none of a written turn."""
    sizes: Sequence[int]
    """By entry, its tokens if it is cleared."""
    saved: Sequence[int]
    """By entry, the tokens saved by clearing all entries before it."""
    called: Sequence[int]
    """By entry, the count of results before it."""
    places: Sequence[int]
    """The places of the frontier, in order; the first clears nothing."""
    starts: Sequence[int]
    """The first entry, and those that begin a round."""
    called_at: Sequence[int]
    """By start, the count of results before it."""
    total: Sequence[int]
    """By entry, the tokens of all before it, none of them cleared."""
    longest: Sequence[int] = ()
    """By round, the tokens of the longest request up to the one that it answers."""
    frontiers: Sequence[int] = (0,)
    """The places that the frontier of this request may have."""
    debt: int = 0
    """The tokens that the longest request so far was longer than this one, at most a step."""

    def told(self, frontier: int, kept: Ranges) -> str:
        """Return in words how many results before a frontier are cleared, of the entries kept."""
        within = {entry for start, stop in kept for entry in range(start, min(stop, frontier))}
        count = begin = 0
        for member, cleared in zip(self.node.content, self.members, strict=True):
            items: Sequence[Message] = member.items if isinstance(member, RecordedNode) else ()
            for entry, (old, new) in enumerate(zip(items, cleared, strict=True), begin):
                if old is not new and entry in within:
                    pairs = zip(old.content, new.content, strict=True)
                    count += sum(a is not b for a, b in pairs if b.type == "tool_result")
            begin += len(items) if isinstance(member, RecordedNode) else 1
        return f"{count} of its results {'is' if count == 1 else 'are'} cleared" if count else ""

    def reached(self, stop: int) -> int:
        """Return how many places of the frontier are before the last calls of the first entries."""
        words = self.node.clear_results or ClearResults()
        kept = bisect_right(self.called_at, self.called[stop] - words.keep)
        return bisect_right(self.places, self.starts[max(kept - 1, 0)])

    def frontier(self, stop: int) -> int:
        """Return the last place of the frontier before the last calls of the first entries."""
        return self.places[self.reached(stop) - 1]

    def until(self, stop: int, step: int) -> "Clearing":
        """Return how a request with the entries before ``stop`` is cleared and cut by ``step``."""
        frontiers = self.places[: self.reached(stop)]
        newest = self.total[stop] - self.saved[frontiers[-1]]
        longest = max((newest, *self.longest[: bisect_left(self.starts, stop, 1) - 1][-1:]))
        words = self.node.clear_results
        if words is not None and words.at_least is not None:
            frontiers = (0,)  # that one is cleared already
        debt = min(longest - newest, step)
        return attrs.evolve(self, frontiers=frontiers, debt=debt)

    def applied(self, frontier: int) -> ConversationNode:
        """Return the history with the results before a frontier cleared."""
        members: list[Node] = []
        begin = 0
        for member, cleared in zip(self.node.content, self.members, strict=True):
            if not isinstance(member, RecordedNode):
                members.append(member)
                begin += 1
                continue
            size = len(member.items)
            count = min(max(frontier - begin, 0), size)
            items = (*cleared[:count], *member.items[count:])
            old = recording(member)
            known = EditedRecording(member.items, items, old.mask, member.start, made_of=old)
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

    ``tokens`` are those of its entries, ``rounds`` are the entries that begin a round.
    Those in ``pinned`` are not cleared.
    """
    words = node.clear_results or ClearResults()
    cleared: list[tuple[Message, ...]] = []
    sizes, results = [*tokens], [0] * len(tokens)
    stays = {entry for start, stop in pinned for entry in range(start, stop)}
    begin = 0
    for member in node.content:
        if not isinstance(member, RecordedNode):
            cleared.append(())
            begin += 1
            continue
        run = _cleared_run(member, words)
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
    at_least = max(step, 1) if words.at_least is None else words.at_least
    places, reached = [0], at_least
    for start in rounds:
        if saved[start] >= reached:
            places.append(start)
            reached = at_least * (saved[start] // at_least + 1)
    called, total, starts = [0, *accumulate(results)], [0, *accumulate(tokens)], [0, *rounds]
    called_at = [called[start] for start in starts]
    clearing = Clearing(node, cleared, sizes, saved, called, places, starts, called_at, total)
    # Each request was sent before a turn of the model.
    needed = (total[stop] - saved[clearing.frontier(stop)] for stop in rounds)
    clearing.longest = [*accumulate(needed, max)]
    return clearing


def _cleared_run(run: RecordedNode, words: ClearResults) -> RecordedNode:
    """Return a run with every result cleared, the same one if none is; remembered."""

    def fold(messages: Sequence[Message], before: EditedRecording | None) -> EditedRecording:
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
            items.append(message if message._plain is not None else _cleared(message, words, names))
        given = tuple(messages)
        edited = EditedRecording(given, tuple(items), run._mask, recording(run).start)
        edited.found = before.found if before else {}
        return edited

    edited, first = remember(run, ("cleared", words), fold), first_of(run)
    return with_items(run, edited.items[first : first + len(run.items)], edited)


def _cleared(message: Message, words: ClearResults, names: dict[str, str]) -> Message:
    """Return a message whose results, and with ``inputs`` whose calls, are placeholders."""

    def stays(name: str) -> bool:
        return name in words.exclude or as_sent(name) in words.exclude

    blocks = [*message.content]
    for index, block in enumerate(blocks):
        if isinstance(block, ToolResultBlock):
            if not stays(block.name or names.get(block.tool_use_id, "")):
                blocks[index] = attrs.evolve(block, content=(TextBlock(words.placeholder),))
        elif isinstance(block, ToolUseBlock) and words.inputs and not stays(block.name):
            blocks[index] = attrs.evolve(block, arguments=write_json({"input": words.placeholder}))
    same = all(new is old for new, old in zip(blocks, message.content, strict=True))
    return message if same else message.replace(content=tuple(blocks))


def as_sent(name: str) -> str:
    """Return the name of a tool as providers take it: letters, digits, ``_`` and ``-``."""
    return "".join(
        sign if sign.isascii() and (sign.isalnum() or sign in "_-") else "_" for sign in name
    )
