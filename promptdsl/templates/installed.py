"""The installed libraries of sections.

:func:`installed_libraries` lists them from the metadata of packages, without importing them.
:func:`load_library` imports a library at its first use.
"""

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import reduce
from importlib import import_module
from importlib.metadata import Distribution, EntryPoint, distributions
from weakref import WeakSet

import attrs

from promptdsl.foundation.errors import LibraryError, nearest
from promptdsl.templates.limits import TemplateFolder

GROUP = "promptdsl.sections"
"""The entry-point group of libraries, with one entry point for each library."""
ALLOWED_LIBRARIES = "PROMPTDSL_LIBRARIES"
"""The environment variable with the names of the libraries that may be used.

If it is not set, all may be used; if it is empty, none."""
LIBRARY_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")
_LOADED: dict[str, "LibraryBase"] = {}
"""The libraries that this process loaded, by name."""

LIBRARIES_MADE: "WeakSet[LibraryBase]" = WeakSet()
"""All libraries that were made in this process, also by the modules of loaded libraries."""


class LibraryBase(ABC):
    """What templates and overrides use of a library: its name, its templates and its sections."""

    name: str

    @property
    @abstractmethod
    def templates(self) -> TemplateFolder | None:
        """The folder of its templates, ``None`` if it has none."""

    @abstractmethod
    def __getitem__(self, name: str) -> Callable[..., object]:
        """Return the component of a section; raises :class:`LibraryError` for an unknown name."""


@attrs.frozen
class InstalledLibrary:
    """An installed library: its name, its package and version, and its entry point.

    No part of the library is imported. ``target`` is the module, and the name of the library in the
    module. ``problem`` says why it cannot be used, such as another library of the same name; it is
    empty if there is no problem.

    >>> from promptdsl import InstalledLibrary
    >>> library = InstalledLibrary("support", "acme-support", "1.2.0", "acme_support:library")
    >>> print(library)
    support 1.2.0 of acme-support
    """

    name: str
    package: str
    version: str
    target: str
    problem: str = ""

    def __str__(self) -> str:
        return f"{self.name} {self.version} of {self.package}"


def installed_libraries() -> tuple[InstalledLibrary, ...]:
    """Return the installed libraries, sorted by name, without importing one."""
    allowed = _allowed()
    libraries = [library for library in _declared() if allowed is None or library.name in allowed]
    packages: dict[str, list[str]] = {}
    for library in libraries:
        packages.setdefault(library.name, []).append(f"{library.package} {library.version}")
    listed = (
        library
        if len(packages[library.name]) == 1
        else attrs.evolve(library, problem=_declared_twice(packages[library.name]))
        for library in libraries
    )
    return tuple(
        sorted(listed, key=lambda library: (library.name, library.package, library.target))
    )


def load_library(name: str) -> LibraryBase:
    """Return an installed library, which is imported at its first use.

    Raises :class:`LibraryError` for a library that is unknown, not allowed or broken, or that two
    packages declare.
    """
    if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise LibraryError(
            f"the name of a library must be a string, not {type(name).__name__}",
            fix='write it in quotes: "support"',
        )
    allowed = _allowed()
    if allowed is not None and name not in allowed:
        setting = f"{ALLOWED_LIBRARIES} is {os.environ[ALLOWED_LIBRARIES]!r:.200}"
        raise LibraryError(
            f"the library {name[:60]!r} is not allowed: {setting}",
            fix=f"add the name to {ALLOWED_LIBRARIES}, or unset this variable",
        )
    loaded_library = _LOADED.get(name)
    if loaded_library is not None:
        return loaded_library
    # The metadata is read again: a package may have been installed meanwhile.
    libraries = installed_libraries()
    matching = [library for library in libraries if library.name == name]
    if not matching:
        names = {library.name for library in libraries}
        fix = nearest(name, names) if names else "no library is installed"
        if not fix.endswith("?"):
            fix += "; install its package, or install it again if its entry point is new"
        raise LibraryError(f"there is no library {name[:60]!r}", fix=fix)
    if matching[0].problem:
        raise LibraryError(
            f"the library {name!r} cannot be used: {matching[0].problem}",
            fix="uninstall one of the packages"
            if len(matching) > 1
            else "report it to its authors",
        )
    # If two threads load it, Python imports the module once, and both get the same library.
    return _LOADED.setdefault(name, _imported(matching[0]))


def version_of(name: str, module: str) -> str | None:
    """Return the version of the package whose ``module`` made a library.

    Returns ``None`` for a library that is made in other code, even if an installed library has the
    same name.
    """
    root = module.partition(".")[0]
    for library in _declared():
        if library.name == name and re.split(r"[.:]", library.target)[0] == root:
            return library.version
    return None


def _allowed() -> set[str] | None:
    """Return the names of the libraries that may be used, ``None`` if all may be used."""
    names = os.environ.get(ALLOWED_LIBRARIES)
    return None if names is None else {name.strip() for name in names.split(",")}


def _declared_twice(packages: list[str]) -> str:
    """Return the problem of a library that is declared more than once."""
    distinct = sorted(set(packages))
    if len(distinct) == 1:
        return f"{distinct[0]} declares it twice"
    return f"{' and '.join(distinct)} both declare it"


def _declared() -> Iterator[InstalledLibrary]:
    """Yield the libraries that packages declare.

    If a package is on the path twice, only the first one counts.
    """
    seen: set[str] = set()
    for package in distributions():
        points = _entry_points(package)
        if not points:
            continue
        name, version = _name_and_version(package)
        # Packaging compares the names of packages like this.
        normal_name = re.sub(r"[-_.]+", "-", name).lower()
        if normal_name not in seen:
            for point in points:
                problem = ""
                if not LIBRARY_NAME.fullmatch(point.name):
                    problem = f"{point.name[:60]!r} cannot be the name of a library"
                elif not re.fullmatch(r"[\w.]+\s*:\s*[\w.]+", point.value):
                    problem = f"its entry point {point.value[:60]!r} is not module:name"
                yield InstalledLibrary(point.name, name, version, point.value, problem)
        seen.add(normal_name)


def _entry_points(package: Distribution) -> list[EntryPoint]:
    """Return the entry points of the libraries in a package.

    The metadata of a package without a library is not parsed, so mistakes in it have no effect.
    """
    try:
        if GROUP not in (package.read_text("entry_points.txt") or ""):
            return []
        return [*package.entry_points.select(group=GROUP)]
    except Exception:
        return []


def _name_and_version(package: Distribution) -> tuple[str, str]:
    """Return the name and the version of a package, with other words if the metadata has none."""
    try:
        # If the metadata has none, both are None in some versions of Python.
        name_and_version: tuple[object, object] = (
            package.metadata["Name"],
            package.metadata["Version"],
        )
    except Exception:
        name_and_version = None, None
    return str(name_and_version[0] or "a package without a name"), str(name_and_version[1] or "?")


def _imported(library: InstalledLibrary) -> LibraryBase:
    """Import the module of a library, and return the library.

    Raises :class:`LibraryError` if that fails, or if the entry point is not this library.
    """
    module, _, path = library.target.partition(":")
    cause: BaseException | None = None
    fix = f"install another version of {library.package}, or report it to its authors"
    try:
        member: object = reduce(getattr, path.strip().split("."), import_module(module.strip()))
    except (Exception, SystemExit) as error:
        cause, problem = error, f"{type(error).__name__}{_message(error)}"
    else:
        if isinstance(member, LibraryBase) and member.name == library.name:
            return member
        problem = f"{library.target} is not a Library but {type(member).__name__}"
        if isinstance(member, LibraryBase):
            problem = f"{library.target} is the library {member.name!r}"
            line = f'{member.name} = "{library.target}"'
            fix = f"write {line} in its pyproject.toml, and install it again"
    raise LibraryError(
        f"the library {library} cannot be loaded: {problem}",
        fix=fix,
    ) from cause


def _message(error: BaseException) -> str:
    """Return a colon and the text of an exception, or nothing if it cannot be printed."""
    try:
        return f": {error}"[:2_000]
    except Exception:
        return ""
