"""What a template is rendered to: pieces that are author text, and pieces that are values."""

from typing import NamedTuple, TypeAlias

from promptdsl.foundation.library_section import LibrarySection


class Inserted(NamedTuple):
    """A value that a template inserted, not yet encoded, and the variable it came from, if any.

    A volatile value has its own label instead of a variable.
    """

    text: str
    name: str | None = None
    is_volatile: bool = False


Piece: TypeAlias = str | Inserted
"""A plain ``str`` is author text: text of the template itself, or marked by ``trusted()``."""


class RenderedTemplate(NamedTuple):
    """The pieces of a template, the names in it, and the sections of libraries it is made of.

    The names are ``None`` if another template may use its variables, too, and if it has inputs. The
    sections are in the order of their first use.
    """

    pieces: tuple[Piece, ...]
    names: frozenset[str] | None
    sections: tuple[LibrarySection, ...]
