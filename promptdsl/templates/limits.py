"""A folder of templates with its settings, and the limits of one rendering of a template."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from contextvars import ContextVar
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeAlias, TypeVar

import attrs

from promptdsl.foundation.errors import TemplateError, shown
from promptdsl.foundation.frozen import new_dict
from promptdsl.foundation.source import author

if TYPE_CHECKING:
    from jinja2 import Template
    from jinja2.environment import TemplateModule

    from promptdsl.foundation.guards import WrittenTags
    from promptdsl.foundation.source import LibrarySection


# A folder of templates with its settings, and a template file in such a folder.


def check_name(name: object) -> str:
    """Return the name of a template, checked: it cannot lead out of its folder.

    Raises :class:`TemplateError` for a name with an empty part, ``.`` or ``..``, one that starts
    with ``/``, and for a backslash, colon or null character in it.
    """
    if not isinstance(name, str):
        raise TemplateError(
            f"the name of a template is a string, not {type(name).__name__}",
            fix='write it in quotes: "name.md.j2"',
        )
    if {"", ".", ".."} & {*name.split("/")} or {"\\", ":", "\0"} & {*name}:
        fix = 'a name is relative to a registered folder, such as "support/role.md.j2"'
        if "{" in name or "\n" in name:
            fix = "for the text of a template write Template.from_string(...)"
        raise TemplateError(f"{name[:60]!r} is not the name of a template", fix=fix)
    return str.__str__(name)


def label(name: str | None) -> str:
    """Return how an error names a template."""
    return "the template" if name is None else f"template {name!r}"


SUFFIX = ".md.j2"
"""The end of the name of a file that is a section of a library."""


class WhiteSpace(NamedTuple):
    """How Jinja treats the white space around ``{% ... %}``, and the last line end of a file."""

    trim_blocks: bool = True
    lstrip_blocks: bool = True
    keep_trailing_newline: bool = False

    def checked(self) -> Self:
        """Return these settings; :class:`TemplateError` for one that is no boolean."""
        for name, value in self._asdict().items():
            if not isinstance(value, bool):
                problem = f"{name} is True or False, not {shown(value)}"
                fix = "it is a setting of Jinja; a variable needs another name"
                raise TemplateError(problem, fix=fix, at=(author(),))
        return self


DEFAULT = WhiteSpace()


@attrs.frozen
class TemplateFolder:
    """A folder of templates and how they are read.

    With ``reload`` each rendering checks whether a file changed; without it a file is looked up and
    read once. ``library`` is the name of the library that the folder belongs to, ``version`` the
    version of its package; both are ``None`` for a registered folder.
    """

    folder: str
    white_space: WhiteSpace = DEFAULT
    reload: bool = False
    library: str | None = None
    version: str | None = None
    files: "dict[str, TemplateFile]" = attrs.field(
        factory=dict[str, "TemplateFile"], init=False, eq=False, repr=False
    )
    """The files that were looked up, by their names in the folder; none with ``reload``."""

    def __reduce__(self) -> tuple[object, ...]:
        fields = (self.folder, self.white_space, self.reload, self.library, self.version)
        return TemplateFolder, fields


class TemplateFile(NamedTuple):
    """A template file: its name, its path, its folder, and a stamp that changes with the file.

    In a library the name is that of the section: ``support:refunds``.
    """

    name: str
    path: str
    folder: TemplateFolder | None
    stamp: tuple[int, ...]


# The limits of one rendering of a template, and the counts that are compared with them.

T = TypeVar("T")

MAX_TEXT = 10_000_000
"""The most characters of the output, and of any text that is made for it."""
MAX_WRITTEN = 100_000_000
"""The most characters of all texts together that are made for the output."""
MAX_PIECES = 2_000_000
"""The most author texts and values; each counts again for every macro and block around it."""
MAX_STEPS = 1_000_000
"""The most turns of loops, calls, includes and items that filters read, together."""
MAX_DIGITS = 4_300
"""The most digits of an integer: as many as Python writes (``sys.int_info``)."""
MAX_SOURCE = 1_000_000
"""The most bytes of a template file, and characters of a template given as text."""

_CONTAINERS: tuple[type[Sized], ...] = (list, tuple, dict)


StandIn: TypeAlias = Callable[[Mapping[str, object]], Any]  # Any: a ``RenderedTemplate``
"""Writes what replaces a section that is included, from its variables."""


@attrs.define(eq=False)
class Run:
    """The state of one rendering: its folders, what it has used so far, and its counts.

    ``sections`` are the sections of libraries that were used, in the order of their first use.
    ``tags`` are the tags in the sources of all templates that were used. ``stand_ins`` are
    functions, by the qualified name of a section: each writes what replaces this section.
    ``raised`` is the exception of such a function.

    With ``none_is_empty`` nothing is written for ``None``; otherwise ``None`` is an error.
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
        raise TemplateError(f"it makes more than {limit:,} {unit}", fix="make it do less")


def check_length(length: int, pieces: int = 0) -> None:
    """Raise :class:`TemplateError` for a text that is too long, or of too many pieces."""
    check_limit(length, MAX_TEXT, "characters of text")
    check_limit(pieces, MAX_PIECES, "pieces put together in one rendering")


def check_count(count: int) -> None:
    """Raise :class:`TemplateError` for a list that is too long to be made."""
    check_limit(count, MAX_STEPS, "items in a list")


def check_bits(bits: int) -> None:
    """Raise :class:`TemplateError` for an integer with too many bits: ten bits are three digits."""
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
