"""The log of what was sent: a folder of records, read in the order of their times.

:class:`PromptLog`, below, is what users call. ``read_log_file`` reads and checks one file.
"""

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
from types import TracebackType
from typing import Any, Protocol, Self

import attrs

from promptdsl.foundation.errors import DataError, OptionError, TranscriptError, nearest, shown
from promptdsl.foundation.files import checked_path, write_all
from promptdsl.foundation.frozen import FrozenDict, FrozenList, is_list, is_mapping
from promptdsl.foundation.json import ABSENT, JsonDict, JsonObject, canonical, write_json
from promptdsl.foundation.source import public_api
from promptdsl.foundation.unicode import is_valid_unicode
from promptdsl.rendering.reports.record import PromptRecord
from promptdsl.transcript.entries import object_of, summed, utc_now, with_sum
from promptdsl.transcript.files import OpenFile, check_version, named
from promptdsl.transcript.stores import fork_safe_lock

# Reading a file of a log: each line is checked; damage is reported with line and byte.

FORMAT = "promptdsl.log"
FILE_PATTERN = "records-*.jsonl"
"""The names of the files of a log."""
REFERENCE_SIGN = "~"
"""The beginning of a reference: ``"~7"`` is value 7. A text that begins with ``~`` has it twice."""
_SALVAGE = "read it with salvage=True to get the good lines"


@attrs.frozen
class LogEntry:
    """A record of a log, with its time in ISO 8601 and UTC, its name and its id.

    >>> from promptdsl import LogEntry
    >>> LogEntry("2026-11-27T14:03:00.000000+00:00", "support", None, {"format": "1.0"}).name
    'support'
    """

    at: str
    name: str | None
    id: str | None
    record: JsonObject


_AMBIGUOUS = object()
"""The placeholder for a number with two different values, or whose value is being read."""


@attrs.define
class _Lines:
    """What was read so far of the lines with one file id."""

    values: dict[str, Any] = attrs.field(factory=dict[str, Any])  # Any: JSON
    last_number: int = 0
    """The number of the last value."""
    record_lines: set[int] = attrs.field(factory=set[int])
    """The line numbers that are written in the lines with records."""
    shift: int | None = None
    """The real line of the last record, minus the line number that is written in it."""


class _Contents:
    """The records and values in the lines of a file that were read so far."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.entries: list[LogEntry] = []
        self._lines: dict[object, _Lines] = {}
        self._headers = 0
        self._current = ""
        """The file id in the last line, ``""`` after a header."""

    def add(self, line: bytes, line_number: int) -> None:
        """Add a line. Raises :class:`ValueError` for a damaged line; what is readable is added."""
        data = object_of(line)
        if "format" in data or line_number == 1:
            self._add_header(data, line_number)
        elif "n" in data or "record" in data:
            id = str(data.get("file"))  # older files have none
            previous_id, self._current = self._current, id
            lines = self._lines.setdefault(id, _Lines())
            if "n" in data:
                self._add_value(data, lines)
            else:
                self._add_record(data, lines, line_number)
            if previous_id not in ("", id):
                raise ValueError("the line before it belongs to another file")

    def _add_header(self, data: dict[str, Any], line_number: int) -> None:
        """Add the first line of a file; a second header means that another file was appended."""
        if data.get("format") != FORMAT:
            raise ValueError("the line is not the header of a log")
        check_version(data, self.path)
        self._headers += 1
        self._current = ""
        if line_number > 1:
            # A later value without a file id may be of either file.
            self._lines[str(None)] = _Lines(values=_Unknown())
            raise ValueError("another file begins here: split it before this line")

    def _add_value(self, data: dict[str, Any], lines: _Lines) -> None:
        """Add a value with its number, which later lines refer to."""
        number, previous = data["n"], lines.last_number
        if type(number) is not int or number < 1:
            raise ValueError(f"{number!r} is not the number of a value")
        key = f"{REFERENCE_SIGN}{number}"
        # A value may not refer to its own number, so the number is ambiguous while it is read.
        old_value, lines.values[key] = lines.values.get(key, ABSENT), _AMBIGUOUS
        value = _resolved(data["value"], lines.values)
        lines.last_number = number
        # It stays ambiguous if the number had another value before.
        if old_value is ABSENT or (
            old_value is not _AMBIGUOUS and canonical(old_value) == canonical(value)
        ):
            lines.values[key] = value
        if old_value is not ABSENT:
            raise ValueError(f"value {number} occurs twice")
        if number != previous + 1:
            raise ValueError(
                f"value {number} follows value {previous}: lines are lost, doubled or moved"
            )

    def _add_record(self, data: dict[str, Any], lines: _Lines, line_number: int) -> None:
        """Add a record, with its references replaced by values."""
        at, name, id = (_resolved(data[key], lines.values) for key in ("at", "name", "id"))
        if not isinstance(at, str) or not all(isinstance(text, str | None) for text in (name, id)):
            raise ValueError("the time, name or id is not a text")
        record, shared = (_resolved(data[key], lines.values) for key in ("record", "shared"))
        objects: list[Any] = [record, *shared] if is_list(shared) else []
        if not objects or not all(map(is_mapping, objects)):
            raise ValueError("the record is not a JSON object")
        written_line = data.get("line", line_number)  # older files have none
        if type(written_line) is not int or written_line in lines.record_lines:
            raise ValueError(f"the record of line {written_line!r} occurs twice")
        lines.record_lines.add(written_line)
        self.entries.append(LogEntry(at, name, id, FrozenDict(ChainMap(*objects))))
        old_shift, lines.shift = lines.shift, line_number - written_line
        if old_shift is None and self._headers < 2:
            # Nothing was appended to another file, so the first record must be at its line.
            old_shift = 0
        if old_shift not in (None, lines.shift):
            raise ValueError(
                f"the record was written as line {written_line}: lines are lost, doubled or moved"
            )


class _Unknown(dict[str, Any]):
    """Values that are not kept, because lines without a file id may be of either of two files."""

    def __setitem__(self, key: str, value: Any) -> None:
        """Keep nothing."""


def read_log_file(path: str, *, salvage: bool, repairs: list[str]) -> list[LogEntry]:
    """Return the records of a file; an empty list if the file was removed meanwhile.

    A last line without an end is reported in ``repairs``. Other damage raises
    :class:`TranscriptError` with line and byte; with ``salvage``, it is reported in ``repairs``,
    too. A file of another major version always raises.
    """
    contents, end = _Contents(path), 0
    try:
        with named("read", path), open(path, "rb", opener=_open_regular_file) as file:
            for line_number, line in enumerate(file, 1):
                start, end = end, end + len(line)
                location = f"line {line_number} at byte {start} of {path!r}"
                if line[-1:] != b"\n":
                    repairs.append(f"{location} has no end: {len(line)} bytes are not read")
                    break
                try:
                    contents.add(line[:-1], line_number)
                except TranscriptError:
                    raise
                except (ValueError, KeyError, TypeError, RecursionError) as error:
                    problem = f"{location} is damaged: {_reason(error)}"
                    if not salvage:
                        raise TranscriptError(problem, fix=_SALVAGE) from None
                    repairs.append(problem)
    except TranscriptError as error:
        if not isinstance(error.__cause__, OSError):
            raise
        if not os.path.lexists(path):
            return []
        if not salvage:
            raise
        repairs.append(error.what)
    return contents.entries


def _open_regular_file(path: str, flags: int) -> int:
    """Return the descriptor of a regular file; a pipe is refused, because reading it would wait."""
    if not os.path.isfile(path):
        os.stat(path)  # raises if nothing has this path
        raise OSError(f"{path} is not a file")
    return os.open(path, flags)


def _reason(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"{error} is missing"
    if isinstance(error, RecursionError):
        return "the line is nested too deep"
    return str(error)


def _resolved(value: Any, values: Mapping[str, Any]) -> Any:  # Any: JSON
    """Return a value of a line, frozen; each reference is replaced by its value."""
    if type(value) is str:
        if value[:1] != REFERENCE_SIGN:
            return value
        if value[1:2] == REFERENCE_SIGN:
            return value[1:]
        if values[value] is _AMBIGUOUS:
            raise ValueError(f"value {value[1:]} has two different values")
        return values[value]
    if is_mapping(value):
        return FrozenDict(
            {_resolved(key, values): _resolved(item, values) for key, item in value.items()}
        )
    return FrozenList(_resolved(item, values) for item in value) if is_list(value) else value


# Writing a log: files of lines in a folder; each file has a long text once.

HEADER = with_sum({"format": FORMAT, "version": "1.0"})
MIN_SHARED_TEXT = 40
"""A text with at least this many characters of JSON is written once in a file."""
SHARED_KEYS = (("model", "settings", "tools", "output", "libraries"), ("outline",))
"""Groups of keys of a record. Many records share their values, so a file has each value once."""
_ENCODER = JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_SHARED_TEXT = re.compile(f'"[^"]{{{MIN_SHARED_TEXT},}}+')


class HasRecord(Protocol):
    """An object with a record, such as the result of :meth:`Rendered.record`."""

    def to_dict(self) -> JsonDict:
        """Return the record as JSON data."""
        ...


class PromptLog:
    """A folder with the records of what was sent, written by any number of processes.

    Every process writes its own file, and begins another file after ``max_bytes``. No file needs
    another one, so old files can be deleted. A file has each text of 40 characters or more once.

    A record that was appended is not lost if the process is killed. A loss of power may destroy the
    last records. Only the owner may read the files (mode 0600). ``clock`` returns the time. All
    threads may call the methods at any time. Close a log, or write ``with``: if nobody closes it,
    there is a :class:`ResourceWarning`.

    >>> from tempfile import mkdtemp
    >>> from promptdsl import PromptLog
    >>> with PromptLog(mkdtemp()) as log:
    ...     log.append({"format": "1.0", "model": "gpt-5"}, name="support", id="req-1881")
    >>> [(entry.name, entry.record["model"]) for entry in log]
    [('support', 'gpt-5')]
    """

    @public_api
    def __init__(
        self,
        folder: str | PathLike[str],
        *,
        clock: Callable[[], datetime] = utc_now,
        max_bytes: int = 32 * 2**20,
    ) -> None:
        self.folder = Path(checked_path(folder, "log"))
        self.repairs: tuple[str, ...] = ()
        """The lines that the last :meth:`read` left out, with the reasons."""
        self._clock = clock
        self._limit = max_bytes
        self._lock = fork_safe_lock()
        self._file: _LogFile | None = None
        """The file of this process; ``None`` while a record is written to it."""

    def __getstate__(self) -> dict[str, object]:
        return {key: value for key, value in vars(self).items() if key not in ("_lock", "_file")}

    def __setstate__(self, state: dict[str, object]) -> None:
        vars(self).update(state, _lock=fork_safe_lock(), _file=None)

    @public_api
    def append(
        self,
        record: HasRecord | JsonObject,
        *,
        name: str | None = None,
        id: str | None = None,
        at: datetime | None = None,
    ) -> None:
        """Write a record, with the name of its prompt, the id of the request, and a time.

        Threads may append at the same time. Raises :class:`DataError` for a record that JSON cannot
        express, and :class:`TranscriptError` if the file cannot be written. Then nothing was
        recorded.
        """
        record_data: Any = record if is_mapping(record) else getattr(record, "to_dict", tuple)()
        data: dict[str, object] = dict(record_data)  # a copy: the shared keys are removed from it
        if not isinstance(data.get("format"), str):
            raise OptionError(f"{shown(record)} is not a record", fix="pass rendered.record()")
        time = self._clock() if at is None else at
        if time.tzinfo is None:
            raise OptionError(f"{time} has no time zone", fix="write datetime.now(UTC)")
        for what, argument in (("name", name), ("id", id)):
            if argument is not None and not isinstance(argument, str):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise OptionError(
                    f"the {what} {shown(argument)} is not a text", fix="pass a string"
                )
        stamp = time.astimezone(UTC).isoformat(timespec="microseconds")
        shared = [
            _json({key: data.pop(key) for key in keys if key in data}) for keys in SHARED_KEYS
        ]
        line = _json({"at": stamp, "name": name, "id": id, "record": data})
        self._write(line, shared)

    def _write(self, line: str, shared: list[str]) -> None:
        """Write a record to the file of this process, or to another file if that is too large."""
        with self._lock, named("write", str(self.folder)):
            # A signal or a finalizer may append meanwhile: it sees no file, and begins its own.
            file, self._file = self._file, None
            try:
                if file is not None and (file.size >= self._limit or not file.is_there):
                    file.close()
                    file = None
                file = file or _LogFile(self.folder)
                file.write(line, shared)
            finally:
                if file is not None and file.is_open and self._file is None:
                    self._file = file
                elif file is not None:
                    file.close()

    def close(self) -> None:
        """Close the file of this process. A further :meth:`append` begins another one."""
        with self._lock:
            file, self._file = self._file, None
            if file is not None:
                file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __iter__(self) -> Iterator[LogEntry]:
        return iter(self.read())

    @public_api
    def find(self, id: str) -> PromptRecord:
        """Return the record of the request with an id; if there are several, the last.

        >>> from tempfile import mkdtemp
        >>> from promptdsl import PromptLog, Timeline, User, render
        >>> with PromptLog(mkdtemp()) as log:
        ...     log.append(render(Timeline(User("Hi.")), model="gpt-5").record(), id="req-1881")
        ...     log.find("req-1881")
        <PromptRecord 1.1 for openai gpt-5: 1 message, 9 tokens>

        Raises :class:`DataError` for an unknown id, and what :meth:`read` and
        :meth:`PromptRecord.from_dict` raise.
        """
        entries = [entry for entry in self.read() if entry.id is not None]
        records = [entry.record for entry in entries if entry.id == id]
        if not records:
            problem = f"{self.folder} has no record with the id {shown(id)}"
            fix = "no record has an id: write log.append(record, id=...)"
            if entries:
                fix = nearest(id, {str(entry.id) for entry in entries})
            raise DataError(problem, fix=fix)
        return PromptRecord.from_dict(records[-1])

    @public_api
    def read(self, *, salvage: bool = False) -> tuple[LogEntry, ...]:
        """Return the records of all files, in the order of their times.

        Afterwards ``repairs`` lists the lines that a killed process did not finish. Other damage
        raises :class:`TranscriptError` with file, line and byte; with ``salvage``, it is listed in
        ``repairs``, too.
        """
        repairs: list[str] = []
        entries = [
            entry
            for path in sorted(self.folder.glob(FILE_PATTERN))
            for entry in read_log_file(str(path), salvage=salvage, repairs=repairs)
        ]
        self.repairs = tuple(repairs)
        return tuple(sorted(entries, key=lambda entry: entry.at))


class _LogFile(OpenFile):
    """A new file of a log, with its size, its number of lines, and the numbers of its values.

    Only one thread may write at a time.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        name = f"records-{utc_now():%Y%m%dT%H%M%S%f}-{os.getpid()}-{secrets.token_hex(4)}.jsonl"
        super().__init__(str(folder / name), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND)
        self.size = 0
        self._lines = 0
        self._value_numbers: dict[str, int] = {}
        self._id = secrets.token_hex(4)
        """The file id, in each line of this file: so a line of another file is recognised."""

    def write(self, line: str, shared: list[str]) -> None:
        """Write the values that a record refers to, and the record, in one call.

        If that fails, the file is cut to its old size. If that fails, too, the file is closed.
        """
        end, value_count = self.size, len(self._value_numbers)
        lines = [] if end else [HEADER]
        try:
            references = ",".join(self._shared_reference(text, lines) for text in shared)
            line_start = self._with_references(line, lines)[:-1]
            line_number = self._lines + len(lines) + 1
            lines.append(
                summed(
                    f'{line_start},"shared":[{references}],"line":{line_number},"file":"{self._id}"}}'
                )
            )
            data = b"".join(lines)
            write_all(self.descriptor, data)
            self.size, self._lines = end + len(data), line_number  # no signal comes between them
        except BaseException:
            if self.size == end:
                self._take_back(end, value_count)
            raise

    def _take_back(self, end: int, value_count: int) -> None:
        """Cut the file to its old size, and forget the values after the first ``value_count``."""
        while len(self._value_numbers) > value_count:
            self._value_numbers.popitem()
        try:
            os.ftruncate(self.descriptor, end)
        except OSError:
            self.close()

    def _shared_reference(self, text: str, lines: list[bytes]) -> str:
        is_new = text not in self._value_numbers
        return self._reference(text, lines, self._with_references(text, lines) if is_new else "")

    def _with_references(self, text: str, lines: list[bytes]) -> str:
        """Return a JSON text with references instead of long strings; add the lines of these."""
        # JSON text has no control characters. Here they replace escapes, so that every other quote
        # begins or ends a string.
        if is_escaped := "\\" in text:
            text = text.replace(r"\\", "\1").replace(r"\"", "\2")
        text = text.replace(f'"{REFERENCE_SIGN}', f'"{REFERENCE_SIGN}{REFERENCE_SIGN}')
        pieces: list[str] = []
        # ``quotes`` is the number of quotes before ``counted_end``. The text before ``text_end`` is
        # in ``pieces``.
        text_end = counted_end = quotes = 0
        for match in _SHARED_TEXT.finditer(text):
            start, end = match.start(), match.end() + 1
            quotes += text.count('"', counted_end, start)
            counted_end = start
            if quotes % 2 == 0:  # a string begins here; otherwise it is text between two strings
                long = text[start:end]
                long = _with_escapes(long) if is_escaped else long
                pieces += (text[text_end:start], self._reference(long, lines))
                text_end = end
        new_text = "".join((*pieces, text[text_end:]))
        return _with_escapes(new_text) if is_escaped else new_text

    def _reference(self, text: str, lines: list[bytes], value_text: str = "") -> str:
        """Return the reference to a JSON text; the first reference adds the line of the text."""
        number = self._value_numbers.get(text)
        if number is None:
            number = self._value_numbers[text] = len(self._value_numbers) + 1
            value = value_text or text
            lines.append(summed(f'{{"n":{number},"value":{value},"file":"{self._id}"}}'))
        return f'"{REFERENCE_SIGN}{number}"'


def _json(value: object) -> str:
    """Return the JSON text of a value, without a check of its depth.

    Raises :class:`DataError` for a value that JSON cannot express.
    """
    with suppress(TypeError, ValueError, RecursionError):
        text = _ENCODER.encode(value)
        if is_valid_unicode(text):
            return text
    return write_json(value)  # raises an error that names the wrong value


def _with_escapes(text: str) -> str:
    return text.replace("\2", r"\"").replace("\1", r"\\")
