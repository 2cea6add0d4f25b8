"""Finds the files that the code of a prompt reads, and watches them for changes.

:class:`FilesRead` is for the child, :class:`Watched` for the server.
"""

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

# The files that the code of a prompt reads, each with its signature when it was read.

Signature: TypeAlias = list[int] | None
"""The time, the size and the inode of a file; ``None`` for a missing file."""

UNWATCHED_FOLDERS = frozenset(
    ("site-packages", "dist-packages", "__pycache__", ".git", ".hg", ".venv", "venv")
)
"""Folders whose files are not watched."""
PROJECT_FILES = (".git", "pyproject.toml", "setup.py", "setup.cfg")
"""The names by which the folder of a project is recognised."""
PACKAGE_FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")
"""The folder of promptdsl, with a separator at its end."""


def signature(path: str) -> Signature:
    """Return the signature of a file: it changes when the file changes."""
    try:
        stat = os.stat(path)
    except (OSError, ValueError):
        return None
    return [stat.st_mtime_ns, stat.st_size, stat.st_ino]


def project_folder(folder: str) -> str:
    """Return the folder of the project around a folder, or the folder itself.

    It is the nearest folder that has one of ``PROJECT_FILES``.
    """
    candidate = folder
    while not any(os.path.exists(os.path.join(candidate, name)) for name in PROJECT_FILES):
        parent = os.path.dirname(candidate)
        if parent == candidate:
            return folder
        candidate = parent
    return candidate


def is_watched(path: str, roots: Sequence[str]) -> bool:
    """Return whether a file is in one of the folders ``roots``, and belongs to the project.

    Files of Python, of installed packages and of promptdsl do not.
    """
    if path.startswith(PACKAGE_FOLDER) or path.endswith(".pyc") or is_installed(path):
        return False
    folders = [os.path.join(root, "") for root in roots]
    relative_paths = [path.removeprefix(folder) for folder in folders if path.startswith(folder)]
    return any(
        UNWATCHED_FOLDERS.isdisjoint(relative_path.split(os.sep))
        for relative_path in relative_paths
    )


class FilesRead:
    """Notes the files below the folders ``roots`` that this process reads from now on.

    Python reports each file that it opens. A file that the process itself writes is left out: a
    cache would cause a render again and again. Files that an extension opens without Python are not
    noted.
    """

    def __init__(self, roots: Iterable[str]) -> None:
        self._roots = [*roots]
        self._read: dict[str, Signature] = {}
        self._written_paths: set[str] = set()
        self._modules = {*sys.modules}
        sys.addaudithook(self._note)

    def _note(self, event: str, arguments: tuple[Any, ...]) -> None:  # Any: of any event
        """Note a file of an audit event of Python: it was opened or renamed."""
        with suppress(
            TypeError, ValueError, OSError
        ):  # other arguments than expected, or no folder
            if event == "os.rename":
                self._written_paths.add(os.path.abspath(os.fsdecode(arguments[1])))
            elif event == "open":
                self._note_open(arguments[0], arguments[2])

    def _note_open(self, name: Any, flags: int) -> None:  # Any: a path, or a descriptor
        """Note a file that was opened, by whether it was opened to read or to write."""
        if isinstance(name, int):
            return
        path = os.path.abspath(os.fsdecode(name))
        if flags & (os.O_WRONLY | os.O_RDWR):
            self._written_paths.add(path)
            return
        if path.endswith(".pyc"):
            path = source_from_cache(path)  # Python does not open the source of the module then
        if path not in self._read and is_watched(path, self._roots):
            self._read[path] = signature(path)

    def to_dict(self) -> JsonDict:
        """Return the signature of each file when it was opened; imported modules are included."""
        for name, module in [*sys.modules.items()]:
            if name in self._modules or not isinstance(module, ModuleType):  # pyright: ignore[reportUnnecessaryIsInstance]
                continue
            file = vars(module).get("__file__")
            if isinstance(file, str) and is_watched(path := os.path.abspath(file), self._roots):
                self._read.setdefault(path, signature(path))
        return {path: self._read[path] for path in sorted({*self._read} - self._written_paths)}


# Watching the files that a prompt was made from, by their folders.

DEBOUNCE, STEP = 50, 10
"""The maximum and the minimum time, in milliseconds, in which changes count as one."""
CHECK_INTERVAL = 250
"""The time, in milliseconds, after which files are checked without a change of their folders.

A file may change before its folder is watched.
"""
RETRY_PAUSE = 0.2
"""The time, in seconds, after which folders that cannot be watched are tried again."""


class Watched:
    """Watches the files of the newest render; each has its signature before the render read it."""

    def __init__(self, files: Iterable[str], roots: Iterable[str]) -> None:
        self.last_change = 0.0
        """The time of the last change, by ``time.monotonic``."""
        self._always, self._roots = [*files], [*roots]
        self._files: dict[str, Signature] = {path: signature(path) for path in self._always}
        self._at_begin = dict(self._files)
        self._is_complete = True
        self._new_after_error: set[str] = set()
        """Files that were new after an error. Each causes one render, as the code may write it."""
        self._restart = asyncio.Event()
        """Set when other folders have to be watched."""

    def begin(self) -> None:
        """Note the signatures of the files: call this before a render, which then reads them."""
        self._at_begin = {path: signature(path) for path in self._files}
        self._files = dict(self._at_begin)

    def read(self, files: Mapping[str, Signature], *, is_complete: bool) -> bool:
        """Note the files that a render read, and return whether one of them has changed since.

        ``files`` has the signature of each file when the render read it. Without ``is_complete``
        the render ended in an error: it has not read all files, so the earlier files are watched,
        too.
        """
        folders = self._folders()
        new_signatures = {
            path: self._at_begin.get(path, child_signature)
            for path, child_signature in files.items()
        }
        paths_to_keep = self._always if is_complete else self._at_begin
        self._files = {path: self._at_begin.get(path) for path in paths_to_keep} | new_signatures
        self._is_complete = is_complete
        if is_complete:
            self._new_after_error.clear()
        if folders != self._folders():
            self._restart.set()
        return self._is_changed()

    async def changes(self) -> AsyncIterator[None]:
        """Yield each time a file has changed since it was read."""
        from watchfiles import (  # its types name trio, which may be missing
            Change,
            awatch,  # pyright: ignore[reportUnknownVariableType]
        )

        while True:
            self._restart = asyncio.Event()
            folders = self._folders()
            try:
                async for events in awatch(
                    *folders,
                    watch_filter=None,
                    debounce=DEBOUNCE,
                    step=STEP,
                    recursive=False,
                    stop_event=self._restart,
                    rust_timeout=CHECK_INTERVAL,
                    yield_on_timeout=True,
                    ignore_permission_denied=True,
                ):
                    added_paths = [path for kind, path in events if kind == Change.added]
                    is_new = self._has_new(added_paths)
                    if self._is_changed() or is_new:
                        yield None
                    if folders != self._folders():
                        break
            except (OSError, UnicodeError, ExceptionGroup):
                # A folder was just removed, or has a file whose name is not UTF-8.
                await asyncio.sleep(RETRY_PAUSE)
                if self._is_changed():
                    yield None

    def _folders(self) -> list[str]:
        return sorted({*self._roots, *(_existing_folder(path) for path in self._files)})

    def _has_new(self, paths: Iterable[str]) -> bool:
        """Return whether a file is new after an error, and note the new files.

        The code with the error may have looked for such a file.
        """
        if self._is_complete:
            return False
        new_paths = {
            path for path in paths if os.path.isfile(path) and is_watched(path, self._roots)
        }
        new_paths -= self._new_after_error | {*self._files}
        self._new_after_error |= new_paths
        return bool(new_paths)

    def _is_changed(self) -> bool:
        """Return whether a file changed, and note the new signatures."""
        signatures = {path: signature(path) for path in self._files}
        is_changed = signatures != self._files
        if is_changed:
            self._files = signatures
            self.last_change = time.monotonic()
        return is_changed


def _existing_folder(path: str) -> str:
    """Return the folder of a file, or the nearest folder above it that exists."""
    folder = os.path.dirname(path)
    while not os.path.isdir(folder) and folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
    return folder
