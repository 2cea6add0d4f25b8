"""A cache serves the beginning of a request up to a mark, if every byte of it is as before. What
changes before the mark makes every request pay for writing the cache.
"""

from promptdsl.checking.checked_prompt import CheckedPrompt
from promptdsl.checking.finding import CheckRule, Found


def in_prompt(prompt: CheckedPrompt) -> Found:
    """Yield each volatile value before a mark that ``cache="auto"`` placed.

    Those before a mark of the author are hints of the render.
    """
    rendered = prompt.rendered
    marked = [number for number, it in enumerate(prompt.spans) if it.cache]
    is_told = any(it.name == "volatile_in_cache" for it in rendered.losses)
    if marked and rendered.facts.cache_marks and not is_told:
        for it in prompt.spans[: marked[-1] + 1]:
            if it.kind == "volatile" and it.role in ("system", "developer"):
                message = f"Volatile {it.label!r} is before a cache mark, which never hits then"
                yield it.source, message, 'write it behind: Ephemeral(..., position="end")'


_NOW = 'now = Volatile("12:03", label="now")\n'
RULE = CheckRule(
    name="volatile text that is to be cached",
    source="Anthropic, Prompt caching (2026).",
    wrong=f'{_NOW}prompt = Timeline(System("At ", now, cache=True), User("Hi."))\n',
    right=f'{_NOW}prompt = Timeline(System("Hi.", cache=True), Ephemeral(now))\n',
    hints=("volatile_in_cache",),
)
