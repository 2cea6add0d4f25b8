"""All system text is sent as one text at the beginning. A System after a turn reads in code as if
it was sent there. It also changes the beginning of the request, which was cached before.
"""

from promptdsl.checking.checked_prompt import CheckedPrompt
from promptdsl.checking.finding import CheckRule, Problems


def in_prompt(prompt: CheckedPrompt) -> Problems:
    """Yield each system turn that is after a turn of the conversation."""
    has_begun = False
    trees = {stage.name: stage.tree for stage in prompt.rendered.stages()}
    for node in trees["expand"].content:  # in written order, with the nodes of groups
        role = getattr(node, "role", None)
        has_begun = (
            has_begun or role in ("user", "assistant", "tool") or hasattr(node, "provider_format")
        )
        if has_begun and role == "system" and node.content:
            message = "this System is written after a turn, but is sent at the beginning"
            yield node.source, message, "write it first, or write Developer(...) to send it here"


RULE = CheckRule(
    name="System after turns",
    source="Anthropic, Messages API: system is a parameter next to messages (2026).",
    wrong='prompt = Timeline(User("Hi."), System("Be brief."))\n',
    right='prompt = Timeline(User("Hi."), Developer("Be brief."))\n',
)
