"""A log of records in a folder: files of lines, which hold each long text once."""

import os
import re
import secrets
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from json import JSONEncoder
from os import PathLike
from pathlib import Path
from threading import Lock
from typing import Any, Protocol

import attrs

from promptdsl.foundation.errors import OptionError, TranscriptError, shown
from promptdsl.foundation.frozen import FrozenDict, FrozenList, is_list, is_mapping
from promptdsl.foundation.json import JsonDict, JsonObject, write_json
from promptdsl.foundation.source import door
from promptdsl.foundation.unicode import is_whole
from promptdsl.transcript.entries import utc_now
from promptdsl.transcript.files import check_version, named, write_all
from promptdsl.transcript.lines import object_of, summed, with_sum

FORMAT = "promptdsl.log"
HEADER = with_sum({"format": FORMAT, "version": "1.0"})
LONG = 40
"""From how many characters of JSON on a text is written once a file."""
SHARED = (("model", "settings", "tools", "output", "libraries"), ("outline",))
"""The parts of a record that are equal in many: together they are written once a file, too."""
MARK = "~"
"""Begins a reference, as ``"~7"``: the value of line 7. A text that begins so has it twice."""
_ENCODER = JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_LONG = re.compile(f'"[^"]{{{LONG},}}+')
_FIELDS = ("at", "name", "id", "record", "shared")
_FILES = "records-*.jsonl"
_SALVAGE = "read it with salvage=True to get what is good"


class HasRecord(Protocol):
    """What :meth:`Rendered.record` returns."""

    def to_dict(self) -> JsonDict:
        """Return the record as JSON data."""
        ...


@attrs.frozen
class LogEntry:
    """A record of a log: the time in ISO 8601 and UTC, the name and the id that it was given.

    >>> from promptdsl import LogEntry
    >>> LogEntry("2026-11-27T14:03:00.000000+00:00", "support", None, {"format": "1.0"}).name
    'support'
    """

    at: str
    name: str | None
    id: str | None
    record: JsonObject


class PromptLog:
    """A folder with the records of what was sent, written by any number of processes.

    Every process writes a file of its own, and begins another one after ``max_bytes``. A file
    needs no other: old ones can be deleted. It holds each text of 40 characters or more once. A
    record that was appended is there even if the process is killed; a loss of power may take
    the last ones. ``clock`` returns the time; files are for their owner alone (mode 0600).

    >>> from tempfile import mkdtemp
    >>> from promptdsl import PromptLog
    >>> log = PromptLog(mkdtemp())
    >>> log.append({"format": "1.0", "model": "gpt-5"}, name="support", id="req-1881")
    >>> [(entry.name, entry.record["model"]) for entry in log]
    [('support', 'gpt-5')]
    """

    def __init__(
        self,
        folder: str | PathLike[str],
        *,
        clock: Callable[[], datetime] = utc_now,
        max_bytes: int = 32 * 2**20,
    ) -> None:
        self.folder = Path(folder)
        self.repairs: tuple[str, ...] = ()
        """What the last :meth:`read` left out."""
        self._clock = clock
        self._limit = max_bytes
        self._writers: dict[int, _Writer] = {}

    @door
    def append(
        self,
        record: HasRecord | JsonObject,
        *,
        name: str | None = None,
        id: str | None = None,
        at: datetime | None = None,
    ) -> None:
        """Write a record, with the name of its prompt, the id of the request, and a time.

        Threads may append at the same time. Raises :class:`DataError` for what JSON cannot express,
        and :class:`TranscriptError` where the file cannot be written: then nothing was recorded.
        """
        made: Any = record if is_mapping(record) else getattr(record, "to_dict", tuple)()
        data: dict[str, object] = dict(made)  # what is shared leaves it
        if not data:
            raise OptionError(f"{shown(record)} is no record", fix="give rendered.record()")
        time = self._clock() if at is None else at
        if time.tzinfo is None:
            raise OptionError(f"{time} has no time zone", fix="write datetime.now(UTC)")
        for what, given in (("name", name), ("id", id)):
            if given is not None and not isinstance(given, str):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise OptionError(f"the {what} {shown(given)} is no text", fix="give a str")
        stamp = time.astimezone(UTC).isoformat(timespec="microseconds")
        shared = [_json({key: data.pop(key) for key in keys if key in data}) for keys in SHARED]
        line = _json({"at": stamp, "name": name, "id": id, "record": data})
        self._writer().write(line, shared)

    def _writer(self) -> "_Writer":
        process = os.getpid()
        writer = self._writers.get(process)
        if writer is None:
            # After a fork: another thread of the parent may have had its mutex.
            for inherited in [*self._writers]:
                self._writers.pop(inherited).close()
            writer = self._writers.setdefault(process, _Writer(self.folder, self._limit))
        return writer

    def close(self) -> None:
        """Close the file of this process. A further :meth:`append` begins another one."""
        for process in [*self._writers]:
            self._writers.pop(process).close()

    def __iter__(self) -> Iterator[LogEntry]:
        return iter(self.read())

    @door
    def read(self, *, salvage: bool = False) -> tuple[LogEntry, ...]:
        """Return the records of all files, by their times.

        ``repairs`` then tells what a killed process did not finish. Other damage raises
        :class:`TranscriptError`, with file, line and byte; with ``salvage``, it is told as well.
        """
        told: list[str] = []
        found = [
            entry
            for path in sorted(self.folder.glob(_FILES))
            for entry in _entries(str(path), salvage, told)
        ]
        self.repairs = tuple(told)
        return tuple(sorted(found, key=lambda entry: entry.at))


def _entries(path: str, salvage: bool, told: list[str]) -> Iterator[LogEntry]:
    values: dict[str, Any] = {}  # Any: JSON
    end = 0
    with named("read", path), open(path, "rb") as file:
        for count, line in enumerate(file, 1):
            start, end = end, end + len(line)
            place = f"line {count} at byte {start} of {path!r}"
            if line[-1:] != b"\n":
                told.append(f"{place} has no end: {len(line)} bytes are not read")
                return
            try:
                data = object_of(line[:-1])
                if count == 1 and data.get("format") != FORMAT:
                    raise ValueError("it is no header of a log")
                if count == 1:
                    check_version(data, path)
                elif "n" in data:
                    values[f"{MARK}{data['n']}"] = _resolved(data["value"], values)
                elif "record" in data:
                    at, name, id, own, shared = (_resolved(data[it], values) for it in _FIELDS)
                    yield LogEntry(at, name, id, FrozenDict(ChainMap(own, *shared)))
            except (ValueError, KeyError, TypeError) as error:
                why = f"{error} is missing" if isinstance(error, KeyError) else str(error)
                problem = f"{place} is damaged: {why}"
                if isinstance(error, TranscriptError):
                    raise
                if not salvage:
                    raise TranscriptError(problem, fix=_SALVAGE) from None
                told.append(problem)


def _resolved(value: Any, values: Mapping[str, Any]) -> Any:  # Any: JSON
    """Return a value of a line with what its references stand for; nobody can change it."""
    if type(value) is str:
        if value[:1] != MARK:
            return value
        return value[1:] if value[1:2] == MARK else values[value]
    if is_mapping(value):
        return FrozenDict(
            {_resolved(key, values): _resolved(item, values) for key, item in value.items()}
        )
    return FrozenList(_resolved(item, values) for item in value) if is_list(value) else value


class _Writer:
    """The open file of this process, the numbers of what it holds, and its mutex."""

    def __init__(self, folder: Path, limit: int) -> None:
        self._folder = folder
        self._limit = limit
        self._lock = Lock()
        self._descriptor = -1
        self._size = 0
        self._numbers: dict[str, int] = {}

    def write(self, line: str, shared: list[str]) -> None:
        """Write a record, and before it what it refers to, at once."""
        with self._lock, named("write", str(self._folder)):
            if self._descriptor < 0 or self._size >= self._limit or self._is_deleted:
                self._begin()
            end, count = self._size, len(self._numbers)
            lines = [] if end else [HEADER]
            try:
                parts = ",".join(self._part(text, lines) for text in shared)
                text = f'{self._written(line, lines)[:-1]},"shared":[{parts}]}}'
                data = b"".join((*lines, summed(text)))
                write_all(self._descriptor, data)
                self._size = end + len(data)
            except BaseException:
                if self._size == end:
                    self._take_back(end, count)
                raise

    @property
    def _is_deleted(self) -> bool:
        return not os.fstat(self._descriptor).st_nlink

    def _take_back(self, end: int, count: int) -> None:
        """Cut the file to what it was, or begin another one with the next record."""
        while len(self._numbers) > count:
            self._numbers.popitem()
        try:
            os.ftruncate(self._descriptor, end)
        except OSError:
            self.close()

    def _begin(self) -> None:
        self.close()
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        name = f"records-{utc_now():%Y%m%dT%H%M%S%f}-{os.getpid()}-{secrets.token_hex(4)}.jsonl"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_BINARY", 0)
        self._descriptor = os.open(self._folder / name, flags, 0o600)
        self._size = 0
        self._numbers = {}

    def close(self) -> None:
        """Close the file."""
        if self._descriptor >= 0:
            descriptor, self._descriptor = self._descriptor, -1
            os.close(descriptor)

    def _part(self, text: str, lines: list[bytes]) -> str:
        is_new = text not in self._numbers
        return self._reference(text, lines, self._written(text, lines) if is_new else "")

    def _written(self, text: str, lines: list[bytes]) -> str:
        """Return a JSON text with references for its long strings; their lines are added."""
        # JSON has no control characters: they stand for escapes, and other quotes end strings.
        if is_escaped := "\\" in text:
            text = text.replace(r"\\", "\1").replace(r"\"", "\2")
        text = text.replace(f'"{MARK}', f'"{MARK}{MARK}')
        pieces: list[str] = []
        done = counted = quotes = 0
        for match in _LONG.finditer(text):
            start, end = match.start(), match.end() + 1
            quotes += text.count('"', counted, start)
            counted = start
            if quotes % 2 == 0:  # a string begins here: the others are what is between two
                long = text[start:end]
                long = _with_escapes(long) if is_escaped else long
                pieces += (text[done:start], self._reference(long, lines))
                done = end
        written = "".join((*pieces, text[done:]))
        return _with_escapes(written) if is_escaped else written

    def _reference(self, text: str, lines: list[bytes], written: str = "") -> str:
        """Return the reference to a JSON text, which is written with its first one."""
        number = self._numbers.get(text)
        if number is None:
            number = self._numbers[text] = len(self._numbers) + 1
            lines.append(summed(f'{{"n":{number},"value":{written or text}}}'))
        return f'"{MARK}{number}"'


def _json(value: object) -> str:
    """Return the JSON text of a value, without measuring how deep it is."""
    with suppress(TypeError, ValueError, RecursionError):
        text = _ENCODER.encode(value)
        if is_whole(text):
            return text
    return write_json(value)  # which says what is wrong


def _with_escapes(text: str) -> str:
    return text.replace("\2", r"\"").replace("\1", r"\\")
