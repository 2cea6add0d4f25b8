"""Logs with two of each thing: what is written, and what is read of damaged files.

``python -m tests.records.log_cases`` writes the JSON file beside this one anew.
"""

import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from promptdsl import *
from tests.cases_file import write_cases
from tests.internals import log_module

# CASES: the lines of the file beside this one are counted from here.
NOON = datetime(2026, 11, 27, 12, tzinfo=UTC)
ONE, TWO = "one long text " * 3, "two long texts " * 3
QUOTED = '\\"a quoted" text with \\ and "~1" that is long' * 2
Line = dict[str, Any]
FORMAT: Line = {"format": "1.1"}


def file_lines(folder: str) -> list[list[Any]]:
    """Return the lines of each file of a folder, in order, with ``F`` for the id of the file."""
    files = sorted(Path(folder).iterdir(), key=lambda path: path.name)
    lines = [path.read_text("utf-8").splitlines() for path in files]
    return [
        [json.loads(re.sub(r'"file":"\w+"|,"sum":"\w+"', _id, it)) for it in text] for text in lines
    ]


def _id(match: re.Match[str]) -> str:
    return '"file":"F"' if match[0].startswith('"file') else ""


def appended(*records: Line, most: int = 2**20) -> list[Any]:
    """Return the lines of a log to which records were appended, and what is read of it."""
    with TemporaryDirectory() as folder, PromptLog(folder, max_bytes=most) as log:
        for number, record in enumerate(records):
            log.append({**FORMAT, **record}, name=f"n{number}", at=NOON - timedelta(hours=number))
        return [file_lines(folder), [[entry.name, entry.record] for entry in log]]


def two_logs() -> list[Any]:
    """Return the names of the records of two logs in one folder, which wrote at equal times."""
    with TemporaryDirectory() as folder, PromptLog(folder) as one, PromptLog(folder) as two:
        for number, log in enumerate((one, two, one, two)):
            log.append(
                {**FORMAT, "a": ONE}, name=f"n{number}", at=NOON + timedelta(hours=number // 3)
            )
        one.append({**FORMAT, "a": TWO}, name="first", at=NOON - timedelta(hours=1))
        return [sorted(map(len, file_lines(folder))), [entry.name for entry in two]]


def failed() -> list[Any]:
    """Return the lines of a log where a record of two new texts was refused, and came again."""

    def refused(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with TemporaryDirectory() as folder, PromptLog(folder) as log:
        log.append({**FORMAT, "a": ONE}, at=NOON)
        write, log_module.write_all = log_module.write_all, refused
        try:
            log.append({**FORMAT, "a": TWO, "b": ONE, "c": QUOTED}, at=NOON)
        except TranscriptError:
            pass
        finally:
            log_module.write_all = write
        log.append({**FORMAT, "c": QUOTED, "b": ONE, "a": TWO}, at=NOON)
        log.append({**FORMAT, "a": TWO, "c": QUOTED}, at=NOON)
        return file_lines(folder)


SHARED = {"model": {"model": "m"}, "settings": {"x": ONE}, "tools": [TWO]}
WRITTEN: Mapping[str, Callable[[], object]] = {
    "two texts, each twice": partial(appended, {"a": [ONE, TWO, ONE]}, {"b": TWO, "a": ONE}),
    "39 and 40 characters": partial(
        appended, {"a": ["x" * 39, "y" * 40, "z" * 39, "y" * 40, "y" * 41]}
    ),
    "texts that look like references": partial(
        appended, {"~1": "~2", "~~": ["~", "a~1", "~" * 44, '"~3']}, {"~" * 44: "~1"}
    ),
    "escapes in long texts": partial(
        appended, {"a": QUOTED, QUOTED: [QUOTED, f"{QUOTED}\n{ONE}", "\\" * 50]}, {"a": '"' * 50}
    ),
    "shared parts, equal and others": partial(
        appended,
        {**SHARED, "outline": [1], "x": 1},
        {**SHARED, "outline": [2], "x": 2},
        {**SHARED, "tools": [], "outline": [1], "x": 3},
        {"outline": [2], "x": 4},
        {"x": 5},
    ),
    "rotated": partial(appended, {"a": ONE}, {"a": ONE}, {"a": TWO}, {"a": ONE}, most=400),
    "rotated each time": partial(appended, {"a": ONE}, {"a": ONE}, {"a": TWO}, most=1),
    "two logs": two_logs,
    "a record that was refused": failed,
}


# Reading.

HEADER: Line = {"format": "promptdsl.log", "version": "1.0"}


def value(number: object, text: object, file: str | None = "F") -> Line:
    """Return a line with a value."""
    line = {"n": number, "value": text}
    return line if file is None else {**line, "file": file}


def record(
    id: object, line: object, *shared: object, file: str | None = "F", **data: object
) -> Line:
    """Return a line with a record."""
    more = {} if line is None else {"line": line}
    more |= {} if file is None else {"file": file}
    at = f"2026-11-27T12:00:0{len(str(id))}+00:00"
    return {"at": at, "name": "~~n", "id": id, "record": data, "shared": [*shared], **more}


def read(*lines: Line | bytes) -> dict[str, Any]:
    """Return what is read of a file with such lines, what is told of it, and what is raised."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "records-1.jsonl"
        path.write_bytes(
            b"".join(it if isinstance(it, bytes) else log_module.with_sum(it) for it in lines)
        )
        log, error = PromptLog(folder), ""
        try:
            log.read()
        except TranscriptError as raised:
            error = raised.what
        try:
            entries = [[it.name, it.id, it.record] for it in log.read(salvage=True)]
        except TranscriptError:
            entries = [["not read"]]
        told = [re.sub(rf"'?{folder}[^']*'?", "FILE", it) for it in (error, *log.repairs)]
        return {"read": entries, "told": told}


GOOD = [HEADER, value(1, "one"), value(2, {"k": "~1"}), record("a", 4, "~2", x="~1", y="~~1")]
READ: Mapping[str, list[Line | bytes]] = {
    "good": [*GOOD, value(3, ["~1", "~2"]), record("b", 6, "~2", {"k": 1, "z": "~3"}, x=1)],
    "the record before what it shares": [*GOOD, record("b", 5, {"x": 1, "y": 2}, "~2", x=3)],
    "a name and an id that are references": [*GOOD, {**record("~1", 5), "name": "~1"}],
    "a key that is a reference": [*GOOD, record("b", 5, **{"~1": 1, "~~1": 2})],
    "no line number": [
        HEADER,
        record("a", None, file=None, x=1),
        record("b", None, file=None, x=2),
    ],
    "a value that is lost": [HEADER, value(1, "one"), value(3, "two"), record("a", 4, x="~3")],
    "two values that changed places": [
        HEADER,
        value(2, "one"),
        value(1, "two"),
        record("a", 4, x="~2"),
    ],
    "a value twice, the same": [*GOOD, value(2, {"k": "one"}), record("b", 6, x="~2")],
    "a value twice, another": [
        *GOOD,
        value(1, "two"),
        record("b", 6, x="~1"),
        record("c", 7, x="~2"),
    ],
    "a value three times": [
        *GOOD,
        value(1, "two"),
        value(1, "one"),
        record("b", 7, x="~1"),
        value(3, 3),
        record("c", 9, x="~3"),
    ],
    "a value that refers to nothing": [
        HEADER,
        value(1, "~1"),
        value(2, "~9"),
        record("a", 4, x="~2"),
    ],
    "a value with an odd number": [
        HEADER,
        value(True, 1),
        value(0, 1),
        value(-1, 1),
        value("1", 1),
        value(1, 5),
        record("a", 7, x="~1"),
    ],
    "a record twice": [*GOOD, record("b", 4, x=1), record("c", 6, x=2)],
    "a line that is lost": [HEADER, record("a", 3, x=1), record("b", 4, x=2), record("c", 6, x=3)],
    "a line that is lost later": [
        HEADER,
        record("a", 2, x=1),
        record("b", 4, x=2),
        record("c", 5, x=3),
    ],
    "two lines that changed places": [HEADER, record("a", 3, x=1), record("b", 2, x=2)],
    "lines of two files": [
        HEADER,
        value(1, "F1"),
        value(1, "G1", "G"),
        record("a", 4, x="~1"),
        record("b", 2, x="~1", file="G"),
        value(2, "F2"),
        record("c", 7, x="~2"),
    ],
    "two files, one behind the other": [
        *GOOD,
        HEADER,
        value(1, "G1", "G"),
        record("b", 3, x="~1", file="G"),
        record("c", 4, x="~2", file="G"),
    ],
    "two files without ids": [
        HEADER,
        value(1, "one", None),
        record("a", None, x="~1", file=None),
        HEADER,
        value(1, "two", None),
        record("b", None, x="~1", file=None),
        record("c", None, x=3, file=None),
    ],
    "no header": [value(1, "one"), record("a", 2, x="~1")],
    "a header twice": [HEADER, HEADER, record("a", 3, x=1)],
    "a header of something else": [{"format": "x", "version": "1.0"}, record("a", 2, x=1)],
    "a newer version": [{**HEADER, "version": "1.9"}, {"new": 1}, record("a", 3, x=1), {"new": 2}],
    "another version": [HEADER, record("a", 2, x=1), {**HEADER, "version": "2.0"}],
    "no end": [*GOOD, record("b", 5, x=1), b'{"at":'],
    "two damaged lines": [
        *GOOD,
        b"{}\n",
        record("b", 6, x="~1"),
        b'{"a":1}\n',
        record("c", 8, x="~2"),
    ],
    "an empty line": [HEADER, b"\n", record("a", 3, x=1)],
    "no texts": [
        HEADER,
        {**record("a", 2), "at": 1},
        {**record("b", 3), "name": 1},
        record(5, 4),
        {**record("c", 5), "name": None},
        {**record("d", 6), "shared": {}},
        {**record("e", 7), "record": []},
        record("f", 8, []),
        record("g", True),
        {"record": {}, "file": "F"},
        {**record("h", 11), "id": None},
    ],
}


LOGS: Mapping[str, Callable[[], object]] = {
    **WRITTEN,
    **{f"read: {name}": partial(read, *lines) for name, lines in READ.items()},
}


if __name__ == "__main__":
    write_cases(__file__, LOGS)
