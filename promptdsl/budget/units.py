"""Units: what a budget keeps or drops, and what each of them costs."""

from typing import Any, NamedTuple

import attrs

from promptdsl.budget.histories import Cuts
from promptdsl.budget.places import Place

LAST = float("inf")
"""The priority of forms without one: they step down behind what stands beside them."""


class Spot(NamedTuple):
    """Where something stands in the document; system content is sent before all else."""

    number: int
    later: bool = True

    @property
    def sent(self) -> tuple[bool, int]:
        """Where it stands in what is sent."""
        return self.later, self.number


@attrs.define(eq=False)
class Unit:
    """Something that goes whole. ``tokens`` are all of it, ``inner`` the units that go before it.

    ``order`` is where it stands, ``covered`` whether a mark of its author is behind
    it. ``beside`` are further
    ones that go with it: calls and their results. ``turn`` is the turn it stands in.
    """

    place: Place
    priority: float
    order: Spot
    covered: bool = False
    tokens: int = 0
    around: "Unit | None" = None
    turn: Place | None = None
    inner: "list[Unit]" = attrs.field(factory=list["Unit"])
    beside: "list[Unit]" = attrs.field(factory=list["Unit"])
    stays: bool = False
    """Whether it has to stay after all: something that stays depends on it."""
    follows: bool = False
    """Whether it goes with another one."""

    @property
    def rank(self) -> tuple[float, bool, int]:
        """What orders it among the units of its scope: the lowest goes first."""
        return self.priority, self.covered, self.order.number

    @property
    def home(self) -> Place:
        """The place in the timeline of what it stands in, or of itself."""
        return self.turn or self.place

    @property
    def node(self) -> Any:
        """The node in the tree."""
        return self.place.node


@attrs.define(eq=False)
class Forms(Unit):
    """Forms of one part: ``sizes`` are the tokens of those that are smaller than all before."""

    sizes: list[tuple[int, int]] = attrs.field(factory=list[tuple[int, int]])
    """Which form, and its tokens."""


@attrs.define(eq=False)
class Past(Unit):
    """A recorded conversation, which is cut."""

    cuts: Cuts | None = None


@attrs.define(eq=False)
class Step:
    """One thing that is done to make room, and the tokens that saves by itself.

    ``to`` is which of its forms a part steps down to, or the last place where a conversation is
    cut; -1 where all that is left of the unit goes.
    """

    unit: Unit
    to: int
    own: int = 0
