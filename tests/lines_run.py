"""How work grows: counted in lines of Python, which are as many in every run."""

import gc
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def lines_run(work: Callable[[], object]) -> int:
    """Return the number of lines of Python that a function runs."""
    count = 0

    def trace(_frame: FrameType, event: str, _data: object) -> Any:
        nonlocal count
        count += event != "return"
        return trace

    before = sys.gettrace()
    gc.disable()  # what was left behind before is no work of this
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
        gc.enable()
    return count


def times_more(by: int, few: int, work: Callable[[int], Callable[[], object]]) -> float:
    """Return how many times more lines run if something is done with ``by`` times as much."""
    work(few)()  # imports what it needs
    return lines_run(work(by * few)) / lines_run(work(few))
