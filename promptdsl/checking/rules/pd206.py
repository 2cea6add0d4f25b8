"""A model reads characters that no reviewer sees: zero-width spaces, bidirectional marks, tag
characters. Those of emoji and of scripts that need joiners are no findings.
"""

from promptdsl.checking.checked_prompt import CheckedPrompt
from promptdsl.checking.finding import CheckRule, Found
from promptdsl.foundation.unicode import invisible


def in_prompt(prompt: CheckedPrompt) -> Found:
    """Yield author texts with invisible or bidirectional characters that belong to no spelling."""
    for span in prompt.texts:
        if names := invisible(span.text):
            message = f"the text contains characters that are not seen: {', '.join(names[:5])}"
            yield span.source, message, "delete them; they come with text that was copied"


RULE = CheckRule(
    name="invisible characters",
    source="Trojan Source, CVE-2021-42574 (2021).",
    wrong='prompt = System("Be\\u200b brief.")\n',
    right='prompt = System("Be brief.")\n',
)
