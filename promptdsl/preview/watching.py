"""Watches the files that a prompt was made of, by the folders that they are in."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Iterable, Mapping

from promptdsl.preview.files import Signature, is_watched, signature

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
