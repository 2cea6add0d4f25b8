"""Run the tests of the encoder against every mutant: ``python -m tests.mutants``."""

import argparse
import json
import os
import signal
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

import pytest

from promptdsl import encoding
from tests.mutants.module import Mutant, mutants

TESTS = "tests/test_encoding.py"
WANTED = 0.95
SECONDS = 120
"""How long the tests may take on one mutant. One that takes longer is noticed, and so killed."""

SURVIVED, KILLED, NO_MODULE = range(3)


class Rounds:
    """A pytest plug-in that collects once, and then runs the tests in a fork for each mutant."""

    def __init__(self, found: Sequence[Mutant], jobs: int) -> None:
        self.found = found
        self.jobs = jobs
        self.running: dict[int, Mutant] = {}
        self.ended: dict[int, list[Mutant]] = {SURVIVED: [], KILLED: [], NO_MODULE: []}

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run every round, the unharmed module first."""
        items = _quickest_first(session.items)
        if os.waitstatus_to_exitcode(os.waitpid(self._start(items, None), 0)[1]) != SURVIVED:
            pytest.exit("the tests fail without a mutant: run `make test`", returncode=1)
        for mutant in self.found:
            if len(self.running) == self.jobs:
                self._wait()
            self.running[self._start(items, mutant)] = mutant
        while self.running:
            self._wait()
        return True

    def _start(self, items: list[pytest.Item], mutant: Mutant | None) -> int:
        sys.stdout.flush()
        child = os.fork()
        if not child:
            signal.alarm(SECONDS)
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            os.dup2(sys.stdout.fileno(), sys.stderr.fileno())
            os._exit(_round(items, mutant))
        return child

    def _wait(self) -> None:
        child, status = os.wait()
        mutant = self.running.pop(child)
        outcome = os.waitstatus_to_exitcode(status)
        self.ended[outcome if outcome in self.ended else KILLED].append(mutant)
        if outcome == SURVIVED:
            print(f"survived  {mutant.name}: {mutant.change}", flush=True)


def _quickest_first(items: list[pytest.Item]) -> list[pytest.Item]:
    """Return the tests in an order in which most mutants die soon."""
    sizes = Counter(item.function for item in items)  # type: ignore[attr-defined]

    def cost(item: pytest.Item) -> tuple[bool, bool, int]:
        function = item.function  # type: ignore[attr-defined]
        searched = hasattr(function, "hypothesis")
        return "time" in function.__name__, searched, sizes[function]

    return sorted(items, key=cost)


def _round(items: list[pytest.Item], mutant: Mutant | None) -> int:
    """Return how one mutant ends, in the process that is given to it."""
    if mutant:
        try:
            exec(mutant.code, vars(encoding))
        except Exception:
            return NO_MODULE
    for item, following in zip(items, [*items[1:], None], strict=True):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if item.session.testsfailed:
            return KILLED
    return SURVIVED


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command: 0 when enough mutants die, else 1."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--jobs", type=int, default=1, help="mutants at a time")
    parser.add_argument("--only", help="the constant or function to mutate")
    parser.add_argument("--bodies", type=Path, help="what mutmut exported about function bodies")
    options = parser.parse_args(arguments)
    found = [
        mutant
        for mutant in mutants(Path(encoding.__file__).read_text("utf-8"))
        if options.only in {None, mutant.name}
    ]
    # A search that is the same in every round; on a machine that tests by itself it is.
    os.environ["CI"] = "true"
    start = perf_counter()
    rounds = Rounds(found, options.jobs)
    code = pytest.main(["-q", "-x", "-s", "-p", "no:cacheprovider", TESTS], [rounds])
    if code not in {0, 5}:
        return 1
    print(f"{perf_counter() - start:.0f} seconds")
    shares = [_share("constants", len(rounds.ended[KILLED]), len(rounds.ended[SURVIVED]))]
    if options.bodies:
        told = json.loads(options.bodies.read_text("utf-8"))
        dead = told["killed"] + told["timeout"]
        shares.append(_share("functions", dead, told["total"] - dead))
    return int(min(shares) < WANTED)


def _share(what: str, killed: int, survived: int) -> float:
    share = killed / ((killed + survived) or 1)
    print(f"{what}: {killed + survived} mutants, {killed} killed ({share:.1%}), {survived} survived")
    return share


if __name__ == "__main__":
    raise SystemExit(main())
