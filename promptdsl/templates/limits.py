"""The limits of one rendering of a template, and the counts that are compared with them."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from contextvars import ContextVar
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import attrs

from promptdsl.foundation.errors import TemplateError
from promptdsl.foundation.frozen import new_dict

if TYPE_CHECKING:
    from jinja2 import Template
    from jinja2.environment import TemplateModule

    from promptdsl.foundation.guards import WrittenTags
    from promptdsl.foundation.library_section import LibrarySection
    from promptdsl.templates.template_folder import TemplateFolder

T = TypeVar("T")

MAX_TEXT = 10_000_000
"""Characters of the output, and of any text that is made for it."""
MAX_WRITTEN = 100_000_000
"""Characters of all texts that are made for the output, together."""
MAX_PIECES = 2_000_000
"""Author texts and values that are joined, counted again for every macro and block around them."""
MAX_STEPS = 1_000_000
"""Turns of loops, calls, includes and items that filters read, together."""
MAX_DIGITS = 4_300
"""Digits of a whole number: as many as Python writes (``sys.int_info``)."""
MAX_SOURCE = 1_000_000
"""Bytes of a template file, and characters of a template given as text."""

_CONTAINERS: tuple[type[Sized], ...] = (list, tuple, dict)


StandIn: TypeAlias = Callable[[Mapping[str, object]], Any]  # Any: a ``RenderedTemplate``
"""Writes what replaces a section that is included, from its variables."""


@attrs.define(eq=False)
class Run:
    """One rendering: its folders, the modules it imported, the names in it, and its counts.

    ``sections`` are those of libraries that were used, in the order of their first use; ``tags``
    are those in the sources of all templates that were used.
    ``stand_ins`` write what replaces a section that is included, by its qualified name; ``raised``
    is what one of them raised.

    With ``none_is_empty`` a ``None`` is written as nothing; otherwise it is an error.
    """

    folders: "tuple[TemplateFolder, ...]"
    none_is_empty: bool = False
    stand_ins: Mapping[str, StandIn] = attrs.field(factory=new_dict)
    modules: "dict[Template, TemplateModule]" = attrs.field(factory=new_dict, init=False)
    template: "Template | None" = attrs.field(default=None, init=False)
    sections: "dict[LibrarySection, None]" = attrs.field(factory=new_dict, init=False)
    tags: "dict[WrittenTags, None]" = attrs.field(factory=new_dict, init=False)
    raised: Exception | None = attrs.field(default=None, init=False)
    pieces: int = attrs.field(default=0, init=False)
    steps: int = attrs.field(default=0, init=False)
    written: int = attrs.field(default=0, init=False)

    def step(self, count: int = 1) -> bool:
        """Count steps; always true, so that it can be part of a condition."""
        self.steps += count
        check_limit(self.steps, MAX_STEPS, "steps in one rendering")
        return True

    def write(self, length: int, pieces: int = 0) -> None:
        """Count the characters of a text that was made, and the pieces that were joined for it."""
        check_length(length, pieces)
        self.pieces += pieces
        self.written += length
        check_limit(self.pieces, MAX_PIECES, "pieces put together in one rendering")
        check_limit(self.written, MAX_WRITTEN, "characters written in one rendering")


RUN: ContextVar[Run] = ContextVar("promptdsl_template_run")


def check_limit(count: int, limit: int, unit: str) -> None:
    """Raise :class:`TemplateError` for a count of some unit that goes over its limit."""
    if count > limit:
        raise TemplateError(f"it comes to more than {limit:,} {unit}", fix="have it do less")


def check_length(length: int, pieces: int = 0) -> None:
    """Raise :class:`TemplateError` for a text that is too long, or of too many pieces."""
    check_limit(length, MAX_TEXT, "characters of text")
    check_limit(pieces, MAX_PIECES, "pieces put together in one rendering")


def check_count(count: int) -> None:
    """Raise :class:`TemplateError` for a list that is too long to be made."""
    check_limit(count, MAX_STEPS, "items in a list")


def check_bits(bits: int) -> None:
    """Raise :class:`TemplateError` for a whole number of too many bits: ten are three digits."""
    check_limit((bits * 3 + 9) // 10, MAX_DIGITS, "digits in a number")


def bounded(value: T) -> T:
    """Return the result of an operation, which is counted and within the limits."""
    if isinstance(value, str):
        RUN.get().write(len(value))
    elif isinstance(value, int | Fraction):
        check_bits(max(value.numerator.bit_length(), value.denominator.bit_length()))
    elif isinstance(value, _CONTAINERS):
        RUN.get().step(len(value))
    return value


def counted(items: Iterable[T]) -> Iterator[T]:
    """Yield items, each of them a step."""
    step = RUN.get().step
    for item in items:
        step()
        yield item
