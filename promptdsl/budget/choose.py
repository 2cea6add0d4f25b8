"""Choosing: how far down the order a limit reaches, and what may come back afterwards."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter

import attrs

from promptdsl.budget.places import Place
from promptdsl.budget.units import LAST, Forms, Past, Step, Unit


def steps_of(units: Iterable[Unit]) -> Iterator[Step]:
    """Yield everything that may be done to make room, in order: the lowest priority first.

    Of a unit, the units inside it go first, then the rest of it.
    """
    waiting: list[Unit | Step] = [*_sorted(unit for unit in units if not unit.follows)]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Step):
            yield one
        elif isinstance(one, Past):
            yield from _cut(one)
        else:
            if isinstance(one, Forms):
                yield from _stepped_down(one)
            waiting += [Step(one, -1)] if _goes(one) else []
            waiting += _sorted(one.inner)


def _sorted(units: Iterable[Unit]) -> list[Unit]:
    """Return units as a stack: the one that goes first is on top."""
    return sorted(units, key=attrgetter("rank"), reverse=True)


def _cut(past: Past) -> Iterator[Step]:
    cuts = past.cuts
    if cuts is not None and len(cuts.saved) > 1:
        yield Step(past, len(cuts.saved) - 1, cuts.saved[-1])


def _stepped_down(forms: Forms) -> Iterator[Step]:
    sizes = forms.sizes
    for number in range(1, len(sizes)):
        yield Step(forms, number, sizes[number - 1][1] - sizes[number][1])


def _goes(unit: Unit) -> bool:
    """Return whether a unit goes at last, by itself."""
    return unit.priority < LAST and not unit.stays and not unit.follows


@attrs.define(eq=False)
class Choice:
    """What is done to a prompt: the units that go, and what is left of the others.

    ``live`` is by place how many of its parts are there, where that is not what it was at first.
    """

    gone: dict[int, Unit] = attrs.field(factory=dict[int, Unit])
    forms: dict[int, tuple[Forms, int]] = attrs.field(factory=dict[int, tuple[Forms, int]])
    cuts: dict[int, tuple[Past, int]] = attrs.field(factory=dict[int, tuple[Past, int]])
    live: dict[int, tuple[Place, int]] = attrs.field(factory=dict[int, tuple[Place, int]])
    saved: int = 0

    def done(self, step: Step) -> int:
        """Do a step; return the tokens it saves."""
        unit, saved = step.unit, step.own
        key = id(unit)
        if isinstance(unit, Past):
            self.cuts[key] = (unit, step.to)
        elif isinstance(unit, Forms) and step.to >= 0:
            self.forms[key] = (unit, step.to)
        else:
            self.gone[key] = unit
            for one in (unit, *unit.beside):
                saved += self._left(one)
        self.saved += saved
        return saved

    def _left(self, unit: Unit) -> int:
        """Take a unit out of what holds it; return the tokens of what is empty then."""
        if not unit.place.fixed:
            return 0  # it went with the last of what was in it
        return self.emptied(unit.place.parent)

    def emptied(self, holder: Place | None) -> int:
        """Take one part out of a holder; return the tokens around what is empty then."""
        saved = 0
        while holder is not None and holder.holds:
            left = self._parts(holder) - 1
            self.live[id(holder)] = holder, left
            if left or holder.fixed:
                break
            saved += holder.shell
            holder = holder.parent
        return saved

    def _parts(self, holder: Place) -> int:
        return self.live.get(id(holder), (holder, holder.live))[1]

    def emptied_holders(self) -> Iterator[Place]:
        """Yield what holds nothing any more, and goes with what was around it."""
        for holder, left in self.live.values():
            if not left and not holder.fixed:
                yield holder

    def price(self, holder: Place | None) -> int:
        """Return the tokens around a part that comes back into a holder."""
        price = 0
        while holder is not None and holder.holds and not (self._parts(holder) or holder.fixed):
            price += holder.shell
            holder = holder.parent
        return price

    def filled(self, holder: Place | None) -> None:
        """Put one part back into a holder."""
        while holder is not None and holder.holds:
            parts = self._parts(holder)
            self.live[id(holder)] = holder, parts + 1
            if parts or holder.fixed:
                break
            holder = holder.parent


class Order:
    """The steps that make room, in order, and what all of them before each save."""

    def __init__(self, units: Iterable[Unit]) -> None:
        self.steps: Sequence[Step] = [*steps_of(units)]
        self.saved = [0]
        self.within: dict[int, int] = {}
        """By the id of a place in the timeline, the tokens that may go there."""
        trial = Choice()
        inside: dict[int, int] = {}
        for step in self.steps:
            if step.to < 0:
                step.own = _rest(step.unit, inside)
            saved = trial.done(step)
            for unit in (step.unit, *step.unit.beside):
                part = unit.tokens if unit is not step.unit else saved
                self.within[id(unit.home)] = self.within.get(id(unit.home), 0) + part
            _note(step.unit, saved, inside)
            self.saved.append(trial.saved)

    @property
    def all(self) -> int:
        """How many tokens may go."""
        return self.saved[-1]

    def choose(self, need: int, step: int | None) -> Choice:
        """Return what is done to save ``need`` tokens, of which no more may be than :attr:`all`.

        ``step`` are the tokens a cut moves by, for conversations that do not say.
        """
        choice = Choice()
        if need <= 0:
            return choice
        least = bisect_left(self.saved, need)
        for taken in self.steps[:least]:
            choice.done(taken)
        last = self.steps[least - 1].unit
        if isinstance(last, Past):
            # What it leaves free stays free: nothing that comes and goes is put there.
            _stand(choice, last, need - self.saved[least - 1], step)
        else:
            choice.saved = need + _put_back(choice, self.steps[:least], choice.saved - need, step)
        return choice


def _note(unit: Unit, saved: int, inside: dict[int, int]) -> None:
    """Note what was saved in a unit, and in the one around it.

    A unit goes behind all that is inside it, so by then all of that is known.
    """
    key, around = id(unit), unit.around
    if isinstance(unit, Forms):
        inside[key] = inside.get(key, 0) + saved
    else:
        saved += inside.get(key, 0)
    if around is not None:
        inside[id(around)] = inside.get(id(around), 0) + saved


def _rest(unit: Unit, inside: dict[int, int]) -> int:
    """Return what is left of a unit, and of those that go with it, when what is inside is gone."""
    if not unit.place.fixed:
        return 0
    return unit.tokens - inside.get(id(unit), 0) + sum(other.tokens for other in unit.beside)


def _step_of(past: Past, step: int | None) -> int:
    own = past.node.step
    return own if own is not None else step or 0


def _stand(choice: Choice, past: Past, need: int, step: int | None) -> None:
    """Cut a conversation, all of which is gone, only where ``need`` tokens ask for it."""
    cuts = past.cuts
    if cuts is None:
        return
    place = cuts.stepped(bisect_left(cuts.saved, need), _step_of(past, step))
    choice.saved -= cuts.saved[-1] - cuts.saved[place]
    choice.cuts[id(past)] = (past, place)


def _put_back(choice: Choice, steps: Sequence[Step], room: int, default: int | None) -> int:
    """Put back what went, the last first, where there is room: one big part empties nothing.

    It ends at the first conversation that stays cut, whose cut would move with what it leaves free.
    Returns the room that is left.
    """
    for step in reversed(steps):
        unit = step.unit
        if isinstance(unit, Past):
            _, place = choice.cuts.get(id(unit), (unit, 0))
            if place and step.to == place:
                back = unit.cuts.restored(place, _step_of(unit, default), room)  # type: ignore[union-attr]
                room -= unit.cuts.saved[place] - unit.cuts.saved[back]  # type: ignore[union-attr]
                choice.cuts[id(unit)] = (unit, back)
                if back:
                    return room
        elif step.to >= 0:
            room -= _stepped_up(choice, step, room)
        elif not _is_inside_gone(unit, choice):
            room -= _returned(choice, step, room)
    return room


def _is_inside_gone(unit: Unit, choice: Choice) -> bool:
    around = unit.around
    return around is not None and (id(around) in choice.gone)


def _stepped_up(choice: Choice, step: Step, room: int) -> int:
    """Put back the form before, when the next one is there; return the tokens it takes."""
    key, unit = id(step.unit), step.unit
    there = choice.forms.get(key, (unit, 0))[1] == step.to and key not in choice.gone
    if not there or step.own > room or _is_inside_gone(unit, choice):
        return 0
    choice.forms[key] = (unit, step.to - 1)  # type: ignore[assignment]
    return step.own


def _returned(choice: Choice, step: Step, room: int) -> int:
    """Put back what is left of a unit; return the tokens it takes."""
    units = (step.unit, *step.unit.beside)
    fixed = [unit.place.parent for unit in units if unit.place.fixed]
    price = step.own + sum(choice.price(holder) for holder in fixed)
    if price > room:
        return 0
    choice.gone.pop(id(step.unit), None)
    for holder in fixed:
        choice.filled(holder)
    return price
