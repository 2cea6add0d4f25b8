"""The library: sections and templates under one name."""

import os
from collections.abc import Callable, Iterable, Mapping

from promptdsl.components.custom import CustomComponent
from promptdsl.libraries.section_info import SectionInfo
from promptdsl.templates.folders import TemplateFolder
from promptdsl.templates.installed import InstalledLibrary, LibraryBase


class Library(LibraryBase):
    """Sections and templates under one name."""

    name: str
    templates: TemplateFolder | None

    def __init__(
        self,
        name: str,
        /,
        *,
        sections: Iterable[Callable[..., CustomComponent]] = (),
        templates: str | os.PathLike[str] | None = None,
        requires: str | None = None,
    ) -> None:
        raise NotImplementedError

    @classmethod
    def load(cls, name: str) -> "Library":
        """Return an installed library."""
        raise NotImplementedError

    @staticmethod
    def installed() -> tuple[InstalledLibrary, ...]:
        """Return the installed libraries, without an import of any."""
        raise NotImplementedError

    @property
    def sections(self) -> Mapping[str, SectionInfo]:
        """What the library says about its sections, by their names without that of the library."""
        raise NotImplementedError

    def __getattr__(self, name: str) -> Callable[..., CustomComponent]:
        raise NotImplementedError

    def __getitem__(self, name: str) -> Callable[..., CustomComponent]:
        raise NotImplementedError
