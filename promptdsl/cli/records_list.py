"""``promptdsl records list``: the records of a log, by their times."""

import argparse
from collections.abc import Iterator
from datetime import UTC, datetime

from promptdsl import LogEntry
from promptdsl.cli.commands import AddParser, add_command
from promptdsl.cli.errors import UsageError
from promptdsl.cli.log_records import (
    check_known,
    check_name,
    dropped_lines,
    log_entries,
    losses_of,
    lost_lines,
)
from promptdsl.cli.record_rows import call_rows, notes_on, row_lines
from promptdsl.cli.show import as_json, fields
from promptdsl.comparing import cut_to, terminal_width, visible

DESCRIPTION = """\
List the records of a PromptLog by day: the time in UTC, the name and the id of each, its model, its
tokens as a bar, those that a cache serves after the call before, and the number of its messages,
losses and dropped parts. With --dropped and --lost, these are shown below each record. With --json,
print complete records, which records show and diff read."""


def add_list(add_parser: AddParser) -> None:
    """Add the command and its options."""
    parser = add_command(
        add_parser,
        "records list",
        run=run,
        takes="FOLDER",
        description=DESCRIPTION,
        summary="list the records of a log",
        failed="a file of the log is damaged",
    )
    add = parser.add_argument
    add("target", metavar="FOLDER", help="the folder of the log")
    add(
        "--since",
        metavar="TIME",
        help="only records from this time on, such as 2026-11-27T14:03; UTC",
    )
    add("--name", help="only records of the prompt with this name")
    add("--id", help="only the record of the request with this id")
    add("--lost", action="store_true", help="only records with losses, and show these")
    add(
        "--dropped",
        action="store_true",
        help="only records with dropped or cleared parts, and show these",
    )
    add("--salvage", action="store_true", help="skip damaged lines, and name them")
    add("--json", action="store_true", help="print the records as JSON")


def run(arguments: argparse.Namespace) -> tuple[str, list[str]]:
    """Return the data and the notes of the command."""
    entries, notes = log_entries(arguments.target, salvage=arguments.salvage)
    if arguments.id is not None:
        same = [entry for entry in entries if entry.id == arguments.id]
        check_known(arguments.id, same, entries, arguments.target)
    if arguments.name is not None:
        check_name(arguments.name, entries, arguments.target)
    wanted = [*_wanted(entries, arguments)]
    if arguments.json:
        data = [fields(entry, "at", "name", "id", "record") for entry in wanted]
        return as_json(data), notes
    lines: list[str] = []
    width = terminal_width()
    for row, line in row_lines(call_rows(entries, wanted), width):
        lines.append(line)
        missing: list[str] = []
        if row is not None and arguments.dropped:
            missing += dropped_lines(row.entry.record)
        if row is not None and arguments.lost:
            missing += lost_lines(row.entry.record)
        shown = [f"    {visible(text, one_line=True)}" for text in missing]
        lines += shown if width is None else [cut_to(text, width) for text in shown]
    return "\n".join(lines), [*notes, *notes_on(wanted)]


def _wanted(entries: tuple[LogEntry, ...], arguments: argparse.Namespace) -> Iterator[LogEntry]:
    since = ""
    if arguments.since:
        try:
            time = datetime.fromisoformat(arguments.since)
        except ValueError:
            raise UsageError(f"--since {arguments.since} is not a time in ISO 8601") from None
        since = (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC).isoformat()
    for entry in entries:
        is_named = arguments.name in (None, entry.name) and arguments.id in (None, entry.id)
        is_kept = not arguments.lost or bool(losses_of(entry.record))
        if arguments.dropped and not entry.record.get("dropped"):
            is_kept = False
        if entry.at >= since and is_named and is_kept:
            yield entry
