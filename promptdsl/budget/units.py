"""Units: the parts that a budget keeps or drops completely, and the actions that make room."""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import attrs

from promptdsl.budget.histories import CutPoints
from promptdsl.budget.slots import Slot
from promptdsl.foundation.frozen import new_list
from promptdsl.tree.group_nodes import ConversationNode, FirstFitNode

LAST = float("inf")
"""The priority of alternatives without one: they shrink after everything that has a priority."""


class SendOrder(NamedTuple):
    """A position in the order of sending: system content is sent before everything else."""

    after_system: bool
    number: int
    """The position in the document."""


@attrs.define(eq=False)
class Unit:
    """A part of a prompt that is dropped completely, the lowest ``priority`` first."""

    slot: Slot
    priority: float
    sent_at: SendOrder
    tokens: int = 0
    covered: bool = False
    """Whether a cache mark follows it. Of equal priorities it then goes last: it may be cached."""
    around: "Unit | None" = None
    """The unit that it is dropped with: the one that contains it, or that it is linked to."""
    turn: Slot | None = None
    """The slot of the turn that contains it, ``None`` for an entry of the timeline."""
    inner: "list[Unit]" = attrs.field(factory=new_list)
    """The units inside it. They are dropped before it."""
    linked_units: "list[Unit]" = attrs.field(factory=new_list)
    """The linked units: calls and results in other entries that are dropped with it."""
    is_linked: bool = False
    """Whether it is linked to the unit ``around`` and dropped with it."""
    required: bool = False
    """Whether it has to stay, although it has a priority, because other parts depend on it."""

    @property
    def rank(self) -> tuple[float, bool, int]:
        """The rank among the units next to it: the lowest is dropped first."""
        return self.priority, self.covered, self.sent_at.number

    @property
    def entry(self) -> Slot:
        """The slot in the timeline: of its turn, or its own."""
        return self.turn or self.slot


@attrs.define(eq=False)
class Alternatives(Unit):
    """The unit of a ``FirstFit``, which may send a smaller alternative before it is dropped."""

    node: FirstFitNode = attrs.field(kw_only=True)
    all_sizes: list[tuple[int, int]] = attrs.field(factory=new_list)
    """The index and the tokens of each alternative that sends anything."""
    sizes: list[tuple[int, int]] = attrs.field(factory=new_list)
    """The index and the tokens of each alternative that is smaller than all before it."""


@attrs.define(eq=False)
class ConversationUnit(Unit):
    """The unit of a ``History``, which a budget cuts; its last cut may leave nothing."""

    node: ConversationNode = attrs.field(kw_only=True)
    cuts: CutPoints = attrs.field(init=False)
    """Set by ``Plan``, which knows the calls and the last question of all entries."""
    cuts_at: Callable[[int, bool], CutPoints] = attrs.field(init=False)
    """The cut points of a request with the first messages of the history.

    The arguments are their number, and whether their last exchange has to stay.
    """


@attrs.define(eq=False)
class Entry:
    """An entry of a timeline (a turn, a group, a history...): its tokens and its unit, if any."""

    slot: Slot
    tokens: int
    unit: Unit | None = None


@attrs.define(eq=False)
class Shrink:
    """The action that sends a smaller alternative: ``number`` is its index in ``unit.sizes``."""

    unit: Alternatives
    number: int
    saves: int


@attrs.define(eq=False)
class Cut:
    """The action that cuts a conversation, as far as it may be cut."""

    unit: ConversationUnit
    saves: int


@attrs.define(eq=False)
class Drop:
    """The action that drops the rest of a unit and the units linked to it."""

    unit: Unit
    saves: int = 0
    """The tokens it saves, without the containers that become empty.

    ``Order`` sets it, after the actions inside the unit.
    """


Action: TypeAlias = Shrink | Cut | Drop
