"""The installed libraries: listed from the metadata of packages, loaded at their first use."""

from abc import ABC, abstractmethod
from collections.abc import Callable

import attrs

from promptdsl.templates.folders import TemplateFolder

GROUP = "promptdsl.sections"
"""The entry-point group of libraries: one entry point for each."""
LIMIT = "PROMPTDSL_LIBRARIES"
"""The environment variable with the names of the libraries that may be used; empty for none."""


class LibraryBase(ABC):
    """A library as templates and overrides see it: its name, its templates and its sections."""

    name: str
    templates: TemplateFolder | None

    @abstractmethod
    def __getitem__(self, name: str) -> Callable[..., object]:
        """Return the component of a section; raises :class:`LibraryError` for an unknown name."""


@attrs.frozen
class InstalledLibrary:
    """A library that is installed: its name, the package that brings it, and its entry point.

    Nothing of it is imported. ``problem`` says why it cannot be used, such as another library of
    the same name, and is empty otherwise.
    """

    name: str
    package: str
    version: str
    target: str
    problem: str = ""


def installed_libraries() -> tuple[InstalledLibrary, ...]:
    """Return the installed libraries by name, without an import of any.

    The environment variable ``PROMPTDSL_LIBRARIES``, names with commas, leaves out all others.
    """
    raise NotImplementedError


def load_library(name: str) -> LibraryBase:
    """Return an installed library, which is imported at its first use.

    Raises :class:`LibraryError` for a library that is unknown, left out, broken, or brought by two
    packages.
    """
    raise NotImplementedError
