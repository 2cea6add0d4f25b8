"""Transcripts in files: opening, saving, following another writer."""

from typing import Self

from promptdsl.foundation.errors import TranscriptError
from promptdsl.foundation.source import door
from promptdsl.transcript.base import Clock, Ids, Path, TranscriptLog
from promptdsl.transcript.entries import TranscriptEntry, utc_now
from promptdsl.transcript.files import TranscriptFile, save_lines
from promptdsl.transcript.log import standing
from promptdsl.transcript.salvage import only_standing, pruned
from promptdsl.transcript.values import above


class StoredLog(TranscriptLog):
    """The log of a transcript that may be in a file."""

    @classmethod
    @door
    def open(
        cls,
        path: Path,
        *,
        read_only: bool = False,
        salvage: bool = False,
        clock: Clock = utc_now,
        ids: Ids = None,
    ) -> Self:
        """Return the transcript in a file, which is made when it is missing.

        It is the only writer of the file until ``close()``, or the end of its ``with`` block.
        ``read_only=True`` reads while another one writes. ``salvage=True`` reads what is good of a
        damaged file; ``repairs`` tells what is not. Raises :class:`ConflictError` where another
        writer has it, :class:`TranscriptError` with line and byte for a damaged file.
        """
        self = cls.__new__(cls)
        self._begin(clock, ids)
        file = TranscriptFile(path, read_only=read_only or salvage, salvage=salvage)
        try:
            self._load(file)
        except BaseException:
            file.close()
            raise
        return self

    def _load(self, file: TranscriptFile) -> tuple[TranscriptEntry, ...]:
        """Read what is new in a file, note what stands, and return the new entries."""
        new = file.read()
        entries = self._entries | {entry.number: entry for entry in new}
        if file.salvage:
            self._state = pruned(entries, above().repair, file.notes)
        else:
            self._state = standing(entries, max(entries, default=0))
        self._file, self._entries, self.repairs = file, entries, tuple(file.notes)
        self._changed()
        self._note_read_only()
        return tuple(new)

    def _gapless(self) -> dict[int, TranscriptEntry]:
        """Return the entries for a copy: of a damaged file what stands, without a gap."""
        if self._file is None or not self._file.salvage:
            return self._entries
        return {entry.number: entry for entry in only_standing(self._entries, self._state)}

    def _note_read_only(self) -> None:
        opaque = next((entry for entry in self._entries.values() if entry.opaque), None)
        if opaque is not None:
            fix = "import what registers the type, or use a newer version of promptdsl"
            self._closed = (f"entry {opaque.number} has the unknown type {opaque.type!r}", fix)
        elif self._file is not None and self._file.read_only:
            self._closed = ("it is open to be read only", "change a fork() of it")

    def close(self) -> None:
        """Close the file, if it has one: then another writer may open it."""
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._closed = ("it is closed", "change a fork() of it, or open it again")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @door
    def refresh(self) -> tuple[TranscriptEntry, ...]:
        """Read what another process wrote since; return the new entries.

        A transcript in memory, and one that writes itself, has none. Raises
        :class:`ConflictError` when the file was cut, or replaced by another one.
        """
        with self._lock:
            if self._file is None or not self._file.read_only or self._file.salvage:
                return ()
            return self._load(self._file)

    @door
    def save(self, path: Path) -> None:
        """Write a copy of all entries to another file, whole or not at all.

        Raises :class:`ConflictError` where a writer has a file of this name open.
        """
        with self._lock:
            save_lines(path, self._gapless().values())

    @door
    def vacuum(self, path: Path) -> None:
        """Write a copy of what stands to another file; every entry keeps its number.

        What was removed, replaced, undone or is under a summary is not in it. It does not reach
        the words of a summary, forks and backups. Errors are those of :meth:`save`.
        """
        with self._lock:
            if any(entry.opaque for entry in self._entries.values()):
                what = "entries that this version cannot read may hold what was removed"
                raise TranscriptError(what, fix="use the newer version of promptdsl")
            save_lines(path, only_standing(self._entries, self._state))
