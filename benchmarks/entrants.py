"""Who is measured: modules of a package that can be imported here, and the names they go by."""

from collections.abc import Iterable, Sequence
from importlib import import_module
from importlib.metadata import version
from pkgutil import iter_modules
from types import ModuleType


class UnknownName(Exception):
    """Nobody is called what ``--only`` says."""

    def __init__(self, unknown: Iterable[str], known: Iterable[str]) -> None:
        self.unknown = sorted(unknown)
        self.known = sorted(known)

    def __str__(self) -> str:
        known = ", ".join(self.known)
        return f"nobody is called {', '.join(self.unknown)}; known names: {known}"


def peers_in(package: ModuleType) -> tuple[str, ...]:
    """Return the names of the modules in a package, by which they are imported."""
    found = iter_modules(package.__path__)
    return tuple(f"{package.__name__}.{each.name}" for each in found if not each.ispkg)


def load(asked: Sequence[str]) -> tuple[list[ModuleType], dict[str, str]]:
    """Return the modules that can be imported, and why each of the others is skipped."""
    modules: list[ModuleType] = []
    skipped: dict[str, str] = {}
    for name in asked:
        try:
            modules.append(import_module(name))
        except ImportError as error:
            skipped[file_of(name)] = str(error).partition("\n")[0]
    return modules, skipped


def file_of(module: str) -> str:
    """Return the name of a module's file."""
    return module.rpartition(".")[2]


def spellings(module: str) -> set[str]:
    """Return the names a module can be asked for by."""
    return {file_of(module), file_of(module).replace("_", "-")}


def version_of(package: str | None) -> str:
    """Return the version of a distribution, nothing for none."""
    return "" if package is None else version(package)
