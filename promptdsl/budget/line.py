"""The line of a prompt: its messages in the order of sending, and what merging saves.

Neighbours that merge are sent as one message, with one frame. A message that is dropped may bring
two others together that merge, so a line finds the neighbours of each message.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias, get_args

import attrs

from promptdsl.budget.slots import Slot

SIZE = 1_024
"""The count of positions in a block."""

Zone: TypeAlias = Literal["system", "after_system", "start", "flow", "end", "before_user"]
"""A part of the line. Messages in ``before_user`` are before the last question in ``flow``."""
ZONES: tuple[Zone, ...] = get_args(Zone)


Owner: TypeAlias = tuple[Slot, int]
"""An entry of a timeline and, if it has alternatives, the index of one, otherwise 0."""
Links: TypeAlias = Mapping[Owner, Sequence[int]]
"""The positions of the links of each owner."""


class Joint(NamedTuple):
    """How a message merges: with neighbours of an equal ``key``, which ``saves`` tokens."""

    key: object
    saves: int


ALONE = Joint(None, 0)
"""The joint of a neighbour that is missing."""


def shared(before: Joint, after: Joint) -> int:
    """Return the tokens that two messages save as neighbours."""
    return min(before.saves, after.saves) if before.key == after.key else 0


class Link(NamedTuple):
    """A message in a line, or several: the joints of the first and the last of them.

    ``inside`` is what several messages save among themselves. ``question`` is the joint of the last
    question in it, if any, and ``before`` that of the message before it, if that is in the link.
    """

    first: Joint = ALONE
    last: Joint = ALONE
    inside: int = 0
    question: Joint | None = None
    before: Joint | None = None


NOTHING = Link()
"""What is at both ends of a line: it merges with nothing."""


@attrs.define(eq=False)
class Positions:
    """A set of numbers, as bits in blocks, that finds the neighbours of a number."""

    blocks: list[int]
    filled: int = 0
    """The numbers of the blocks with any bits, as bits."""

    def __contains__(self, number: int) -> bool:
        return bool(self.blocks[number // SIZE] >> number % SIZE & 1)

    def add(self, number: int) -> None:
        """Add a number."""
        self.blocks[number // SIZE] |= 1 << number % SIZE
        self.filled |= 1 << number // SIZE

    def discard(self, number: int) -> None:
        """Remove a number, if it is there."""
        block = number // SIZE
        self.blocks[block] &= ~(1 << number % SIZE)
        if not self.blocks[block]:
            self.filled &= ~(1 << block)

    def before(self, number: int) -> int:
        """Return the largest number below another one, -1 for none."""
        block = number // SIZE
        bits = self.blocks[block] & ((1 << number % SIZE) - 1)
        if not bits:
            block = (self.filled & ((1 << block) - 1)).bit_length() - 1
            if block < 0:
                return -1
            bits = self.blocks[block]
        return block * SIZE + bits.bit_length() - 1

    def after(self, number: int) -> int:
        """Return the smallest number above another one, which there has to be."""
        block = number // SIZE
        bits = self.blocks[block] >> number % SIZE + 1 << number % SIZE + 1
        if not bits:
            filled = self.filled >> block + 1 << block + 1
            block = (filled & -filled).bit_length() - 1
            bits = self.blocks[block]
        return block * SIZE + (bits & -bits).bit_length() - 1

    def copy(self) -> "Positions":
        """Return the same numbers as another set."""
        return Positions([*self.blocks], self.filled)


@attrs.define(eq=False)
class Line:
    """The links of a prompt by position, those that are sent, and the tokens these save.

    Its zones follow each other: ``after_system``, ``start``, ``flow``, ``end``. The links of the
    zone ``before_user`` are at the end, after a position of nothing.
    """

    links: list[Link]
    sent: Positions
    asking: Positions
    """The links that are sent and have a question."""
    end: int
    """The first position after the zone ``flow``."""
    gap: int
    """The position before the zone ``before_user``."""
    saved: int = 0
    """The tokens that merging saves; of a copy, how many more than before."""

    def copy(self) -> "Line":
        """Return the same line, to be changed."""
        links, sent, asking = [*self.links], self.sent.copy(), self.asking.copy()
        return Line(links, sent, asking, self.end, self.gap)

    def take(self, position: int) -> None:
        """Send a link no more."""
        if position not in self.sent:
            return
        self.saved -= self._saved_before_question()
        self.sent.discard(position)
        self.asking.discard(position)
        self.saved += self._saved_before_question() - self._saved_by(position)

    def put(self, position: int) -> None:
        """Send a link."""
        self.saved += self._saved_by(position) - self._saved_before_question()
        self.sent.add(position)
        if self.links[position].question is not None:
            self.asking.add(position)
        self.saved += self._saved_before_question()

    def replace(self, position: int, link: Link | None) -> None:
        """Send another link at a position, or none."""
        self.take(position)
        if link is not None:
            self.links[position] = link
            self.put(position)

    def _saved_by(self, position: int) -> int:
        """Return the tokens that are saved by sending a link that is not sent."""
        link = self.links[position]
        before = self.links[self.sent.before(position)].last
        after = self.links[self.sent.after(position)].first
        joined = shared(before, link.first) + shared(link.last, after)
        return joined + link.inside - shared(before, after)

    def _saved_before_question(self) -> int:
        """Return the tokens saved by sending the zone ``before_user`` where its position is."""
        links, last = self.links, len(self.links) - 1
        first = self.sent.after(self.gap) if self.gap + 1 < last else last
        if first == last:
            return 0
        at = self.asking.before(self.end)
        question = links[at].question if at >= 0 else None
        before = links[at].before if at >= 0 else None
        if question is None:
            at = self.sent.after(self.end - 1)
            question = links[at].first
        if before is None:
            before = links[self.sent.before(at)].last
        joined = shared(before, links[first].first)
        joined += shared(links[self.sent.before(last)].last, question)
        return joined - shared(before, question)
