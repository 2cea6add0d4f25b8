"""What a library says about one of its sections."""

from typing import Literal

import attrs

from promptdsl.foundation.library_section import LibrarySection
from promptdsl.templates.inputs import Input


@attrs.frozen
class SectionInfo:
    """A section of a library, as ``promptdsl list`` and ``promptdsl show`` tell it.

    ``section`` has its qualified name, version and digest. ``inputs`` are those of its front matter
    or of its signature; ``None`` for a template that takes any variables. ``file`` is the file it
    is written in, ``line`` the line at which it begins, ``source`` its text.

    >>> from promptdsl import Library, component
    >>> @component
    ... def tone(name: str = "Ada"):
    ...     '''How we speak.'''
    ...     return f"You are {name}."
    >>> info = Library("house", sections=[tone]).sections["tone"]
    >>> info.kind, info.title, info.inputs[0].default
    ('function', 'How we speak.', 'Ada')
    """

    section: LibrarySection
    kind: Literal["template", "function"]
    title: str
    description: str
    inputs: tuple[Input, ...] | None
    file: str
    line: int
    source: str
