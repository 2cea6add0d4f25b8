"""All system text is sent as one text at the beginning. What is written behind turns reads as if
the model got it there, and it breaks the cached beginning of the request.
"""

from promptdsl.checking.checked_prompt import CheckedPrompt
from promptdsl.checking.finding import CheckRule, Found


def in_prompt(prompt: CheckedPrompt) -> Found:
    """Yield each system turn that stands behind a turn of the conversation."""
    has_begun = False
    trees = {stage.name: stage.tree for stage in prompt.rendered.stages()}
    for node in trees["expand"].content:  # in written order, the parts of groups too
        role = getattr(node, "role", None)
        has_begun = has_begun or role in ("user", "assistant", "tool") or hasattr(node, "form")
        if has_begun and role == "system" and node.content:
            message = "a System after the conversation has begun is sent at the beginning"
            yield node.source, message, "write it first, or write Developer(...) to keep its place"


RULE = CheckRule(
    name="System after turns",
    source="Anthropic, Messages API: system is a parameter beside messages (2026).",
    wrong='prompt = Timeline(User("Hi."), System("Be brief."))\n',
    right='prompt = Timeline(User("Hi."), Developer("Be brief."))\n',
)
