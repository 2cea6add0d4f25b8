"""Stores in memory, for tests."""

import asyncio
from collections.abc import Sequence
from threading import Lock

from promptdsl import ConflictError, TranscriptEntry


class MemoryStore:
    """A store that is right: lines in a dictionary."""

    def __init__(self) -> None:
        self.lines: dict[str, list[str]] = {}
        self.lock = Lock()

    def append(self, key: str, entries: Sequence[TranscriptEntry]) -> None:
        """Add the lines of entries."""
        with self.lock:
            kept = self.lines.setdefault(key, [])
            if entries[0].number != len(kept) + 1:
                raise ConflictError("another writer was faster")
            kept.extend([entry.to_line() for entry in entries])

    def load(self, key: str, after: int = 0) -> list[TranscriptEntry]:
        """Return the entries behind a number."""
        return [TranscriptEntry.from_line(line) for line in self.lines.get(key, [])[after:]]

    def list(self, prefix: str = "") -> "list[str]":
        """Return the keys."""
        return [key for key, lines in self.lines.items() if lines and key.startswith(prefix)]

    def delete(self, key: str) -> None:
        """Forget a key."""
        self.lines.pop(key, None)


class AsyncMemoryStore:
    """The same for asynchronous programs, with a pause before and after what it does."""

    def __init__(self, store: MemoryStore | None = None) -> None:
        self.store = store or MemoryStore()

    async def append(self, key: str, entries: Sequence[TranscriptEntry]) -> None:
        """Add the lines of entries."""
        await asyncio.sleep(0)
        self.store.append(key, entries)
        await asyncio.sleep(0)

    async def load(self, key: str, after: int = 0) -> list[TranscriptEntry]:
        """Return the entries behind a number."""
        await asyncio.sleep(0)
        return self.store.load(key, after)

    async def list(self, prefix: str = "") -> "list[str]":
        """Return the keys."""
        return self.store.list(prefix)

    async def delete(self, key: str) -> None:
        """Forget a key."""
        self.store.delete(key)
