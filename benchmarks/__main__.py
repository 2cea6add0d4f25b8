"""Measure every entrant, interleaved, and print the tables: ``python -m benchmarks``.

An entrant is a module, or an item of a module's ``ENTRANTS``, with

- ``NAME``: what its row is called;
- ``build(data)``: build and render the prompt once, and return what its users would send;
- ``check(data)``, optional: return whether what it builds is right. ``False`` stops the run;
- ``PACKAGE`` and ``NOTE``, optional: the distribution whose version is shown, and a remark.

Entrants are ``handwritten.py``, ``ours.py`` and every file in ``peers/`` that can be imported.
"""

import argparse
import gc
import json
import os
import platform
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules
from time import perf_counter
from types import ModuleType
from typing import Any

from benchmarks import peers
from benchmarks.prompt import Data, data
from benchmarks.report import Measured, as_data, cost_table, growth_table

BASELINE = "benchmarks.handwritten"
OWN = tuple(name for name in (BASELINE, "benchmarks.ours") if find_spec(name))
PEERS = tuple(f"{peers.__name__}.{found.name}" for found in iter_modules(peers.__path__))


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured: samples by number of exchanges, and seconds a sample lasts at least."""

    samples: dict[int, int]
    seconds: float


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
        return self.name in names or _file(self.module) in names


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command; exits with 2 for an unknown name, with 1 for a build that is wrong."""
    parser = _parser()
    options = parser.parse_args(arguments)
    only: list[str] = options.only
    asked = [peer for peer in PEERS if not only or _spellings(peer) & set(only)]
    loaded, skipped = load(asked)
    if unknown := set(only) - _names(loaded):
        known = ", ".join(sorted(_names(loaded)))
        parser.error(f"nobody is called {', '.join(sorted(unknown))}; known names: {known}")
    entrants = [each for each in loaded if _is_measured(each, only)]
    rows = measure(entrants, QUICK if options.quick else FULL)
    _print(rows, skipped)
    if options.json is not None:
        _write(options.json, rows, skipped)


def load(asked: Sequence[str]) -> tuple[list[Entrant], dict[str, str]]:
    """Return all entrants, the baseline first, and why each peer that is not one is skipped."""
    modules = [import_module(name) for name in OWN]
    skipped: dict[str, str] = {}
    for name in asked:
        try:
            modules.append(import_module(name))
        except ImportError as error:
            skipped[_file(name)] = str(error).partition("\n")[0]
    return [entrant for module in modules for entrant in _entrants(module)], skipped


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
    package: str | None = getattr(item, "PACKAGE", None)
    return Entrant(
        module,
        item.NAME,
        item.build,
        getattr(item, "check", None),
        "" if package is None else version(package),
        getattr(item, "NOTE", ""),
    )


def _file(module: str) -> str:
    return module.rpartition(".")[2]


def _spellings(peer: str) -> set[str]:
    return {_file(peer), _file(peer).replace("_", "-")}


def _names(loaded: Sequence[Entrant]) -> set[str]:
    own = {name for entrant in loaded for name in (entrant.name, _file(entrant.module))}
    return own.union(*(_spellings(peer) for peer in PEERS))


def _is_measured(entrant: Entrant, only: Collection[str]) -> bool:
    return not only or entrant.module == BASELINE or entrant.is_one_of(only)


def _print(rows: Sequence[Measured], skipped: dict[str, str]) -> None:
    print(f"{_machine()}\n")
    print(cost_table(rows, min(rows[0].seconds)), end="\n\n")
    print(growth_table(rows))
    if skipped:
        print("\nNot measured:", end="\n\n")
    for name, reason in skipped.items():
        print(f"- {name}: {reason}")


def _write(path: Path, rows: Sequence[Measured], skipped: dict[str, str]) -> None:
    found = {"machine": _machine(), "unit": "seconds", "rows": as_data(rows), "skipped": skipped}
    path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _machine() -> str:
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{python}, {platform.system()} {platform.machine()}, {os.cpu_count()} cores"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m benchmarks", description="Measure what a prompt costs."
    )
    parser.add_argument("--quick", action="store_true", help="few samples, two sizes: is it alive?")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every sample")
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="NAME",
        help="measure this one and the hand-written function; may be repeated",
    )
    return parser


if __name__ == "__main__":
    main()
