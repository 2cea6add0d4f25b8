"""Rounds: the tests that run the line of a mistake, in a process of their own for each mutant."""

import ast
import os
import random
import resource
import signal
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from math import frexp
from mmap import mmap
from pathlib import Path
from types import FunctionType

import pytest

from tests.mutants.applying import NoModule, Place, apply, loaded, names_in
from tests.mutants.module import Definition, Mutant, constants, functions, mutants
from tests.mutants.tracing import Traced, quieten, run, traced

SURVIVED, KILLED, NO_MODULE, FAULT = range(4)
"""How a round ends; a fault is one of this tool, and counts as nothing."""
SECONDS = 30.0
"""How long the tests that are tried on one mutant keep a processor while they are traced."""
QUICK = 0.05
"""Tests that take at most so many seconds count as equally quick."""
MEMORY = 4 << 30
"""How many bytes a mutant may take beside those that are there already."""


@dataclass(frozen=True, slots=True)
class Round:
    """The tests as they run on one mutant, by index."""

    mutant: Mutant
    tests: Sequence[int]
    at: mmap
    """How many tests have run, as both processes see it."""


class Rounds:
    """A pytest plug-in that collects once, and then runs tests in a fork for each mutant.

    ``ended`` holds the mutants by outcome, ``stopped`` how many of the killed ones took too much
    time or memory. The tests that noticed the last mutants of a function are tried first on the
    next one; of the others quick ones, from every file in turn.
    """

    def __init__(self, files: Sequence[Path], wanted: Sequence[Mutant], jobs: int) -> None:
        self.files = [str(file) for file in files]
        self.mutants = wanted
        self.jobs = jobs
        self.ended: dict[int, list[Mutant]] = {
            outcome: [] for outcome in (SURVIVED, KILLED, NO_MODULE, FAULT)
        }
        self.stopped = 0
        self._running: dict[int, Round] = {}
        self._killers: dict[str, list[int]] = defaultdict(list)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Trace the tests, then run a round for each mutant."""
        self.items = session.items
        self.traced = traced(self.items, self.files, self.jobs)
        for index in self.traced.failed:
            print(f"left out, as it fails while it is traced: {self.items[index].nodeid}")
        if len(self.traced.failed) > len(self.items) // 100:
            pytest.exit("too many tests fail without a mutant: see `make test`", returncode=1)
        self.functions = loaded(self.files)
        self.users = _users(self.files)
        order = _order(self.items, self.traced)
        for number, mutant in enumerate(self.mutants):
            if number % 50 == 0:
                print(f"{number} mutants", flush=True)
            if len(self._running) == self.jobs:
                self._wait()
            self._start(mutant, self._tests(mutant, order))
        while self._running:
            self._wait()
        return True

    def _tests(self, mutant: Mutant, order: dict[int, int]) -> list[int]:
        """Return the tests to try, as many as there is time for."""
        found: set[int] = set()
        for line in self._lines(mutant):
            found.update(self.traced.tests.get(line, ()))
        # Python traces no more in a test in which there was no room left on the stack.
        for line, tests in self.traced.tests.items() if not found else ():
            found.update(tests if line[0] == sys.modules[mutant.module].__file__ else ())
        killers = [index for index in self._killers[mutant.name] if index in found]
        rest = sorted(found.difference(killers), key=order.__getitem__)
        chosen: list[int] = []
        left = SECONDS
        for index in chain(killers, rest):
            left -= self.traced.seconds[index]
            if chosen and left < 0:
                break
            chosen.append(index)
        return chosen

    def _lines(self, mutant: Mutant) -> Iterator[tuple[str, int]]:
        file = str(sys.modules[mutant.module].__file__)
        if mutant.is_function:
            return ((file, line) for line in mutant.lines)
        return iter(self.users.get((file, mutant.name), ()))

    def _start(self, mutant: Mutant, tests: list[int]) -> None:
        this = Round(mutant, tests, mmap(-1, 8))
        sys.stdout.flush()
        child = os.fork()
        if not child:
            # Other processes may keep it waiting: what it waits for decides nothing.
            signal.setitimer(signal.ITIMER_PROF, SECONDS * 2)
            signal.alarm(int(SECONDS * 20))
            quieten()
            code = FAULT
            try:
                code = _outcome(this, self.items, self.functions)
            finally:
                os._exit(code)
        self._running[child] = this

    def _wait(self) -> None:
        child, status = os.wait()
        this = self._running.pop(child)
        code = os.waitstatus_to_exitcode(status)
        outcome = code if code in self.ended else KILLED
        self.stopped += code not in self.ended
        self.ended[outcome].append(this.mutant)
        if outcome == KILLED and this.tests:
            killer = this.tests[min(int.from_bytes(this.at[:], "little"), len(this.tests) - 1)]
            killers = self._killers[this.mutant.name]
            killers[:] = [killer, *(index for index in killers if index != killer)]
        if outcome in (SURVIVED, FAULT):
            said = "survived" if outcome == SURVIVED else "not tried"
            tests = f"{len(this.tests)} tests" if this.tests else "no test runs it"
            print(f"{said}  {this.mutant.where}: {this.mutant.change}  ({tests})", flush=True)


def sampled(wanted: Sequence[Mutant], count: int, seed: int) -> list[Mutant]:
    """Return so many mutants: one of each function and constant, the others drawn from all."""
    by_name: dict[tuple[str, str], list[Mutant]] = defaultdict(list)
    chance = random.Random(seed)
    for mutant in chance.sample(wanted, len(wanted)):
        by_name[mutant.module, mutant.name].append(mutant)
    first = [mutants[0] for mutants in by_name.values()]
    others = [mutant for mutants in by_name.values() for mutant in mutants[1:]]
    drawn = chance.sample(others, min(max(count - len(first), 0), len(others)))
    return sorted([*first[:count], *drawn], key=lambda mutant: (mutant.module, mutant.line))


def mutants_of(files: Sequence[Path]) -> list[Mutant]:
    """Return every mutant of files."""
    return [mutant for file in files for mutant in mutants(file)]


def _order(items: Sequence[pytest.Item], found: Traced) -> dict[int, int]:
    """Return the place of each test: quick ones first, of those alike each file in its turn."""
    alike: dict[int, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for index in sorted(found.seconds, key=found.seconds.__getitem__):
        steps = frexp(max(found.seconds[index], QUICK))[1]
        alike[steps][str(items[index].path)].append(index)
    turns = (zip_longest(*by_file.values()) for _, by_file in sorted(alike.items()))
    wanted = chain.from_iterable(chain.from_iterable(turns))
    return {index: place for place, index in enumerate(i for i in wanted if i is not None)}


def _users(files: Sequence[str]) -> dict[Place, set[tuple[str, int]]]:
    """Return the lines of the functions that use each constant, by its file and name.

    A constant that no function of the room names is used wherever its room is.
    """
    trees = {file: ast.parse(Path(file).read_text("utf-8")) for file in files}
    uses: dict[str, set[tuple[str, int]]] = defaultdict(set)
    everywhere: set[tuple[str, int]] = set()
    for file, tree in trees.items():
        for _, function in functions(tree.body):
            lines = {(file, line) for line in range(function.lineno, _end(function) + 1)}
            everywhere |= lines
            for name in names_in(function):
                uses[name] |= lines
    found: dict[Place, set[tuple[str, int]]] = {}
    for file, tree in trees.items():
        for name, _ in constants(tree):
            also = {other for other, made in constants(tree) if name in names_in(made)}
            lines = uses[name].union(*(uses[other] for other in also))
            found[file, name] = lines or everywhere
    return found


def _end(function: Definition) -> int:
    return function.end_lineno or function.lineno


def _outcome(
    this: Round, items: Sequence[pytest.Item], loaded_functions: dict[Place, list[FunctionType]]
) -> int:
    """Return how a mutant ends, in the process that is given to it."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    try:
        apply(this.mutant, loaded_functions)
    except NoModule:
        return NO_MODULE
    for place, index in enumerate(this.tests):
        this.at[:] = place.to_bytes(8, "little")
        after = this.tests[place + 1] if place + 1 < len(this.tests) else None
        if run(items[index], None if after is None else items[after]):
            return KILLED
    return SURVIVED
