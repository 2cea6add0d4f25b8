"""Rows: one prompt each, and how each entrant builds it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

Build = Callable[[str], Any]
"""Returns what is sent for a question."""

OURS, HAND = "promptdsl", "hand-written"


@dataclass(frozen=True, slots=True)
class Row:
    """A prompt, and how each entrant builds it.

    Its cost is shown for one of so many ``turns``.
    """

    name: str
    builds: Mapping[str, Build]
    turns: int = 1

    def of(self, only: Sequence[str]) -> "Row":
        """Return the row of these entrants and the one by hand; of all when none is named."""
        names = {*only, HAND} if only else {*self.builds}
        builds = {name: build for name, build in self.builds.items() if name in names}
        return replace(self, builds=builds)


def questions() -> Iterator[str]:
    """Yield questions, each another one, which no memory can know."""
    return map("Where is my parcel {}, and when will it arrive?".format, count())
