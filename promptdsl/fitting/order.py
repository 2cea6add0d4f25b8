"""The order in which things go: it does not depend on the budget, so it is made once."""

from collections.abc import Iterable, Iterator
from operator import attrgetter

from promptdsl.fitting.units import LAST, Forms, Past, Step, Unit


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
