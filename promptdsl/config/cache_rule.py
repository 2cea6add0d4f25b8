"""The rules by which the prompt caches of providers serve the beginning of a request again."""

from collections.abc import Sequence
from itertools import takewhile
from typing import NamedTuple, TypeAlias

CacheBlock: TypeAlias = tuple[object, bool]
"""A block of a request: what it is compared by, and whether a cache mark ends it."""


class CacheRule(NamedTuple):
    """What a cache serves of a request after an earlier one.

    A cache that ``needs_marks`` serves what ends at a mark of the earlier request, if each block up
    to it is equal and it is among the ``lookback`` blocks that end at a mark of the later request.
    Any other cache serves equal tokens from the beginning, in whole steps. ``ends_marked`` is
    whether the provider itself puts a mark at the end of each request. Below ``minimum`` tokens
    nothing is served.
    """

    needs_marks: bool = False
    step: int = 1
    minimum: int = 0
    lookback: int | None = None
    ends_marked: bool = False

    def served_tokens(self, equal: int) -> int:
        """Return how many tokens are served, of those that may be."""
        served = equal // self.step * self.step
        return served if served >= self.minimum else 0

    def served_blocks(self, before: Sequence[CacheBlock], after: Sequence[CacheBlock]) -> int:
        """Return how many blocks of a request a cache that needs marks serves after another."""
        written, read = (
            [n for n, it in enumerate(side, 1) if it[1] or (self.ends_marked and n == len(side))]
            for side in (before, after)
        )
        equal, reach = self.equal_blocks(before, after), self.lookback or len(after) + 1
        found = (end for end in written if any(0 <= mark - end < reach for mark in read))
        return max((end for end in found if end <= equal), default=0)

    @staticmethod
    def equal_blocks(before: Sequence[CacheBlock], after: Sequence[CacheBlock]) -> int:
        """Return how many blocks two requests have in common at their beginning."""
        pairs = zip(before, after, strict=False)
        return sum(1 for _ in takewhile(lambda pair: pair[0][0] == pair[1][0], pairs))


OPENAI_MARKS = CacheRule(needs_marks=True, minimum=1_024, ends_marked=True)
"""The rule of OpenAI's models that take marks: one is found at any distance, and one is implicit.

Source: OpenAI, "Prompt caching", and ``prompt_cache_options`` in its SDK, November 2026."""
