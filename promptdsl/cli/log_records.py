"""The records of a log: those in its folder, or in the JSON that ``records list --json`` prints."""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from promptdsl import LogEntry, PromptLog, TranscriptError
from promptdsl.cli.errors import FileError, UsageError, near
from promptdsl.comparing import visible

FILES = "records-*.jsonl"
HEADER = b'"format":"promptdsl.log"'
"""A text in the first line of a file of a log."""
SHOWN = 8
"""The most ids that an error lists."""


def log_entries(
    folder: str, *, salvage: bool | None = None
) -> tuple[tuple[LogEntry, ...], list[str]]:
    """Return the entries of a log by their times, and notes on its damage.

    ``salvage`` is ``None`` for a command without this option. Raises :class:`UsageError` for a
    folder that is not there or has no log, and :class:`FileError` for a damaged file.
    """
    log = PromptLog(folder)
    if not log.folder.is_dir():
        refuse_log_file(folder, command="records list")
        raise UsageError(f"there is no folder {folder}")
    if not any(log.folder.glob(FILES)):
        raise UsageError(f"there is no log in {folder}: it would have files {FILES}")
    try:
        return log.read(salvage=salvage is True), [*log.repairs]
    except TranscriptError as error:
        fix = (error.fix or "").replace("salvage=True", "--salvage")
        if salvage is None:
            command = f"promptdsl records list {folder} --salvage --json > good.json"
            fix = f"write {command} to get the good lines, and give good.json"
        raise FileError(f"{error.what}\n  {fix}") from None


def is_log(target: str) -> bool:
    """Return whether a folder has the files of a log."""
    return os.path.isdir(target) and any(PromptLog(target).folder.glob(FILES))


def refuse_log_file(path: str, *, command: str, more: str = "") -> None:
    """Raise :class:`UsageError` for a file of a log, with the command for its folder."""
    try:
        with open(path, "rb") as file:
            is_file_of_log = HEADER in file.readline(200)
    except OSError:
        return
    if is_file_of_log:
        folder = os.path.dirname(path) or "."
        advice = f"write promptdsl {command} {folder}{more}"
        raise UsageError(f"{path} is a file of a log: {advice}")


def listed_entries(data: Any) -> list[LogEntry] | None:  # Any: JSON
    """Return the entries in the JSON of ``records list --json``, ``None`` for other data."""
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
    """Return the last entry with an id, and a note if it is not the only one.

    A single entry needs no id. Raises :class:`UsageError` for an unknown and for a missing id.
    """
    if id is None:
        if len(entries) != 1:
            ids = _names(entry.id for entry in entries)
            listed = ", ".join(ids[:SHOWN])
            more = f" and {len(ids) - SHOWN:,} more" if ids[SHOWN:] else ""
            records = f"{origin} has {len(entries):,} records: name one with --id"
            raise UsageError(f"{records}: {listed}{more}" if ids else records)
        return entries[0], []
    same = [entry for entry in entries if entry.id == id]
    check_known(id, same, entries, origin)
    notes = [f"{len(same):,} records have this id: the last is shown"] if len(same) > 1 else []
    return same[-1], notes


def check_known(
    id: str, same: Sequence[LogEntry], entries: Sequence[LogEntry], origin: str
) -> None:
    """Raise :class:`UsageError` if no entry has an id, with the nearest ids."""
    if not same:
        problem = f"{origin} has no record with the id {id!r}"
        raise UsageError(f"{problem}{near(id, _names(entry.id for entry in entries)[:SHOWN])}")


def check_name(name: str, entries: Sequence[LogEntry], origin: str) -> None:
    """Raise :class:`UsageError` if no entry is of a prompt with a name, with the nearest names."""
    names = _names(entry.name for entry in entries)
    if not any(entry.name == name for entry in entries):
        raise UsageError(f"{origin} has no record of the prompt {name!r}{near(name, names)}")


def _names(names: Iterable[str | None]) -> list[str]:
    """Return the distinct names, as they are shown."""
    return [visible(name, one_line=True) for name in dict.fromkeys(names) if name is not None]


def dropped_lines(record: Mapping[str, Any]) -> list[str]:  # Any: JSON
    """Return a line for each dropped or cleared part of a record, with its calls."""
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
