"""Building: a prompt of 102 to 10,002 messages, built and rendered to a Chat payload.

An entrant is a module, or an item of a module's ``ENTRANTS``, with

- ``NAME``: what its row is called;
- ``build(data)``: build and render the prompt once, and return what its users would send;
- ``check(data)``, optional: return whether what it builds is right. ``False`` stops the run;
- ``PACKAGE`` and ``NOTE``, optional: the distribution whose version is shown, and a remark.

Entrants are ``handwritten.py``, ``ours.py`` and every file in ``peers/`` that can be imported.
"""

import gc
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from time import perf_counter
from types import ModuleType
from typing import Any

from benchmarks import peers
from benchmarks.entrants import UnknownName, file_of, load, peers_in, spellings, version_of
from benchmarks.instructions import counted
from benchmarks.prompt import Data, data
from benchmarks.report import Measured, Report, as_data, cost_table, growth_table, skipped_list
from benchmarks.rows import Build, Row

BASELINE = "benchmarks.handwritten"
OWN = tuple(name for name in (BASELINE, "benchmarks.ours") if find_spec(name))
PEERS = peers_in(peers)


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured: samples by number of exchanges, and seconds a sample lasts at least."""

    samples: dict[int, int]
    seconds: float


SMALL = "102 messages"
FULL = Plan({40: 51, 400: 21, 4_000: 11}, 0.005)
QUICK = Plan({40: 5, 400: 3}, 0.001)


@dataclass(frozen=True, slots=True)
class Entrant:
    """Somebody who builds the prompt."""

    module: str
    name: str
    build: Callable[[Data], object]
    check: Callable[[Data], bool] | None
    version: str
    note: str

    def is_one_of(self, names: Collection[str]) -> bool:
        """Return whether the row's name or the file's name is among these."""
        return self.name in names or file_of(self.module) in names


def run(only: Sequence[str] = (), quick: bool = False) -> Report:
    """Return what every entrant costs; raises :class:`UnknownName` when nobody is called so."""
    asked = [peer for peer in PEERS if not only or spellings(peer) & set(only)]
    modules, skipped = load([*OWN, *asked])
    loaded = [entrant for module in modules for entrant in _entrants(module)]
    if unknown := set(only) - _names(loaded):
        raise UnknownName(unknown, _names(loaded))
    entrants = [each for each in loaded if _is_measured(each, only)]
    rows = measure(entrants, QUICK if quick else FULL)
    instructions = counted(__name__, _rows(entrants), quick=quick).get(SMALL, {})
    tables = [cost_table(rows, min(rows[0].seconds), instructions), growth_table(rows)]
    found = {
        **{"unit": "seconds", "rows": as_data(rows), "skipped": skipped},
        "instructions": instructions,
    }
    return Report("\n\n".join(tables) + skipped_list(skipped), found)


def rows() -> list[Row]:
    """Return the one row whose instructions are counted, of everybody who is here."""
    modules, _ = load([*OWN, *PEERS])
    return _rows([entrant for module in modules for entrant in _entrants(module)])


def _rows(entrants: Sequence[Entrant]) -> list[Row]:
    prompt = data()

    def building(entrant: Entrant) -> Build:
        return lambda _question: entrant.build(prompt)

    return [Row(SMALL, {entrant.name: building(entrant) for entrant in entrants})]


def measure(entrants: Sequence[Entrant], plan: Plan) -> list[Measured]:
    """Return the samples of every entrant at every size of the plan, in seconds a build.

    The entrants take turns, one sample each, so that a slow minute hits all alike. The garbage
    collector stays on, but meets only what the sample made: see ``_sample``. Exits when an
    entrant's check says that what it builds is wrong.
    """
    sizes = [data(exchanges) for exchanges in plan.samples]
    for entrant in entrants:
        if entrant.check is not None and not entrant.check(sizes[0]):
            raise SystemExit(f"{entrant.name} does not build the benchmark prompt")
    gc.collect()
    gc.freeze()
    taken = [
        _take_turns(entrants, size, samples=samples, seconds=plan.seconds)
        for size, samples in zip(sizes, plan.samples.values(), strict=True)
    ]
    gc.unfreeze()
    return [
        Measured(
            entrant.name,
            entrant.version,
            entrant.note,
            {size.messages: times[index] for size, times in zip(sizes, taken, strict=True)},
        )
        for index, entrant in enumerate(entrants)
    ]


def _take_turns(
    entrants: Sequence[Entrant], size: Data, *, samples: int, seconds: float
) -> list[list[float]]:
    turns = [(entrant.build, _number(entrant.build, size, seconds)) for entrant in entrants]
    rounds = [[_sample(build, size, number) for build, number in turns] for _ in range(samples)]
    return [list(times) for times in zip(*rounds, strict=True)]


def _number(build: Callable[[Data], object], size: Data, seconds: float) -> int:
    # The fastest of three counts: one slow moment here would make every later sample too short.
    number = 1
    while min(_sample(build, size, number) for _ in range(3)) * number < seconds:
        number *= 2
    return number


def _sample(build: Callable[[Data], object], size: Data, number: int) -> float:
    # With fixed turns, one entrant's garbage would come due in the next one's sample every round,
    # and a full collection would walk the modules of all the other libraries.
    gc.collect()
    start = perf_counter()
    for _ in range(number):
        build(size)
    return (perf_counter() - start) / number


def _entrants(module: ModuleType) -> list[Entrant]:
    items: Sequence[Any] = getattr(module, "ENTRANTS", (module,))
    return [_entrant(module.__name__, item) for item in items]


def _entrant(module: str, item: Any) -> Entrant:
    return Entrant(
        module,
        item.NAME,
        item.build,
        getattr(item, "check", None),
        version_of(getattr(item, "PACKAGE", None)),
        getattr(item, "NOTE", ""),
    )


def _names(loaded: Sequence[Entrant]) -> set[str]:
    own = {name for entrant in loaded for name in (entrant.name, file_of(entrant.module))}
    return own.union(*(spellings(peer) for peer in PEERS))


def _is_measured(entrant: Entrant, only: Collection[str]) -> bool:
    return not only or entrant.module == BASELINE or entrant.is_one_of(only)
