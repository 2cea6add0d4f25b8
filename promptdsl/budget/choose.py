"""The choice of a budget: which parts are dropped, cut or made smaller, and which come back.

An example of three units, the lowest priority first: a hint (1) of 50 tokens, a conversation (2) of
300, a log (3) of 500. The actions in their order are: drop the hint, cut the conversation, drop the
log. They save 50, 350 and 850 tokens in all; a bisection of these sums finds how many actions are
needed.

- 40 tokens too many: the hint is dropped. Nothing fits into the 10 tokens that are left over.
- 150 too many: the hint is dropped, and the conversation is cut. As that is the last action, it is
  cut no further than to the first point that saves the 100 missing tokens; the tokens left over
  stay free.
- 400 too many: all three actions are done, and 450 tokens are left over. Actions are undone where
  there is room, the last one first: the log (500) stays away, the conversation and the hint come
  back. So one large part that is dropped does not take the small ones with it.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
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
    """Yield the actions that make room, in order: the lowest priority first.

    The units inside a unit are dropped first, then the rest of it.
    """
    stack: list[Unit | Drop] = [*_stacked(unit for unit in units if not unit.is_companion)]
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
            if unit.priority < LAST and not unit.required and not unit.is_companion:
                stack.append(Drop(unit))
            if unit.inner:
                stack += _stacked(unit.inner)


def _stacked(units: Iterable[Unit]) -> list[Unit]:
    """Return units as a stack, with the one that is dropped first on top."""
    return sorted(units, key=attrgetter("rank"), reverse=True)


@attrs.define(eq=False)
class Choice:
    """The actions that are done to a prompt, and the tokens they save."""

    dropped: set[Unit] = attrs.field(factory=set[Unit])
    """The units that are dropped with their companions."""
    shrunk: dict[Alternatives, int] = attrs.field(factory=dict[Alternatives, int])
    """By unit, the index of the alternative among its sizes."""
    cuts: dict[ConversationUnit, int] = attrs.field(factory=dict[ConversationUnit, int])
    """By unit, the point of the cut."""
    live: dict[Slot, int] = attrs.field(factory=dict[Slot, int])
    """By holder, the count of parts left; only of holders that a part was taken from."""
    saved: int = 0

    def do(self, action: Action) -> int:
        """Do an action; return the tokens it saves."""
        saved = action.saves
        units: tuple[Unit, ...] = ()
        if isinstance(action, Cut):
            self.cuts[action.unit] = action.unit.cuts.last
        elif isinstance(action, Shrink):
            self.shrunk[action.unit] = action.number
        else:
            self.dropped.add(action.unit)
            units = (action.unit, *action.unit.companions)
        for unit in units:
            # A slot that is not fixed was emptied before, with the last of its parts.
            for holder in unit.slot.holders if unit.slot.fixed else ():
                self.live[holder] = self.live.get(holder, holder.live) - 1
                if self.live[holder] or holder.fixed:
                    break
                saved += holder.shell
        self.saved += saved
        return saved

    def put_back(self, action: Drop, room: int) -> int:
        """Undo a drop if there is room for that; return the tokens it takes."""
        units = (action.unit, *action.unit.companions)
        slots = [unit.slot for unit in units if unit.slot.fixed]
        price = action.saves
        for slot in slots:
            for holder in slot.holders:
                if self.live.get(holder, holder.live) or holder.fixed:
                    break
                price += holder.shell
        if price > room:
            return 0
        self.dropped.discard(action.unit)
        for slot in slots:
            for holder in slot.holders:
                count = self.live.get(holder, holder.live)
                self.live[holder] = count + 1
                if count or holder.fixed:
                    break
        return price


class Order:
    """The actions that make room, in order, and the sums of the tokens they save."""

    def __init__(self, units: Iterable[Unit]) -> None:
        self.actions: Sequence[Action] = [*actions_of(units)]
        self.saved = [0]
        """The tokens saved by the first 0, 1, 2... actions."""
        self.within: dict[Slot, int] = {}
        """By slot in the timeline, the tokens that may be dropped there."""
        trial, within = Choice(), self.within
        inside: dict[Unit, int] = {}  # by unit, the tokens saved by the actions inside it
        for action in self.actions:
            unit, around = action.unit, action.unit.around
            if isinstance(action, Drop) and unit.slot.fixed:
                action.saves = unit.tokens - inside.get(unit, 0)
                for companion in unit.companions:
                    action.saves += companion.tokens
            saved = trial.do(action)
            self.saved.append(trial.saved)
            within[unit.entry] = within.get(unit.entry, 0) + saved
            for companion in unit.companions:
                within[companion.entry] = within.get(companion.entry, 0) + companion.tokens
            # A unit is dropped after everything inside it, so its own sum is complete by then.
            if isinstance(unit, Alternatives):
                inside[unit] = inside.get(unit, 0) + saved
            else:
                saved += inside.get(unit, 0)
            if around is not None:
                inside[around] = inside.get(around, 0) + saved

    def choose(self, need: int, step: int) -> Choice:
        """Return the choice that saves at least ``need`` tokens, at most those of all actions.

        The cut of a conversation without a step of its own moves by ``step`` tokens.
        """
        choice = Choice()
        if need <= 0:
            return choice
        count = bisect_left(self.saved, need)
        for action in self.actions[:count]:
            choice.do(action)
        last = self.actions[count - 1]
        if isinstance(last, Cut):
            # Cut no more than needed. The tokens left over stay free: a part that is put there
            # would come and go from one request to the next.
            cuts = last.unit.cuts
            least = bisect_left(cuts.saved, need - self.saved[count - 1])
            point = cuts.stepped(least, last.unit.step(step))
            choice.saved -= cuts.saved[-1] - cuts.saved[point]
            choice.cuts[last.unit] = point
        else:
            room = _put_back(choice, self.actions[:count], choice.saved - need, step)
            choice.saved = need + room
        return choice


def _put_back(choice: Choice, actions: Sequence[Action], room: int, step: int) -> int:
    """Undo actions where there is room for that, the last first; return the room that is left.

    It ends at the first conversation that stays cut: its cut would move with the room it leaves.
    """
    for action in reversed(actions):
        if isinstance(action, Cut):
            cuts = action.unit.cuts
            point = cuts.restored(action.unit.step(step), room)
            room -= cuts.saved[-1] - cuts.saved[point]
            choice.cuts[action.unit] = point
            if point:
                return room
        elif action.unit.around in choice.dropped:
            continue  # it comes back only with the unit around it
        elif isinstance(action, Shrink):
            unit, number = action.unit, action.number
            is_sent = choice.shrunk.get(unit, 0) == number and unit not in choice.dropped
            if is_sent and action.saves <= room:
                choice.shrunk[unit] = number - 1
                room -= action.saves
        else:
            room -= choice.put_back(action, room)
    return room
