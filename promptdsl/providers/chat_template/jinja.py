"""The Jinja environment of chat templates, equal to that of ``transformers``."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sized
from functools import lru_cache, partial

from jinja2 import Template, TemplateError, TemplateSyntaxError, nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.runtime import Context, Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment

MAX_TEXT = 100_000_000
"""The greatest length of the printed text, and of a text or a list that ``*`` makes."""


class Refusal(TemplateError):
    """A template called ``raise_exception``."""


class TooMuch(TemplateError):
    """A template prints too much text."""

    def __init__(self) -> None:
        super().__init__(f"it prints more than {MAX_TEXT:,} characters")


class _Generation(Extension):
    """The tag ``{% generation %}`` around text that a model is trained on. It prints the text."""

    tags = {"generation"}  # noqa: RUF012 (the base class declares it)

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller: Macro) -> str:
        text: str = caller()
        return text


def raise_exception(message: object) -> None:
    """Refuse a conversation; templates call this function."""
    raise Refusal(str(message))


def _printable(value: object) -> object:
    """Return a value, or its text without memory addresses, which differ from run to run."""
    # Most values are strings, and the check for an iterator is slow.
    if isinstance(value, str) or not (callable(value) or isinstance(value, Iterator)):
        return value
    return re.sub(" at 0x[0-9a-fA-F]+", "", f"{value}")


class _Environment(ImmutableSandboxedEnvironment):
    """The sandbox. It also limits the size of what ``*`` makes."""

    intercepted_binops = frozenset("*")

    def call_binop(self, context: Context, operator: str, left: object, right: object) -> object:
        """Return a product, unless it is a text or a list that is too long."""
        for repeated, times in ((left, right), (right, left)):
            if not isinstance(repeated, Sized) or not isinstance(times, int):
                continue
            if len(repeated) * times > MAX_TEXT:
                raise TooMuch
        return super().call_binop(context, operator, left, right)


def _tojson(  # noqa: PLR0917 (templates pass them by position, as in transformers)
    value: object,
    ensure_ascii: bool = False,
    indent: int | str | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    # Jinja's own filter would escape HTML.
    return json.dumps(
        value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )


def _environment() -> _Environment:
    environment = _Environment(
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=[_Generation, loopcontrols],
        finalize=_printable,
    )
    environment.filters["tojson"] = _tojson
    # The same prompt must always give the same text, so nothing may be random.
    del environment.filters["random"]
    del environment.globals["lipsum"]
    return environment


@lru_cache(maxsize=64)
def compiled(source: str) -> Callable[[Mapping[str, object]], str]:
    """Return a function that prints a template with variables; raises what Jinja raises."""
    template = _environment().from_string(source, {"raise_exception": raise_exception})
    return partial(_print, template)


def _print(template: Template, variables: Mapping[str, object]) -> str:
    pieces: list[str] = []
    free_characters = MAX_TEXT
    for piece in template.generate(variables):
        pieces.append(piece)
        free_characters -= len(piece)
        if free_characters < 0:
            raise TooMuch
    return "".join(pieces)


def texts(source: str) -> Iterator[str]:
    """Yield the texts of a template's source: its plain text, and the literals in its code."""
    try:
        for _, kind, value in _environment().lex(source):
            if kind == "data":
                yield value
            elif kind == "string":
                yield value[1:-1]
    except TemplateSyntaxError:
        yield source
