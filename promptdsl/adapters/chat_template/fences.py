"""Calls and results as text, where a template has no form for them: fences they cannot leave."""

from promptdsl.encoding import attribute, guard
from promptdsl.wire.request import Param

NO_FORM = "the template has no form for it here: sent as text"


def fenced(tag: str, name: str, text: str) -> Param:
    """Return the param of a text that stands in a fence called ``tag``."""
    named = f' name="{attribute(name)}"' if name else ""
    return {"type": "text", "text": f"<{tag}{named}>\n{guard(text, (tag,))}\n</{tag}>"}
