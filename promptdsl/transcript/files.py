"""The file of a transcript, which one writer at a time appends lines to; each line is checked.

Read ``TranscriptFile`` first. ``OpenFile``, its base class, is also that of a log of records.
"""

import errno
import os
import warnings
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from os import PathLike
from typing import NamedTuple

from promptdsl.foundation.errors import ConflictError, TranscriptError
from promptdsl.foundation.files import atomic_writer, checked_path, close, sync_folder, write_all
from promptdsl.transcript.entries import (
    FORMAT,
    HEADER,
    TranscriptEntry,
    entry_of,
    line_of,
    object_of,
)

_LOCKED_BYTE = 2**62
"""The position of the byte that is locked on Windows: it is far after the end of any file."""
_LINE_CHECKSUM_LENGTH = len(b'00000000"}\n')
"""The number of bytes at the end of a line that have its checksum."""
_BINARY = getattr(os, "O_BINARY", 0)
_SALVAGE = "open it with salvage=True to read what is good"


def _lock(descriptor: int) -> None:
    """Lock a file until it is closed; :class:`OSError` if another writer has locked it."""
    try:
        import fcntl
    except ImportError:
        import msvcrt

        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]  # pyright: ignore
        return
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _unlock(descriptor: int) -> None:
    """End the lock, also for a forked child, which shares the lock."""
    with suppress(ImportError, OSError):
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_UN)


def _write(descriptor: int, data: bytes) -> None:
    """Write all bytes, and wait until they are on the disk."""
    write_all(descriptor, data)
    os.fsync(descriptor)


@contextmanager
def named(verb: str, path: str) -> Generator[None]:
    """Turn errors of the system into errors that name the file."""
    try:
        yield
    except OSError as error:
        what = f"cannot {verb} {path!r}: {error.strerror or error}"
        fix = "nothing was recorded by this call" if verb == "write" else "check the path"
        raise TranscriptError(what, fix=fix) from error


def check_version(header: Mapping[str, object], path: str) -> None:
    """Raise :class:`TranscriptError` for a file of an unknown major version."""
    version = str(header.get("version"))
    if version.partition(".")[0] != "1":
        fix = "open it with a newer version of promptdsl"
        raise TranscriptError(f"{path!r} has the format version {version}", fix=fix)


class Position(NamedTuple):
    """How far a file was read: its inode, the end of its last complete line, and two counts.

    ``lines`` is the number of lines, ``last`` the number of the last entry.
    """

    inode: tuple[int, int]
    end: int
    lines: int
    last: int
    sum: bytes
    """The checksum before the end, because a new file may have the inode of a removed file."""


class OpenFile:
    """An open file. If nobody closes it, the end of its object closes it, and Python warns."""

    descriptor = -1
    """The descriptor of the file; -1 if it is closed."""

    def __init__(self, path: str, flags: int) -> None:
        self.path = path
        self._process = os.getpid()
        descriptor = os.open(path, flags | _BINARY, 0o600)
        try:
            self._status = os.fstat(descriptor)
        except OSError:
            close(descriptor)
            raise
        self.descriptor = descriptor

    @property
    def is_open(self) -> bool:
        """Whether the file is still open."""
        return self.descriptor >= 0

    @property
    def is_of_this_process(self) -> bool:
        """Whether this process opened the file, not the process that this one was forked from."""
        return self._process == os.getpid()

    @property
    def is_there(self) -> bool:
        """Whether this process opened the file, and nobody else has removed or closed it."""
        try:
            status = os.fstat(self.descriptor)
        except OSError:
            return False
        is_same = os.path.samestat(status, self._status)
        return is_same and status.st_nlink > 0 and self.is_of_this_process

    def close(self) -> None:
        """Close the file, unless it is already closed."""
        descriptor, self.descriptor = self.descriptor, -1
        if descriptor >= 0 and not self._is_closed_elsewhere(descriptor):
            close(descriptor)

    def _is_closed_elsewhere(self, descriptor: int) -> bool:
        """Return whether somebody else closed the file: another file may have its descriptor."""
        try:
            return not os.path.samestat(os.fstat(descriptor), self._status)
        except OSError as error:
            return error.errno == errno.EBADF

    def __del__(self) -> None:
        if self.is_open and self.is_of_this_process:
            what = f"{self.path!r} was not closed: close it, or open it in a with block"
            warnings.warn(what, ResourceWarning, stacklevel=2, source=self)
        self.close()


class TranscriptFile(OpenFile):
    """An open file: its complete lines up to ``end``, and notes about damaged lines.

    A writer locks the file. Raises :class:`ConflictError` if another writer has locked it, and
    :class:`TranscriptError` if it cannot be opened.
    """

    def __init__(self, path: str | PathLike[str], *, read_only: bool, salvage: bool) -> None:
        name = checked_path(path, "1881.jsonl")
        self._location = os.path.abspath(name)  # the current folder may change later
        self.read_only = read_only
        self.salvage = salvage
        self.end = 0
        self._lines = 0
        self.last: int = 0
        with named("open", name):
            super().__init__(name, os.O_RDONLY if read_only else os.O_RDWR | os.O_CREAT)
        try:
            if not read_only:
                with named("lock", self.path):
                    _lock(self.descriptor)
        except TranscriptError as error:
            super().close()
            if not isinstance(error.__cause__, BlockingIOError | PermissionError):
                raise
            fix = "close it there, or open it with read_only=True"
            raise ConflictError(f"{self.path!r} is open in another writer", fix=fix) from None

    def close(self) -> None:
        """Close the file, and end its lock."""
        if self.is_open and self.is_of_this_process and not self.read_only:
            _unlock(self.descriptor)
        super().close()

    def _size(self) -> int:
        """Return the size of the file.

        Raises :class:`ConflictError` if the file was removed or replaced, or if the process was
        forked after it opened the file; :class:`TranscriptError` for a closed file.
        """
        if not self.is_open:
            raise TranscriptError(f"{self.path!r} is closed", fix="open it again")
        if not self.is_of_this_process:
            what = f"{self.path!r} was opened by the process from which this one was forked"
            raise ConflictError(what, fix="open it again in this process")
        status = os.fstat(self.descriptor)
        try:
            is_same_file = os.path.samestat(os.stat(self._location), status)
        except FileNotFoundError:
            is_same_file = False
        if not is_same_file:
            what = f"{self.path!r} was removed, or replaced by another file"
            raise ConflictError(what, fix="open it again")
        return status.st_size

    @property
    def position(self) -> Position:
        """How far this file was read."""
        return self._at(self.end, self._lines, self.last)

    def _at(self, end: int, lines: int, last: int) -> Position:
        with named("read", self.path):
            status = os.fstat(self.descriptor)
            os.lseek(self.descriptor, max(end - _LINE_CHECKSUM_LENGTH, 0), os.SEEK_SET)
            checksum = os.read(self.descriptor, _LINE_CHECKSUM_LENGTH)
        return Position((status.st_dev, status.st_ino), end, lines, last, checksum)

    def go_on_from(self, position: Position) -> None:
        """Skip the lines that another object for this file has read and checked."""
        _, end, lines, last, _ = position
        if self._at(end, lines, last) == position:
            self.end, self._lines, self.last = end, lines, last

    # Reading.

    def read(self) -> list[TranscriptEntry]:
        """Return the entries of the lines after ``end``, and move ``end`` after them.

        A writer gives an empty file its header. ``notes`` gets a sentence for each line that is
        damaged or incomplete. Raises :class:`ConflictError` if the file was shortened, removed or
        replaced, and :class:`TranscriptError` for a file of another format, and for a damaged line
        unless ``salvage`` is true.
        """
        self.notes: list[str] = []
        with named("read", self.path):
            if self._size() < self.end:
                fix = "open it again"
                raise ConflictError(f"{self.path!r} was shortened by its writer", fix=fix)
            os.lseek(self.descriptor, self.end, os.SEEK_SET)
            data = b"".join(iter(lambda: os.read(self.descriptor, 2**24), b""))
        *lines, tail = data.split(b"\n")
        if not self._lines and not lines:
            if not HEADER.startswith(tail):
                raise TranscriptError(f"{self.path!r} is not a transcript", fix="check the path")
            if not self.read_only:
                self._append(HEADER, 0)
            return []
        if tail:
            handled = "not read" if self.read_only else "cut off"
            self.notes.append(f"{len(tail)} bytes of an incomplete line are {handled}")
        return self._entries(lines)

    def _entries(self, lines: list[bytes]) -> list[TranscriptEntry]:
        """Return the entries of complete lines, and move ``end`` after these lines."""
        entries: dict[int, TranscriptEntry] = {}
        end, last = self.end, self.last
        for line_number, line in enumerate(lines, self._lines + 1):
            start, end = end, end + len(line) + 1
            location = f"line {line_number} at byte {start} of {self.path!r}"
            try:
                if line_number == 1 and self._is_header(line):
                    continue
                entry = entry_of(line)
                if entry.number != last + 1 and not self.salvage:
                    gap = "lines were lost, doubled or moved"
                    raise ValueError(f"it is entry {entry.number} after {last}: {gap}")
                if entry.number in entries:
                    raise ValueError(f"entry {entry.number} is also on an earlier line")
                if entry.number < last:
                    self.notes.append(f"{location} was moved: entry {entry.number} is after {last}")
                last = entry.number
                entries[last] = entry
            except ValueError as error:
                if isinstance(error, TranscriptError):
                    raise
                if not self.salvage:
                    raise TranscriptError(f"{location} is damaged: {error}", fix=_SALVAGE) from None
                self.notes.append(f"{location} is left out: {error}")
        self.end, self._lines, self.last = end, self._lines + len(lines), last
        return [entries[number] for number in sorted(entries)]

    def _is_header(self, line: bytes) -> bool:
        """Return whether the first line is the header; with ``salvage``, it may be missing."""
        header = object_of(line)
        if header.get("format") != FORMAT:
            if self.salvage:
                self.notes.append("the header is missing")
                return False
            raise ValueError("it is not the header of a transcript")
        check_version(header, self.path)
        return True

    # Writing.

    def write(self, entries: Sequence[TranscriptEntry]) -> None:
        """Write the lines of entries at once, and wait until they are on the disk.

        If this fails, the file is cut to its old length, so that it has none of these entries.
        Raises :class:`ConflictError` if the file was removed or replaced, or has entries that this
        object did not write or read; :class:`TranscriptError` if it cannot be written.
        """
        if entries[0].number != self.last + 1:
            # A signal interrupted this program after a write, before it noted the entries.
            raise ConflictError(
                f"{self.path!r} has entries that this transcript does not know", fix="open it again"
            )
        self._append(b"".join(map(line_of, entries)), entries[-1].number)

    def _append(self, data: bytes, last: int) -> None:
        """Write lines after ``end``; ``last`` is the number of the last entry after that."""
        end = self.end + len(data)
        with named("write", self.path):
            try:
                # Bytes after ``end`` are an incomplete line.
                if self._size() != self.end:
                    os.ftruncate(self.descriptor, self.end)
                os.lseek(self.descriptor, self.end, os.SEEK_SET)
                _write(self.descriptor, data)
                if not self.end:
                    sync_folder(self.path)
            except BaseException:
                with suppress(OSError):  # then the next write does it
                    os.ftruncate(self.descriptor, self.end)
                    os.fsync(self.descriptor)
                raise
        lines = self._lines + data.count(b"\n")
        self.last, self.end, self._lines = last, end, lines  # no signal interrupts this line


def save_lines(path: str | PathLike[str], entries: Iterable[TranscriptEntry]) -> None:
    """Write a new file completely, or leave the old file unchanged.

    Raises :class:`ConflictError` if a writer has a file with this name open.
    """
    name = checked_path(path, "1881.jsonl")
    data = HEADER + b"".join(map(line_of, entries))
    if os.path.exists(name):
        TranscriptFile(name, read_only=False, salvage=False).close()
    with named("write", name), atomic_writer(name) as write:
        write(data)
