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

    >>> from promptdsl import Prompt, render
    >>> rule = render(Prompt(), model="claude-sonnet-4-5").facts.cache_rule
    >>> rules, grown = [("Be brief.", True)], [("Be brief. Be kind.", True)]
    >>> rule.served_blocks(rules, [*rules, ("Hi", False)]), rule.served_blocks(rules, grown)
    (1, 0)
    >>> rule.served_tokens(2_000), rule.served_tokens(1_000)
    (2000, 0)
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

    @staticmethod
    def equal_blocks(before: Sequence[CacheBlock], after: Sequence[CacheBlock]) -> int:
        """Return how many blocks two requests have in common at their beginning."""
        pairs = zip(before, after, strict=False)
        return sum(1 for _ in takewhile(lambda pair: pair[0][0] == pair[1][0], pairs))

    def served_blocks(self, before: Sequence[CacheBlock], after: Sequence[CacheBlock]) -> int:
        """Return how many blocks of a request a cache that needs marks serves after another."""
        writes, reads = self._marks(before), self._marks(after)
        equal = self.equal_blocks(before, after)
        lookback = len(after) if self.lookback is None else self.lookback
        found = [end for end in writes if end <= equal]
        found = [end for end in found if any(0 <= mark - end < lookback for mark in reads)]
        return max(found, default=0)

    def _marks(self, blocks: Sequence[CacheBlock]) -> list[int]:
        """Return the number of the blocks up to each mark."""
        marks = [end for end, (_, is_marked) in enumerate(blocks, 1) if is_marked]
        return [*marks, len(blocks)] if self.ends_marked else marks


NO_RULE = CacheRule()
"""The rule where none is known: every equal token is served."""

OPENAI_MARKS = CacheRule(needs_marks=True, minimum=1_024, ends_marked=True)
"""The rule of OpenAI's models that take marks.

Source: OpenAI, "Prompt caching", and ``prompt_cache_options`` in its SDK, November 2026: a prefix
is found at a mark alone, at any distance, and one mark at the end of the request is implicit."""

RULES: Mapping[str, CacheRule] = {
    # Anthropic, "Prompt caching", November 2026: 20 blocks, the marked one included. The minimum
    # depends on the model. (A run of calls or results counts as one block there: not done here.)
    "anthropic": CacheRule(needs_marks=True, lookback=20),
    # AWS, "Prompt caching for faster model inference", November 2026.
    "bedrock": CacheRule(needs_marks=True, lookback=20),
    # OpenAI, "Prompt caching", November 2026: from 1,024 tokens, in steps of 128.
    "openai": CacheRule(step=128, minimum=1_024),
    "openai_responses": CacheRule(step=128, minimum=1_024),
    # Google, "Context caching", November 2026: no step is documented; the minimum depends on the
    # model. Other servers, and those of open models, have caches of their own.
}
"""The rules by provider."""


def cache_rule(provider: str | None, minimum: int | None, *, takes_marks: bool) -> CacheRule:
    """Return the rule of a provider, for a model with this minimum that takes marks or not."""
    rule = RULES.get(provider or "", NO_RULE)
    if takes_marks and not rule.needs_marks:
        rule = OPENAI_MARKS
    return rule if minimum is None else attrs.evolve(rule, minimum=minimum)
