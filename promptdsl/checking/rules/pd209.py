"""A request can have four cache marks. A beginning that is shorter than the minimum of the model is
not cached, and there is no error. The rule checks marks in system text, which does not grow, and
reports a text that is at least a fifth too short.
"""

from promptdsl.checking.checked_prompt import CheckedPrompt
from promptdsl.checking.finding import CheckRule, Problems

_SURE = 0.8
"""The share of the minimum below which an estimate is certainly too short."""


def in_prompt(prompt: CheckedPrompt) -> Problems:
    """Yield the marks that a request cannot have, and a mark after too short a system text."""
    rendered = prompt.rendered
    for hint in rendered.hints:
        if hint.name == "cache_mark" and "a request carries" in hint.why:
            yield hint.source, f"a cache mark is left out: {hint.why} of them", "remove one"
    least = rendered.facts.cache_minimum
    marked = [span for span in prompt.spans if span.cache]
    are_of_system = all(span.role == "system" for span in marked)
    if not (least and marked and are_of_system and rendered.facts.cache_marks):
        return  # a conversation grows
    tokens = rendered.tokens
    sent = tokens.tools + sum(tokens.messages[: 1 + marked[-1].message])
    if sent < least * _SURE:
        message = f"at most {sent:,} tokens are before this mark, but a cache needs {least:,}"
        yield marked[-1].source, message, "remove the mark"


RULE = CheckRule(
    name="cache mark that never hits",
    source="Anthropic, Prompt caching: cache limitations (2026).",
    model="claude-sonnet-4-5",
    wrong='prompt = Timeline(System("Be brief.", cache=True), User("Hi."))\n',
    right='prompt = Timeline(System("Be brief. " * 2_000, cache=True), User("Hi."))\n',
)
