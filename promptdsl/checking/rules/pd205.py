"""A string of Python is sent as it is, with {{ name }} in it. Text between backticks, in code
fences and in Code may show such marks.
"""

import re

from promptdsl.checking.checked_prompt import CheckedPrompt, prose
from promptdsl.checking.finding import CheckRule, Found

_LEFT = re.compile(
    r"(?<!\$)\{\{[-+]?\s*[A-Za-z_][\w.]*\s*(?:\|[^{}]*)?[-+]?\}\}|\{%[-+]?\s*\w[^{}%]*%\}"
)
_SHOW = ("Template", "Template.from_string", "Code")


def find(prompt: CheckedPrompt) -> Found:
    """Yield what looks like Jinja in author text of Python, outside of code."""
    for span in prompt.texts:
        has_mark = "{{" in span.text or "{%" in span.text
        if not has_mark or span.library or any(prompt.calls_at(span.source, *_SHOW)):
            continue
        if match := _LEFT.search(prose(span.text)):
            message = f"{match[0]!r} is sent as it is: a string is no template"
            yield span.source, message, "write Template.from_string(...), or Value(...) there"


RULE = CheckRule(
    id="PD205",
    name="template mark left in text",
    why=__doc__,
    source="Jinja, Template Designer Documentation: variables (2024).",
    wrong='prompt = System("Work for {{ shop }}.")\n',
    right='prompt = System(Template.from_string("Work for {{ shop }}.", shop="Oslo"))\n',
    in_prompt=find,
)
