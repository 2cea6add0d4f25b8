"""``promptdsl transcript``: it shows, checks, repairs and converts recorded conversations.

In this order: the turns and entries of a transcript as text, and the commands.
"""

import argparse
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from textwrap import dedent, wrap
from typing import Any, NamedTuple
from unicodedata import east_asian_width

import attrs

from promptdsl import (
    History,
    Message,
    Timeline,
    Transcript,
    TranscriptEntry,
    TranscriptError,
    render,
)
from promptdsl.cli.commands import COMMANDS, AddParser, add_command
from promptdsl.cli.convert import PROVIDER_FORMATS, recorded_conversation
from promptdsl.cli.logs import described_content, is_database, names_in_database, transcript_file
from promptdsl.cli.options import PROVIDERS, checked_provider
from promptdsl.cli.output import (
    FileError,
    UsageError,
    as_json,
    as_messages,
    fields,
    progress,
    write_report,
)
from promptdsl.comparing import terminal_width, visible

# The turns and entries of a transcript as text, by days.

MAXIMUM_ROWS = 3
"""The maximum number of rows of a text on a terminal, without ``--full``."""
MINIMUM_COLUMNS = 20
"""The minimum width of a text next to its number, time and role; else it comes below them."""
INDENT = "  "


class ShownEntry(NamedTuple):
    """An entry of a transcript, as it is shown.

    ``at`` is its time in UTC, and ``texts`` are the texts of its blocks. ``is_removed`` says that a
    later entry removed or replaced it.
    """

    number: int
    at: str
    role: str
    texts: Sequence[str]
    is_removed: bool


def entry_lines(
    entries: Iterable[ShownEntry], *, width: int | None, is_full: bool
) -> Iterator[str]:
    """Yield the rows of entries; a line with the day comes before the entries of this day.

    Rows fit the ``width`` of a terminal, and a text has at most ``MAXIMUM_ROWS`` of them. Without
    ``width``, nothing is cut, and a text is one row. With ``is_full``, a text is complete, with its
    own lines.
    """
    last_day = ""
    for entry in entries:
        day, _, time = entry.at.partition(" ")
        if day and day != last_day:
            yield f"{day} (UTC)"
        last_day = day or last_day
        start = f"{'-' if entry.is_removed else ' '}{entry.number:>4}  {time:8}  {entry.role:9}  "
        columns = None if width is None else width - len(start)
        if width is not None and width < len(start) + MINIMUM_COLUMNS:
            # The terminal is narrow: the texts come below the number, time and role.
            yield from wrap(" ".join(start.split()), width)
            start, columns = INDENT, width - len(INDENT)
        for text in entry.texts or [""]:
            for row in _text_rows(text, columns, is_full=is_full):
                yield f"{start}{row}".rstrip()
                start = " " * len(start)


def shown_time(at: str | None) -> str:
    """Return a time in UTC, to the second; ``""`` if it is not a time."""
    try:
        return f"{datetime.fromisoformat(at or '').astimezone(UTC):%Y-%m-%d %H:%M:%S}"
    except (ValueError, OverflowError):
        return ""


def _text_rows(text: str, columns: int | None, *, is_full: bool) -> list[str]:
    """Return the rows of a text: with ``is_full`` those of its lines, else those of one line."""
    lines = dedent(text).split("\n") if is_full else [" ".join(text.split())]
    lines = [visible(line, one_line=True) for line in lines]
    if columns is None:
        return lines
    rows: list[str] = []
    for line in lines:
        rows += wrap(line, _characters(line, columns)) or [""]
    if is_full or len(rows) <= MAXIMUM_ROWS:
        return rows
    last = rows[MAXIMUM_ROWS - 1]
    return [*rows[: MAXIMUM_ROWS - 1], f"{last[: _characters(last, columns) - 1]}…"]


def _characters(text: str, columns: int) -> int:
    """Return how many characters of a text surely fit a number of columns."""
    is_wide = any(east_asian_width(character) in "WF" for character in text)
    return columns // 2 if is_wide else columns


# ``promptdsl transcript``: its commands, which show, check, repair and convert transcripts.

TRANSCRIPT_FORMAT = "transcript"
"""The name of the format of transcripts, for ``--from`` and ``--to``."""
FIRST_LINE_SIGNATURE = b'"promptdsl.transcript"'
"""A text in the first line of every transcript."""
LINE_SIGNATURE = b',"sum":"'
"""A text in each other line of a transcript: the key of its checksum."""
INPUT_HELP = {
    "FILE": "the file of a transcript, or DATABASE:KEY for a transcript in a database",
    "STORE": "a folder, or a SQLite database",
    "INPUT": "the file of a conversation",
}
"""The help of the argument of a command, by its placeholder."""


def add_transcript(add_parser: AddParser) -> None:
    """Add the command and its own commands; the docstring of each function is the help."""
    usage, summary = "promptdsl transcript COMMAND ... [options]", COMMANDS["transcript"][1]
    parser = add_parser("transcript", usage=usage, help=summary, allow_abbrev=False)
    kinds = parser.add_subparsers(
        dest="kind", metavar="COMMAND", title="commands", prog="promptdsl transcript", required=True
    )
    commands = {
        run_show: "FILE",
        run_check: "FILE ...",
        run_repair: "FILE OUT",
        run_vacuum: "FILE OUT",
    }
    for run, takes in {**commands, run_list: "STORE", run_convert: "INPUT [OUT]"}.items():
        name, description = run.__name__.removeprefix("run_"), run.__doc__ or "."
        command = add_command(
            kinds.add_parser,
            f"transcript {name}",
            run=run,
            takes=takes,
            description=description,
            summary=description[0].lower() + re.split("[:,.]", description)[0][1:],
            failed="the content of a file is wrong",
        )
        add, (metavar, _, out) = command.add_argument, takes.partition(" ")
        nargs = "+" if out == "..." else None
        add("target", metavar=metavar, nargs=nargs, help=INPUT_HELP[metavar])
        if "OUT" in out:
            optional = "?" if "[" in out else None
            add("out", metavar="OUT", nargs=optional, help="a new file")
        if run is run_show:
            add(
                "--all",
                action="store_true",
                help="show all entries; an entry that is not current any more begins with -",
            )
            help_text = "show complete texts, with their lines"
            add("--full", action="store_true", help=help_text)
        if run in (run_show, run_list):
            add("--json", action="store_true", help="print the same as JSON")
        if run is run_convert:
            formats = {"--from": PROVIDER_FORMATS, "--to": PROVIDERS}
            for option, provider_formats in formats.items():
                # Servers are not listed: there are many.
                help_text = f"{', '.join([TRANSCRIPT_FORMAT, *provider_formats])}, or a server"
                add(option, required=True, metavar="FORMAT", help=help_text)
            help_text = "a call without a result is an error, gets the result 'interrupted', or is "
            help_text += "left out"
            add("--repair", choices=("error", "fill", "prune"), default="error", help=help_text)


def _open_transcript(name: str, *, salvage: bool = False) -> Transcript:
    """Return a transcript after reading all its entries.

    With ``salvage``, only its undamaged entries are read, and ``repairs`` says what was lost.
    Raises :class:`UsageError` for a folder or a database, and for a file that cannot be read.
    Raises :class:`FileError` for a file that is damaged or is not a transcript.
    """
    _refuse_store(name)
    with transcript_file(name) as path:
        try:
            with Transcript.open(path, read_only=True, salvage=salvage) as transcript:
                # The messages are read now, as long as there is a file: it may be a temporary copy.
                _ = [entry.message for entry in transcript.entries]
        except TranscriptError as error:
            raise _usage_error(error, path, name) from None
    transcript.repairs = tuple(note.replace(path, name) for note in transcript.repairs)
    return transcript


def _refuse_store(name: str) -> None:
    """Raise :class:`UsageError` for a folder, and for a database without a key."""
    if os.path.isdir(name):
        problem = f"{name} is a folder"
        raise UsageError(f"{problem}: promptdsl transcript list {name} lists its transcripts")
    if is_database(name):
        try:
            names = [*map(_one_line, names_in_database(name))]
        except FileError:
            raise FileError(f"{name} is a SQLite database without transcripts") from None
        problem = f"{name} is a database: write {name}:KEY for a transcript in it"
        example = f", such as {names[0]}" if names else "; it has no transcripts"
        raise UsageError(f"{problem}{example}\n  promptdsl transcript list {name} lists them")


def _usage_error(error: TranscriptError, path: str, name: str) -> UsageError:
    """Return the error of this command for an error of ``Transcript``.

    ``path`` is the file, and ``name`` is what the user wrote. A file that cannot be read is a
    :class:`UsageError`; a file that is damaged or is not a transcript is a :class:`FileError`.
    """
    if isinstance(error.__cause__, OSError):
        folder, _, key = name.partition(":")
        if key and os.path.isdir(folder):
            fix = f"{folder} is a folder, with a file for each key: {folder}/{key}.jsonl"
            return UsageError(f"{error.what}\n  {fix}")
        return UsageError(error.what)
    fix = error.fix or ""
    if "salvage" in fix:
        # The file is damaged, unless it is another kind of file. A line of a log has a checksum,
        # too, so a log begins like a transcript.
        content = described_content(path)
        if not _begins_as_transcript(path) or content.startswith("a file of a log"):
            if content:
                return FileError(f"{name} is not a transcript, but {content}")
            fix = "name a file that Transcript.open() or save() wrote, or DATABASE:KEY"
            return FileError(f"{name} is not a transcript\n  {fix}")
        fix = f"promptdsl transcript repair {name} OUT keeps the undamaged entries"
    return FileError(f"{error.what.replace(path, name)}\n  {fix}".rstrip())


def _write_new(out: str, write: Callable[[str], None]) -> str:
    """Write a new file and return its path. Raises :class:`UsageError` if the file exists."""
    if os.path.lexists(out):
        raise UsageError(f"the file {out} already exists: name a new file")
    try:
        write(out)
    except TranscriptError as error:
        raise _usage_error(error, out, out) from None
    return out


def _line_on(path: str, transcript: Transcript) -> str:
    """Return a line with the counts of turns, entries and bytes of a transcript."""
    counts = f"turns {len(transcript.turns):,}, entries {len(transcript.entries):,}"
    return f"{_one_line(path)}: {counts}, bytes {_size(path, transcript):,}"


def _size(path: str, transcript: Transcript) -> int:
    """Return the bytes of a file; for a transcript in a database, the bytes of its lines."""
    if os.path.exists(path):
        return os.path.getsize(path)
    return sum(len(entry.to_line().encode()) for entry in transcript.entries)


def _notes_on(path: str, transcript: Transcript) -> list[str]:
    """Return notes on what was repaired, and on entries whose type this version does not know."""
    opaque = [entry for entry in transcript.entries if entry.opaque]
    unknown = [
        f"read-only: entry {entry.number} has the unknown type {entry.type!r}" for entry in opaque
    ]
    return [f"{path}: {note}" for note in (*transcript.repairs, *unknown)]


def run_show(arguments: argparse.Namespace) -> tuple[str, list[str]]:
    """Show the current turns of a transcript, its metadata, and its token counts. Times are in UTC.

    On a terminal, a text has at most three lines, without --full.
    """
    transcript = _open_transcript(arguments.target)
    current = {turn.entry.number for turn in transcript.turns}
    data = fields(transcript, "metadata", "usage")
    if arguments.all:
        rows = [(entry.number, entry, entry.message) for entry in transcript.entries]
        data["entries"] = [fields(entry, "number", "at", "type", "data") for _, entry, _ in rows]
    else:
        rows = [(turn.number, turn.entry, turn.message) for turn in transcript.turns]
        data["turns"] = [_turn_data(*row) for row in rows]
    shown_entries: list[ShownEntry] = []
    for number, entry, message in rows:
        content = entry.data if entry.opaque else entry.data.get("note", entry.data)
        role, texts = entry.type, [as_json(content)]
        # Only messages and notes can be current; other entries change those before them.
        is_content = message is not None or role == "note"
        if message is not None:
            # A text for each block, without the line of the message and without the word "text".
            texts = re.split(r"\n {2}(?! )(?:text\n)?", as_messages([message]))[1:]
            # A summary keeps its type as its role. With --all, a change keeps its type, too.
            if entry.type == "message" or (entry.type != "summary" and not arguments.all):
                role = message.role
        is_removed = is_content and entry.number not in current
        shown_entries.append(ShownEntry(number, shown_time(entry.at), role, texts, is_removed))
    lines = [*entry_lines(shown_entries, width=terminal_width(), is_full=arguments.full)]
    metadata = transcript.metadata.items()
    lines += ["", *(f"{_one_line(key)}: {_one_line(value)}" for key, value in metadata)]
    if transcript.usage:
        counts = [f"{count:,} {name}" for name, count in transcript.usage.items()]
        lines.append(f"tokens: {', '.join(counts)}")
    text = as_json(data) if arguments.json else "\n".join(lines).strip("\n")
    return text, _notes_on(arguments.target, transcript)


def _turn_data(number: int, entry: TranscriptEntry, message: Message | None) -> dict[str, Any]:
    """Return a turn as data, for --json."""
    data: dict[str, Any] = {"number": number, "at": entry.at, "note": entry.data.get("note")}
    if message:
        data["message"] = message.to_dict()
    return data


def run_check(arguments: argparse.Namespace) -> tuple[str, list[str], int]:
    """Check transcripts for damage: an error names the damaged line and byte.

    For a database, check all its transcripts.
    """
    lines, notes, code = list[str](), list[str](), 0
    paths: list[str] = []
    for name in arguments.target:
        if is_database(name):
            paths += names_in_database(name)
        else:
            paths.append(name)
    for path in progress(paths, "checked"):
        try:
            transcript = _open_transcript(path)
            lines.append(_line_on(path, transcript))
            notes += _notes_on(path, transcript)
        except UsageError as error:
            notes.append(str(error))
            code = max(code, error.code)
    return "\n".join(lines), notes, code


def run_repair(arguments: argparse.Namespace) -> tuple[str, list[str]]:
    """Write the undamaged entries of a transcript to a new file, and list what is missing."""
    path, notes = arguments.target, list[str]()
    try:
        transcript = _open_transcript(path)
        write, notes = transcript.save, [f"{path} has no damage"]
    except FileError:
        transcript = _open_transcript(path, salvage=True)
        write = transcript.vacuum
        if not transcript.entries:
            raise
    out = _write_new(arguments.out, write)
    return _line_on(out, _open_transcript(out)), [*_notes_on(path, transcript), *notes]


def run_vacuum(arguments: argparse.Namespace) -> tuple[str, list[str]]:
    """Write the current content of a transcript to a new file, without content that was removed."""
    transcript = _open_transcript(arguments.target)
    out = _write_new(arguments.out, transcript.vacuum)
    return _line_on(out, _open_transcript(out)), _notes_on(arguments.target, transcript)


def run_list(arguments: argparse.Namespace) -> tuple[str, list[str], int]:
    """List the transcripts in a folder or a SQLite database, the latest one last.

    In a folder, these are the files *.jsonl that begin like a transcript.
    """
    rows, notes = list[tuple[str, str, dict[str, Any]]](), list[str]()
    for path in progress(_transcript_names(arguments.target), "listed"):
        try:
            transcript = _open_transcript(path)
        except (OSError, UsageError) as error:
            notes.append(str(error))
            continue
        # Texts of times may have other time zones: shown_time() makes them comparable.
        last = max((entry.at for entry in transcript.entries), key=shown_time, default=None)
        title, time = transcript.metadata.get("title", ""), shown_time(last)
        row = {"file": path, "title": title, "turns": len(transcript.turns), "last": last}
        line = f"{time:19}  {_line_on(path, transcript)}  {_one_line(title)}".rstrip()
        rows.append((time, line, {**row, "bytes": _size(path, transcript)}))
    rows.sort(key=lambda row: row[0])
    code = bool(notes)
    if not rows and not notes and not is_database(arguments.target):
        notes = [f"there is no transcript in {arguments.target}: transcripts are files *.jsonl"]
    if arguments.json:
        return as_json([row for *_, row in rows]), notes, code
    return "\n".join(line for _, line, _ in rows), notes, code


def _begins_as_transcript(path: str) -> bool:
    """Return whether a file begins like a transcript: with its header, or a checksum in line 2."""
    with open(path, "rb") as file:
        first, second = file.readline(), file.readline()
    return FIRST_LINE_SIGNATURE in first or LINE_SIGNATURE in second


def _transcript_names(target: str) -> list[str]:
    """Return the paths of the transcripts in a folder, or their names in a database.

    Raises :class:`UsageError` for a folder that cannot be read, and :class:`FileError` for a
    database that is not a store of transcripts.
    """
    if is_database(target):
        return names_in_database(target)
    try:
        files = [
            entry
            for entry in os.scandir(target)
            if entry.name.endswith(".jsonl") and entry.is_file()
        ]
    except OSError as error:
        raise UsageError(f"cannot read {target}: {error.strerror}") from None
    names = list[str]()
    for path in sorted(file.path for file in files):
        try:
            if _begins_as_transcript(path):
                names.append(path)
        except OSError:
            names.append(path)  # opening it raises the error
    return names


def run_convert(arguments: argparse.Namespace) -> tuple[str, list[str]]:
    """Convert a conversation to another format: to a transcript in the file OUT, or to a request.

    Without OUT, the request is printed.
    """
    path, out, to = arguments.target, arguments.out, arguments.to
    provider_format: str = vars(arguments)["from"]
    if to == TRANSCRIPT_FORMAT and out is None:
        raise UsageError(f"--to {TRANSCRIPT_FORMAT} writes a file: add its name, OUT")
    for name in (provider_format, to):
        if name not in (TRANSCRIPT_FORMAT, *PROVIDER_FORMATS):
            checked_provider(name)
    if provider_format == TRANSCRIPT_FORMAT:
        transcript, notes = _open_transcript(path), list[str]()
    else:
        transcript, notes = recorded_conversation(path, provider_format, arguments.repair)
    notes += _notes_on(path, transcript)
    if to == TRANSCRIPT_FORMAT:
        return _line_on(_write_new(out, transcript.save), transcript), notes
    rendered = render(Timeline(History(transcript)), provider=to)
    data = as_json(rendered._payload())
    if out is not None:
        data = _write_new(out, lambda path: write_report(path, f"{data}\n", lambda _: False))
    # Leave out the source line of a loss: it would be a line of this command.
    losses = (*rendered.losses, *rendered.hints)
    return data, [*notes, *(str(attrs.evolve(loss, source=None)) for loss in losses)]


def _one_line(value: object) -> str:
    """Return a text or JSON data on one line, with special characters escaped."""
    text = value if isinstance(value, str) else as_json(value)
    return visible(" ".join(text.split()), one_line=True)
