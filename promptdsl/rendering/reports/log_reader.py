"""Reading a file of a log: each line is checked, and damage is reported with its line and byte."""

import os
from collections import ChainMap
from collections.abc import Mapping
from typing import Any

import attrs

from promptdsl.foundation.errors import TranscriptError
from promptdsl.foundation.frozen import FrozenDict, FrozenList, is_list, is_mapping
from promptdsl.foundation.json import ABSENT, JsonObject, canonical
from promptdsl.transcript.files import check_version, named
from promptdsl.transcript.lines import object_of

FORMAT = "promptdsl.log"
FILES = "records-*.jsonl"
"""The names of the files of a log."""
MARK = "~"
"""The beginning of a reference: ``"~7"`` is value 7. A text that begins with it has it twice."""
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


_DOUBTFUL = object()
"""The placeholder of a value whose number has two values."""


@attrs.define
class _Lines:
    """The values and records in the lines that were read so far, of one file id."""

    values: dict[str, Any] = attrs.field(factory=dict[str, Any])  # Any: JSON
    last: int = 0
    """The number of the last value."""
    numbers: set[int] = attrs.field(factory=set[int])
    """The numbers of the lines with records."""
    shift: int | None = None
    """The line of a record minus the line number that is written in it."""


class _Contents:
    """The records and values in the lines of a file that were read so far."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.entries: list[LogEntry] = []
        self._lines: dict[object, _Lines] = {}
        self._headers = 0
        self._current = ""
        """The id in the last line, '' after a header."""

    def add(self, line: bytes, count: int) -> None:
        """Add a line. Raises :class:`ValueError` for a damaged line, which may be added as well."""
        data = object_of(line)
        if "format" in data or count == 1:
            self._add_header(data, count)
        elif "n" in data or "record" in data:
            id = str(data.get("file"))  # older files have none
            before, self._current = self._current, id
            lines = self._lines.setdefault(id, _Lines())
            if "n" in data:
                self._add_value(data, lines)
            else:
                self._add_record(data, lines, count)
            if before not in ("", id):
                raise ValueError("the line before it belongs to another file")

    def _add_header(self, data: dict[str, Any], count: int) -> None:
        if data.get("format") != FORMAT:
            raise ValueError("the line is not the header of a log")
        check_version(data, self.path)
        self._headers += 1
        self._current = ""
        if count > 1:
            # A later value without an id may belong to either file.
            self._lines[str(None)] = _Lines(values=_Unknown())
            raise ValueError("another file begins here: split it before this line")

    def _add_value(self, data: dict[str, Any], lines: _Lines) -> None:
        number, before = data["n"], lines.last
        if type(number) is not int or number < 1:
            raise ValueError(f"{number!r} is not the number of a value")
        key = f"{MARK}{number}"
        known, lines.values[key] = lines.values.get(key, ABSENT), _DOUBTFUL
        value = _resolved(data["value"], lines.values)
        lines.last = number
        if known is ABSENT or (known is not _DOUBTFUL and canonical(known) == canonical(value)):
            lines.values[key] = value
        if known is not ABSENT:
            raise ValueError(f"value {number} occurs twice")
        if number != before + 1:
            raise ValueError(
                f"value {number} follows value {before}: lines are lost, doubled or moved"
            )

    def _add_record(self, data: dict[str, Any], lines: _Lines, count: int) -> None:
        at, name, id = (_resolved(data[key], lines.values) for key in ("at", "name", "id"))
        if not isinstance(at, str) or not all(isinstance(text, str | None) for text in (name, id)):
            raise ValueError("the time, name or id is not a text")
        record, shared = (_resolved(data[key], lines.values) for key in ("record", "shared"))
        parts: list[Any] = [record, *shared] if is_list(shared) else []
        if not parts or not all(map(is_mapping, parts)):
            raise ValueError("the record is not a JSON object")
        number = data.get("line", count)  # older files have none
        if type(number) is not int or number in lines.numbers:
            raise ValueError(f"the record of line {number!r} occurs twice")
        lines.numbers.add(number)
        self.entries.append(LogEntry(at, name, id, FrozenDict(ChainMap(*parts))))
        before, lines.shift = lines.shift, count - number
        if before is None and self._headers < 2:
            before = 0
        if before not in (None, lines.shift):
            raise ValueError(
                f"the record was written as line {number}: lines are lost, doubled or moved"
            )


class _Unknown(dict[str, Any]):
    """Values that are not kept, because the lines of two files have no ids."""

    def __setitem__(self, key: str, value: Any) -> None:
        """Keep nothing."""


def read_log_file(path: str, *, salvage: bool, repairs: list[str]) -> list[LogEntry]:
    """Return the records of a file, none of one that was removed meanwhile.

    A last line without an end is reported in ``repairs``. Other damage raises
    :class:`TranscriptError`, with line and byte. With ``salvage``, it is reported as well. A file
    of another major version always raises.
    """
    contents, end = _Contents(path), 0
    try:
        with named("read", path), open(path, "rb", opener=_opened) as file:
            for count, line in enumerate(file, 1):
                start, end = end, end + len(line)
                location = f"line {count} at byte {start} of {path!r}"
                if line[-1:] != b"\n":
                    repairs.append(f"{location} has no end: {len(line)} bytes are not read")
                    break
                try:
                    contents.add(line[:-1], count)
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


def _opened(path: str, flags: int) -> int:
    """Return the descriptor of a file; a pipe is refused, because reading it would wait."""
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
    """Return a value of a line, frozen, with values in the place of its references."""
    if type(value) is str:
        if value[:1] != MARK:
            return value
        if value[1:2] == MARK:
            return value[1:]
        if values[value] is _DOUBTFUL:
            raise ValueError(f"value {value[1:]} has two different values")
        return values[value]
    if is_mapping(value):
        return FrozenDict(
            {_resolved(key, values): _resolved(item, values) for key, item in value.items()}
        )
    return FrozenList(_resolved(item, values) for item in value) if is_list(value) else value
