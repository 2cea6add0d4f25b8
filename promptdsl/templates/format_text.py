"""Texts for ``str.format`` as templates: their fields are the names of variables."""

import re
from collections.abc import Iterator

from promptdsl.foundation.errors import TemplateError

_BRACES = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
"""Two braces that stand for one, a field, or a single brace."""
_ADVICE = (
    (r"\{\s*\d*\s*[}!:]", "name the field: {name}, and write name=... after the text"),
    (r"\{(\w+)[.[]", r"take the part of \1 in Python, and give it a name: {name}"),
    (r"\{(\w+)[!:]", r"format \1 in Python and write {\1}; for braces in the text write {{ and }}"),
    ("", "write a field as {name}, and braces in the text as {{ and }}"),
)
"""The advice for braces that are neither a field nor text: the first pattern that matches."""


def format_parts(text: str) -> Iterator[tuple[str, str | None]]:
    """Yield the parts of a text: its own text, and the name of the field after it, if any.

    Raises :class:`TemplateError`, with the line in the text, for a single brace, and for a field
    that is more than a name.
    """
    start = 0
    for match in _BRACES.finditer(text):
        written, braces, name = text[start : match.start()], match[0], match[1]
        start = match.end()
        if braces in ("{{", "}}"):
            yield written + braces[0], None
        elif name is not None and name.isidentifier():
            yield written, name
        else:
            line = text.count("\n", 0, match.start()) + 1
            problem = f"{braces!r:.60} is not a field" if len(braces) > 1 else f"a single {braces}"
            advised = ((re.match(pattern, braces), advice) for pattern, advice in _ADVICE)
            fix = next(mistake.expand(advice) for mistake, advice in advised if mistake)
            raise TemplateError(f"the template, line {line}: {problem}", fix=fix)
    yield text[start:], None
