"""What of an agent's loop is sent, worked out the slow way: the rules on clearing, cuts and pins.

A loop is a task and rounds of a call and a result; of the results only the sizes are known. Every
request before this one is worked out again, and every choice is weighed from the beginning.
"""

import attrs

BESIDE, TASK, ROUND = 3 + 5, 6, 10
"""The tokens of the reply and the system text, of the task, and of a round without its result."""
LINE = 5
"""The tokens of the line at a cut: it is in one message with the task."""


@attrs.frozen
class Loop:
    """The sizes of results in words, and how the history of the loop is shortened."""

    sizes: tuple[int, ...]
    keep: int
    step: int
    pins: frozenset[int] = frozenset()
    cut_line: bool = False

    def cleared(self, number: int) -> int:
        """Return the size of a result that is cleared, if it may be and that saves anything."""
        return self.sizes[number] if number in self.pins else min(self.sizes[number], 1)

    def size(self, count: int, frontier: int, cut: int) -> int:
        """Return the tokens of the request after some rounds, with rounds cleared and cut."""
        kept = [n for n in range(count) if n >= cut or n in self.pins]
        results = (self.cleared(n) if n < frontier else self.sizes[n] for n in kept)
        line = LINE if cut and self.cut_line else 0
        return BESIDE + TASK + line + len(kept) * ROUND + sum(results)

    def frontiers(self, count: int) -> list[int]:
        """Return the rounds before which may be cleared: the first at each multiple of the step."""
        saved = [sum(self.sizes[n] - self.cleared(n) for n in range(end)) for end in range(count)]
        places, step = [0], max(self.step, 1)
        for end in range(count):
            if saved[end] // step > saved[places[-1]] // step:
                places.append(end)
        newest = max(count - self.keep, 0)
        return [place for place in places if place <= newest]

    def shape(self, limit: int) -> str | None:
        """Return what is sent of each result: ``.`` cleared, ``#`` whole; ``None`` if too much."""
        count = len(self.sizes)
        places = self.frontiers(count)
        frontier = cut = 0
        if self.size(count, 0, 0) > limit:
            cut = self._stepped(max(self._least(end, limit) for end in range(1, count + 1)))
            fitting = (f for f in places if self.size(count, f, 0) <= limit)
            frontier = places[-1] if cut else next(fitting, places[-1])
        if self.size(count, frontier, cut) > limit:
            return None
        kept = [n for n in range(count) if n >= cut or n in self.pins]
        gone = {n for n in kept if n < frontier and self.cleared(n) < self.sizes[n]}
        return "".join("." if n in gone else "#" for n in kept)

    def _least(self, count: int, limit: int) -> int:
        """Return the least cut of the request after some rounds, with all cleared that may be."""
        frontier = self.frontiers(count)[-1]
        cuts = range(count)
        return next((c for c in cuts if self.size(count, frontier, c) <= limit), count - 1)

    def _stepped(self, least: int) -> int:
        """Return the cut at the next multiple of the step; the newest round stays."""
        if not self.step or not least:
            return least
        cuts = range(1, len(self.sizes))
        before = [0] + [TASK + sum(ROUND + self.cleared(n) for n in range(c)) for c in cuts]
        reached = self.step * (before[least - 1] // self.step + 1)
        return next((c for c in cuts if before[c] >= reached), cuts[-1])
