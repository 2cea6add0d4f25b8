"""The prefix report: the tokens that two requests share at their beginning, and what ends it."""

from math import ceil

import attrs

from promptdsl.config.models import USUAL, facts_for
from promptdsl.config.wire import CACHED, CacheRule
from promptdsl.foundation.errors import TargetError
from promptdsl.foundation.json import JsonDict
from promptdsl.providers.registry import TARGETS
from promptdsl.rendering.reports.cache_order import (
    Payload,
    beginning_of,
    beginning_tokens,
    cache_blocks,
    cache_order,
    shared_by,
)
from promptdsl.rendering.reports.first_difference import Difference, first_difference
from promptdsl.rendering.reports.newly_dropped import newly_dropped
from promptdsl.rendering.reports.report_input import ReportInput
from promptdsl.rendering.reports.token_report import total_of


@attrs.frozen(eq=False)
class PrefixReport:
    """The number of tokens at the beginning that two requests share, and what a cache serves.

    ``shared`` is the number of equal tokens. ``served`` are those of them that the cache of the
    provider serves: up to a cache mark or in complete steps, and none below ``minimum``.
    ``before`` and ``after`` are all tokens of each request, counted for the second, and ``label``
    is how exact that is. ``first`` is the first difference, ``None`` for equal requests.
    ``extends`` is whether the second only continues the first: nothing before its end changed.
    ``dropped`` are the tokens of the first that were dropped, cut or cleared in the second.

    >>> from promptdsl import Timeline, User, prefix_report, render
    >>> one, two = (render(Timeline(User(text)), counter=len) for text in ("One two.", "One six."))
    >>> report = prefix_report(one, two)
    >>> report.after, report.extends, report.first.how
    (18, False, 'changed')
    """

    shared: int
    served: int
    before: int
    after: int
    label: str
    first: Difference | None
    extends: bool
    minimum: int = 0
    dropped: int = 0

    @property
    def advice(self) -> str:
        """What to do where the cache serves nothing of another request; empty elsewhere."""
        if self.served or self.first is None:
            return ""
        if self.after < self.minimum:
            return f"a request below {self.minimum:,} tokens is not cached: leave it as it is"
        if not self.shared or self.shared < self.minimum:
            return "write what changes after what stays the same: a cache serves only a beginning"
        return "write cache=True on the last turn or section that stays the same"

    @property
    def pays_from(self) -> int | None:
        """The number of requests after which ``dropped`` saves more than it costs.

        1 is the second request of the two. Each further request is cheaper by these tokens, at the
        price of cached ones. ``None`` if the beginning did not change, or if nothing of the first
        was dropped.
        """
        if self.extends or not self.dropped:
            return None
        uncached = max(self.before - self.shared - self.dropped, 0) * (1 - CACHED)
        return max(ceil(uncached / (self.dropped * CACHED)), 1)

    @property
    def behind(self) -> int:
        """The tokens of the second request after the shared ones."""
        return self.after - self.shared

    @property
    def cost(self) -> float:
        """The cost of the second request, in tokens that are not cached."""
        return CacheRule.cost(self.served, self.after)

    def to_dict(self) -> JsonDict:
        """Return the report as JSON data; ``read_from_cache`` are the tokens that are served.

        >>> from promptdsl import Section, System, prefix_report, render
        >>> one, two = (render(System(Section("role", text))) for text in ("Help.", "Go."))
        >>> data = prefix_report(one, two).to_dict()
        >>> data["shared"], data["first"]["how"], data["first"]["path"]
        (0, 'changed', 'role')
        """
        first = self.first
        return {
            "before": self.before,
            "after": self.after,
            "shared": self.shared,
            "read_from_cache": self.served,
            "minimum": self.minimum,
            "dropped": self.dropped,
            "label": self.label,
            "extends": self.extends,
            "first": None if first is None else first.to_dict(),
        }

    def __str__(self) -> str:
        after, first, what = self.after, "nothing differs but cache marks, if any", ""
        if self.first:
            first, what = str(self.first), "the shared prefix ends there: "
        if self.first and self.extends:
            what = "nothing before it changed: "
        below = f" below {self.minimum:,} tokens" if self.shared < self.minimum else ""
        share, saved = 1.0, 0.0
        if after:
            share, saved = self.shared / after, 1 - self.cost / after
        lines = [
            f"{self.shared:,} of {after:,} tokens are shared ({share:.0%}): {self.label}",
            f"  {first}",
            f"  {what}{CacheRule.bill(self.served, after, below)}",
            f"  with a cached token at a tenth it costs {self.cost:,.0f} of {after:,} "
            f"({saved:.0%} saved)",
        ]
        if self.pays_from:
            pays = f"{self.dropped:,} tokens of the first are dropped: that pays from request"
            lines.append(f"  {pays} {self.pays_from} on")
        if self.advice:
            lines.append(f"  {self.advice}")
        return "\n".join(lines)


def compared(before: ReportInput, after: ReportInput) -> PrefixReport:
    """Return the report on two requests; :class:`TargetError` if their targets differ."""
    tokens, facts = after.tokens, after.facts
    if (before.facts.provider, before.facts.model) != (facts.provider, facts.model):
        names = [side.model or side.provider or "no target" for side in (before.facts, facts)]
        raise TargetError(
            f"the first is for {names[0]}, the second for {names[1]}: they share no cache",
            fix="render both for the same model and provider",
        )
    payloads = _payload(before), _payload(after)
    orders = [cache_order(payload, facts) for payload in payloads]
    shared = shared_by(*orders)
    (old, _), (new, label) = (total_of(payload, tokens, facts) for payload in payloads)
    count = new
    if shared.location:
        count = min(beginning_tokens(shared.payload, tokens, facts), new)
    rule, served = facts.cache_rule, count
    if rule.needs_marks:
        blocks = [*map(cache_blocks, payloads, orders)]
        keys = [[(block.key, block.is_marked) for block in side] for side in blocks]
        cached_beginning = beginning_of(orders[1], blocks[1][: rule.served_blocks(*keys)])
        served = min(beginning_tokens(cached_beginning, tokens, facts), count)
    served = rule.served_tokens(served)
    if not shared.location:
        return PrefixReport(new, served, old, new, label, None, extends=True, minimum=rule.minimum)
    first = first_difference(before, after) or Difference("changed", "the request", shared.location)
    # A chat template writes an end after the last turn, but not before another turn.
    extends = shared.is_complete or ("prompt" in shared.payload and first.how == "appended")
    dropped = newly_dropped(before, after)
    return PrefixReport(count, served, old, new, label, first, extends, rule.minimum, dropped)


def _payload(report_input: ReportInput) -> Payload:
    """Return the payload; without a target, the payload for OpenAI."""
    if report_input.payload is not None:
        return report_input.payload
    payload: Payload = TARGETS[USUAL].write(report_input.sent, facts_for(None, USUAL), None)[0]
    return payload
