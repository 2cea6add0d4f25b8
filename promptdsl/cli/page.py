"""``promptdsl page``: prompts, records and logs as one file to look at."""

import argparse
import os
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from promptdsl import DataError, LogEntry, PromptError, PromptRecord
from promptdsl.cli.arguments import Arguments, file_text, read_arguments
from promptdsl.cli.commands import AddParser, add_command
from promptdsl.cli.errors import UsageError
from promptdsl.cli.log_records import (
    check_known,
    is_log,
    listed_entries,
    log_entries,
    refuse_log_file,
)
from promptdsl.cli.options import add_request, loaded_prompt, prices, render_options
from promptdsl.cli.records import without_lines
from promptdsl.cli.sides import is_record, read_json
from promptdsl.cli.write_files import write_report
from promptdsl.comparing import payload_rendered
from promptdsl.page import (
    PagePrompt,
    is_page,
    made_page,
    page_html,
    prompts_of_entries,
)

DESCRIPTION = """\
Write one file to look at: what is sent, what was left out, what a cache serves, and the payload for
each --for MODEL. A TARGET is a prompt (file.py:name), a record or a payload (*.json), a folder of
records, or a log. The page loads nothing and works from disk. It holds the texts of the prompts."""
OK, FAILED = 0, 1


def add_page(add_parser: AddParser) -> None:
    """Add the command and its options."""
    parser = add_command(
        add_parser,
        "page",
        run=run,
        takes="TARGET... -o FILE.html",
        description=DESCRIPTION,
        failed="a target failed: the page shows its error",
    )
    parser.add_argument("targets", nargs="+", metavar="TARGET", help="what the page shows")
    parser.add_argument("--id", help="of a log, only the requests with this id")
    add_request(parser, marks=True, texts=False, payloads=True)
    group = parser.add_argument_group("output")
    group.add_argument(
        "-o",
        dest="output",
        required=True,
        metavar="FILE",
        help="the file; an older page is replaced",
    )
    group.add_argument(
        "--price",
        type=prices,
        metavar="P[,CACHED]",
        help="the price of a million tokens, and of a million cached tokens",
    )
    group.add_argument(
        "--without-content",
        action="store_true",
        help="leave out texts, names, ids, files, payloads and errors",
    )
    parser.set_defaults(target="", provider_format=None)


def run(arguments: argparse.Namespace) -> tuple[str, list[str], int]:
    """Return no data, the targets that failed and the file as notes, and the exit code."""
    if arguments.payloads and arguments.without_content:
        raise UsageError("--for writes payloads, and --without-content leaves them out")
    props = read_arguments(arguments.pairs, arguments.props)
    options = render_options(arguments)
    with ExitStack() as stack:
        prompts: list[PagePrompt] = []
        notes: list[str] = []
        for target in arguments.targets:
            target_prompts, target_notes = _prompts(target, props, arguments, stack)
            prompts += target_prompts
            notes += target_notes
        data, errors = made_page(
            *prompts,
            models=arguments.payloads,
            price=arguments.price,
            content=not arguments.without_content,
            **options,
        )
    write_report(arguments.output, page_html(data), is_page)
    notes += [*errors, f"the page is in {arguments.output}"]
    return "", notes, FAILED if errors else OK


def _prompts(
    target: str, props: Arguments, arguments: argparse.Namespace, stack: ExitStack
) -> tuple[Sequence[PagePrompt], list[str]]:
    """Return the prompts that a target names, and notes; of one whose code fails, its error."""
    if os.path.isdir(target):
        return _folder_prompts(target, arguments.id)
    refuse_log_file(target, command="page", more=" -o FILE.html")
    if target.endswith(".json"):
        return _file_prompts(target, arguments.id), []
    _refuse_id(arguments.id, target)
    try:
        prompt = stack.enter_context(loaded_prompt(target, props, arguments))
    except UsageError:
        raise
    except (Exception, SystemExit) as error:
        return [PagePrompt(target, (error,), props)], []
    return [PagePrompt(target, (prompt,), props)], []


def _folder_prompts(folder: str, id: str | None) -> tuple[Sequence[PagePrompt], list[str]]:
    """Return the prompts of a log, or the records of a folder as the requests of one prompt."""
    if is_log(folder):
        entries, notes = log_entries(folder)
        return prompts_of_entries(_chosen(entries, id, folder)), notes
    files = sorted(str(file) for file in Path(folder).glob("*.json"))
    if not files:
        raise UsageError(f"{folder} is no log, and has no record (*.json)")
    _refuse_id(id, folder)
    return [PagePrompt(folder, tuple(_request(_file_data(file)) for file in files))], []


def _file_prompts(path: str, id: str | None) -> Sequence[PagePrompt]:
    """Return the prompts in a JSON file: those of a list of records, or one."""
    data = _file_data(path)
    entries = listed_entries(data)
    if entries is not None:
        return prompts_of_entries(_chosen(entries, id, path))
    _refuse_id(id, path)
    return [PagePrompt(path, (_request(data),))]


def _chosen(entries: Sequence[LogEntry], id: str | None, origin: str) -> Sequence[LogEntry]:
    """Return the entries with an id, or all."""
    if id is None:
        return entries
    chosen = [entry for entry in entries if entry.id == id]
    check_known(id, chosen, entries, origin)
    return chosen


def _refuse_id(id: str | None, target: str) -> None:
    if id is not None:
        raise UsageError(f"--id chooses a request of a log, and {target} is none")


def _file_data(path: str) -> object:
    """Return the data of a JSON file, or the error that it is none."""
    content = file_text(path).encode()
    try:
        return read_json(path, content)
    except UsageError as error:
        return DataError(str(error))


def _request(data: object) -> PromptRecord | Exception:
    """Return a record, or why data is none; a payload is read without lines."""
    if isinstance(data, DataError):
        return data
    try:
        if is_record(data):
            return PromptRecord.from_dict(data)
        return without_lines(payload_rendered(data).record())
    except PromptError as error:
        return error
