"""The line of a prompt: its messages in the order of sending, and the tokens that merging saves.

Neighbours that merge are sent as one message, with one frame. When a message is dropped, the two
messages around it become neighbours and may merge. So a line knows the neighbours of each message.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias, get_args

import attrs

Zone: TypeAlias = Literal["system", "after_system", "start", "flow", "end", "before_user"]
"""A section of the line. Messages in ``before_user`` are sent before the last question in ``flow``.
"""
ZONES: tuple[Zone, ...] = get_args(Zone)


class Seam(NamedTuple):
    """How a message merges: with neighbours of the same ``key``, and how many tokens that saves."""

    key: object
    saves: int


UNMERGED = Seam(None, 0)
"""The seam of a message that merges with nothing."""


def shared(before: Seam, after: Seam) -> int:
    """Return the tokens that two messages save as neighbours."""
    if before is after:
        return before.saves
    return min(before.saves, after.saves) if before.key == after.key else 0


class Link(NamedTuple):
    """One or several messages in a line: the seams of the first and of the last of them.

    ``inside`` is what the messages of the link save among themselves. ``question`` is the seam of
    its last question, if any. ``before`` is the seam of the message before that question, if that
    message is in the link, too.
    """

    first: Seam = UNMERGED
    last: Seam = UNMERGED
    inside: int = 0
    question: Seam | None = None
    before: Seam | None = None


NOTHING = Link()
"""The empty link at both ends of a line. It merges with no message."""


def last_before(positions: list[int], position: int) -> int:
    """Return the last of some sorted positions that is before ``position``, -1 for none."""
    index = bisect_left(positions, position)
    return positions[index - 1] if index else -1


def discard(positions: list[int], position: int) -> None:
    """Remove a position from sorted positions, if it is there."""
    index = bisect_left(positions, position)
    if positions[index : index + 1] == [position]:
        del positions[index]


@attrs.define(eq=False)
class Line:
    """The links of a prompt by position, which of them are sent, and the tokens that these save.

    The zones follow each other; ``before_user`` is the last one. ``NOTHING`` is at the first
    position, before the zone ``before_user``, and at the last position. After the zone ``system``
    is a link for the beginning of the conversation.
    """

    links: list[Link]
    before: list[int]
    """By position, the position of the link sent before it; -1 for a link that is not sent."""
    after: list[int]
    """By position, the position of the link sent after it; -1 for a link that is not sent."""
    joined: list[int]
    """By position of a link that is sent, the tokens that it saves with the one before it."""
    end: int
    """The first position after the zone ``flow``."""
    gap: int
    """The position of ``NOTHING`` before the zone ``before_user``."""
    start: int
    """The position of the link after the zone ``system``, before the conversation."""
    moves: bool
    """Whether any links are in the zone ``before_user``."""
    most: int = 0
    """The most tokens that a link saves with a neighbour."""
    saved: int = 0
    """The tokens that merging saves; in a copy, how many more than in the original."""
    sent: list[int] | None = None
    """The sorted positions of the links that are sent. ``None`` until a link is put back."""
    asking: list[int] | None = None
    """The positions in ``sent`` of links with a question."""

    @classmethod
    def of(
        cls, links: list[Link], sent: Sequence[int], *, end: int, gap: int, start: int
    ) -> "Line":
        """Return a line that sends the links at the positions ``sent``, which are in order."""
        most = max(link.first.saves for link in links)
        size = len(links)
        nowhere, joined = [-1] * size, [0] * size
        line = cls(links, nowhere, [*nowhere], joined, end, gap, start, gap + 2 < size, most)
        line.before[0] = 0
        for before, position in pairwise(sent):
            line.before[position] = before
            line.after[before] = position
            joined[position] = shared(links[before].last, links[position].first)
        line.saved = sum(joined) + sum(links[position].inside for position in sent)
        line.saved += line._saved_before_question()
        return line

    def copy(self) -> "Line":
        """Return a copy of the line that may be changed."""
        links, before, after, joined = [*self.links], [*self.before], [*self.after], [*self.joined]
        fixed = self.end, self.gap, self.start, self.moves, self.most
        return Line(links, before, after, joined, *fixed)

    def take(self, positions: Iterable[int]) -> None:
        """Take out the links at some positions: they are no longer sent."""
        links, joined = self.links, self.joined
        for position in positions:
            before, after = self.before[position], self.after[position]
            if before < 0:
                continue
            now = shared(links[before].last, links[after].first)
            saved = now - joined[position] - joined[after] - links[position].inside
            saved -= self._saved_before_question() if self.moves else 0
            joined[after] = now
            self.before[position] = -1
            self.after[before], self.before[after] = after, before
            if self.sent is not None and self.asking is not None:
                discard(self.sent, position)
                discard(self.asking, position)
            self.saved += saved + (self._saved_before_question() if self.moves else 0)

    def put(self, positions: Iterable[int]) -> None:
        """Put back the links at some positions: they are sent again."""
        sent, asking = self._positions()
        for position in positions:
            before = last_before(sent, position)
            after, (first, last, inside, question, _) = self.after[before], self.links[position]
            saved = inside - self.joined[after] - self._saved_before_question()
            self.joined[position] = shared(self.links[before].last, first)
            self.joined[after] = shared(last, self.links[after].first)
            self.before[position], self.after[position] = before, after
            self.after[before] = self.before[after] = position
            insort(sent, position)
            if question is not None:
                insort(asking, position)
            saved += self.joined[position] + self.joined[after]
            self.saved += saved + self._saved_before_question()

    def replace(self, position: int, link: Link | None) -> None:
        """Send another link at a position, ``None`` for no link."""
        self.take((position,))
        if link is not None:
            self.links[position] = link
            self.put((position,))

    def most_saved(self, positions: Iterable[int]) -> int:
        """Return the most tokens that links may save when they are put back."""
        more = 3 * self.most if self.moves else 0
        opening = self.joined[self.after[self.start]]  # it is gone if another link comes first
        return sum(self.links[position].first.saves + more for position in positions) - opening

    def _saved_before_question(self) -> int:
        """Return the tokens that the zone ``before_user`` saves before the last question."""
        links, first = self.links, self.after[self.gap]
        end = len(links) - 1
        if first == end:
            return 0
        sent, asking = self._positions()
        at = last_before(asking, self.end)
        question = links[at].question if at >= 0 else None
        before = links[at].before if at >= 0 else None
        if question is None:
            at = self.after[last_before(sent, self.end)]
            question = links[at].first
        if before is None:
            before = links[self.before[at]].last
        joined = shared(before, links[first].first)
        joined += shared(links[self.before[end]].last, question)
        return joined - shared(before, question)

    def _positions(self) -> tuple[list[int], list[int]]:
        """Return the positions of the links that are sent, and of those with a question."""
        if self.sent is None or self.asking is None:
            sent = [position for position, before in enumerate(self.before) if before >= 0]
            asks = (position for position in sent if self.links[position].question is not None)
            self.sent, self.asking = sent, [*asks] if self.moves else []
        return self.sent, self.asking
