"""A Python string is sent as it is, with {{ name }} in it. Text between backticks, in code fences
and in Code may show such placeholders.
"""

import re
from typing import Any

from promptdsl.checking.checked_prompt import CheckedPrompt, prose
from promptdsl.checking.finding import CheckRule, Problems

_LEFT = re.compile(  # not as LaTeX and GitHub write braces: x^{{n}}, ${{ github.sha }}
    r"(?<![$^\w}])\{\{[-+]?\s*[A-Za-z_][\w.]*\s*(?:\|[^{}]*)?[-+]?\}\}|\{%[-+]?\s*\w[^{}%]*%\}"
)
_SHOW = ("Template", "Code")


def in_prompt(prompt: CheckedPrompt) -> Problems:
    """Yield what looks like Jinja in the author's strings, outside of code."""
    spans = [span for span in prompt.texts if not span.library and _LEFT.search(prose(span.text))]
    examples: set[object] = set()
    waiting: list[Any]  # nodes of any class
    waiting = [stage.tree for stage in prompt.rendered.stages() if spans and stage.name == "fill"]
    while waiting:
        node = waiting.pop()
        if type(node).__name__.removesuffix("Node") in _SHOW:
            examples.add(node.source)
        waiting += [child for child in node.content if not isinstance(child, str)]
    for span in spans:
        if (match := _LEFT.search(prose(span.text))) and span.source not in examples:
            message = f"{match[0]!r} is sent as it is: a string is not a template"
            yield span.source, message, "write Template.from_string(...), or Value(...) there"


RULE = CheckRule(
    name="template mark left in text",
    source="Jinja, Template Designer Documentation: variables (2024).",
    wrong='prompt = System("Work for {{ shop }}.")\n',
    right='prompt = System(Template.from_string("Work for {{ shop }}.", shop="Oslo"))\n',
)
