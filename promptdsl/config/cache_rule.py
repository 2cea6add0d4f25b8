"""The rules by which the prompt caches of providers serve the beginning of a request again."""

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import TypeAlias

import attrs

CacheBlock: TypeAlias = tuple[object, bool]
"""A block of a request: what it is compared by, and whether a cache mark ends it."""


@attrs.frozen
class CacheRule:
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


RULES: Mapping[str | None, CacheRule] = {
    # Anthropic, "Prompt caching", November 2026: 20 blocks, the marked one included. (A run of
    # calls or results counts as one block there: not done here.) The minimum is the model's.
    "anthropic": CacheRule(needs_marks=True, lookback=20),
    # AWS, "Prompt caching for faster model inference", November 2026.
    "bedrock": CacheRule(needs_marks=True, lookback=20),
    # OpenAI, "Prompt caching", November 2026: from 1,024 tokens, in steps of 128.
    "openai": CacheRule(step=128, minimum=1_024),
    "openai_responses": CacheRule(step=128, minimum=1_024),
    # Google, "Context caching", November 2026: no step is known, and the minimum is the model's.
    # Other servers have caches of their own.
}
"""The rules by provider; any other serves every equal token."""

OPENAI_MARKS = CacheRule(needs_marks=True, minimum=1_024, ends_marked=True)
"""The rule of OpenAI's models that take marks: one is found at any distance, and one is implicit.

Source: OpenAI, "Prompt caching", and ``prompt_cache_options`` in its SDK, November 2026."""
