"""The section of a library that wrote a part: its name, its version and its content."""

import attrs


@attrs.frozen
class LibrarySection:
    """A section of a library that was used in a prompt.

    ``name`` is its qualified name, such as ``support:refunds``. ``version`` is the version of the
    installed package, ``None`` for a library that is not installed. ``digest`` is the beginning of
    the SHA-256 of the file it is written in, in hexadecimal digits. Two sections are equal if their
    names are.

    >>> from promptdsl import LibrarySection
    >>> print(LibrarySection("support:refunds", "1.2.0", "3f2a9c1b"))
    support:refunds 1.2.0 3f2a9c1b
    """

    name: str
    version: str | None = attrs.field(default=None, eq=False)
    digest: str = attrs.field(default="", eq=False)

    @property
    def library(self) -> str:
        """The name of its library."""
        return self.name.partition(":")[0]

    def __str__(self) -> str:
        return " ".join(word for word in (self.name, self.version, self.digest) if word)
