"""``promptdsl page``: a web page, in one file, that shows prompts, records and logs.

In this order: the prompts that are in files, and the command. ``preview_process.py`` uses
``file_prompts`` and ``prompt_of_call``, too.
"""

import argparse
import os
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from promptdsl import DataError, LogEntry, PromptError, PromptRecord
from promptdsl.cli.commands import AddParser, Arguments, add_command, file_text, read_arguments
from promptdsl.cli.logs import (
    is_log,
    listed_entries,
    log_entries,
    refuse_log_file,
    refuse_unknown_id,
)
from promptdsl.cli.options import add_page_request, add_price, render_options
from promptdsl.cli.output import UsageError, write_report
from promptdsl.cli.records import without_lines
from promptdsl.cli.sides import is_record, read_json
from promptdsl.cli.target import TargetCall, refuse_inputs, target_calls
from promptdsl.comparing import payload_rendered
from promptdsl.page import PagePrompt, Shown, is_page, made_page, page_html, prompts_of_entries

# The prompts of a page that are in files: logs, records and payloads.


def file_prompts(
    target: str, arguments: argparse.Namespace
) -> tuple[Sequence[PagePrompt], list[str]] | None:
    """Return the prompts of a log, a folder or a JSON file, and notes; ``None`` for code.

    ``--id`` chooses the requests of a log or of a list of records. Raises :class:`UsageError` for a
    folder without records, for a single file of a log, for ``--inputs`` with a file, for an unknown
    id, and for ``--id`` with any other target.
    """
    id: str | None = arguments.id
    if os.path.isdir(target):
        refuse_inputs(arguments, target)
        return _folder_prompts(target, id)
    refuse_log_file(target, command="page", options=" -o FILE.html")
    if target.endswith(".json"):
        refuse_inputs(arguments, target)
        return _json_prompts(target, id), []
    _refuse_id(id, target)
    return None


def _folder_prompts(folder: str, id: str | None) -> tuple[Sequence[PagePrompt], list[str]]:
    """Return the prompts of a log, or the records of a folder as the requests of one prompt."""
    if is_log(folder):
        entries, notes = log_entries(folder)
        return prompts_of_entries(_chosen_entries(entries, id, folder)), notes
    files = sorted(str(file) for file in Path(folder).glob("*.json"))
    if not files:
        raise UsageError(f"{folder} is not a log, and has no records (*.json)")
    _refuse_id(id, folder)
    return [PagePrompt(folder, tuple(_request(_file_data(file)) for file in files))], []


def _json_prompts(path: str, id: str | None) -> Sequence[PagePrompt]:
    """Return the prompts in a JSON file: those of a list of records, or that of a single record."""
    data = _file_data(path)
    entries = listed_entries(data)
    if entries is not None:
        return prompts_of_entries(_chosen_entries(entries, id, path))
    _refuse_id(id, path)
    return [PagePrompt(path, (_request(data),))]


def _chosen_entries(entries: Sequence[LogEntry], id: str | None, origin: str) -> Sequence[LogEntry]:
    """Return the entries with an id; all entries if ``id`` is ``None``.

    Raises :class:`UsageError` for an unknown id; the error names the file or folder ``origin``.
    """
    if id is None:
        return entries
    chosen = [entry for entry in entries if entry.id == id]
    refuse_unknown_id(id, chosen, entries, origin)
    return chosen


def _refuse_id(id: str | None, target: str) -> None:
    """Raise :class:`UsageError` for ``--id`` with a target that has no ids."""
    if id is not None:
        raise UsageError(f"--id chooses a request of a log: {target} is not a log")


def _file_data(path: str) -> object:
    """Return the data of a JSON file; for a file that is not JSON, the error, which the page shows.

    Raises :class:`UsageError` for a file that cannot be read.
    """
    content = file_text(path).encode()
    try:
        return read_json(path, content)
    except UsageError as error:
        return DataError(str(error))


def _request(data: object) -> PromptRecord | Exception:
    """Return the record of JSON data, or the error of data that is no record and no payload.

    The record of a payload has no source lines. An error of ``_file_data`` is returned unchanged.
    """
    if isinstance(data, DataError):
        return data
    try:
        if is_record(data):
            return PromptRecord.from_dict(data)
        return without_lines(payload_rendered(data).record())
    except PromptError as error:
        return error


# ``promptdsl page``: prompts, records and logs as one file to look at.

DESCRIPTION = """\
Write a web page in one file. It shows what is sent, what is left out, what a prompt cache can
serve, and the payload for each --for MODEL. A TARGET is a prompt (file.py:name), a record or a
payload (*.json), a folder of records, or a log. The page needs no server, and loads no other file.
It contains the texts of the prompts."""
OK, FAILED = 0, 1
"""The exit codes: all targets are on the page; the page shows the error of a target."""


def add_page(add_parser: AddParser) -> None:
    """Add the command and its options."""
    parser = add_command(
        add_parser,
        "page",
        run=run_page,
        takes="TARGET... -o FILE.html",
        description=DESCRIPTION,
        failed="a TARGET failed, and the page shows its error",
    )
    add_page_request(parser)
    group = parser.add_argument_group("output")
    group.add_argument(
        "-o",
        dest="output",
        required=True,
        metavar="FILE",
        help="the file to write; it may only replace an older page",
    )
    add_price(group.add_argument)
    group.add_argument(
        "--without-content",
        action="store_true",
        help="leave out all texts, names, ids, files, payloads and errors",
    )


def run_page(arguments: argparse.Namespace) -> tuple[str, list[str], int]:
    """Write the page; return no data, notes with its path and the failed targets, and the code."""
    if arguments.payloads and arguments.without_content:
        problem = "--without-content leaves out payloads, and --for adds them"
        raise UsageError(f"{problem}: write only one of the two")
    props = read_arguments(arguments.pairs, arguments.props)
    options = render_options(arguments)
    with ExitStack() as stack:
        prompts: list[PagePrompt] = []
        notes: list[str] = []
        for target in arguments.targets:
            target_prompts, target_notes = _prompts(target, props, arguments, stack)
            prompts += target_prompts
            notes += target_notes
        page, errors = made_page(
            *prompts,
            models=arguments.payloads,
            price=arguments.price,
            content=not arguments.without_content,
            **options,
        )
    write_report(arguments.output, page_html(page), is_page)
    notes += [*errors, f"the page is in {arguments.output}"]
    return "", notes, FAILED if errors else OK


def _prompts(
    target: str, props: Arguments, arguments: argparse.Namespace, stack: ExitStack
) -> tuple[Sequence[PagePrompt], list[str]]:
    """Return the prompts that a target names, and notes.

    If the code of a target fails, its prompt has the error. The code stays loaded until ``stack``
    is closed, because the page renders the prompts later.
    """
    prompts_and_notes = file_prompts(target, arguments)
    if prompts_and_notes is not None:
        return prompts_and_notes
    try:
        calls = stack.enter_context(target_calls(target, props, arguments))
    except UsageError:
        raise
    except (Exception, SystemExit) as error:
        return [PagePrompt(target, (error,), props)], []
    return [prompt_of_call(call) for call in calls], []


def prompt_of_call(call: TargetCall) -> PagePrompt:
    """Return the prompt of a call; if its code fails, a prompt with the error."""
    name = None if call.inputs is None else call.inputs.name
    try:
        request: Shown = call.prompt()
    except UsageError:
        raise
    except (Exception, SystemExit) as error:
        request = error
    return PagePrompt(call.target, (request,), call.arguments, name)
