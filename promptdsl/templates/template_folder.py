"""A folder of templates with its settings, and a template file in such a folder."""

from typing import NamedTuple, Self

import attrs

from promptdsl.foundation.errors import TemplateError, shown
from promptdsl.foundation.source import author


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
