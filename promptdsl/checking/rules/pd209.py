"""A request carries four marks, and a beginning below the least size of the model is not cached,
without an error. Judged are marks of system text, which does not grow, and counts that are a fifth
below.
"""

from promptdsl.checking.checked_prompt import CheckedPrompt
from promptdsl.checking.finding import CheckRule, Found

_SURE = 0.8
"""The share of the least tokens that an estimate may reach, and be certainly below."""


def in_prompt(prompt: CheckedPrompt) -> Found:
    """Yield marks beyond the most of a request, and one on a system text that is too short."""
    rendered = prompt.rendered
    for loss in rendered.losses:
        if loss.name == "cache_mark" and "a request carries" in loss.why:
            yield loss.source, f"a cache mark is left out: {loss.why} of them", "take one away"
    least = rendered.facts.cache_minimum
    marked = [it for it in prompt.spans if it.cache]
    are_of_system = all(it.role == "system" for it in marked)
    if not (least and marked and are_of_system and rendered.facts.cache_marks):
        return  # a conversation grows
    tokens = rendered.tokens
    sent = tokens.tools + sum(tokens.messages[: 1 + marked[-1].message])
    if sent < least * _SURE:
        message = f"at most {sent:,} tokens are before this mark: below {least:,} none is cached"
        yield marked[-1].source, message, "take the mark away"


RULE = CheckRule(
    name="cache mark that never hits",
    source="Anthropic, Prompt caching: cache limitations (2026).",
    model="claude-sonnet-4-5",
    wrong='prompt = Timeline(System("Be brief.", cache=True), User("Hi."))\n',
    right='prompt = Timeline(System("Be brief. " * 2_000, cache=True), User("Hi."))\n',
)
