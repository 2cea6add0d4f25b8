"""Headings show a model which rule belongs to which section. A heading that is two levels below the
heading before it belongs to a section that does not exist, often because a section was moved.
"""

import re
from itertools import groupby

from promptdsl.checking.checked_prompt import CheckedPrompt, prose
from promptdsl.checking.finding import CheckRule, Problems

_HEADING = re.compile(r"^(#{1,6})[ \t]+(\S.*)", re.MULTILINE)


def in_prompt(prompt: CheckedPrompt) -> Problems:
    """Yield headings of instructions that are more than one level below the heading before."""
    spans = [span for span in prompt.spans if span.role in ("system", "developer") and span.text]
    for _, group in groupby(spans, lambda span: (span.message, span.block)):
        pieces, level = [*group], 0
        for heading in _HEADING.finditer(prose("".join(piece.text for piece in pieces))):
            start, depth = pieces[0].start + heading.start(), len(heading[1])
            span = next(piece for piece in reversed(pieces) if piece.start <= start)
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
