"""A model reads characters that no reviewer sees: zero-width spaces, bidirectional marks, tag
characters. Emoji and scripts that need such characters are not reported.
"""

from promptdsl.checking.checked_prompt import CheckedPrompt
from promptdsl.checking.finding import CheckRule, Problems
from promptdsl.foundation.unicode import invisible


def in_prompt(prompt: CheckedPrompt) -> Problems:
    """Yield texts of the author with invisible characters that no word or emoji needs."""
    for span in prompt.texts:
        if names := invisible(span.text):
            message = f"the text contains invisible characters: {', '.join(names[:5])}"
            yield span.source, message, "delete them; they come from copied text"


RULE = CheckRule(
    name="invisible characters",
    source="Trojan Source, CVE-2021-42574 (2021).",
    wrong='prompt = System("Be\\u200b brief.")\n',
    right='prompt = System("Be brief.")\n',
)
