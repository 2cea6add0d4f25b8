"""A video for a model that accepts no video is left out. A prompt over the window is refused by the
provider, in production and not in a test.
"""

from promptdsl.checking.checked_prompt import CheckedPrompt
from promptdsl.checking.finding import CheckRule, Problems

_SURE = 1.2


def in_prompt(prompt: CheckedPrompt) -> Problems:
    """Yield the losses of content and role, and a prompt that is a fifth over the window."""
    rendered = prompt.rendered
    target = rendered.facts.model or rendered.facts.provider or "the target"
    for loss in rendered.losses:
        if loss.what != "a lone surrogate":  # it may be of a value
            way = "is not sent" if loss.kind == "content" else "is sent in another role"
            message = f"{loss.what} {way} to {target}: {loss.why}"
            fix = (
                "write it as text"
                if loss.kind == "content"
                else "write it where the model accepts it"
            )
            yield loss.source, message, f"{fix}, or use another model"
    window, total = rendered.facts.window, rendered.tokens.total
    if window and total > window * _SURE:
        message = f"{total:,} tokens do not fit into the {window:,} of {target}"
        yield rendered.stages()[0].tree.source, message, 'give a budget, such as budget="window"'


RULE = CheckRule(
    name="content that the target does not get",
    source="The losses of promptdsl, of kind content and role (2026).",
    model="claude-sonnet-4-5",
    wrong='prompt = User("What is this?", Video.from_url("https://example.com/a.mp4"))\n',
    right='prompt = User("What is this?", Image.from_url("https://example.com/a.png"))\n',
)
