"""One run of something: how long it took by the clock and on the processor, and when it is stopped.

A run is stopped by a signal, so only in the main thread, and not where the system has no timers.
"""

import gc
import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from time import perf_counter, process_time
from typing import TypeVar

T = TypeVar("T")


class Stopped(BaseException):
    """The time was up. No ``Exception``: a library that survives those would go on."""


@dataclass(slots=True)
class Times:
    """The samples of one thing: seconds by the clock, and seconds of the processor."""

    wall: list[float]
    cpu: list[float]

    @property
    def median(self) -> float:
        """The median by the clock, in seconds."""
        return median(self.wall)

    @property
    def cpu_median(self) -> float:
        """The median of the processor, in seconds: what other programs on the machine spare."""
        return median(self.cpu)


def timed(run: Callable[[], T], times: Times, *, seconds: float) -> T:
    """Return what a run returns, its time noted; raises :class:`Stopped` when these are over.

    The garbage collector stays on, but meets only what the run made.
    """
    gc.collect()
    gc.freeze()
    try:
        with limit(seconds):
            started, worked = perf_counter(), process_time()
            result = run()
            times.cpu.append(process_time() - worked)
            times.wall.append(perf_counter() - started)
    finally:
        gc.unfreeze()
    return result


@contextmanager
def limit(seconds: float) -> Generator[None]:
    """Raise :class:`Stopped` in the block after so many seconds."""
    over = False

    def stop(_signal: int, _frame: object) -> None:
        nonlocal over
        over = True
        raise Stopped

    before = signal.signal(signal.SIGALRM, stop)
    # Again after a while: what is raised in a finaliser is printed and lost.
    signal.setitimer(signal.ITIMER_REAL, seconds, 5)
    try:
        yield
    except Exception as error:
        # Whoever was stopped may fail to tidy up.
        if over:
            raise Stopped from error
        raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
