"""A cache serves the beginning of a request up to a mark, if every byte of it is as before. What
changes before the mark makes every request pay for writing the cache.
"""

from promptdsl import Span
from promptdsl.checking.checked_prompt import CheckedPrompt
from promptdsl.checking.finding import CheckRule, Found


def in_prompt(prompt: CheckedPrompt) -> Found:
    """Yield each volatile value before a mark that ``cache="auto"`` placed.

    Those before a mark of the author are hints of the render.
    """
    if any(it.name == "volatile_in_cache" for it in prompt.rendered.losses):
        return
    covered: list[Span] = []
    for span in prompt.spans if prompt.rendered.facts.cache_marks else ():
        if span.kind == "volatile" and span.role in ("system", "developer"):
            covered.append(span)
        if span.cache:
            for it in covered:
                message = f"Volatile {it.label!r} is before a cache mark, which never hits then"
                yield it.source, message, 'write it behind: Ephemeral(..., position="end")'
            covered = []


RULE = CheckRule(
    name="volatile text that is to be cached",
    source="Anthropic, Prompt caching (2026).",
    wrong=(
        'now = Volatile("12:03", label="now")\n'
        'prompt = Timeline(System("Hi. It is ", now, cache=True), User("Hi."))\n'
    ),
    right=(
        'now = Volatile("12:03", label="now")\n'
        'prompt = Timeline(System("Hi.", cache=True), User("Hi."), Ephemeral(now))\n'
    ),
    hints=("volatile_in_cache",),
)
