"""The prefix report: how many tokens two requests share at their beginning, and what ends it."""

from collections.abc import Mapping
from typing import Any

import attrs

from promptdsl.config.model_facts import ModelFacts
from promptdsl.config.models import facts_for
from promptdsl.foundation.errors import TargetError
from promptdsl.providers.registry import TARGETS
from promptdsl.rendering.reports.cache_order import cache_order, shared_by, shared_tokens
from promptdsl.rendering.reports.first_difference import Difference, first_difference
from promptdsl.rendering.reports.outcome import Outcome
from promptdsl.rendering.reports.token_report import total_of

CACHED = 0.1
"""The cost of a token from a cache, about, where one that is read anew costs 1."""


@attrs.frozen(eq=False)
class PrefixReport:
    """How many tokens two requests share at their beginning, which a provider's cache can give.

    ``before`` and ``after`` are all their tokens, in the counter of the second, and ``label`` says
    how sure that is. ``first`` is where they differ first, ``None`` where they are the same.
    ``extends`` is whether the second only goes on where the first one ended: nothing is lost.
    """

    shared: int
    before: int
    after: int
    label: str
    first: Difference | None
    extends: bool

    @property
    def behind(self) -> int:
        """How many tokens of the second request are read anew."""
        return self.after - self.shared

    @property
    def cost(self) -> float:
        """What the second request costs, in tokens that are read anew."""
        return self.shared * CACHED + self.behind

    def __str__(self) -> str:
        share = self.shared / self.after if self.after else 1
        head = f"{self.shared:,} of {self.after:,} tokens are shared ({share:.0%}): {self.label}"
        if self.first is None:
            return f"{head}\n  the requests are the same"
        what = "nothing before it changed" if self.extends else "the shared prefix ends there"
        saved = 1 - self.cost / self.after if self.after else 0
        return "\n".join(
            [
                head,
                f"  {self.first}",
                f"  {what}: {self.behind:,} tokens are read anew",
                f"  with a cached token at a tenth it costs {self.cost:,.0f} of {self.after:,} "
                f"({saved:.0%} saved)",
            ]
        )


def compared(before: Outcome, after: Outcome) -> PrefixReport:
    """Return how much two requests share; :class:`TargetError` for those of two targets."""
    _check_targets(before.facts, after.facts)
    tokens, facts = after.tokens, after.facts
    payloads = _payload(before), _payload(after)
    shared = shared_by(*(cache_order(payload, facts) for payload in payloads))
    (old, _), (new, label) = (total_of(payload, tokens, facts) for payload in payloads)
    if not shared.place:
        return PrefixReport(new, old, new, label, None, extends=True)
    first = first_difference(before, after) or Difference("changed", "the request", shared.place)
    # A template writes an end after the last turn, which is gone when another turn follows.
    extends = shared.is_whole or ("prompt" in shared.payload and first.how == "appended")
    found = min(shared_tokens(shared, tokens, facts), new)
    return PrefixReport(found, old, new, label, first, extends)


def _payload(outcome: Outcome) -> Mapping[str, Any]:
    """Return the payload; for no target, that for OpenAI."""
    if outcome.payload is not None:
        return outcome.payload
    written: Mapping[str, Any] = TARGETS["openai"].adapter.write(
        outcome.sent, facts_for(None, "openai"), None
    )[0]
    return written


def _check_targets(one: ModelFacts, two: ModelFacts) -> None:
    if (one.provider, one.model) != (two.provider, two.model):
        raise TargetError(
            f"the first is for {_named(one)}, the second for {_named(two)}: they share no cache",
            fix="render both for the same model and provider",
        )


def _named(facts: ModelFacts) -> str:
    return facts.model or facts.provider or "no target"
