"""A provider reads the beginning of a request, up to a cache mark, from its cache if no byte of it
has changed. If a value before the mark changes, every request pays for writing the cache again.
"""

from promptdsl.checking.checked_prompt import CheckedPrompt
from promptdsl.checking.finding import CheckRule, Problems


def in_prompt(prompt: CheckedPrompt) -> Problems:
    """Yield each volatile value before a cache mark that ``cache="auto"`` added.

    A hint of the render reports values before a mark of the author.
    """
    rendered = prompt.rendered
    marked = [number for number, span in enumerate(prompt.spans) if span.cache]
    is_reported = any(hint.name == "volatile_in_cache" for hint in rendered.hints)
    if marked and rendered.facts.cache_marks and not is_reported:
        for span in prompt.spans[: marked[-1] + 1]:
            if span.kind == "volatile" and span.role in ("system", "developer"):
                message = (
                    f"Volatile {span.label!r} is before a cache mark, so the cache is never read"
                )
                fix = 'write it after the mark: Ephemeral(..., position="end")'
                yield span.source, message, fix


_NOW = 'now = Volatile("12:03", label="now")\n'
RULE = CheckRule(
    name="volatile text that is to be cached",
    source="Anthropic, Prompt caching (2026).",
    wrong=f'{_NOW}prompt = Timeline(System("At ", now, cache=True), User("Hi."))\n',
    right=f'{_NOW}prompt = Timeline(System("Hi.", cache=True), Ephemeral(now))\n',
    hints=("volatile_in_cache", "volatile_grounding"),
)
