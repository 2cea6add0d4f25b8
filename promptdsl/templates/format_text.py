"""A text written for ``str.format``, whose fields are names of variables."""

import re
from collections.abc import Iterator

from promptdsl.foundation.errors import TemplateError

_BRACES = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
"""Two braces that are one, a field, or a brace without a partner."""
_ADVICE = (
    (r"\{\s*\d*\s*[}!:]", "name it: {name}, with name=... beside the text"),
    (r"\{(\w+)[.[]", r"take the part of \1 in Python, and give it a name: {name}"),
    (r"\{(\w+)[!:]", r"make the text of \1 in Python: {\1}; braces in the text are {{ and }}"),
    ("", "a field is {name}; braces in the text are {{ and }}"),
)
"""What to do about braces that are no field and no text, for the first form that they have."""


def format_parts(text: str) -> Iterator[tuple[str, str | None]]:
    """Yield the parts of a text: what is written there, and the name of the field after it, if any.

    Raises :class:`TemplateError`, with the line in the text, for a brace without a partner, and for
    a field that is more than a name.
    """
    start = 0
    for found in _BRACES.finditer(text):
        written, braces, name = text[start : found.start()], found[0], found[1]
        start = found.end()
        if braces in ("{{", "}}"):
            yield written + braces[0], None
        elif name is not None and name.isidentifier():
            yield written, name
        else:
            line = text.count("\n", 0, found.start()) + 1
            problem = f"{braces!r:.60} is no field" if len(braces) > 1 else f"a single {braces}"
            matches = ((re.match(form, braces), advice) for form, advice in _ADVICE)
            fix = next(form.expand(advice) for form, advice in matches if form)
            raise TemplateError(f"the template, line {line}: {problem}", fix=fix)
    yield text[start:], None
