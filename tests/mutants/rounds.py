"""Rounds: the tests of one file, run once for each mutant of a module."""

import os
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from mmap import mmap
from types import ModuleType

import pytest
from hypothesis import Phase, settings

from tests.mutants.module import Mutant

SECONDS = 60
"""How long the tests may take on one mutant. One that takes longer is noticed, and so killed."""

SURVIVED, KILLED, NO_MODULE = range(3)


@dataclass(frozen=True, slots=True)
class Round:
    """The tests as they run on one mutant, in a process of their own."""

    mutant: Mutant | None
    items: list[pytest.Item]
    at: mmap
    """Which test is running, as both processes see it."""


class Rounds:
    """A pytest plug-in that collects once, and then runs the tests in a fork for each mutant.

    ``ended`` holds the mutants by outcome. What killed the last mutants of a constant is tried
    first on the next one.
    """

    def __init__(self, module: ModuleType, mutants: Iterable[Mutant], jobs: int) -> None:
        self.module = module
        self.mutants = mutants
        self.jobs = jobs
        self.ended: dict[int, list[Mutant]] = {SURVIVED: [], KILLED: [], NO_MODULE: []}
        self._running: dict[int, Round] = {}
        self._killers: dict[str, list[pytest.Item]] = {}

    def pytest_collection(self) -> None:
        """Search the same way in every round, and keep no counterexample small."""
        settings.register_profile(
            "mutants",
            settings(derandomize=True, max_examples=50, database=None),
            phases=[Phase.explicit, Phase.generate],
        )
        settings.load_profile("mutants")

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run every round, the unharmed module first."""
        items = sorted(session.items, key=_cost(session.items))
        if os.waitstatus_to_exitcode(os.waitpid(self._start(None, items), 0)[1]):
            pytest.exit("the tests fail without a mutant: see `make test`", returncode=1)
        self._running.clear()
        for number, mutant in enumerate(self.mutants):
            if number % 50 == 0:
                print(f"{number} mutants", flush=True)
            if len(self._running) == self.jobs:
                self._wait()
            killers = self._killers.setdefault(mutant.name, [])
            self._start(mutant, [*killers, *(item for item in items if item not in killers)])
        while self._running:
            self._wait()
        return True

    def _start(self, mutant: Mutant | None, items: list[pytest.Item]) -> int:
        this = Round(mutant, items, mmap(-1, 8))
        sys.stdout.flush()
        child = os.fork()
        if not child:
            signal.alarm(SECONDS)
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            os.dup2(sys.stdout.fileno(), sys.stderr.fileno())
            os._exit(_outcome(self.module, this))
        self._running[child] = this
        return child

    def _wait(self) -> None:
        child, status = os.wait()
        this = self._running.pop(child)
        code = os.waitstatus_to_exitcode(status)
        outcome = code if code in self.ended else KILLED
        assert this.mutant
        self.ended[outcome].append(this.mutant)
        if outcome == KILLED:
            killers = self._killers[this.mutant.name]
            killer = this.items[int.from_bytes(this.at[:], "little")]
            killers[:] = [killer, *(item for item in killers if item is not killer)]
        if outcome == SURVIVED:
            print(f"survived  {this.mutant.name}: {this.mutant.change}", flush=True)


def _cost(items: list[pytest.Item]) -> Callable[[pytest.Item], tuple[bool, bool, bool, int]]:
    """Return what orders tests so that most mutants die soon: few and quick ones first."""
    sizes = Counter(item.function for item in items)

    def cost(item: pytest.Item) -> tuple[bool, bool, bool, int]:
        function = item.function
        name = function.__name__
        return (
            "time" in name,
            hasattr(function, "hypothesis"),
            "characters" in name,
            sizes[function],
        )

    return cost


def _outcome(module: ModuleType, this: Round) -> int:
    """Return how a mutant ends, in the process that is given to it."""
    if this.mutant:
        try:
            exec(this.mutant.code, vars(module))
        except Exception:
            return NO_MODULE
    for place, item in enumerate(this.items):
        this.at[:] = place.to_bytes(8, "little")
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
        if item.session.testsfailed:
            return KILLED
    return SURVIVED
