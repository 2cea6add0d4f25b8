"""The prompts of a page that are in files: logs, records and payloads."""

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from promptdsl import DataError, LogEntry, PromptError, PromptRecord
from promptdsl.cli.arguments import file_text
from promptdsl.cli.errors import UsageError
from promptdsl.cli.inputs import refuse_inputs
from promptdsl.cli.log_records import (
    check_known,
    is_log,
    listed_entries,
    log_entries,
    refuse_log_file,
)
from promptdsl.cli.records import without_lines
from promptdsl.cli.sides import is_record, read_json
from promptdsl.comparing import payload_rendered
from promptdsl.page import PagePrompt, prompts_of_entries


def file_prompts(
    target: str, arguments: argparse.Namespace
) -> tuple[Sequence[PagePrompt], list[str]] | None:
    """Return the prompts of a log, a folder or a JSON file, and notes; ``None`` for code.

    ``--id`` chooses the requests of a log. Raises :class:`UsageError` for a file that is none.
    """
    id: str | None = arguments.id
    if os.path.isdir(target):
        refuse_inputs(arguments, target)
        return _folder_prompts(target, id)
    refuse_log_file(target, command="page", more=" -o FILE.html")
    if target.endswith(".json"):
        refuse_inputs(arguments, target)
        return _json_prompts(target, id), []
    _refuse_id(id, target)
    return None


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


def _json_prompts(path: str, id: str | None) -> Sequence[PagePrompt]:
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
