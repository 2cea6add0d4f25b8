"""Finding TARGET: a name in a file or in a module."""

import importlib
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from importlib.machinery import SourceFileLoader
from importlib.util import find_spec
from types import ModuleType

from promptdsl.cli.errors import UsageError, near

FORM = "TARGET is file.py:name or module:name"


@contextmanager
def found(target: str) -> Generator[object]:
    """Give what TARGET names, while imports work as they do for that file or module when it is run.

    Raises :class:`UsageError` for a file, a module or a name that is not there, and whatever the
    code in it raises.
    """
    place, colon, name = target.rpartition(":")
    if not colon or len(place) == 1:  # a letter alone is a drive
        place, name = target, ""
    paths = list(sys.path)
    try:
        module = _load(place) if _is_file(place) else _import(place)
        yield _named(module, place, name)
    finally:
        sys.path[:] = paths
        for key in [key for key, module in sys.modules.items() if type(module) is _Loaded]:
            del sys.modules[key]


class _Loaded(ModuleType):
    """The module made of a file."""


def _is_file(place: str) -> bool:
    return place.endswith(".py") or "/" in place or os.sep in place


def _load(path: str) -> ModuleType:
    """Run a file as a module of its own name, its folder being the first to import from."""
    if not os.path.isfile(path):
        raise UsageError(f"no such file: {path}{_files_near(path)}")
    full = os.path.abspath(path)
    module = _Loaded(_free_name(full))
    loader = SourceFileLoader(module.__name__, full)
    module.__file__, module.__loader__ = full, loader
    try:
        source = loader.get_data(full)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    sys.path.insert(0, os.path.dirname(full))
    sys.modules[module.__name__] = module
    # Compiled here, under the path as given: lines read short, and no cache is left in the folder.
    exec(loader.source_to_code(source, path), module.__dict__)
    return module


def _files_near(path: str) -> str:
    folder, name = os.path.split(path)
    try:
        files = [file for file in os.listdir(folder or ".") if file.endswith(".py")]
    except OSError:
        return ""
    return near(name, files)


def _free_name(full: str) -> str:
    """Return the name of a file, made longer for as long as it is that of another module."""
    name = os.path.splitext(os.path.basename(full))[0]
    while name in sys.modules or _is_installed(name, full):
        name += "_"
    return name


def _is_installed(name: str, full: str) -> bool:
    try:
        spec = find_spec(name)
    except (ImportError, ValueError):
        return False
    origin = None if spec is None else spec.origin
    return origin is not None and os.path.realpath(origin) != os.path.realpath(full)


def _import(name: str) -> ModuleType:
    if not all(part.isidentifier() for part in name.split(".")):
        raise UsageError(f"{FORM}, not {name!r}")
    sys.path.insert(0, os.getcwd())
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if not f"{name}.".startswith(f"{error.name}."):
            raise
        raise UsageError(f"no module named {error.name!r}, here or installed") from None


def _named(module: ModuleType, place: str, name: str) -> object:
    if name in vars(module):
        return vars(module)[name]
    known = [key for key, value in vars(module).items() if _is_prompt(key, value, module)]
    if not name:
        raise UsageError(f"{FORM}: which name of {place}{near('', known)}?")
    raise UsageError(f"{place} has no name {name!r}{near(name, known)}")


def _is_prompt(name: str, value: object, module: ModuleType) -> bool:
    """Return whether a name may be meant: a part, or a function that is written in the module."""
    if name.startswith("_") or isinstance(value, type):
        return False
    if callable(value):
        return getattr(value, "__module__", None) == module.__name__
    return type(value).__module__.startswith("promptdsl.")
