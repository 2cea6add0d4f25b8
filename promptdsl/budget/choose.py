"""The choice of a budget: which parts are dropped, cut or replaced, and which come back.

The order: of neighbouring units the one with the lowest priority goes first, of equal priorities
one that no cache mark of the author follows (so a cache still serves the others), of these the
first in the document. The units inside a unit go directly before it.

An example of three units: a hint (1) of 50 tokens, a conversation (2) of 300 that is cut in steps,
a log (3) of 500. The actions in their order are: drop the hint, cut the conversation, drop the log.
They save 50, 350 and 850 tokens in all; a bisection of these sums finds how many are needed.

- 40 tokens too many: the hint is dropped. Nothing fits into the 10 tokens that are left over.
- 150 too many: the hint is dropped, and the conversation is cut, at the end of a step. The tokens
  left over stay free. Without steps the cut saves no more than is missing, and then the hint comes
  back if there is room for it.
- 400 too many: all three actions are done, and 450 tokens are left over. Then actions are undone
  where there is room, the last one first: the log (500) does not fit, the conversation and the hint
  come back. So the drop of one large part does not also drop the small ones.

Read first ``actions_of``, then ``Order.choose``.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from operator import attrgetter

import attrs

from promptdsl.budget.slots import Slot
from promptdsl.budget.units import (
    LAST,
    Action,
    Alternatives,
    ConversationUnit,
    Cut,
    Drop,
    Shrink,
    Unit,
)


def actions_of(units: Iterable[Unit]) -> Iterator[Action]:
    """Yield the actions that make room, the lowest priority first.

    The actions inside a unit come before the drop of the unit itself.
    """
    stack: list[Unit | Drop] = [*_stacked(unit for unit in units if not unit.is_linked)]
    while stack:
        unit = stack.pop()
        if isinstance(unit, Drop):
            yield unit
        elif isinstance(unit, ConversationUnit):
            if unit.cuts.last > 0:
                yield Cut(unit, unit.cuts.saved[-1])
        else:
            if isinstance(unit, Alternatives):
                for number in range(1, len(unit.sizes)):
                    larger, smaller = unit.sizes[number - 1][1], unit.sizes[number][1]
                    yield Shrink(unit, number, larger - smaller)
            if unit.priority < LAST and not unit.required and not unit.is_linked:
                stack.append(Drop(unit))
            if unit.inner:
                stack += _stacked(unit.inner)


def _stacked(units: Iterable[Unit]) -> list[Unit]:
    """Return units as a stack: the unit that is dropped first is the last element."""
    return sorted(units, key=attrgetter("rank"), reverse=True)


@attrs.define(eq=False)
class Choice:
    """The actions that are done to a prompt, and the tokens that they save."""

    saved: int = 0
    """The tokens of what is left out, each message with a frame of its own."""
    dropped: set[Unit] = attrs.field(factory=set[Unit])
    """The units that are dropped together with the units linked to them."""
    shrunk: dict[Alternatives, int] = attrs.field(factory=dict[Alternatives, int])
    """By unit, the index of the alternative among its sizes."""
    cuts: dict[ConversationUnit, int] = attrs.field(factory=dict[ConversationUnit, int])
    """By unit, the point of the cut."""
    live: dict[Slot, int] = attrs.field(factory=dict[Slot, int])
    """By container, the count of its parts left. Only containers that lost a part are in it."""
    refused: dict[Unit, int] = attrs.field(factory=dict[Unit, int])
    """By unit for which there is no room: the tokens that would stay saved if it came back."""

    def do(self, action: Action) -> None:
        """Do an action."""
        if isinstance(action, Cut):
            self.cut(action.unit, action.unit.cuts.last)
        elif isinstance(action, Shrink):
            self.shrink(action.unit, action.number)
        else:
            self.dropped.add(action.unit)
            self._move(action, 1)

    def put_back(self, action: Drop) -> None:
        """Undo a drop."""
        self.dropped.discard(action.unit)
        self._move(action, -1)

    def _move(self, action: Drop, gone: int) -> None:
        """Take a unit and its linked units out (``gone`` is 1), or put them back (-1).

        A container is taken out with the last of its parts, and put back with the first.
        """
        self.saved += gone * action.saves
        for unit in (action.unit, *action.unit.linked_units):
            # Another slot was taken out before, with the last of its parts.
            if not unit.slot.fixed:
                continue
            for container in unit.slot.containers:
                before = self.live.get(container, container.live)
                self.live[container] = after = before - gone
                if min(before, after) or container.fixed:
                    break
                self.saved += gone * container.container_tokens

    def shrink(self, unit: Alternatives, number: int) -> None:
        """Send the alternative with index ``number`` in ``unit.sizes``."""
        self.saved += unit.sizes[self.shrunk.get(unit, 0)][1] - unit.sizes[number][1]
        self.shrunk[unit] = number

    def cut(self, unit: ConversationUnit, point: int) -> None:
        """Cut a conversation at a point."""
        cuts = unit.cuts
        self.saved += cuts.saved[point] - cuts.saved[self.cuts.get(unit, 0)]
        self.cuts[unit] = point

    def cut_back(self, unit: ConversationUnit, need: int) -> None:
        """Cut a conversation only so far that all actions together save ``need`` tokens."""
        others = self.saved - unit.cuts.saved[self.cuts.get(unit, 0)]
        self.cut(unit, unit.cuts.point(need - others))

    def next_back(self, free: int) -> tuple[Unit | None, int]:
        """Return the unit that comes back first in a larger budget, and the tokens that it lacks.

        ``free`` are the tokens of the budget that the request leaves free. Parts that came back
        after the unit was refused may go for it. It is not certain: where neighbours merge, a
        request has fewer tokens than its parts. ``None`` where a history is cut: a cut moves in
        steps.
        """
        if not self.refused or any(self.cuts.values()):
            return None, 0
        unit = max(self.refused, key=self.refused.__getitem__)
        return unit, max(self.saved - free - self.refused[unit], 1)


class Order:
    """The actions that make room, in order, and the sums of the tokens they save."""

    def __init__(self, units: Iterable[Unit]) -> None:
        self.actions: Sequence[Action] = [*actions_of(units)]
        self.saved = [0]
        """The tokens saved by the first 0, 1, 2... actions."""
        self.earlier_excess = 0
        """By how many tokens an earlier request of a cleared history was longer than this one."""
        trial = Choice()
        inside: dict[Unit, int] = {}  # by unit, the tokens saved by the actions inside it
        for action in self.actions:
            unit, around = action.unit, action.unit.around
            if isinstance(action, Drop) and unit.slot.fixed:
                action.saves = unit.tokens - inside.get(unit, 0)
                for linked in unit.linked_units:
                    action.saves += linked.tokens
            before = trial.saved
            if isinstance(action, Cut) and action.unit.cuts.clearing:
                longer = [request.more for request in action.unit.cuts.clearing.longer]
                self.earlier_excess = max(self.earlier_excess, *longer, 0)
            trial.do(action)
            saved = trial.saved - before
            self.saved.append(trial.saved)
            # A unit is dropped after everything inside it, so the sum of its parts is complete.
            if isinstance(unit, Alternatives):
                inside[unit] = inside.get(unit, 0) + saved
            else:
                saved += inside.get(unit, 0)
            if around is not None:
                inside[around] = inside.get(around, 0) + saved

    def droppable_in(self) -> dict[Slot, int]:
        """Return the tokens that may be dropped, by slot of the timeline or directly in a turn."""
        inside: dict[Slot, int] = {}
        for action, (before, after) in zip(self.actions, pairwise(self.saved), strict=True):
            unit = action.unit
            for slot in {unit.entry, unit.slot.part}:
                inside[slot] = inside.get(slot, 0) + after - before
            for linked in unit.linked_units:
                inside[linked.entry] = inside.get(linked.entry, 0) + linked.tokens
        return inside

    def choose(self, need: int) -> Choice:
        """Return the choice that saves at least ``need`` tokens, or all that can be saved."""
        choice = Choice()
        # If an earlier, longer request needed a cut, the cut stays.
        needed = need + self.earlier_excess
        if needed <= 0:
            return choice
        count = bisect_left(self.saved, min(needed, self.saved[-1]))
        for action in self.actions[:count]:
            choice.do(action)
        _put_back(choice, self.actions[:count], need)
        return choice


def _put_back(choice: Choice, actions: Sequence[Action], need: int) -> None:
    """Undo actions while ``need`` tokens stay saved, the last action first.

    It ends at the first conversation that stays cut in steps. The tokens left over stay free: a
    part that is put back there would come and go from one request to the next.
    """
    for action in reversed(actions):
        if isinstance(action, Cut):
            choice.cut_back(action.unit, need)
            if choice.cuts[action.unit] and action.unit.cuts.step:
                return
        elif action.unit.around in choice.dropped:
            continue  # it comes back only with the unit around it
        elif isinstance(action, Shrink):
            unit, number = action.unit, action.number
            if choice.shrunk.get(unit, 0) == number and unit not in choice.dropped:
                choice.shrink(unit, number - 1)
                if choice.saved < need:
                    choice.shrink(unit, number)
        else:
            choice.put_back(action)
            if choice.saved < need:
                choice.refused[action.unit] = choice.saved
                choice.do(action)
