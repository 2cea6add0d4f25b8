"""A pytest plug-in that measures the CPU seconds of each file: ``python -m tests.run --weigh``."""

import json
import os
from collections import Counter
from collections.abc import Generator

import pytest

from tests.run import ROOT, TABLE

LEAST = 0.05
"""Files that take fewer seconds are left out of the table."""

_seconds: Counter[str] = Counter()


def _used() -> float:
    """Return the CPU seconds of this process and of those that it has waited for."""
    return sum(os.times()[:4])


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, object, object]:
    """Add what a file takes to be imported."""
    start = _used()
    result = yield
    _seconds[_file_of(collector)] += _used() - start
    return result


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Add what a test takes."""
    start = _used()
    result = yield
    _seconds[_file_of(item)] += _used() - start
    return result


def pytest_sessionfinish() -> None:
    """Write the table."""
    rows = {file: round(seconds, 2) for file, seconds in sorted(_seconds.items())}
    kept = {file: seconds for file, seconds in rows.items() if seconds >= LEAST}
    TABLE.write_text(json.dumps(kept, indent=0) + "\n", "utf-8")


def _file_of(node: pytest.Item | pytest.Collector) -> str:
    return node.path.relative_to(ROOT).as_posix()
