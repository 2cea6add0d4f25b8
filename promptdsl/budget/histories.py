"""A recorded conversation, and where it may be cut: at exchanges, then at rounds of the last.

A cut moves in steps of tokens that are counted from the conversation's own beginning, so it depends
on nothing elsewhere in the prompt, and a provider's cache keeps its beginning for many turns.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import attrs

from promptdsl.messages import ToolResultBlock
from promptdsl.messages.message import Message
from promptdsl.messages.roles import LEADING
from promptdsl.tree.calls import answers_in, calls_in
from promptdsl.tree.group_nodes import ConversationNode
from promptdsl.tree.node import Node
from promptdsl.tree.recorded import cut
from promptdsl.tree.rewrite import with_content
from promptdsl.tree.turn_nodes import RecordedNode


@attrs.frozen
class Spoken:
    """Where a run of messages begins anew: its exchanges, its answers, and how it ends."""

    count: int = 0
    """How many messages this is about."""
    starts: tuple[int, ...] = ()
    """The messages that begin an exchange."""
    answers: tuple[int, ...] = ()
    """The messages that begin a round: what a model says, with the results of its calls."""
    open: frozenset[str] = frozenset()
    """The calls that are not answered yet."""
    role: str = ""
    """Who spoke last."""
    system: int = 0
    """How many messages at the beginning belong to the system text."""
    asked: int = -1
    """The last message in which a user asked something, -1 for none."""

    @property
    def head(self) -> int:
        """How many messages come before anybody asks or answers anything."""
        return min((*self.starts[:1], *self.answers[:1], self.count))


def heard(messages: Sequence[Message], before: Spoken | None = None) -> Spoken:
    """Return where messages begin anew, going on from what is known of the first of them.

    An exchange starts at a user turn that holds no result, has no call open before it and does not
    follow another user turn.
    """
    if before is None or before.count > len(messages):
        before = Spoken()
    starts: list[int] = []
    answers: list[int] = []
    waiting: frozenset[str] | set[str] = before.open
    last, system, asked = before.role, before.system, before.asked
    for index in range(before.count, len(messages)):
        said = messages[index]
        role = said.role
        if role == "user":
            if not _holds_result(said):
                asked = index
                starts += [] if waiting or last == "user" else [index]
        elif role == "assistant":
            # No result will come for what was called before.
            answers.append(index)
            waiting = frozenset()
        elif role != "tool":
            system += system == index and role == "system" and said.kind in LEADING
            continue
        last = role
        if said.plain is None:
            waiting = {*waiting, *calls_in(said)}.difference(answers_in(said))
    return Spoken(
        len(messages),
        (*before.starts, *starts),
        (*before.answers, *answers),
        frozenset(waiting),
        last,
        system,
        asked,
    )


def _holds_result(said: Message) -> bool:
    return said.plain is None and any(isinstance(b, ToolResultBlock) for b in said.content)


@attrs.define(eq=False)
class Cuts:
    """The places where a conversation may be cut, each with the tokens ``at`` it: those before it.

    TreePlace 0 keeps everything. ``places`` are the entries a cut begins with; the places from
    ``rounds`` on are rounds of the last exchange, whose own ``question`` stays in front of them.
    """

    node: ConversationNode
    places: list[int]
    at: list[int]
    saved: list[int]
    """How many tokens each place takes away."""
    lead: int = 0
    size: int = 0
    rounds: int = 0
    question: tuple[int, int] = (0, 0)

    @property
    def last(self) -> int:
        """The number of the last place, at which all goes that may go."""
        return len(self.saved) - 1

    def stepped(self, least: int, step: int) -> int:
        """Return the first place from ``least`` on to which the cut may move.

        It moves to where the tokens before it reach a multiple of ``step``; with 0, to any place.
        """
        if not least or not step:
            return least
        reached = step * (self.at[least - 1] // step + 1)
        return min(bisect_left(self.at, reached), len(self.at) - 1)

    def restored(self, place: int, step: int, room: int) -> int:
        """Return the first place the cut can be moved back to by whole steps, within ``room``."""
        for earlier in range(place):
            if self.saved[place] - self.saved[earlier] > room:
                continue
            if not earlier or self.stepped(earlier, step) == earlier:
                return earlier
        return place

    def is_among_rounds(self, place: int) -> bool:
        """Return whether a cut at a place leaves a question and the last rounds after it."""
        return place >= self.rounds and self.places[place] < self.size

    def kept(self, place: int) -> ConversationNode:
        """Return the conversation cut at a place."""
        if not place:
            return self.node
        ranges = [(0, self.lead)]
        ranges += [self.question] if self.is_among_rounds(place) else []
        ranges.append((self.places[place], 1 << 60))
        return with_content(self.node, tuple(_sliced(self.node.content, ranges)))


def _sliced(content: Sequence[Any], ranges: Sequence[tuple[int, int]]) -> list[Node]:
    """Return the members of a conversation whose entries are in the ranges, runs cut to them."""
    found: list[Node] = []
    for first, stop in ranges:
        begin = 0
        for member in content:
            size = len(member.items) if isinstance(member, RecordedNode) else 1
            start, end = max(first - begin, 0), min(stop - begin, size)
            if start < end:
                whole = not isinstance(member, RecordedNode) or (start, end) == (0, size)
                found.append(member if whole else cut(member, start, end))
            begin += size
    return found


def cuts_of(
    node: ConversationNode, tokens: Sequence[int], spoken: Spoken, *, required: bool, answers: bool
) -> Cuts:
    """Return where a conversation may be cut, whose entries have these tokens.

    ``required`` is whether its last exchange has to stay; the last ``keep`` stay anyway.
    ``answers`` is whether it begins with results of earlier calls, which stay with them.
    """
    before = [0, *accumulate(tokens)]
    lead, size = spoken.head if answers else spoken.system, len(tokens)
    starts = list(spoken.starts)
    staying = max(node.keep, int(required))
    droppable = max(len(starts) - max(staying, 1), 0)
    # What is said before the first exchange goes with it.
    places = [lead, *starts[1 : droppable + 1]]
    found = Cuts(node, places, [before[p] - before[lead] for p in places], [], lead, size)
    found.saved = [*found.at]
    found.rounds = len(places)
    if droppable == len(starts) - 1:
        _add_rounds(found, before, spoken, starts[-1])
    elif required and not starts:
        _add_rounds(found, before, spoken, lead)
    if not staying and size > lead:
        _add_end(found, before)
    return found


def _add_end(found: Cuts, before: list[int]) -> None:
    """Add the place at which all of it is gone."""
    found.places.append(found.size)
    for tokens in (found.at, found.saved):
        tokens.append(before[found.size] - before[found.lead])


def _add_rounds(found: Cuts, before: list[int], spoken: Spoken, last: int) -> None:
    """Add the rounds of the exchange that begins at ``last``: the newest of them stays."""
    rounds = [place for place in spoken.answers if place >= last]
    if len(rounds) < 2:
        return
    found.question = (last, rounds[0])
    gone = before[last] - before[found.lead]
    # Somebody may have asked before all calls were answered.
    stop = spoken.asked if spoken.asked > rounds[0] else rounds[-1]
    for place in rounds[1 : bisect_right(rounds, stop)]:
        found.places.append(place)
        found.at.append(before[place] - before[found.lead])
        found.saved.append(gone + before[place] - before[rounds[0]])
