"""The Jinja that chat templates are written for, as ``transformers`` runs them."""

import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from jinja2 import TemplateError, nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.runtime import Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment

from promptdsl.deep_json import write_deep

Printer = Callable[..., str]
"""Returns the text of a rendering; raises what Jinja raises."""


class _Generation(Extension):
    """``{% generation %}``: marks what a model is trained on, and prints what stands in it."""

    tags = {"generation"}  # noqa: RUF012 (as the class above says it)

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller: Macro) -> str:
        text: str = caller()
        return text


def _raise(message: object) -> None:
    raise TemplateError(str(message))


def _tojson(value: Any, *, ensure_ascii: bool = False, **layout: Any) -> str:
    # Jinja's own escapes HTML. What is too deep for Python's writer is written without a layout.
    try:
        return json.dumps(value, ensure_ascii=ensure_ascii, **layout)
    except RecursionError:
        return write_deep(value, ascii_only=ensure_ascii)


def _environment() -> ImmutableSandboxedEnvironment:
    found = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, loopcontrols]
    )
    found.filters["tojson"] = _tojson
    names: dict[str, Any] = found.globals  # pyright: ignore[reportAssignmentType]
    names["raise_exception"] = _raise
    return found


@lru_cache(maxsize=64)
def compiled(source: str) -> Printer:
    """Return what renders a template. Raises ``jinja2.TemplateError`` when it cannot be read."""
    return _environment().from_string(source).render
