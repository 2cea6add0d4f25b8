"""The order in which things go: it does not depend on the budget, so it is made once."""

from collections.abc import Iterable, Iterator
from operator import attrgetter

from promptdsl.fitting.units import Forms, Past, Step, Unit


def steps_of(units: Iterable[Unit]) -> Iterator[Step]:
    """Yield everything that may be done to make room, in order: the lowest priority first.

    Of a unit, the units inside it go first, then the rest of it.
    """
    waiting: list[Unit | Step] = [*_sorted(units)]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Step):
            yield one
        elif isinstance(one, Past):
            yield from _cut(one)
        elif isinstance(one, Forms):
            yield from _stepped_down(one)
        else:
            waiting += [] if one.stays or one.follows else [Step(one, -1)]
            waiting += _sorted(one.inner)


def _sorted(units: Iterable[Unit]) -> list[Unit]:
    """Return units as a stack: the one that goes first is on top."""
    return sorted(units, key=attrgetter("rank"), reverse=True)


def _cut(past: Past) -> Iterator[Step]:
    cuts = past.cuts
    if cuts is not None and not past.stays and len(cuts.saved) > 1:
        yield Step(past, len(cuts.saved) - 1, cuts.saved[-1])


def _stepped_down(forms: Forms) -> Iterator[Step]:
    sizes = forms.sizes
    for number in range(1, len(sizes)):
        yield Step(forms, number, sizes[number - 1][1] - sizes[number][1])
    if forms.priority < float("inf") and not forms.stays and not forms.follows:
        yield Step(forms, -1, sizes[-1][1])
