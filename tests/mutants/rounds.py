"""Rounds: the tests that run the line of a mistake, in a process of their own for each mutant."""

import ast
import json
import os
import random
import resource
import signal
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, zip_longest
from math import frexp
from mmap import mmap
from pathlib import Path
from types import FunctionType
from typing import NamedTuple

import pytest

from tests.mutants.applying import Location, NoModule, apply, loaded, names_in
from tests.mutants.module import Definition, Mutant, constants, functions, mutants
from tests.mutants.planted import OutOfReach, Planted, plant
from tests.mutants.tracing import Traced, quieten, run, spent, traced

QUIETLY = (
    "-q",
    "-s",
    "-p",
    "no:cacheprovider",
    "--tb=no",
    "-m",
    "not slow and not sdk and not browser",
    # The package, a plug-in of pytest, is imported before pytest could look at its assertions.
    "-W",
    "ignore::pytest.PytestAssertRewriteWarning",
)
SURVIVED, KILLED, NO_MODULE, FAULT, OUT_OF_REACH = range(5)
"""How a round ends; a fault is one of this tool, and counts as nothing."""
SECONDS = 30.0
"""How long the tests that are tried on one mutant keep a processor while they are traced."""
LIMIT = 60.0
"""How long one test may keep a processor on a mutant."""
QUICK = 0.05
"""Tests that take at most so many seconds count as equally quick."""
MEMORY = 4 << 30
"""How many bytes a mutant may take beside those that are there already."""


class Death(NamedTuple):
    """The test that killed a mutant, by index, and how long it kept a processor."""

    test: int
    seconds: float


class Shared:
    """What a process that tries a mutant tells: the tests it began, and how long each took."""

    def __init__(self, count: int) -> None:
        self._numbers = memoryview(mmap(-1, 8 * (1 + count))).cast("d")

    def begin(self) -> None:
        """Count a test that begins."""
        self._numbers[0] += 1

    def end(self, seconds: float) -> None:
        """Note how long the test took that began last."""
        self._numbers[self.begun] = seconds

    @property
    def begun(self) -> int:
        """How many tests began."""
        return int(self._numbers[0])

    @property
    def seconds(self) -> list[float]:
        """How long each of these took; 0 for one that did not end."""
        return [*self._numbers[1 : 1 + self.begun]]


@dataclass(frozen=True, slots=True)
class Round:
    """The tests as they run on one mutant, by index."""

    mutant: Mutant | Planted
    tests: Sequence[int]
    shared: Shared


class Rounds:
    """A pytest plug-in that collects once, and then runs tests in a fork for each mutant.

    ``ended`` holds the mutants by outcome, ``stopped`` those of the killed ones that took too much
    time or memory, ``deaths`` who killed them, ``left_out`` how many tests there was no time for.
    The tests that noticed the last mutants of a function are tried first on the next one; of the
    others quick ones, from every file in turn. The first test that fails ends a round; with
    ``every`` those after it run in another fork. ``seconds`` has the shortest time of each test.
    """

    def __init__(
        self,
        files: Sequence[Path],
        wanted: Sequence[Mutant | Planted],
        jobs: int,
        *,
        seconds: float = SECONDS,
        every: bool = False,
    ) -> None:
        self.files = [str(file) for file in files]
        self.mutants = wanted
        self.jobs = jobs
        self.limit = seconds
        self.every = every
        self.ended: dict[int, list[Mutant | Planted]] = {
            outcome: [] for outcome in (SURVIVED, KILLED, NO_MODULE, FAULT, OUT_OF_REACH)
        }
        self.stopped: set[Mutant | Planted] = set()
        self.deaths: dict[Mutant | Planted, list[Death]] = defaultdict(list)
        self.tried: dict[Mutant | Planted, list[int]] = {}
        self.left_out: dict[Mutant | Planted, int] = {}
        self.seconds: dict[int, float] = {}
        self._running: dict[int, Round] = {}
        self._killers: dict[str, list[int]] = defaultdict(list)

    def run(self, *arguments: str) -> bool:
        """Collect tests and run the rounds; return whether that went well."""
        return pytest.main([*QUIETLY, *arguments], [self]) in {0, 5}

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
            self.tried[mutant] = self._tests(mutant, order)
            self._start(mutant, self.tried[mutant])
        while self._running:
            self._wait()
        return True

    def _tests(self, mutant: Mutant | Planted, order: dict[int, int]) -> list[int]:
        """Return the tests to try, as many as there is time for."""
        found: set[int] = set()
        for line in self._lines(mutant):
            found.update(self.traced.tests.get(line, ()))
        # What runs when a module is loaded runs in no test.
        for line, tests in self.traced.tests.items() if not found else ():
            found.update(tests if line[0] == sys.modules[mutant.module].__file__ else ())
        killers = [index for index in self._killers[mutant.name] if index in found]
        rest = sorted(found.difference(killers), key=order.__getitem__)
        chosen: list[int] = []
        left = self.limit
        for index in chain(killers, rest):
            left -= self.traced.seconds[index]
            if chosen and left < 0:
                break
            chosen.append(index)
        self.left_out[mutant] = len(found) - len(chosen)
        return chosen

    def _lines(self, mutant: Mutant | Planted) -> Iterator[tuple[str, int]]:
        file = str(sys.modules[mutant.module].__file__)
        yield from ((file, line) for line in mutant.lines)
        for name in mutant.constants:
            yield from self.users.get((file, name), ())

    def _start(self, mutant: Mutant | Planted, tests: list[int]) -> None:
        this = Round(mutant, tests, Shared(len(tests)))
        sys.stdout.flush()
        child = os.fork()
        if not child:
            quieten()
            _set_timers()
            code = FAULT
            try:
                code = _outcome(this, self.items, self.functions)
            finally:
                os._exit(code)
        self._running[child] = this

    def _wait(self) -> None:
        child, status, usage = os.wait4(-1, 0)
        this = self._running.pop(child)
        code = os.waitstatus_to_exitcode(status)
        outcome = code if code in self.ended else KILLED
        if code not in self.ended:
            self.stopped.add(this.mutant)
        self._note_seconds(this, passed=outcome == SURVIVED)
        if outcome == KILLED and this.shared.begun:
            self._note_death(this, usage.ru_utime + usage.ru_stime)
            rest = this.tests[this.shared.begun :]
            if self.every and rest:
                self._start(this.mutant, rest)
                return
        self._end(this, KILLED if this.mutant in self.deaths else outcome)

    def _note_seconds(self, this: Round, *, passed: bool) -> None:
        """Note how long the tests took that passed: the last one did if all did."""
        seconds = this.shared.seconds
        for index, took in zip(this.tests, seconds if passed else seconds[:-1], strict=False):
            self.seconds[index] = min(took, self.seconds.get(index, took))

    def _note_death(self, this: Round, all_seconds: float) -> None:
        """Note the test that began last; one that did not end took what the others did not."""
        killer = this.tests[this.shared.begun - 1]
        seconds = this.shared.seconds
        self.deaths[this.mutant].append(Death(killer, seconds[-1] or all_seconds - sum(seconds)))
        killers = self._killers[this.mutant.name]
        killers[:] = [killer, *(index for index in killers if index != killer)]

    def _end(self, this: Round, outcome: int) -> None:
        self.ended[outcome].append(this.mutant)
        if outcome in (SURVIVED, FAULT) and isinstance(this.mutant, Mutant):
            said = "survived" if outcome == SURVIVED else "not tried"
            count = len(self.tried[this.mutant])
            tests = f"{count} tests" if count else "no test runs it"
            print(f"{said}  {this.mutant.where}: {this.mutant.change}  ({tests})", flush=True)


def write_json(path: Path, content: object) -> None:
    """Write a report."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False), "utf-8")


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


def _users(files: Sequence[str]) -> dict[Location, set[tuple[str, int]]]:
    """Return the lines of the functions that use each constant, by its file and name.

    A constant that no function of the room names is used wherever its room is.
    """
    trees = {file: ast.parse(Path(file).read_text("utf-8")) for file in files}
    uses: dict[str, set[tuple[str, int]]] = defaultdict(set)
    everywhere: set[tuple[str, int]] = set()
    for file, tree in trees.items():
        for _, function in functions(tree.body):
            lines = {(file, line) for line in range(function.lineno, _last_line(function) + 1)}
            everywhere |= lines
            for name in names_in(function):
                uses[name] |= lines
    found: dict[Location, set[tuple[str, int]]] = {}
    for file, tree in trees.items():
        for name, _ in constants(tree):
            also = {other for other, made in constants(tree) if name in names_in(made)}
            lines = uses[name].union(*(uses[other] for other in also))
            found[file, name] = lines or everywhere
    return found


def _last_line(function: Definition) -> int:
    return function.end_lineno or function.lineno


def _outcome(
    this: Round, items: Sequence[pytest.Item], loaded_functions: dict[Location, list[FunctionType]]
) -> int:
    """Return how a mutant ends, in the process that is given to it."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    try:
        if isinstance(this.mutant, Planted):
            plant(this.mutant, loaded_functions)
        else:
            apply(this.mutant, loaded_functions)
    except NoModule:
        return NO_MODULE
    except OutOfReach:
        return OUT_OF_REACH
    for place, index in enumerate(this.tests):
        after = this.tests[place + 1] if place + 1 < len(this.tests) else None
        _set_timers()
        this.shared.begin()
        start = spent()
        failed = run(items[index], None if after is None else items[after])
        this.shared.end(spent() - start)
        if failed:
            with suppress(Exception):  # end the servers that fixtures have started
                items[index].session._setupstate.teardown_exact(None)
            return KILLED
    return SURVIVED


def _set_timers() -> None:
    """Stop this process if a test keeps a processor too long, or never ends.

    Other processes may keep it waiting: what it waits for decides nothing.
    """
    signal.setitimer(signal.ITIMER_PROF, LIMIT)
    signal.alarm(int(LIMIT * 10))
