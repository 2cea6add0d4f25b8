"""Which tests run which lines of a room, and how long each test takes."""

import os
import pickle
import resource
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from time import process_time

import pytest

from tests.commands import STARTED
from tests.mutants.applying import cached_functions
from tests.mutants.probes import Line, put_probes


@dataclass(slots=True)
class Traced:
    """What is known of tests, each by its index.

    ``tests`` are the indexes of those that run a line, ``seconds`` how long each keeps a processor
    while it is traced, ``processes`` those that start processes, ``failed`` those that fail without
    a mistake being made.
    """

    tests: dict[Line, "array[int]"] = field(default_factory=dict)
    seconds: dict[int, float] = field(default_factory=dict)
    processes: list[int] = field(default_factory=list)
    failed: list[int] = field(default_factory=list)

    def add(self, other: "Traced") -> None:
        """Add what is known of other tests."""
        for line, indexes in other.tests.items():
            self.tests.setdefault(line, array("l")).extend(indexes)
        self.seconds |= other.seconds
        self.processes += other.processes
        self.failed += other.failed


def traced(items: Sequence[pytest.Item], files: Iterable[str], jobs: int) -> Traced:
    """Return what lines of these files each test runs, found in as many processes."""
    found = Traced()
    readers: list[int] = []
    for job in range(jobs):
        reader, writer = os.pipe()
        if not os.fork():
            quieten()
            share = _traced(items, range(job, len(items), jobs), frozenset(files))
            with os.fdopen(writer, "wb") as pipe:
                pickle.dump(share, pipe)
            os._exit(0)
        os.close(writer)
        readers.append(reader)
    for reader in readers:
        with os.fdopen(reader, "rb") as pipe:
            found.add(pickle.load(pipe))
        os.wait()
    return found


def quieten() -> None:
    """Send what this process prints to nobody."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(1, 2)


def spent() -> float:
    """Return how many seconds this process and those that it waited for have kept a processor."""
    return process_time() + _spent_by_children()


def _spent_by_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run(item: pytest.Item, following: pytest.Item | None) -> bool:
    """Run a test; return whether it failed."""
    item.session.testsfailed = 0
    item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
    return bool(item.session.testsfailed)


def _traced(items: Sequence[pytest.Item], indexes: Sequence[int], files: frozenset[str]) -> Traced:
    found = Traced()
    ran: set[int] = set()
    places = put_probes(files, ran.add)
    cached = cached_functions(files)
    for place, index in enumerate(indexes):
        following = items[indexes[place + 1]] if place + 1 < len(indexes) else None
        ran.clear()
        for function in cached:
            function.cache_clear()
        start, by_children, by_forks = spent(), _spent_by_children(), len(STARTED)
        failed = run(items[index], following)
        found.seconds[index] = spent() - start
        if _spent_by_children() > by_children or len(STARTED) > by_forks:
            found.processes.append(index)
        if failed:
            found.failed.append(index)
            continue
        for line in {line for number in ran for line in places[number]}:
            found.tests.setdefault(line, array("l")).append(index)
    return found
