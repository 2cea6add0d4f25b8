"""The files that the code of a prompt reads, and how each was when it was read."""

import os
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from importlib.util import source_from_cache
from types import ModuleType
from typing import Any, TypeAlias

from promptdsl.batch import is_installed
from promptdsl.foundation.json import JsonDict

Signature: TypeAlias = list[int] | None
"""The time, the size and the inode of a file; ``None`` of a missing one."""

OTHERS = frozenset(
    ("site-packages", "dist-packages", "__pycache__", ".git", ".hg", ".venv", "venv")
)
"""Folders whose files are not watched."""
PROJECT = (".git", "pyproject.toml", "setup.py", "setup.cfg")
"""What is in the folder of a project."""
PACKAGE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")


def signature(path: str) -> Signature:
    """Return what changes when a file changes."""
    try:
        stat = os.stat(path)
    except (OSError, ValueError):
        return None
    return [stat.st_mtime_ns, stat.st_size, stat.st_ino]


def project_folder(folder: str) -> str:
    """Return the folder of the project around a folder, or the folder itself."""
    above = folder
    while not any(os.path.exists(os.path.join(above, name)) for name in PROJECT):
        parent = os.path.dirname(above)
        if parent == above:
            return folder
        above = parent
    return above


def is_watched(path: str, roots: Sequence[str]) -> bool:
    """Return whether a file is one of a project: not of Python, of a package, or of this one."""
    if path.startswith(PACKAGE) or path.endswith(".pyc") or is_installed(path):
        return False
    folders = [os.path.join(root, "") for root in roots]
    below = [path.removeprefix(folder) for folder in folders if path.startswith(folder)]
    return any(OTHERS.isdisjoint(rest.split(os.sep)) for rest in below)


class FilesRead:
    """The files below the folders ``roots`` that this process reads from now on.

    It hears of each file that Python opens. A file that the process itself writes is not in it: a
    cache would be rendered again for ever. What an extension opens by itself is not heard of.
    """

    def __init__(self, roots: Iterable[str]) -> None:
        self._roots = [*roots]
        self._read: dict[str, Signature] = {}
        self._written: set[str] = set()
        self._modules = {*sys.modules}
        sys.addaudithook(self._note)

    def _note(self, event: str, arguments: tuple[Any, ...]) -> None:  # Any: of any event
        with suppress(TypeError, ValueError, OSError):  # an event of another shape; no folder
            if event == "os.rename":
                self._written.add(os.path.abspath(os.fsdecode(arguments[1])))
            elif event == "open":
                self._note_open(arguments[0], arguments[2])

    def _note_open(self, name: Any, flags: int) -> None:  # Any: a path, or a descriptor
        if isinstance(name, int):
            return
        path = os.path.abspath(os.fsdecode(name))
        if flags & (os.O_WRONLY | os.O_RDWR):
            self._written.add(path)
            return
        if path.endswith(".pyc"):
            path = source_from_cache(path)  # Python does not open the module itself
        if path not in self._read and is_watched(path, self._roots):
            self._read[path] = signature(path)

    def to_dict(self) -> JsonDict:
        """Return the signature of each file when it was opened, also those of loaded modules."""
        for name, module in [*sys.modules.items()]:
            if name in self._modules or not isinstance(module, ModuleType):  # pyright: ignore[reportUnnecessaryIsInstance]
                continue
            file = vars(module).get("__file__")
            if isinstance(file, str) and is_watched(path := os.path.abspath(file), self._roots):
                self._read.setdefault(path, signature(path))
        return {path: self._read[path] for path in sorted({*self._read} - self._written)}
