"""What one rendering of a template may use up, and the count of what it has used."""

from collections.abc import Generator, Iterable, Iterator
from contextvars import ContextVar
from decimal import Decimal
from fractions import Fraction
from typing import Any, NoReturn

from promptdsl.foundation.errors import TemplateError

MAX_TEXT = 10_000_000
"""Characters of the whole output, and of any text on the way to it."""
MAX_WRITTEN = 100_000_000
"""Characters of all texts on the way to the output together."""
MAX_PIECES = 2_000_000
"""Author texts and values put together, counted again for every macro and block around them."""
MAX_STEPS = 1_000_000
"""Turns of loops, calls, includes and items that filters go through, all together."""
MAX_DIGITS = 4_300
"""Digits of a whole number: as many as Python writes (``sys.int_info``)."""
MAX_WIDTH = 1_000
"""Width and precision in a format, and decimals a number is rounded to."""
MAX_SOURCE = 1_000_000
"""Bytes of a template file, and characters of a template given as text."""

_MAX_BITS = MAX_DIGITS * 10 // 3


class Run:
    """One rendering: the folders it looks in, the modules it imported, and what it has used."""

    __slots__ = ("folders", "modules", "pieces", "steps", "written")

    def __init__(self, folders: tuple[str, ...]) -> None:
        self.folders = folders
        self.modules: dict[Any, Any] = {}
        self.pieces = 0
        self.steps = 0
        self.written = 0

    def step(self, count: int = 1) -> bool:
        """Count steps; always true, so that a condition can hold it."""
        self.steps += count
        if self.steps > MAX_STEPS:
            raise over(MAX_STEPS, "steps in one rendering")
        return True

    def put(self, pieces: int, length: int) -> None:
        """Count what was put together, in pieces and in characters."""
        self.pieces += pieces
        if self.pieces > MAX_PIECES:
            raise too_much(0)
        self.write(length)

    def write(self, length: int) -> None:
        """Count the characters of a text that was made."""
        check_length(length)
        self.written += length
        if self.written > MAX_WRITTEN:
            raise over(MAX_WRITTEN, "characters written in one rendering")


RUN: ContextVar[Run] = ContextVar("promptdsl_template_run")


def over(limit: int, what: str) -> TemplateError:
    """Return the error for going over a limit, which names it."""
    return TemplateError(f"it comes to more than {limit:,} {what}", fix="have it do less")


def check_length(length: int) -> None:
    """Raise :class:`TemplateError` for a text that is too long to be made."""
    if length > MAX_TEXT:
        raise too_much(length)


def stop(stream: Iterable[Any], error: TemplateError) -> NoReturn:
    """Raise an error where a template is that yields too much, so that its line is known."""
    if isinstance(stream, Generator):
        stream.throw(error)
    raise error


def too_much(length: int) -> TemplateError:
    """Return the error for output of too many characters, or else of too many pieces."""
    if length > MAX_TEXT:
        return over(MAX_TEXT, "characters of text")
    return over(MAX_PIECES, "pieces put together in one rendering")


def check_count(count: int) -> None:
    """Raise :class:`TemplateError` for a list that is too long to be made."""
    if count > MAX_STEPS:
        raise over(MAX_STEPS, "items in a list")


def check_width(width: int) -> None:
    """Raise :class:`TemplateError` for a number too wide to be formatted or rounded so."""
    if abs(width) > MAX_WIDTH:
        raise over(MAX_WIDTH, "as a width or precision")


def check_bits(bits: int) -> None:
    """Raise :class:`TemplateError` for a whole number of too many bits."""
    if bits > _MAX_BITS:
        raise over(MAX_DIGITS, "digits in a number")


def check_decimal(value: object) -> None:
    """Raise :class:`TemplateError` for a ``Decimal`` that is too large as a whole number."""
    if isinstance(value, Decimal) and value.is_finite() and value.adjusted() > MAX_DIGITS:
        raise over(MAX_DIGITS, "digits in a number")


def bounded(value: Any) -> Any:
    """Return what a template made, once it is counted and found to be small enough."""
    if isinstance(value, str):
        RUN.get().write(len(value))
    elif isinstance(value, list | tuple | dict):
        RUN.get().step(len(value))  # pyright: ignore[reportUnknownArgumentType]
    elif isinstance(value, int):
        check_bits(value.bit_length())
    elif isinstance(value, Fraction):
        check_bits(max(value.numerator.bit_length(), value.denominator.bit_length()))
    return value  # pyright: ignore[reportUnknownVariableType]


def counted(items: Iterable[Any]) -> Iterator[Any]:
    """Yield items, each of them a step."""
    step = RUN.get().step
    for item in items:
        step()
        yield item
