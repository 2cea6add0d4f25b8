"""``promptdsl records``: shows what was sent, and why, from the file of a record."""

import argparse
import json
from collections.abc import Iterator, Mapping
from textwrap import fill

from promptdsl import PromptError, PromptRecord
from promptdsl.cli.commands import COMMANDS, AddParser, add_command
from promptdsl.cli.errors import FileError
from promptdsl.cli.options import LISTED, checked_provider
from promptdsl.cli.records_list import add_list
from promptdsl.cli.show import as_explanation, as_json, is_colourful, relative
from promptdsl.cli.sides import is_record, json_of
from promptdsl.cli.terminal import paint
from promptdsl.comparing import payload_rendered, terminal_width, visible

LONGEST = 300
"""The most characters of a text that are shown."""
MESSAGES = "messages"
"""The name of the part with the texts."""
RULE = 72
"""The width of the lines between the parts of the output, in characters."""
DESCRIPTION = """\
Show what was sent and why: of the file of a record (promptdsl render --record FILE), of the
record with an id in a log (the folder of a PromptLog), or in the JSON of records list. It shows the
parts with their lines and tokens, the texts with what wrote each line, the dropped parts with
the tokens that keeping them would cost, losses, hints, libraries and settings. A JSON payload of
any provider is shown in the same way, without lines."""


def add_records(add_parser: AddParser) -> None:
    """Add the command, which has commands of its own."""
    usage, summary = "promptdsl records COMMAND ... [options]", COMMANDS["records"][1]
    parser = add_parser("records", usage=usage, help=summary, allow_abbrev=False)
    kinds = parser.add_subparsers(
        dest="kind", metavar="COMMAND", title="commands", prog="promptdsl records", required=True
    )
    add_show(kinds.add_parser)
    add_list(kinds.add_parser)


def add_show(add_parser: AddParser) -> None:
    """Add the command that shows a record."""
    parser = add_command(
        add_parser,
        "records show",
        run=show,
        takes="FILE | LOG --id ID",
        description=DESCRIPTION,
        summary="show a record, or a payload",
        failed="the content of the file is wrong",
    )
    usage = "the file of a record or of a payload, or the folder of a log"
    parser.add_argument("target", metavar="FILE", help=usage)
    parser.add_argument("--id", help="the id of the request, in a log or the JSON of records list")
    usage = f"the provider of a payload, if the payload does not show it ({LISTED})"
    parser.add_argument("--for", dest="provider_format", metavar="PROVIDER", help=usage)
    parser.add_argument("--json", action="store_true", help="print the record as JSON")


def show(arguments: argparse.Namespace) -> tuple[str, list[str]]:
    """Return the data and the notes of the command."""
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
    """Return the record of a payload, which has no source lines: they are lines of this command."""
    return PromptRecord.from_dict(json.loads(record.to_json(), object_hook=_without_line))


def _without_line(data: dict[str, object]) -> dict[str, object]:
    source = data.get("source")
    return {key: data[key] for key in data if key != "source" or not isinstance(source, str)}


def _lines(record: PromptRecord) -> Iterator[str]:
    for name, text in _parts(record):
        if name:
            yield f"\n{f'── {name} '.ljust(RULE, '─')}"
        # Messages are in colours already.
        yield text if name == MESSAGES else visible(relative(text))


def _parts(record: PromptRecord) -> Iterator[tuple[str, str]]:
    """Yield the parts of the output, each with its name."""
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
        yield "", f"inputs: {_short(as_json(data['inputs']))}"
    settings = {
        key: (str(row.get("value", "")), row["layer"]) for key, row in data["settings"].items()
    }
    libraries = (" ".join(filter(None, row.values())) for row in data["libraries"])
    costs = "dropped (the tokens are what it costs to keep a part)"
    parts: Mapping[str, list[str]] = {
        "outline": [record.outline(width=terminal_width())] if data["outline"] else [],
        "tokens": [record.token_tree(width=terminal_width())],
        MESSAGES: [*_messages(record)] if data["content"] else [],
        costs: [
            f"{_filled(relative(str(dropped)))}{_indented(row.get('text', ''))}"
            for dropped, row in zip(record.dropped, data["dropped"], strict=True)
        ],
        "losses": [_filled(relative(str(loss))) for loss in record.losses],
        "hints": [_filled(relative(str(hint))) for hint in record.hints],
        "libraries": [*libraries],
        "settings, and the layer that set each": [as_explanation(settings)],
    }
    for name, lines in parts.items():
        yield name, "\n".join(lines or ["none"])


def _messages(record: PromptRecord) -> Iterator[str]:
    """Yield each message: how it is sent, and its texts with the lines that wrote them."""
    painting = paint if is_colourful() else None
    texts = record._texts(width=terminal_width(), paint=painting)
    for index, (view, text) in enumerate(zip(record._request_view.messages, texts, strict=True)):
        line = f"{index} {visible(view.heading, one_line=True)}"
        if view.tokens is not None:
            line += f", {view.tokens:,} tokens"
        yield line if painting is None else painting(view.style, line)
        yield text


def _indented(text: str) -> str:
    return f"\n{_filled(f'  {_short(text)}')}" if text else ""


def _filled(text: str) -> str:
    """Return a text in lines that fit the terminal; without a terminal it is one line."""
    width = terminal_width()
    shown = visible(text, one_line=True)
    return shown if width is None else fill(shown, width, subsequent_indent="  ")


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}… ({len(line):,} characters)"
