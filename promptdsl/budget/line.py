"""The line of a prompt: its messages in the order of sending, and what merging saves.

Neighbours that merge are sent as one message, with one frame. A message that is dropped may bring
two others together that merge, so a line finds the neighbours of each message.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias, get_args

import attrs

from promptdsl.budget.slots import Slot

SIZE = 256
"""The count of positions in a block."""

Zone: TypeAlias = Literal["system", "after_system", "start", "flow", "end", "before_user"]
"""A part of the line. Messages in ``before_user`` are before the last question in ``flow``."""
ZONES: tuple[Zone, ...] = get_args(Zone)


Owner: TypeAlias = tuple[Slot, int]
"""An entry of a timeline and, if it has alternatives, the index of one, otherwise 0."""
Links: TypeAlias = Mapping[Owner, Sequence[int]]
"""The positions of the links of each owner."""


class Seam(NamedTuple):
    """How a message merges: with neighbours of an equal ``key``, which ``saves`` tokens."""

    key: object
    saves: int


UNMERGED = Seam(None, 0)
"""The seam of what merges with nothing."""


def shared(before: Seam, after: Seam) -> int:
    """Return the tokens that two messages save as neighbours."""
    return min(before.saves, after.saves) if before.key == after.key else 0


class Link(NamedTuple):
    """A message in a line, or several: the seams of the first and the last of them.

    ``inside`` is what several messages save among themselves. ``question`` is the seam of the last
    question in it, if any, and ``before`` that of the message before it, if that is in the link.
    """

    first: Seam = UNMERGED
    last: Seam = UNMERGED
    inside: int = 0
    question: Seam | None = None
    before: Seam | None = None


NOTHING = Link()
"""What is at both ends of a line: it merges with nothing."""


@attrs.define(eq=False)
class Positions:
    """A set of positions, as bits in blocks, that finds the last one before any position."""

    blocks: list[int]
    filled: int = 0
    """The numbers of the blocks with any bits, as bits."""

    @classmethod
    def of(cls, positions: Iterable[int], end: int) -> "Positions":
        """Return a set of positions, all before an end."""
        found = cls([0] * (end // SIZE + 1))
        for position in positions:
            found.add(position)
        return found

    def add(self, position: int) -> None:
        """Add a position."""
        block, bit = divmod(position, SIZE)
        self.blocks[block] |= 1 << bit
        self.filled |= 1 << block

    def discard(self, position: int) -> None:
        """Remove a position, if it is there."""
        block, bit = divmod(position, SIZE)
        self.blocks[block] &= ~(1 << bit)
        if not self.blocks[block]:
            self.filled &= ~(1 << block)

    def before(self, position: int) -> int:
        """Return the last position before another one, -1 for none."""
        block, bit = divmod(position, SIZE)
        bits = self.blocks[block] & ((1 << bit) - 1)
        if not bits:
            block = (self.filled & ((1 << block) - 1)).bit_length() - 1
            if block < 0:
                return -1
            bits = self.blocks[block]
        return block * SIZE + bits.bit_length() - 1


@attrs.define(eq=False)
class Line:
    """The links of a prompt by position, those that are sent, and the tokens these save.

    Its zones follow each other, ``before_user`` the last one. At the first position, before that
    zone and at the last position is nothing.
    """

    links: list[Link]
    before: list[int]
    """By position, that of the link sent before it; -1 for a link that is not sent."""
    after: list[int]
    end: int
    """The first position after the zone ``flow``."""
    gap: int
    """The position of nothing before the zone ``before_user``."""
    most: int = 0
    """The most tokens that a link saves with a neighbour."""
    saved: int = 0
    """The tokens that merging saves; of a copy, how many more than before."""
    sent: Positions | None = None
    """The positions of the links that are sent, found when the first one is put back."""
    asking: Positions | None = None
    """Of these, those of links with a question."""

    @classmethod
    def of(cls, links: list[Link], sent: Sequence[int], *, end: int, gap: int) -> "Line":
        """Return a line that sends the links at some positions, given in order."""
        most = max(link.first.saves for link in links)
        line = cls(links, [-1] * len(links), [-1] * len(links), end, gap, most)
        for before, position in pairwise((sent[0], *sent)):
            line.before[position] = before
            line.after[before] = position
        line.saved = sum(links[position].inside for position in sent)
        line.saved += sum(shared(links[one].last, links[two].first) for one, two in pairwise(sent))
        line.saved += line._saved_before_question()
        return line

    def copy(self) -> "Line":
        """Return the same line, to be changed."""
        links, before, after = [*self.links], [*self.before], [*self.after]
        return Line(links, before, after, self.end, self.gap, self.most)

    def take(self, position: int) -> None:
        """Send a link no more."""
        before, after = self.before[position], self.after[position]
        if before < 0:
            return
        self.saved -= self._saved_by(position, before, after)
        moves = self.gap + 2 < len(self.links)
        if moves:
            self.saved -= self._saved_before_question()
        self.before[position] = -1
        self.after[before], self.before[after] = after, before
        if self.sent is not None and self.asking is not None:
            self.sent.discard(position)
            self.asking.discard(position)
        if moves:
            self.saved += self._saved_before_question()

    def put(self, position: int) -> None:
        """Send a link again."""
        sent, asking = self._positions()
        before = sent.before(position)
        after = self.after[before]
        self.saved += self._saved_by(position, before, after) - self._saved_before_question()
        self.before[position], self.after[position] = before, after
        self.after[before] = self.before[after] = position
        sent.add(position)
        if self.links[position].question is not None:
            asking.add(position)
        self.saved += self._saved_before_question()

    def replace(self, position: int, link: Link | None) -> None:
        """Send another link at a position, or none."""
        before, after = self.before[position], self.after[position]
        if link is None:
            self.take(position)
        elif before < 0:
            self.links[position] = link
            self.put(position)
        else:
            self.saved -= self._saved_before_question() + self._saved_by(position, before, after)
            self.links[position] = link
            self.saved += self._saved_before_question() + self._saved_by(position, before, after)

    def _saved_by(self, position: int, before: int, after: int) -> int:
        """Return the tokens that a link saves between two others."""
        links = self.links
        begin, end, inside, *_ = links[position]
        last, first = links[before].last, links[after].first
        return shared(last, begin) + shared(end, first) + inside - shared(last, first)

    def _saved_before_question(self) -> int:
        """Return the tokens saved by sending the zone ``before_user`` where its position is."""
        links, first = self.links, self.after[self.gap]
        end = len(links) - 1
        if first == end:
            return 0
        sent, asking = self._positions()
        at = asking.before(self.end)
        question = links[at].question if at >= 0 else None
        before = links[at].before if at >= 0 else None
        if question is None:
            at = self.after[sent.before(self.end)]
            question = links[at].first
        if before is None:
            before = links[self.before[at]].last
        joined = shared(before, links[first].first)
        joined += shared(links[self.before[end]].last, question)
        return joined - shared(before, question)

    def _positions(self) -> tuple[Positions, Positions]:
        """Return the positions of the links that are sent, and of those with a question."""
        if self.sent is None or self.asking is None:
            sent = [position for position, before in enumerate(self.before) if before >= 0]
            asking = [position for position in sent if self.links[position].question is not None]
            self.sent = Positions.of(sent, len(self.links))
            self.asking = Positions.of(asking, len(self.links))
        return self.sent, self.asking
