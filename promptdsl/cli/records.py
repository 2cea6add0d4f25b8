"""``promptdsl records``: what was sent, and why, as records of renders show it.

In this order: the rows of a list, the command ``records list``, and the command ``records show``.
"""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from textwrap import fill
from typing import Any

import attrs

from promptdsl import LogEntry, PromptError, PromptRecord, Rendered, prefix_report
from promptdsl.cli.commands import COMMANDS, AddParser, add_command
from promptdsl.cli.logs import (
    dropped_lines,
    log_entries,
    losses_of,
    lost_lines,
    refuse_unknown_id,
    refuse_unknown_name,
)
from promptdsl.cli.options import PROVIDERS_HELP, checked_provider
from promptdsl.cli.output import (
    FileError,
    UsageError,
    as_explanation,
    as_json,
    fields,
    is_colourful,
    paint,
    relative_paths,
)
from promptdsl.cli.sides import is_record, json_of
from promptdsl.comparing import (
    columns,
    cut_to,
    payload_rendered,
    record_rendered,
    terminal_width,
    visible,
)

# The rows of ``promptdsl records list``: the tokens of each call, with a bar, grouped by day.

BAR_WIDTH = 20
"""The width of the longest bar, in characters."""
MAXIMUM_COMPARED = 100
"""The maximum number of calls whose cached tokens are counted: a call of 13,000 tokens takes about
33 ms."""
OPTIONAL_COLUMNS = ("messages", "model", "losses", "dropped")
"""The columns that a narrow terminal leaves out, in this order."""
LEGEND = "█ from the cache  ▄ not cached  · free  ▒ kept for the answer  │ the budget  ░ not known"
"""The first line of a list, which explains the signs in its bars."""
INDENT = "  "
"""What comes before the line of a call, below the line of its day."""
NUMBER_COLUMNS = ("tokens", "cached", "messages", "losses", "dropped")
"""The columns with numbers, which are aligned at their right."""


@attrs.frozen
class CallRow:
    """A call of a log, with its numbers of tokens.

    ``total`` are the tokens of the request, ``cached`` those that a cache can serve, ``budget`` is
    its budget, and ``reserve`` is what the budget keeps free for the answer. An unknown number is
    ``None``.
    """

    entry: LogEntry
    total: int | None
    cached: int | None
    budget: int | None
    reserve: int

    @property
    def largest(self) -> int:
        """The tokens at the end of its bar: the request, or its budget if that is larger."""
        return max(self.total or 0, self.budget or 0)

    def bar(self, largest: int) -> str:
        """Return its bar. The bar of a call with ``largest`` tokens is the longest."""
        if self.total is None:
            return ""
        scale = BAR_WIDTH / max(largest, 1)
        # A request with tokens has at least one character.
        total_width = max(round(self.total * scale), min(self.total, 1))
        text = "░" * total_width
        if self.cached is not None:
            text = ("█" * round(self.cached * scale)).ljust(total_width, "▄")
        if self.budget is None:
            return text
        width_without_reserve = round((self.budget - self.reserve) * scale)
        text = text.ljust(width_without_reserve, "·")
        return f"{text.ljust(round(self.budget * scale), '▒')}│"

    def cells(self, largest: int) -> dict[str, str]:
        """Return the text of each column by its name."""
        record: Any = self.entry.record  # Any: JSON
        # A log takes any data with a format as a record: its model may be a text.
        model = record.get("model")
        if not isinstance(model, str | None):
            model = model.get("model") or model.get("provider")
        cells = {
            "time": self.entry.at[11:19],
            "name": self.entry.name or "-",
            "id": self.entry.id or "-",
            "model": model or "-",
            "bar": self.bar(largest),
            "tokens": "-" if self.total is None else f"{self.total:,} tokens",
            "cached": "" if self.cached is None else f"{self.cached:,} cached",
            "messages": f"{len(record.get('messages') or ()):,} messages",
            "losses": f"{len(losses_of(record)):,} losses",
            "dropped": f"{len(record.get('dropped') or ()):,} dropped",
        }
        return {name: visible(text, one_line=True) for name, text in cells.items()}


def call_rows(entries: Sequence[LogEntry], selected: Sequence[LogEntry]) -> list[CallRow]:
    """Return a row for each selected entry.

    A call fills the cache for the next call with the same name, provider and model. Cached tokens
    are counted for the last ``MAXIMUM_COMPARED`` selected entries. ``entries`` are all entries of
    the log.
    """
    # Dictionaries by cache key, and one by id(entry): the cached tokens.
    compared_ids = {id(entry) for entry in selected[-MAXIMUM_COMPARED:]}
    cached_tokens: dict[int, int | None] = {}
    last_entry: dict[str, LogEntry] = {}
    last_rendered: dict[str, Rendered | None] = {}
    for entry in entries:
        key = _cache_key(entry)
        if id(entry) in compared_ids:
            rendered = _rendered_request(entry)
            is_first = key not in last_entry
            if not is_first and key not in last_rendered:
                last_rendered[key] = _rendered_request(last_entry[key])
            before = last_rendered.get(key)
            cached_tokens[id(entry)] = _cached_tokens(entry, before, rendered, is_first=is_first)
            last_rendered[key] = rendered
        else:
            # Reading a request takes time: the last one is read only if it is compared.
            last_rendered.pop(key, None)
        last_entry[key] = entry
    return [_row(entry, cached_tokens.get(id(entry))) for entry in selected]


def notes_on(selected: Sequence[LogEntry]) -> list[str]:
    """Return a note if cached tokens are not counted for all calls."""
    if len(selected) <= MAXIMUM_COMPARED:
        return []
    which = f"the last {MAXIMUM_COMPARED} of {len(selected):,} calls"
    return [f"cached tokens are shown for {which}: list fewer calls, such as with --since"]


def _cache_key(entry: LogEntry) -> str:
    """Return the name, provider and model of a call as a text: only equal calls share a cache."""
    target: Any = entry.record.get("model")  # Any: JSON
    if not isinstance(target, str | None):
        target = target.get("provider"), target.get("model")
    return repr((entry.name, target))


def _rendered_request(entry: LogEntry) -> Rendered | None:
    """Return the request of an entry; ``None`` if its record has no content or cannot be read."""
    try:
        return record_rendered(PromptRecord.from_dict(entry.record))
    except Exception:  # its target may not be known here, or a key is missing
        return None


def _cached_tokens(
    entry: LogEntry, before: Rendered | None, rendered: Rendered | None, *, is_first: bool
) -> int | None:
    """Return how many tokens of a request a cache can serve; ``None`` if that is unknown.

    ``before`` is the request before. The number is unknown without the content of both requests,
    and for a record whose tokens were counted by another method: it cannot be compared.
    """
    tokens: Any = entry.record.get("tokens")  # Any: JSON
    if rendered is None or not tokens or tokens.get("method") != rendered.tokens.method:
        return None
    if is_first:
        return 0
    if before is None:
        return None
    try:
        return prefix_report(before, rendered).served
    except PromptError:  # for example, this version may read a target as another target
        return None


def _row(entry: LogEntry, cached: int | None) -> CallRow:
    """Return the row of an entry; ``cached`` are its cached tokens, ``None`` if unknown."""
    record: Any = entry.record  # Any: JSON
    tokens: dict[str, int] = record.get("tokens") or {}
    budget: dict[str, int | None] = record.get("budget") or {}
    total = tokens.get("total")
    cached_tokens = None if total is None or cached is None else min(cached, total)
    return CallRow(entry, total, cached_tokens, budget.get("limit"), budget.get("reserve") or 0)


def row_lines(rows: Sequence[CallRow], width: int | None) -> Iterator[tuple[CallRow | None, str]]:
    """Yield the lines of a list: for each day a line with its sums, and a line for each call.

    Only the line of a call has a row. With the ``width`` of a terminal, the first line explains the
    signs of the bars, and lines fit this width: columns are left out, and names are cut. Without
    ``width``, nothing is cut.
    """
    largest = max((row.largest for row in rows), default=0)
    row_width = None if width is None else width - len(INDENT)
    texts = iter(_fitted_lines([row.cells(largest) for row in rows], row_width))
    if width is not None and largest:
        yield None, cut_to(LEGEND, width)
    for day, rows_of_day in groupby(rows, key=lambda row: row.entry.at[:10]):
        day_rows = [*rows_of_day]
        line = _day_line(day, day_rows)
        yield None, line if width is None else cut_to(line, width)
        for row in day_rows:
            yield row, INDENT + next(texts)


def _day_line(day: str, rows: Sequence[CallRow]) -> str:
    """Return the line of a day: the number of calls, their tokens, and the cached share.

    The share is that of the calls whose cached tokens are known.
    """
    total = sum(row.total or 0 for row in rows)
    counted_rows = [row for row in rows if row.cached is not None]
    cached = sum(row.cached or 0 for row in counted_rows)
    noun = "call" if len(rows) == 1 else "calls"
    share = ""
    if cached:
        share = f", {cached / sum(row.total or 0 for row in counted_rows):.0%} cached"
    return f"{day or 'without a time'}: {len(rows):,} {noun}, {total:,} tokens{share}"


def _fitted_lines(rows: Sequence[dict[str, str]], width: int | None) -> list[str]:
    """Return each row as a line with aligned columns, at most ``width`` columns of a terminal."""
    if not rows:
        return []
    sizes = {name: max(columns(row[name]) for row in rows) for name in rows[0]}
    widths = {name: size for name, size in sizes.items() if size}
    if width is not None:
        # Cut long names first, then leave out columns, then cut names further.
        _cut_names(widths, width, minimum=12)
        for name in OPTIONAL_COLUMNS:
            if _line_width(widths) > width:
                widths.pop(name, None)
        _cut_names(widths, width, minimum=6)
    lines = [
        "  ".join(_padded_cell(row[name], size, name) for name, size in widths.items())
        for row in rows
    ]
    return [line.rstrip() if width is None else cut_to(line.rstrip(), width) for line in lines]


def _cut_names(widths: dict[str, int], width: int, *, minimum: int) -> None:
    """Make the columns of names and ids narrower until a line fits; ``minimum`` is their limit."""
    for name in ("name", "id"):
        excess = max(_line_width(widths) - width, 0)
        widths[name] = max(widths[name] - excess, min(widths[name], minimum))


def _line_width(widths: dict[str, int]) -> int:
    """Return the width of a line, with two blanks between its cells."""
    return sum(widths.values()) + 2 * (len(widths) - 1)


def _padded_cell(text: str, width: int, name: str) -> str:
    """Return a cell, filled to its width; a number is at the right."""
    text = cut_to(text, width)
    blanks = " " * (width - columns(text))
    return blanks + text if name in NUMBER_COLUMNS else text + blanks


# ``promptdsl records list``: the records of a log, by their times.

LIST_DESCRIPTION = """\
List the records of a PromptLog by day. A line has the time in UTC, the name, the id and the model
of a record, and its tokens, with a bar. It also has the tokens that a prompt cache can serve after
the call before, and the numbers of messages, losses and dropped parts. --lost and --dropped list
the losses and the dropped parts below each record. --json prints complete records, which records
show and diff can read."""


def add_records_list(add_parser: AddParser) -> None:
    """Add the command and its options."""
    parser = add_command(
        add_parser,
        "records list",
        run=run_records_list,
        takes="FOLDER",
        description=LIST_DESCRIPTION,
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
    add("--lost", action="store_true", help="only records with losses; list them, too")
    add(
        "--dropped",
        action="store_true",
        help="only records with dropped or cleared parts; list them, too",
    )
    add("--salvage", action="store_true", help="skip damaged lines; notes name them")
    add("--json", action="store_true", help="print the records as JSON")


def run_records_list(arguments: argparse.Namespace) -> tuple[str, list[str]]:
    """Return the list, as text or as JSON, and the notes."""
    entries, notes = log_entries(arguments.target, salvage=arguments.salvage)
    if arguments.id is not None:
        matches = [entry for entry in entries if entry.id == arguments.id]
        refuse_unknown_id(arguments.id, matches, entries, arguments.target)
    if arguments.name is not None:
        refuse_unknown_name(arguments.name, entries, arguments.target)
    selected = [*_selected_entries(entries, arguments)]
    if arguments.json:
        data = [fields(entry, "at", "name", "id", "record") for entry in selected]
        return as_json(data), notes
    lines: list[str] = []
    width = terminal_width()
    for row, line in row_lines(call_rows(entries, selected), width):
        lines.append(line)
        details: list[str] = []
        if row is not None and arguments.dropped:
            details += dropped_lines(row.entry.record)
        if row is not None and arguments.lost:
            details += lost_lines(row.entry.record)
        detail_lines = [f"    {visible(text, one_line=True)}" for text in details]
        lines += detail_lines if width is None else [cut_to(text, width) for text in detail_lines]
    return "\n".join(lines), [*notes, *notes_on(selected)]


def _selected_entries(
    entries: tuple[LogEntry, ...], arguments: argparse.Namespace
) -> Iterator[LogEntry]:
    """Yield the entries that the options select. Raises :class:`UsageError` for a wrong time."""
    since = ""  # a text before all times
    if arguments.since:
        try:
            time = datetime.fromisoformat(arguments.since)
        except ValueError:
            problem = f"--since {arguments.since} is not a time: write one like 2026-11-27T14:03"
            raise UsageError(problem) from None
        since = (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC).isoformat()
    for entry in entries:
        is_named = arguments.name in (None, entry.name) and arguments.id in (None, entry.id)
        # The times of a log are in UTC, so their texts have the order of the times.
        is_late_enough = entry.at >= since
        is_selected = not arguments.lost or bool(losses_of(entry.record))
        if arguments.dropped and not entry.record.get("dropped"):
            is_selected = False
        if is_late_enough and is_named and is_selected:
            yield entry


# ``promptdsl records show``: what was sent, and why, from the file of a record or from a log.

MAXIMUM_CHARACTERS = 300
"""The maximum number of characters that are shown of a text."""
MESSAGES = "messages"
"""The name of the section of the output with the messages."""
RULE_WIDTH = 72
"""The width of the line above each section of the output, in characters."""
SHOW_DESCRIPTION = """\
Show what was sent, and why. FILE is a record (promptdsl render --record FILE), the JSON of records
list, or the payload of a provider as JSON. LOG is the folder of a PromptLog; --id chooses one of
its records. The output has the parts with their source lines and tokens, the texts with the source
of each line, the dropped parts with the tokens that they would need, losses, hints, libraries and
settings. A payload has no source lines."""


def add_records(add_parser: AddParser) -> None:
    """Add the command ``records`` with its two commands."""
    usage, summary = "promptdsl records COMMAND ... [options]", COMMANDS["records"][1]
    parser = add_parser("records", usage=usage, help=summary, allow_abbrev=False)
    kinds = parser.add_subparsers(
        dest="kind", metavar="COMMAND", title="commands", prog="promptdsl records", required=True
    )
    add_records_show(kinds.add_parser)
    add_records_list(kinds.add_parser)


def add_records_show(add_parser: AddParser) -> None:
    """Add the command and its options."""
    parser = add_command(
        add_parser,
        "records show",
        run=run_records_show,
        takes="FILE | LOG --id ID",
        description=SHOW_DESCRIPTION,
        summary="show a record, or a payload",
        failed="the content of the file is wrong",
    )
    help_text = "the file of a record or a payload, or the folder of a log"
    parser.add_argument("target", metavar="FILE", help=help_text)
    parser.add_argument("--id", help="the id of a record in a log, or in the JSON of records list")
    help_text = (
        f"the provider of a payload, if it does not follow from the payload ({PROVIDERS_HELP})"
    )
    parser.add_argument("--for", dest="provider_format", metavar="PROVIDER", help=help_text)
    parser.add_argument("--json", action="store_true", help="print the record as JSON")


def run_records_show(arguments: argparse.Namespace) -> tuple[str, list[str]]:
    """Return the record, as text or as JSON, and the notes."""
    checked_provider(arguments.provider_format)
    data, notes = json_of(arguments.target, arguments.id, command="records show")
    try:
        if is_record(data):
            record = PromptRecord.from_dict(data)
        else:
            record = without_lines(payload_rendered(data, arguments.provider_format).record())
    except PromptError as error:
        raise FileError(f"{arguments.target}: {error.what}\n  {error.fix}".rstrip()) from None
    if arguments.json:
        return as_json(record.to_dict()), notes
    return "\n".join(_lines(record)), notes


def without_lines(record: PromptRecord) -> PromptRecord:
    """Return the record of a payload without its source lines: these are lines of promptdsl."""
    return PromptRecord.from_dict(json.loads(record.to_json(), object_hook=_without_line))


def _without_line(data: dict[str, object]) -> dict[str, object]:
    source = data.get("source")
    return {key: data[key] for key in data if key != "source" or not isinstance(source, str)}


def _lines(record: PromptRecord) -> Iterator[str]:
    """Yield the texts of the output; a line with its name comes before a section."""
    for name, text in _output_sections(record):
        if name:
            yield f"\n{f'── {name} '.ljust(RULE_WIDTH, '─')}"
        # Messages already have colours.
        yield text if name == MESSAGES else visible(relative_paths(text))


def _output_sections(record: PromptRecord) -> Iterator[tuple[str, str]]:
    """Yield the sections of the output, each with its name; the first lines have no name."""
    data = record.to_dict()
    budget = data["budget"]
    yield "", repr(record)
    digest = f"SHA-256 {data['digest']}" if data["digest"] else "cannot be sent"
    yield "", f"payload: {digest}"
    if data["model"].get("window"):
        yield "", f"window: {data['model']['window']:,} tokens"
    if budget is not None:
        yield (
            "",
            f"budget: {budget['limit']:,} tokens: {budget['used']:,} used, "
            f"{budget['reserve']:,} reserved for the answer, {budget['free']:,} free",
        )
    if data["inputs"]:
        yield "", f"inputs: {_short_text(as_json(data['inputs']))}"
    settings = {
        key: (str(row.get("value", "")), row["layer"]) for key, row in data["settings"].items()
    }
    libraries = (" ".join(filter(None, row.values())) for row in data["libraries"])
    dropped_name = "dropped (with the tokens that each part would need)"
    sections: Mapping[str, list[str]] = {
        "outline": [record.outline(width=terminal_width())] if data["outline"] else [],
        "tokens": [record.token_tree(width=terminal_width())],
        MESSAGES: [*_messages(record)] if data["content"] else [],
        dropped_name: [
            f"{_filled_text(relative_paths(str(dropped)))}{_indented_text(row.get('text', ''))}"
            for dropped, row in zip(record.dropped, data["dropped"], strict=True)
        ],
        "losses": [_filled_text(relative_paths(str(loss))) for loss in record.losses],
        "hints": [_filled_text(relative_paths(str(hint))) for hint in record.hints],
        "libraries": [*libraries],
        "settings, and the layer that set each": [as_explanation(settings)],
    }
    for name, lines in sections.items():
        yield name, "\n".join(lines or ["none"])


def _messages(record: PromptRecord) -> Iterator[str]:
    """Yield two texts for each message: its heading, and its texts with their source lines."""
    paint_text = paint if is_colourful() else None
    texts = record._texts(width=terminal_width(), paint=paint_text)
    for index, (view, text) in enumerate(zip(record._request_view.messages, texts, strict=True)):
        line = f"{index} {visible(view.heading, one_line=True)}"
        if view.tokens is not None:
            line += f", {view.tokens:,} tokens"
        yield line if paint_text is None else paint_text(view.style, line)
        yield text


def _indented_text(text: str) -> str:
    """Return a text that begins a new line; ``""`` for an empty text."""
    return f"\n{_filled_text(f'  {_short_text(text)}')}" if text else ""


def _filled_text(text: str) -> str:
    """Return a text in lines that fit the terminal; without a terminal, in one line."""
    width = terminal_width()
    line = visible(text, one_line=True)
    return line if width is None else fill(line, width, subsequent_indent="  ")


def _short_text(text: str) -> str:
    """Return a text in one line, cut after ``MAXIMUM_CHARACTERS``."""
    line = " ".join(text.split())
    return (
        line
        if len(line) <= MAXIMUM_CHARACTERS
        else f"{line[:MAXIMUM_CHARACTERS]}… ({len(line):,} characters)"
    )
