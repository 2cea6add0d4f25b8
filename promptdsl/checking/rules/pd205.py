"""A string of Python is sent as it is, with {{ name }} in it. Text between backticks, in code
fences and in Code may show such marks.
"""

import re
from typing import Any

from promptdsl.checking.checked_prompt import CheckedPrompt, prose
from promptdsl.checking.finding import CheckRule, Found

_LEFT = re.compile(  # not as LaTeX and GitHub write braces: x^{{n}}, ${{ github.sha }}
    r"(?<![$^\w}])\{\{[-+]?\s*[A-Za-z_][\w.]*\s*(?:\|[^{}]*)?[-+]?\}\}|\{%[-+]?\s*\w[^{}%]*%\}"
)
_SHOW = ("Template", "Code")


def in_prompt(prompt: CheckedPrompt) -> Found:
    """Yield what looks like Jinja in author text of Python, outside of code."""
    spans = [it for it in prompt.texts if not it.library and _LEFT.search(prose(it.text))]
    shown: set[object] = set()
    waiting: list[Any]  # nodes of any class
    waiting = [it.tree for it in prompt.rendered.stages() if spans and it.name == "fill"]
    while waiting:
        node = waiting.pop()
        shown |= {node.source} if type(node).__name__.removesuffix("Node") in _SHOW else set()
        waiting += [it for it in node.content if not isinstance(it, str)]
    for span in spans:
        if (match := _LEFT.search(prose(span.text))) and span.source not in shown:
            message = f"{match[0]!r} is sent as it is: a string is no template"
            yield span.source, message, "write Template.from_string(...), or Value(...) there"


RULE = CheckRule(
    name="template mark left in text",
    source="Jinja, Template Designer Documentation: variables (2024).",
    wrong='prompt = System("Work for {{ shop }}.")\n',
    right='prompt = System(Template.from_string("Work for {{ shop }}.", shop="Oslo"))\n',
)
