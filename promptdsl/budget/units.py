"""Units: what a budget keeps or drops, and what each of them costs."""

from typing import Any, NamedTuple, TypeAlias

import attrs

from promptdsl.budget.histories import Cuts
from promptdsl.budget.places import TreePlace

LAST = float("inf")
"""The priority of forms without one: they shrink after all that has one."""


class Spot(NamedTuple):
    """A position in the document; system content is sent before all else."""

    number: int
    later: bool = True

    @property
    def sent(self) -> tuple[bool, int]:
        """The position in the order of sending."""
        return self.later, self.number


@attrs.define(eq=False)
class Unit:
    """Something that goes whole, at its ``priority``; ``tokens`` are all of it."""

    place: TreePlace
    priority: float
    order: Spot
    """Its position in the document."""
    covered: bool = False
    """Whether it stands before a cache mark of its author: of equal priority it goes last."""
    tokens: int = 0
    around: "Unit | None" = None
    """The unit it is inside of, or goes with."""
    turn: TreePlace | None = None
    """The turn it stands in, ``None`` for what stands in the timeline itself."""
    inner: "list[Unit]" = attrs.field(factory=list["Unit"])
    """The units inside it, which go before it."""
    beside: "list[Unit]" = attrs.field(factory=list["Unit"])
    """The units elsewhere that go with it: calls and their results."""
    stays: bool = False
    """Whether it has to stay after all: something that stays depends on it."""
    follows: bool = False
    """Whether it goes with another unit, of which it is ``beside``."""

    @property
    def rank(self) -> tuple[float, bool, int]:
        """The rank among the units in the same one: the lowest goes first."""
        return self.priority, self.covered, self.order.number

    @property
    def home(self) -> TreePlace:
        """The place in the timeline: of its turn, or its own."""
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
    """The unit of a ``Conversation``, which a budget cuts; ``cuts`` says where it may."""

    cuts: Cuts | None = None


@attrs.define(eq=False)
class Shrink:
    """The action that sends a smaller form of a part: its ``number`` among ``unit.sizes``."""

    unit: Forms
    number: int
    saves: int


@attrs.define(eq=False)
class CutOff:
    """The action that cuts a conversation, as far as it may be cut."""

    unit: Past
    cuts: Cuts
    saves: int


@attrs.define(eq=False)
class Drop:
    """The action that takes away all that is left of a unit, and of those beside it."""

    unit: Unit
    saves: int = 0
    """The tokens it saves by itself: known, and set by ``Order``, after the actions inside it."""


Action: TypeAlias = Shrink | CutOff | Drop
"""Something that is done to make room, and the tokens that saves by itself."""
