"""The files that the code of a prompt reads, and the watch over them and their folders."""

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import suppress
from importlib.util import source_from_cache
from types import ModuleType
from typing import Any, TypeAlias

from promptdsl.batch import is_installed
from promptdsl.foundation.json import JsonDict

# The files that the code of a prompt reads, and how each was when it was read.

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


# Watches the files that a prompt was made of, by the folders that they are in.

DEBOUNCE, STEP = 50, 10
"""The milliseconds in which changes are taken together at most, and at least."""
LOOK = 250
"""The milliseconds after which files are looked at anyway: a change may have come too early."""
PAUSE = 0.2
"""The seconds until folders that cannot be watched are tried again."""


class Watched:
    """The files of the newest render, each with its signature before that render read it."""

    def __init__(self, files: Iterable[str], roots: Iterable[str]) -> None:
        self.last = 0.0
        """When the last change was seen, on the clock of ``time.monotonic``."""
        self._always, self._roots = [*files], [*roots]
        self._files: dict[str, Signature] = {path: signature(path) for path in self._always}
        self._at_begin = dict(self._files)
        self._is_complete = True
        self._added: set[str] = set()
        """Files that were new after an error: each renders once, as the code may write it."""
        self._again = asyncio.Event()

    def begin(self) -> None:
        """Note how the files are now: a render begins, and reads them after this."""
        self._at_begin = {path: signature(path) for path in self._files}
        self._files = dict(self._at_begin)

    def read(self, files: Mapping[str, Signature], *, is_complete: bool) -> bool:
        """Note what a render read, and return whether some of it was changed since then.

        After an error a render read less: then the files before it stay.
        """
        folders = self._folders()
        known = {path: self._at_begin.get(path, of_child) for path, of_child in files.items()}
        stay = self._always if is_complete else self._at_begin
        self._files = {path: self._at_begin.get(path) for path in stay} | known
        self._is_complete = is_complete
        if is_complete:
            self._added.clear()
        if folders != self._folders():
            self._again.set()
        return self._is_changed()

    async def changes(self) -> AsyncIterator[None]:
        """Yield whenever a file is not as it was read."""
        from watchfiles import (  # its types name trio, which may be missing
            Change,
            awatch,  # pyright: ignore[reportUnknownVariableType]
        )

        while True:
            self._again = asyncio.Event()
            folders = self._folders()
            try:
                async for events in awatch(
                    *folders,
                    watch_filter=None,
                    debounce=DEBOUNCE,
                    step=STEP,
                    recursive=False,
                    stop_event=self._again,
                    rust_timeout=LOOK,
                    yield_on_timeout=True,
                    ignore_permission_denied=True,
                ):
                    added = [path for kind, path in events if kind == Change.added]
                    is_new = self._has_new(added)
                    if self._is_changed() or is_new:
                        yield None
                    if folders != self._folders():
                        break
            except (OSError, UnicodeError, ExceptionGroup):
                # A folder was removed just now, or has a file whose name is no UTF-8.
                await asyncio.sleep(PAUSE)
                if self._is_changed():
                    yield None

    def _folders(self) -> list[str]:
        return sorted({*self._roots, *(_existing_folder(path) for path in self._files)})

    def _has_new(self, paths: Iterable[str]) -> bool:
        """Return whether a file is new after an error: it may be what was missing."""
        if self._is_complete:
            return False
        new = {path for path in paths if os.path.isfile(path) and is_watched(path, self._roots)}
        new -= self._added | {*self._files}
        self._added |= new
        return bool(new)

    def _is_changed(self) -> bool:
        """Return whether a file changed, and note how all are now."""
        now = {path: signature(path) for path in self._files}
        is_changed = now != self._files
        if is_changed:
            self._files = now
            self.last = time.monotonic()
        return is_changed


def _existing_folder(path: str) -> str:
    """Return the folder of a file, or the next one above it that is there."""
    folder = os.path.dirname(path)
    while not os.path.isdir(folder) and folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
    return folder
