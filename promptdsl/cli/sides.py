"""The sides of a diff: a target, a snapshot, a payload or record, or one of them at a revision."""

import argparse
import json
import os
import re
from collections.abc import Callable
from typing import TypeAlias, cast

from promptdsl import PromptError, PromptRecord, Rendered
from promptdsl.cli.arguments import Arguments
from promptdsl.cli.errors import UsageError
from promptdsl.cli.git import Repository
from promptdsl.cli.log_records import entry_of, listed_entries, log_entries, refuse_log_file
from promptdsl.cli.options import FOR_PEOPLE, checked_provider, rendered_target
from promptdsl.comparing import (
    PromptFile,
    SnapshotFormatError,
    applied,
    parse,
    payload_file,
)

SNAPSHOT = ".prompt.txt"
GIT = "git:"
Read = Callable[[str], bytes | None]
"""A function from a path to the content of the file; ``None`` if there is no such file."""


Side: TypeAlias = Rendered | PromptFile | PromptRecord


def record_side(name: str, id: str | None) -> PromptRecord:
    """Return the record with an id, of a log or of a list of records."""
    data, _ = json_of(name, id, command="diff")
    try:
        return PromptRecord.from_dict(data)
    except PromptError as error:
        raise UsageError(f"{name}: {error.what}\n  {error.fix}".rstrip()) from None


def has_records(name: str) -> bool:
    """Return whether a side is the folder of a log, or a file with a list of records."""
    if os.path.isdir(name):
        return True
    content = _read(name) if name.endswith(".json") else None
    return content is not None and listed_entries(read_json(name, content)) is not None


def side(name: str, props: Arguments, arguments: argparse.Namespace) -> Side:
    """Return the prompt that an argument of the command names."""
    if name.startswith(GIT):
        revision, colon, path = name.removeprefix(GIT).partition(":")
        if not revision or not colon or not path:
            raise UsageError(f"{name} is not git:REVISION:TARGET")
        if not _is_file(path):
            from promptdsl.cli.at_revision import rendered_at

            return rendered_at(revision, path, props, arguments)
        repository = Repository()
        blobs = repository.blobs(repository.commit(revision))

        def read(path: str) -> bytes | None:
            full = repository.path(path)
            return repository.contents([blobs[full]])[0] if full in blobs else None

        return file_side(path, read, arguments)
    if _is_file(name):
        return file_side(name, _read, arguments)
    refuse_log_file(name, command="diff", more=" --id A --id B")
    with rendered_target(name, props, arguments) as rendered:
        return rendered


def _is_file(name: str) -> bool:
    return name.endswith((SNAPSHOT, ".json"))


def is_target(name: str) -> bool:
    """Return whether an argument names a prompt in the code of the working tree."""
    return not name.startswith(GIT) and not _is_file(name) and not os.path.isdir(name)


def file_side(path: str, read: Read, arguments: argparse.Namespace) -> Side:
    """Return the prompt of a snapshot, a payload or a record."""
    content = read(path)
    if content is None:
        raise UsageError(f"no such file: {path}")
    if path.endswith(SNAPSHOT):
        return snapshot_side(path, content, read)
    return payload_side(path, content, arguments.provider_format)


def payload_side(path: str, content: bytes, provider: str | None) -> PromptFile | PromptRecord:
    """Return the prompt of a record, or of a payload for the named provider."""
    data = read_json(path, content)
    try:
        if is_record(data):
            return PromptRecord.from_dict(data)
        return payload_file(data, None if provider in FOR_PEOPLE else checked_provider(provider))
    except PromptError as error:
        raise UsageError(f"{path}: {error.what}\n  {error.fix}".rstrip()) from None


def read_json(path: str, content: bytes) -> object:
    """Return the data of a JSON file."""
    try:
        data: object = json.loads(content)
        return data
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not JSON: {error}") from None


def json_of(target: str, id: str | None, *, command: str) -> tuple[object, list[str]]:
    """Return the JSON data of a file, or the record with an id of a log or of a list of records.

    The notes say if other records have the id, too. Raises :class:`UsageError` for a file that
    cannot be read, an unknown and a missing id.
    """
    if os.path.isdir(target):
        entries, notes = log_entries(target)
        entry, more = entry_of(entries, id, target)
        return entry.record, [*notes, *more]
    refuse_log_file(target, command=command, more=" --id ID")
    content = _read(target)
    if content is None:
        raise UsageError(f"cannot read {target}: No such file or directory")
    data = read_json(target, content)
    listed = listed_entries(data)
    if listed is not None:
        entry, notes = entry_of(listed, id, target)
        return entry.record, notes
    if id is not None:
        problem = f"{target} is no log and no list of records"
        raise UsageError(f"{problem}: --id names a record of one")
    return data, []


def is_record(data: object) -> bool:
    """Return whether data is a record, not a payload: its format is a version."""
    if not isinstance(data, dict):
        return False
    return str(cast("dict[str, object]", data).get("format"))[:1].isdecimal()


def is_record_text(text: str) -> bool:
    """Return whether a text is the JSON of a record."""
    try:
        return is_record(json.loads(text))
    except (ValueError, RecursionError):
        return False


def snapshot_side(path: str, content: bytes, read: Read) -> PromptFile:
    """Return the prompt of a snapshot; a snapshot of a model is read with its base."""
    try:
        file = parse(content.decode())
        if not is_of_model(content):
            return file
        base = base_of(path, read)
        if base is None:
            raise UsageError(f"{path}: the snapshot without a model is missing next to it")
        return applied(parse(base.decode()), file)
    except SnapshotFormatError as error:
        raise UsageError(f"{path}: {error.what}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path}: it is not UTF-8 text") from None


def base_of(path: str, read: Read) -> bytes | None:
    """Return the base of a snapshot of a model: its path has no name of a model at the end."""
    stem = path.removesuffix(SNAPSHOT)
    for match in reversed([*re.finditer(r"\.", stem)]):
        base = read(f"{stem[: match.start()]}{SNAPSHOT}")
        # The name of a model may contain a dot, and begin with the name of another model.
        if base is not None and not is_of_model(base):
            return base
    return None


def is_of_model(content: bytes) -> bool:
    """Return whether a snapshot is for a model, so that it needs its base."""
    return b"\nbase: " in content[3:].partition(b"\n---")[0]


def _read(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
