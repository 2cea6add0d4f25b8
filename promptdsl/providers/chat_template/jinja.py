"""The Jinja that chat templates are written for, as ``transformers`` runs them."""

import json
import re
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Any

from jinja2 import Template, TemplateError, TemplateSyntaxError, nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.runtime import Context, Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment

Printer = Callable[[dict[str, Any]], str]
"""Returns the text of a rendering; raises what Jinja raises."""

MAX_TEXT = 100_000_000
"""Characters that a template prints, and of a text that it repeats."""
_AT = re.compile(" at 0x[0-9a-fA-F]+")


class Refusal(TemplateError):
    """What a template says by itself."""


class TooMuch(TemplateError):
    """What a template prints is too long."""


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


class _Raise:
    # It is a class so that printing it tells no address.
    def __call__(self, message: object) -> None:
        raise Refusal(str(message))

    def __repr__(self) -> str:
        return "raise_exception"


def _printable(value: Any) -> Any:
    # Where a thing is in memory differs from run to run.
    if isinstance(value, str) or not (callable(value) or isinstance(value, Iterator)):
        return value
    return _AT.sub("", str(value))  # pyright: ignore[reportUnknownArgumentType]


class _Environment(ImmutableSandboxedEnvironment):
    intercepted_binops = frozenset("*")

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Return a product, unless it is a text or a list that is too long."""
        for many, times in ((left, right), (right, left)):
            long = isinstance(many, str | list | tuple) and isinstance(times, int)
            if long and len(many) * times > MAX_TEXT:  # pyright: ignore[reportUnknownArgumentType]
                raise _too_much()
        return super().call_binop(context, operator, left, right)


def _too_much() -> TooMuch:
    return TooMuch(f"it prints more than {MAX_TEXT:,} characters")


def _tojson(  # noqa: PLR0917 (transformers takes them by place)
    value: Any,
    ensure_ascii: bool = False,
    indent: int | str | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    # Jinja's own escapes HTML.
    return json.dumps(
        value,
        ensure_ascii=ensure_ascii,
        indent=indent,
        separators=separators,
        sort_keys=sort_keys,
    )


def _environment() -> _Environment:
    found = _Environment(
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=[_Generation, loopcontrols],
        finalize=_printable,
    )
    found.filters["tojson"] = _tojson
    # The same prompt has to be the same text.
    del found.filters["random"]
    names: dict[str, Any] = found.globals  # pyright: ignore[reportAssignmentType]
    del names["lipsum"]
    names["raise_exception"] = _Raise()
    return found


@lru_cache(maxsize=64)
def compiled(source: str) -> Printer:
    """Return what renders a template. Raises ``jinja2.TemplateError`` when it cannot be read."""
    return partial(_print, _environment().from_string(source))


def _print(template: Template, given: dict[str, Any]) -> str:
    pieces: list[str] = []
    left = MAX_TEXT
    for piece in template.generate(given):
        pieces.append(piece)
        left -= len(piece)
        if left < 0:
            raise _too_much()
    return "".join(pieces)


def is_unread(error: Exception) -> bool:
    """Whether a template is no Jinja."""
    return isinstance(error, TemplateSyntaxError)


def texts(source: str) -> Iterator[str]:
    """Yield what a template can print of its own: its text, and the literals in its code."""
    try:
        for _, kind, value in _environment().lex(source):
            if kind == "data":
                yield value
            elif kind == "string":
                yield value[1:-1]
    except TemplateSyntaxError:
        yield source
