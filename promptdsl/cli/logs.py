"""Files that are not code: transcripts in a database, the records of a log, and other files.

In this order: transcripts in a database; the records of a log; the dropped parts and losses of a
record; and what a file is that a command cannot use.
"""

import os
import sqlite3
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import closing, contextmanager
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

from promptdsl import LogEntry, PromptLog, Transcript, TranscriptError
from promptdsl.cli.output import FileError, UsageError, suggestion
from promptdsl.comparing import visible

# Transcripts in a SQLite database. ``chats.db:KEY`` names a transcript.

DATABASE_SIGNATURE = b"SQLite format 3\0"
"""The first bytes of every database of SQLite 3."""


def is_database(path: str) -> bool:
    """Return whether a file is a database of SQLite."""
    try:
        with open(path, "rb") as file:
            return file.read(len(DATABASE_SIGNATURE)) == DATABASE_SIGNATURE
    except OSError:
        return False


def names_in_database(path: str) -> list[str]:
    """Return the names of the transcripts in a database: ``chats.db:KEY``.

    Raises :class:`FileError` if the database cannot be read, or is not a store of transcripts.
    """
    query = "SELECT DISTINCT key FROM promptdsl_entries ORDER BY key"
    return [f"{path}:{key}" for (key,) in _rows(path, query)]


@contextmanager
def transcript_file(name: str) -> Generator[str]:
    """Yield the path of a transcript; for a transcript in a database, that of a temporary copy.

    Raises :class:`FileError` if the database has no such transcript or cannot be read.
    """
    # A path and a key may have colons. The key begins after the first path that is a database.
    colons = [
        index
        for index, character in enumerate(name)
        if character == ":" and is_database(name[:index])
    ]
    if os.path.lexists(name) or not colons:
        yield name
        return
    path, key = name[: colons[0]], name[colons[0] + 1 :]
    query = "SELECT line FROM promptdsl_entries WHERE key = ? ORDER BY number"
    lines = [line for (line,) in _rows(path, query, key)]
    if not lines:
        raise FileError(f"{path} has no transcript {key!r}")
    with TemporaryDirectory() as folder:
        file = os.path.join(folder, "transcript.jsonl")
        Transcript().save(file)  # the first line of a transcript, which the database has not
        with open(file, "ab") as out:
            out.writelines(line.encode(errors="surrogatepass") + b"\n" for line in lines)
        yield file


def _rows(path: str, query: str, *values: str) -> list[tuple[str]]:
    """Return the rows of a query. Raises :class:`FileError` if the database cannot be read."""
    # ``SqliteStore`` would open the database for writing, and create its table.
    try:
        with closing(sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True)) as connection:
            return connection.execute(query, values).fetchall()
    except sqlite3.Error as error:
        raise FileError(f"cannot read the transcripts of {path}: {error}") from None


# The records of a log: those in its folder, or in the JSON that ``records list --json`` prints.

LOG_FILES = "records-*.jsonl"
"""The pattern of the names of the files in a log."""
LOG_SIGNATURE = b'"format":"promptdsl.log"'
"""A text in the first line of every file of a log."""
MAXIMUM_IDS = 8
"""The maximum number of ids that an error lists."""


def log_entries(
    folder: str, *, salvage: bool | None = None
) -> tuple[tuple[LogEntry, ...], list[str]]:
    """Return the entries of a log in the order of their times, and notes on its damage.

    With ``salvage``, damaged lines are skipped; it is ``None`` for a command without this option.
    Raises :class:`UsageError` if there is no such folder or no log in it, and :class:`FileError`
    for a damaged file.
    """
    log = PromptLog(folder)
    if not log.folder.is_dir():
        refuse_log_file(folder, command="records list")
        raise UsageError(f"there is no folder {folder}")
    if not any(log.folder.glob(LOG_FILES)):
        raise UsageError(f"there is no log in {folder}: a log has files {LOG_FILES}")
    try:
        return log.read(salvage=salvage is True), [*log.repairs]
    except TranscriptError as error:
        fix = (error.fix or "").replace("salvage=True", "--salvage")
        if salvage is None:
            command = f"promptdsl records list {folder} --salvage --json > good.json"
            fix = f"{command} writes the undamaged records: use good.json instead"
        raise FileError(f"{error.what}\n  {fix}") from None


def is_log(target: str) -> bool:
    """Return whether a folder has the files of a log."""
    return os.path.isdir(target) and any(PromptLog(target).folder.glob(LOG_FILES))


def refuse_log_file(path: str, *, command: str, options: str = "") -> None:
    """Raise :class:`UsageError` for a file of a log; the error has the command for its folder."""
    try:
        with open(path, "rb") as file:
            is_file_of_log = LOG_SIGNATURE in file.readline(200)
    except OSError:
        return
    if is_file_of_log:
        folder = os.path.dirname(path) or "."
        advice = f"write promptdsl {command} {folder}{options}"
        raise UsageError(f"{path} is only a part of a log: {advice}")


def listed_entries(data: Any) -> list[LogEntry] | None:  # Any: JSON
    """Return the entries in the JSON of ``records list --json``.

    Returns ``None`` for other JSON, and for an empty list.
    """
    try:
        entries = [
            LogEntry(row.get("at", ""), row.get("name"), row.get("id"), row["record"])
            for row in data
        ]
    except (AttributeError, KeyError, TypeError):
        return None
    return entries or None


def entry_of(
    entries: Sequence[LogEntry], id: str | None, origin: str
) -> tuple[LogEntry, list[str]]:
    """Return the last entry with an id, and a note if several entries have this id.

    If there is only one entry, ``id`` may be ``None``. ``origin`` is the log or the file, for
    errors. Raises :class:`UsageError` for an unknown id, for a missing id, and without entries.
    """
    if not entries:
        raise UsageError(f"{origin} has no records")
    if id is None:
        if len(entries) != 1:
            ids = _distinct(entry.id for entry in entries)
            listed = ", ".join(ids[:MAXIMUM_IDS])
            rest = f" and {len(ids) - MAXIMUM_IDS:,} more" if ids[MAXIMUM_IDS:] else ""
            problem = f"{origin} has {len(entries):,} records: choose one with --id"
            raise UsageError(f"{problem}: {listed}{rest}" if ids else problem)
        return entries[0], []
    matches = [entry for entry in entries if entry.id == id]
    refuse_unknown_id(id, matches, entries, origin)
    notes = (
        [f"{len(matches):,} records have this id: the last is shown"] if len(matches) > 1 else []
    )
    return matches[-1], notes


def refuse_unknown_id(
    id: str, matches: Sequence[LogEntry], entries: Sequence[LogEntry], origin: str
) -> None:
    """Raise :class:`UsageError`, with similar ids, if there are no ``matches``.

    ``matches`` are the entries with this id.
    """
    if not matches:
        ids = _distinct(entry.id for entry in entries)
        advice = suggestion(id, ids, maximum=MAXIMUM_IDS)
        raise UsageError(f"{origin} has no record with the id {id!r}{advice}")


def refuse_unknown_name(name: str, entries: Sequence[LogEntry], origin: str) -> None:
    """Raise :class:`UsageError`, with similar names, if no entry has the name of this prompt."""
    names = _distinct(entry.name for entry in entries)
    if not any(entry.name == name for entry in entries):
        raise UsageError(f"{origin} has no record of the prompt {name!r}{suggestion(name, names)}")


def _distinct(names_or_ids: Iterable[str | None]) -> list[str]:
    """Return the distinct names or ids, each on one line, with special characters escaped."""
    distinct = dict.fromkeys(names_or_ids)
    return [visible(name, one_line=True) for name in distinct if name is not None]


# The dropped parts and the losses of a record, as text.


def dropped_lines(record: Mapping[str, Any]) -> list[str]:  # Any: JSON
    """Return a line for each dropped or cleared part of a record: its tokens, reason and calls."""
    lines: list[str] = []
    for row in record.get("dropped") or ():
        text = str(row.get("what", row.get("address", "a part")))
        text += f", {row['tokens']:,} tokens" if "tokens" in row else ""
        text += f": {row['why']}" if "why" in row else ""
        calls = row.get("calls") or ()
        if calls:
            text += f": call{'s' if len(calls) > 1 else ''} {', '.join(map(str, calls))}"
        lines.append(text)
    return lines


def lost_lines(record: Mapping[str, Any]) -> list[str]:  # Any: JSON
    """Return a line for each loss of content or of a role of a record."""
    lines: list[str] = []
    for row in losses_of(record):
        words = [row.get("kind"), row.get("what", row.get("name")), row.get("why")]
        lines.append(": ".join(str(word) for word in words if word))
    return lines


def losses_of(record: Mapping[str, Any]) -> list[Mapping[str, Any]]:  # Any: JSON
    """Return the losses of content and roles in a record."""
    return [loss for loss in record.get("losses") or () if loss.get("kind") != "hint"]


# What a file is that a command cannot use, and which command can use it.

BEGINNING_SIZE = 4_096
"""How many bytes of a file are read to recognise it."""
DESCRIPTIONS = {
    (".prompt.txt",): "a snapshot: promptdsl diff {path} TARGET compares it",
    (".json",): "JSON: promptdsl records show {path} shows a record or a payload",
    (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet"): (
        "a table: promptdsl batch TARGET {path} renders a prompt for each row"
    ),
    (".j2", ".jinja", ".jinja2", ".md", ".txt"): (
        "a text: name a function that returns a prompt with it, such as System(Template(path))"
    ),
}
"""What a file is, and what to do with it, by the possible ends of its name."""


def described_content(path: str) -> str:
    """Return what a file is by its first bytes, with the command that reads it; else ``""``."""
    try:
        with open(path, "rb") as file:
            beginning = file.read(BEGINNING_SIZE)
    except OSError:
        return ""
    first_line = beginning.partition(b"\n")[0]
    if beginning.startswith(DATABASE_SIGNATURE):
        return f"a database: promptdsl transcript list {path} lists its transcripts"
    if LOG_SIGNATURE in first_line:
        return f"a file of a log: promptdsl records list {os.path.dirname(path) or '.'}"
    if b'"promptdsl.transcript"' in first_line:
        return f"a transcript: promptdsl transcript show {path}"
    return ""


def described_file(path: str) -> str:
    """Return what a file is by its first bytes or its name, and what to do with it; else ``""``."""
    if description := described_content(path):
        return description
    for ends, template in DESCRIPTIONS.items():
        if path.lower().endswith(ends):
            return template.format(path=path)
    return ""
