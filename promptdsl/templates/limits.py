"""A folder of templates with its settings, and the limits of one rendering of a template.

:class:`Run` counts what one rendering makes, and compares it with the limits.
"""

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
    """Return the name of a template, after a check that it cannot lead out of its folder.

    Raises :class:`TemplateError` for a value that is not a string, for a name that begins with
    ``/`` or has an empty part, ``.`` or ``..``, and for a name with a backslash, a colon or a null
    character.
    """
    if not isinstance(name, str):
        raise TemplateError(
            f"the name of a template must be a string, not {type(name).__name__}",
            fix='write it in quotes: "name.md.j2"',
        )
    if {"", ".", ".."} & {*name.split("/")} or {"\\", ":", "\0"} & {*name}:
        fix = 'a name is relative to a registered folder, such as "support/role.md.j2"'
        if "{" in name or "\n" in name:
            fix = "for the text of a template write Template.from_string(...)"
        raise TemplateError(f"{name[:60]!r} is not the name of a template", fix=fix)
    return str.__str__(name)


def label(name: str | None) -> str:
    """Return the words for a template in an error: ``template 'role.md.j2'``."""
    return "the template" if name is None else f"template {name!r}"


SUFFIX = ".md.j2"
"""The end of the name of a template file that is a section of a library."""


class WhiteSpace(NamedTuple):
    """Jinja's settings for the white space around ``{% ... %}``, and for the last line end."""

    trim_blocks: bool = True
    lstrip_blocks: bool = True
    keep_trailing_newline: bool = False

    def checked(self) -> Self:
        """Return these settings; raises :class:`TemplateError` for one that is not a boolean."""
        for name, value in self._asdict().items():
            if not isinstance(value, bool):
                problem = f"{name} is True or False, not {shown(value)}"
                fix = "it is a setting of Jinja; a variable needs another name"
                raise TemplateError(problem, fix=fix, at=(author(),))
        return self


DEFAULT_WHITE_SPACE = WhiteSpace()


@attrs.frozen
class TemplateFolder:
    """A folder of templates, and how they are read.

    With ``reload`` each rendering checks whether a file changed. Without it a file is looked up and
    read once. ``library`` is the name of the library that has the folder, and ``version`` is the
    version of its package. Both are ``None`` for a registered folder.
    """

    folder: str
    white_space: WhiteSpace = DEFAULT_WHITE_SPACE
    reload: bool = False
    library: str | None = None
    version: str | None = None
    files: "dict[str, TemplateFile]" = attrs.field(
        factory=dict[str, "TemplateFile"], init=False, eq=False, repr=False
    )
    """The files that were looked up, by their names in the folder; empty with ``reload``."""

    def __reduce__(self) -> tuple[object, ...]:
        fields = (self.folder, self.white_space, self.reload, self.library, self.version)
        return TemplateFolder, fields


class TemplateFile(NamedTuple):
    """A template file: its name, its path, its folder, and a stamp that changes with the file.

    In a library the name is the name of the section: ``support:refunds``.
    """

    name: str
    path: str
    folder: TemplateFolder | None
    stamp: tuple[int, ...]


# The limits of one rendering of a template, and the counts that are compared with them.

T = TypeVar("T")

MAX_TEXT = 10_000_000
"""The maximum number of characters of the output, and of each text that is made for it."""
MAX_WRITTEN = 100_000_000
"""The maximum number of characters of all texts that are made for the output."""
MAX_PIECES = 2_000_000
"""The maximum number of pieces. A piece counts again for each macro and block around it."""
MAX_STEPS = 1_000_000
"""The maximum number of steps: turns of loops, calls, includes, and items that filters read."""
MAX_DIGITS = 4_300
"""The maximum number of digits of an integer: Python writes no more (``sys.int_info``)."""
MAX_SOURCE = 1_000_000
"""The maximum number of bytes of a template file, and of characters of a template in code."""

_CONTAINERS: tuple[type[Sized], ...] = (list, tuple, dict)
"""The types of results whose items count as steps."""


StandIn: TypeAlias = Callable[[Mapping[str, object]], Any]  # Any: a ``RenderedTemplate``
"""A function that gets the variables of an included section, and returns what replaces it."""


@attrs.define(eq=False)
class Run:
    """The state of one rendering: its folders, what it has used so far, and its counts.

    - ``none_is_empty``: whether ``None`` is written as an empty text; otherwise it is an error;
    - ``stand_ins``: the functions that replace sections, by the qualified name of the section;
    - ``modules``: the templates that were imported;
    - ``template``: the compiled template that is rendered;
    - ``sections``: the library sections that were used, in the order of their first use;
    - ``tags``: the tags in the sources of all templates that were used;
    - ``raised``: the exception of a function in ``stand_ins``;
    - ``pieces``, ``steps``, ``characters``: the numbers that were made so far.
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
    characters: int = attrs.field(default=0, init=False)

    def step(self, count: int = 1) -> bool:
        """Count steps, and return ``True``, so that the call can be part of a condition.

        Raises :class:`TemplateError` if there are too many.
        """
        self.steps += count
        check_limit(self.steps, MAX_STEPS, "steps in one rendering")
        return True

    def write(self, length: int, pieces: int = 0) -> None:
        """Count the characters of a text that was made, and the pieces that were joined for it.

        Raises :class:`TemplateError` if the text is too long, or if all texts together are.
        """
        check_length(length, pieces)
        self.pieces += pieces
        self.characters += length
        check_limit(self.pieces, MAX_PIECES, "pieces put together in one rendering")
        check_limit(self.characters, MAX_WRITTEN, "characters written in one rendering")


RUN: ContextVar[Run] = ContextVar("promptdsl_template_run")
"""The rendering that runs now."""


def check_limit(count: int, limit: int, unit: str) -> None:
    """Raise :class:`TemplateError` for a count of some unit that is above its limit."""
    if count > limit:
        raise TemplateError(f"it makes more than {limit:,} {unit}", fix="make it do less")


def check_length(length: int, pieces: int = 0) -> None:
    """Raise :class:`TemplateError` for a text that is too long, or that has too many pieces."""
    check_limit(length, MAX_TEXT, "characters of text")
    check_limit(pieces, MAX_PIECES, "pieces put together in one rendering")


def check_count(count: int) -> None:
    """Raise :class:`TemplateError` for a list that would be too long."""
    check_limit(count, MAX_STEPS, "items in a list")


def check_bits(bits: int) -> None:
    """Raise :class:`TemplateError` for an integer with too many bits: ten bits are three digits."""
    check_limit((bits * 3 + 9) // 10, MAX_DIGITS, "digits in a number")


def bounded(value: T) -> T:
    """Count the result of an operation, and return it.

    The characters of a text count as written, and the items of a list as steps.

    Raises :class:`TemplateError` if it is above a limit.
    """
    if isinstance(value, str):
        RUN.get().write(len(value))
    elif isinstance(value, int | Fraction):
        check_bits(max(value.numerator.bit_length(), value.denominator.bit_length()))
    elif isinstance(value, _CONTAINERS):
        RUN.get().step(len(value))
    return value


def counted(items: Iterable[T]) -> Iterator[T]:
    """Yield items, and count each of them as a step."""
    step = RUN.get().step
    for item in items:
        step()
        yield item
