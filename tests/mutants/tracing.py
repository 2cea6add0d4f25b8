"""Which tests run which lines of a room, and how long each test takes."""

import os
import pickle
import resource
import sys
import threading
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from time import process_time
from types import FrameType
from typing import Any

import pytest

from tests.mutants.applying import clear_caches

Line = tuple[str, int]
LOOKS = 3000
"""How many lines of a function are looked at in a test: it repeats itself then."""


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
    lines: set[Line] = set()
    looks: Counter[int] = Counter()
    trace = _tracer(files, lines, looks)
    threading.settrace(trace)
    for place, index in enumerate(indexes):
        following = items[indexes[place + 1]] if place + 1 < len(indexes) else None
        lines.clear()
        looks.clear()
        clear_caches(files)
        start, by_children = spent(), _spent_by_children()
        sys.settrace(trace)
        failed = run(items[index], following)
        sys.settrace(None)
        found.seconds[index] = spent() - start
        if _spent_by_children() > by_children:
            found.processes.append(index)
        if failed:
            found.failed.append(index)
            continue
        for line in lines:
            found.tests.setdefault(line, array("l")).append(index)
    return found


def _tracer(files: frozenset[str], lines: set[Line], looks: Counter[int]) -> Callable[..., Any]:
    def local(frame: FrameType, event: str, _: object) -> Any:
        if event == "line":
            lines.add((frame.f_code.co_filename, frame.f_lineno))
            looks[id(frame.f_code)] += 1
            frame.f_trace_lines = looks[id(frame.f_code)] < LOOKS
        return local

    def called(frame: FrameType, *_: object) -> Any:
        if frame.f_code.co_filename not in files or looks[id(frame.f_code)] >= LOOKS:
            return None
        lines.add((frame.f_code.co_filename, frame.f_lineno))
        return local

    return called
