"""The file of a transcript: one writer at a time, who only appends; every line is checked."""

import os
from collections.abc import Iterable, Sequence
from os import PathLike
from tempfile import mkstemp

from promptdsl.foundation.errors import ConflictError, TranscriptError
from promptdsl.transcript.entries import TranscriptEntry
from promptdsl.transcript.lines import FORMAT, HEADER, entry_of, line_of, object_of

_FAR = 2**62
"""Where the byte is that is locked on Windows: far behind the end of any file."""
_BINARY = getattr(os, "O_BINARY", 0)
_DAMAGED = "open it with salvage=True to read what is good"


def _lock(descriptor: int) -> None:
    """Lock a file until it is closed; :class:`OSError` where another writer has it."""
    try:
        import fcntl
    except ImportError:
        import msvcrt

        os.lseek(descriptor, _FAR, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]  # pyright: ignore
        return
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


class TranscriptFile:
    """An open file: the bytes of whole lines up to ``end``, and what was wrong with others."""

    def __init__(self, path: str | PathLike[str], *, read_only: bool, salvage: bool) -> None:
        self.path = os.fspath(path)
        self.read_only = read_only
        self.salvage = salvage
        self.notes: list[str] = []
        self.end = 0
        self._lines = 0
        self._last: int = 0
        self._broken = False
        flags = os.O_RDONLY if read_only else os.O_RDWR | os.O_CREAT
        try:
            self._descriptor = os.open(self.path, flags | _BINARY, 0o600)
        except OSError as error:
            raise self._failed("open", error) from error
        try:
            if not read_only:
                _lock(self._descriptor)
        except OSError as error:
            os.close(self._descriptor)
            fix = "close it there, or open it with read_only=True"
            raise ConflictError(f"{self.path!r} has another writer", fix=fix) from error

    def _failed(self, verb: str, error: OSError) -> TranscriptError:
        return TranscriptError(
            f"cannot {verb} {self.path!r}: {error.strerror or error}",
            fix="nothing was recorded by this call",
        )

    def close(self) -> None:
        """Close the file, and end its lock."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    # Reading.

    def read(self) -> list[TranscriptEntry]:
        """Return the entries of the lines after ``end``, which moves behind them."""
        try:
            if os.fstat(self._descriptor).st_size < self.end:
                fix = "open it again"
                raise ConflictError(f"{self.path!r} was cut by its writer", fix=fix)
            os.lseek(self._descriptor, self.end, os.SEEK_SET)
            with open(self._descriptor, "rb", closefd=False) as file:
                data = file.read()
        except OSError as error:
            raise self._failed("read", error) from error
        *lines, tail = data.split(b"\n")
        if not self._lines and not lines:
            if not HEADER.startswith(tail):
                raise TranscriptError(f"{self.path!r} is no transcript", fix="check the path")
            if not self.read_only:
                self._put(HEADER)
                self._lines = 1
            return []
        if tail and not self.read_only:
            self.notes.append(f"{len(tail)} bytes of a line without an end were cut off")
        elif tail:
            self.notes.append(f"{len(tail)} bytes of a line without an end are not read")
        return self._entries(lines)

    def _entries(self, lines: list[bytes]) -> list[TranscriptEntry]:
        found: dict[int, TranscriptEntry] = {}
        for line in lines:
            self._lines += 1
            place = f"line {self._lines} at byte {self.end} of {self.path!r}"
            self.end += len(line) + 1
            try:
                if self._lines == 1:
                    self._check_header(line)
                    continue
                entry = entry_of(line)
                if entry.number != self._last + 1 and not self.salvage:
                    gap = "lost, doubled or moved"
                    raise ValueError(f"it is entry {entry.number} behind {self._last}: {gap}")
            except ValueError as error:
                if isinstance(error, TranscriptError):
                    raise
                if not self.salvage:
                    raise TranscriptError(f"{place} is damaged: {error}", fix=_DAMAGED) from None
                self.notes.append(f"{place} is left out: {error}")
                continue
            self._last = entry.number
            if entry.number in found:
                self.notes.append(f"{place} is left out: entry {entry.number} was there before")
            found.setdefault(entry.number, entry)
        return [found[number] for number in sorted(found)]

    def _check_header(self, line: bytes) -> None:
        header = object_of(line)
        version = str(header.get("version"))
        if header.get("format") != FORMAT:
            raise ValueError("it is no header of a transcript")
        if version.partition(".")[0] != "1":
            fix = "open it with a newer version of promptdsl"
            raise TranscriptError(f"{self.path!r} has the format version {version}", fix=fix)

    # Writing.

    def write(self, entries: Sequence[TranscriptEntry]) -> None:
        """Write the lines of entries at once, and wait until they are on the disk.

        If that fails, the file is cut to what it was before: what raised is not there.
        """
        if entries[0].number != self._last + 1:
            # A signal came between a write and its effect in memory.
            raise ConflictError(
                f"{self.path!r} has more entries than are known", fix="open it again"
            )
        self._put(b"".join(map(line_of, entries)))
        self._lines += len(entries)
        self._last = entries[-1].number

    def _put(self, data: bytes) -> None:
        if self._broken or self._descriptor < 0:
            what = "a failed write could not be cut off" if self._broken else "it is closed"
            raise TranscriptError(f"cannot write {self.path!r}: {what}", fix="open it again")
        try:
            if os.fstat(self._descriptor).st_size != self.end:
                os.ftruncate(self._descriptor, self.end)
            os.lseek(self._descriptor, self.end, os.SEEK_SET)
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
            os.fsync(self._descriptor)
        except BaseException as error:
            self._cut_off()
            if isinstance(error, OSError):
                raise self._failed("write", error) from error
            raise
        self.end += len(data)

    def _cut_off(self) -> None:
        try:
            os.ftruncate(self._descriptor, self.end)
            os.fsync(self._descriptor)
        except OSError:
            self._broken = True


def save_lines(path: str | PathLike[str], entries: Iterable[TranscriptEntry]) -> None:
    """Write a whole file: beside its place first, then moved there in one step.

    Raises :class:`ConflictError` where a writer has a file of this name open.
    """
    name = os.fspath(path)
    data = HEADER + b"".join(map(line_of, entries))
    if os.path.exists(name):
        TranscriptFile(name, read_only=False, salvage=False).close()
    temporary = ""
    try:
        descriptor, temporary = mkstemp(dir=os.path.dirname(os.path.abspath(name)))
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        os.replace(temporary, name)
        if os.name == "posix":
            folder = os.open(os.path.dirname(os.path.abspath(name)), os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
    except OSError as error:
        if temporary and os.path.exists(temporary):
            os.unlink(temporary)
        raise TranscriptError(f"cannot write {name!r}: {error.strerror or error}") from error
