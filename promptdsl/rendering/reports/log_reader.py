"""Reading a file of a log: each line is checked, and damage is told by its line and byte."""

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
"""Begins a reference, as ``"~7"``: the value 7. A text that begins so has it twice."""
_SALVAGE = "read it with salvage=True to get what is good"


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


_DOUBTFUL = object()
"""Stands for a value whose number has two values."""


class _Contents:
    """What the lines of a file hold so far: its values and its records."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.entries: list[LogEntry] = []
        self._values: dict[str, Any] = {}  # Any: JSON
        self._last = 0
        """The number of the last value."""
        self._before = 0
        """How many lines are before the last header."""
        self._lines: set[int] = set()
        """The numbers of the lines with records."""

    def add(self, line: bytes, count: int) -> None:
        """Add a line; :class:`ValueError` says what is wrong with it, also where it is added."""
        data = object_of(line)
        if "format" in data or count == 1:
            self._add_header(data, count)
        elif "n" in data:
            self._add_value(data)
        elif "record" in data:
            self._add_record(data, count)

    def _add_header(self, data: dict[str, Any], count: int) -> None:
        if data.get("format") != FORMAT:
            raise ValueError("it is no header of a log")
        check_version(data, self.path)
        if count > 1:
            # Nobody knows of which file a later value is: records that refer to one are damaged.
            self._values.clear()
            self._before, self._last, self._lines = count - 1, 0, set()
            raise ValueError("another file begins here: split it before this line to read both")

    def _add_value(self, data: dict[str, Any]) -> None:
        number, before = data["n"], self._last
        if type(number) is not int or number < 1:
            raise ValueError(f"{number!r} is no number of a value")
        key = f"{MARK}{number}"
        known, self._values[key] = self._values.get(key, ABSENT), _DOUBTFUL
        value = _resolved(data["value"], self._values)
        self._last = number
        if known is ABSENT or (known is not _DOUBTFUL and canonical(known) == canonical(value)):
            self._values[key] = value
        if known is not ABSENT:
            raise ValueError(f"value {number} was there before")
        if self._before:
            self._values.clear()
        if number != before + 1:
            raise ValueError(f"it is value {number} after {before}: lost, doubled or moved")

    def _add_record(self, data: dict[str, Any], count: int) -> None:
        at, name, id = (_resolved(data[key], self._values) for key in ("at", "name", "id"))
        if (
            type(at) is not str
            or not isinstance(name, str | None)
            or not isinstance(id, str | None)
        ):
            raise ValueError("its time, name or id is no text")
        record, shared = (_resolved(data[key], self._values) for key in ("record", "shared"))
        parts: list[Any] = [record, *shared] if is_list(shared) else []
        if not parts or not all(map(is_mapping, parts)):
            raise ValueError("its record is no JSON object")
        line = count - self._before
        number = data.get("line", line)  # older files have none
        if type(number) is not int or number in self._lines:
            raise ValueError(f"the record of line {number!r} was there before")
        self._lines.add(number)
        self.entries.append(LogEntry(at, name, id, FrozenDict(ChainMap(*parts))))
        if number != line:
            raise ValueError(f"it was written as line {number}: lines are lost, doubled or moved")


def read_log_file(path: str, *, salvage: bool, repairs: list[str]) -> list[LogEntry]:
    """Return the records of a file, none of one that was removed meanwhile.

    A last line without an end is told in ``repairs``. Other damage raises
    :class:`TranscriptError`, with line and byte; with ``salvage``, it is told as well. A file of
    another major version always raises.
    """
    contents, end = _Contents(path), 0
    try:
        with named("read", path), open(path, "rb", opener=_opened) as file:
            for count, line in enumerate(file, 1):
                start, end = end, end + len(line)
                place = f"line {count} at byte {start} of {path!r}"
                if line[-1:] != b"\n":
                    repairs.append(f"{place} has no end: {len(line)} bytes are not read")
                    break
                try:
                    contents.add(line[:-1], count)
                except TranscriptError:
                    raise
                except (ValueError, KeyError, TypeError, RecursionError) as error:
                    problem = f"{place} is damaged: {_reason(error)}"
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
    """Open a file; a pipe, which would be waited for, is refused."""
    if not os.path.isfile(path):
        os.stat(path)  # says whether it is there
        raise OSError(f"{path} is no file")
    return os.open(path, flags)


def _reason(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"{error} is missing"
    if isinstance(error, RecursionError):
        return "it is nested too deep"
    return str(error)


def _resolved(value: Any, values: Mapping[str, Any]) -> Any:  # Any: JSON
    """Return a value of a line with what its references stand for; nobody can change it."""
    if type(value) is str:
        if value[:1] != MARK:
            return value
        if value[1:2] == MARK:
            return value[1:]
        if values[value] is _DOUBTFUL:
            raise ValueError(f"value {value[1:]} is not the same everywhere")
        return values[value]
    if is_mapping(value):
        return FrozenDict(
            {_resolved(key, values): _resolved(item, values) for key, item in value.items()}
        )
    return FrozenList(_resolved(item, values) for item in value) if is_list(value) else value
