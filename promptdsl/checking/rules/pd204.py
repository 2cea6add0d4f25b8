"""Headings tell a model which rule belongs to which part. One that is two levels below the heading
before it belongs to a part that is not there, often because a section moved.
"""

import re
from itertools import groupby

from promptdsl.checking.checked_prompt import CheckedPrompt, prose
from promptdsl.checking.finding import CheckRule, Found

_HEADING = re.compile(r"^(#{1,6})[ \t]+(\S.*)", re.MULTILINE)


def in_prompt(prompt: CheckedPrompt) -> Found:
    """Yield headings of instructions that are more than one level below the heading before."""
    spans = [it for it in prompt.spans if it.role in ("system", "developer") and it.text]
    for _, group in groupby(spans, lambda it: (it.message, it.block)):
        pieces, level = [*group], 0
        for heading in _HEADING.finditer(prose("".join(it.text for it in pieces))):
            start, depth = pieces[0].start + heading.start(), len(heading[1])
            span = next(it for it in reversed(pieces) if it.start <= start)
            if level and depth > level + 1 and span.kind in ("author", "section"):
                message = f"the heading {heading[2][:40]!r} has level {depth}, after level {level}"
                yield span.source, message, f"write {'#' * (level + 1)}, or the level between"
            level = depth


RULE = CheckRule(
    name="heading that leaves out a level",
    source="WCAG 2.2, technique G141: headings nested by level (2023).",
    wrong='prompt = System(Heading("Rules"), Heading("Tone", level=3), "Be brief.")\n',
    right='prompt = System(Heading("Rules"), Heading("Tone", level=2), "Be brief.")\n',
)
