"""Choosing: how far down the order a limit reaches, and what may come back afterwards.

An example of three units, the lowest priority first: a hint (1) of 50 tokens, a conversation (2) of
300, a log (3) of 500. The actions in their order are: drop the hint, cut the conversation, drop the
log. Up to each of them 50, 350 and 850 tokens are saved; a bisection of these sums tells how many
actions a need takes.

- 40 tokens too much: the hint goes. Nothing fits into the 10 that are left over.
- 150 too much: the hint goes and the conversation is cut, as it is the last action no further than
  to the first place that saves the 100 that are missing. What that leaves free stays free.
- 400 too much: all three go, and 450 tokens are left over. The last action is undone first, where
  there is room: the log (500) stays away, the conversation and the hint come back. So one large
  part that goes does not take the small ones along.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter

import attrs

from promptdsl.budget.places import TreePlace
from promptdsl.budget.units import LAST, Action, CutOff, Drop, Forms, Past, Shrink, Unit


def actions_of(units: Iterable[Unit]) -> Iterator[Action]:
    """Yield everything that may be done to make room, in order: the lowest priority first.

    The units inside a unit go first, then the rest of it.
    """
    waiting: list[Unit | Drop] = [*_sorted(unit for unit in units if not unit.follows)]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Drop):
            yield one
        elif isinstance(one, Past):
            cuts = one.cuts
            if cuts is not None and len(cuts.saved) > 1:
                yield CutOff(one, cuts, cuts.saved[-1])
        else:
            if isinstance(one, Forms):
                sizes = one.sizes
                for number in range(1, len(sizes)):
                    yield Shrink(one, number, sizes[number - 1][1] - sizes[number][1])
            if one.priority < LAST and not one.stays and not one.follows:
                waiting.append(Drop(one))
            waiting += _sorted(one.inner)


def _sorted(units: Iterable[Unit]) -> list[Unit]:
    """Return units as a stack: the one that goes first is on top."""
    return sorted(units, key=attrgetter("rank"), reverse=True)


@attrs.define(eq=False)
class Choice:
    """The changes made to a prompt: the units that go, and what is left of the others.

    ``forms`` says which form of a part is sent, ``cuts`` where a conversation is cut. ``live`` is
    by place how many of its parts are left, where some have gone.
    """

    gone: dict[int, Unit] = attrs.field(factory=dict[int, Unit])
    forms: dict[int, tuple[Forms, int]] = attrs.field(factory=dict[int, tuple[Forms, int]])
    cuts: dict[int, tuple[Past, int]] = attrs.field(factory=dict[int, tuple[Past, int]])
    live: dict[int, tuple[TreePlace, int]] = attrs.field(factory=dict[int, tuple[TreePlace, int]])
    saved: int = 0

    def do(self, action: Action) -> int:
        """Do an action; return the tokens it saves."""
        saved, key = action.saves, id(action.unit)
        if isinstance(action, CutOff):
            self.cuts[key] = (action.unit, action.cuts.last)
        elif isinstance(action, Shrink):
            self.forms[key] = (action.unit, action.number)
        else:
            self.gone[key] = action.unit
            for unit in (action.unit, *action.unit.beside):
                if unit.place.fixed:  # otherwise it went with the last of what was in it
                    saved += self._take_from(unit.place.parent)
        self.saved += saved
        return saved

    def _take_from(self, holder: TreePlace | None) -> int:
        """Take one part out of a holder; return the tokens around holders that are empty then."""
        saved = 0
        while holder is not None and holder.holds:
            left = self._parts(holder) - 1
            self.live[id(holder)] = holder, left
            if left or holder.fixed:
                break
            saved += holder.shell
            holder = holder.parent
        return saved

    def _parts(self, holder: TreePlace) -> int:
        return self.live.get(id(holder), (holder, holder.live))[1]

    def emptied_holders(self) -> Iterator[TreePlace]:
        """Yield the holders in which nothing is left: each goes with what is around it."""
        for holder, left in self.live.values():
            if not left and not holder.fixed:
                yield holder

    def price(self, holder: TreePlace | None) -> int:
        """Return the tokens around a part that comes back into a holder."""
        price = 0
        while holder is not None and holder.holds and not (self._parts(holder) or holder.fixed):
            price += holder.shell
            holder = holder.parent
        return price

    def put_into(self, holder: TreePlace | None) -> None:
        """Put one part back into a holder."""
        while holder is not None and holder.holds:
            parts = self._parts(holder)
            self.live[id(holder)] = holder, parts + 1
            if parts or holder.fixed:
                break
            holder = holder.parent


class Order:
    """The actions that make room, in order, and the sums of what they save."""

    def __init__(self, units: Iterable[Unit]) -> None:
        self.actions: Sequence[Action] = [*actions_of(units)]
        self.saved = [0]
        """The tokens saved by the first 0, 1, 2... actions."""
        self.within: dict[int, int] = {}
        """By the id of a place in the timeline, the tokens that may go there."""
        trial = Choice()
        inside: dict[int, int] = {}
        for action in self.actions:
            unit = action.unit
            if isinstance(action, Drop):
                action.saves = _rest(unit, inside)
            saved = trial.do(action)
            for one in (unit, *unit.beside):
                part = one.tokens if one is not unit else saved
                self.within[id(one.home)] = self.within.get(id(one.home), 0) + part
            _note(unit, saved, inside)
            self.saved.append(trial.saved)

    @property
    def all(self) -> int:
        """How many tokens may go."""
        return self.saved[-1]

    def choose(self, need: int, step: int | None) -> Choice:
        """Return the changes that save at least ``need`` tokens, which are at most :attr:`all`.

        The cut of a conversation moves by ``step`` tokens where it does not say by how many.
        """
        choice = Choice()
        if need <= 0:
            return choice
        least = bisect_left(self.saved, need)
        for action in self.actions[:least]:
            choice.do(action)
        last = self.actions[least - 1]
        if isinstance(last, CutOff):
            # What it leaves free stays free: nothing that comes and goes is put there.
            _cut_no_more_than_needed(choice, last, need - self.saved[least - 1], step)
        else:
            room = choice.saved - need
            choice.saved = need + _put_back(choice, self.actions[:least], room, step)
        return choice


def _note(unit: Unit, saved: int, inside: dict[int, int]) -> None:
    """Add what was saved to the sums of a unit and of the one around it.

    A unit goes after all that is inside it, so its own sum is complete by then.
    """
    key, around = id(unit), unit.around
    if isinstance(unit, Forms):
        inside[key] = inside.get(key, 0) + saved
    else:
        saved += inside.get(key, 0)
    if around is not None:
        inside[id(around)] = inside.get(id(around), 0) + saved


def _rest(unit: Unit, inside: dict[int, int]) -> int:
    """Return the tokens left of a unit and those beside it, after the actions inside it."""
    if not unit.place.fixed:
        return 0
    return unit.tokens - inside.get(id(unit), 0) + sum(other.tokens for other in unit.beside)


def _step_of(past: Past, default: int | None) -> int:
    """Return the tokens by which the cut of a conversation moves, 0 for any number."""
    own: int | None = past.node.step
    return own if own is not None else default or 0


def _cut_no_more_than_needed(
    choice: Choice, action: CutOff, need: int, default: int | None
) -> None:
    """Move a cut that takes all it may back to the first place that saves ``need`` tokens."""
    past, cuts = action.unit, action.cuts
    place = cuts.stepped(bisect_left(cuts.saved, need), _step_of(past, default))
    choice.saved -= cuts.saved[-1] - cuts.saved[place]
    choice.cuts[id(past)] = (past, place)


def _put_back(choice: Choice, actions: Sequence[Action], room: int, default: int | None) -> int:
    """Undo actions where there is room for that, the last first; return the room that is left.

    It ends at the first conversation that stays cut: its cut would move with the room it leaves.
    """
    for action in reversed(actions):
        if isinstance(action, CutOff):
            past, cuts = action.unit, action.cuts
            place = cuts.restored(cuts.last, _step_of(past, default), room)
            room -= cuts.saved[-1] - cuts.saved[place]
            choice.cuts[id(past)] = (past, place)
            if place:
                return room
        elif action.unit.around is not None and id(action.unit.around) in choice.gone:
            continue  # it is back only when what it is in is
        elif isinstance(action, Shrink):
            room -= _enlarged(choice, action, room)
        else:
            room -= _returned(choice, action, room)
    return room


def _enlarged(choice: Choice, action: Shrink, room: int) -> int:
    """Put back the form before, where the smaller one is sent; return the tokens it takes."""
    key, unit = id(action.unit), action.unit
    is_sent = choice.forms.get(key, (unit, 0))[1] == action.number and key not in choice.gone
    if not is_sent or action.saves > room:
        return 0
    choice.forms[key] = (unit, action.number - 1)
    return action.saves


def _returned(choice: Choice, action: Drop, room: int) -> int:
    """Put back what is left of a unit; return the tokens it takes."""
    units = (action.unit, *action.unit.beside)
    holders = [unit.place.parent for unit in units if unit.place.fixed]
    price = action.saves + sum(choice.price(holder) for holder in holders)
    if price > room:
        return 0
    choice.gone.pop(id(action.unit), None)
    for holder in holders:
        choice.put_into(holder)
    return price
