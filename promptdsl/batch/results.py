"""The way back: the result files of a batch service, joined to the rows by their ids."""

import heapq
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import reduce
from math import isfinite
from typing import IO, Any, cast

from promptdsl import PromptError, read_response
from promptdsl.batch.rows import RowReader, digest_of
from promptdsl.batch.service import Service, service_of
from promptdsl.batch.writer import ERRORS, IDS, SCHEMAS, read_manifest
from promptdsl.foundation.errors import DataError
from promptdsl.foundation.extras import require
from promptdsl.foundation.frozen import is_mapping
from promptdsl.foundation.json import ABSENT, read_json


def read_results(
    paths: Sequence[str], folder: str, columns: Sequence[str] = ()
) -> Iterator[dict[str, Any]]:
    """Yield an answer for each row of a batch, in the order of the rows.

    ``paths`` are the result files of the service, in any order; where an id is in them more than
    once, an answer counts more than an error, and a later line more than an earlier one. Each entry
    has the ``row``, its ``input``, and the ``id`` of its request, if it was sent; of an answer the
    ``text``, the ``output`` that its schema asked for, the tool ``calls``, why it ended
    (``finish_reason``) and the ``usage``; else an ``error``. The cells of ``columns`` are added,
    for which the inputs are read again. Nothing is rendered. The places of all results are in
    memory, about 250 bytes for each. Raises :class:`DataError` before the first entry for files
    that are no results of this batch, and for an input that has changed.
    """
    manifest = read_manifest(folder)
    if not manifest.get("state", {}).get("finished"):
        raise DataError(f"the batch in {folder} is not finished", fix="--resume goes on with it")
    service = service_of(manifest["options"]["service"])
    if not service.answer:
        raise DataError(f"a batch of {service.name} is sent to no service")
    validators = {
        entry["name"]: require("jsonschema", "batch").Draft202012Validator(entry["schema"])
        for entry in _entries(os.path.join(folder, SCHEMAS))
    }
    inputs, digests = manifest["options"]["inputs"], manifest["inputs"]
    changed = [path for path in inputs if columns and digest_of(path) != digests[path]]
    if changed:
        raise DataError(f"{changed[0]} has changed since the batch", fix="read it without columns")
    reader = RowReader(inputs, columns) if columns else None
    rows = iter(reader or ())
    places = _places(paths, service)
    _refuse_foreign(places, folder)
    sent = _entries(os.path.join(folder, IDS))
    failed = _entries(os.path.join(folder, ERRORS))
    with ExitStack() as stack:
        files = [stack.enter_context(open(path, "rb")) for path in paths]
        for entry in heapq.merge(sent, failed, key=lambda it: cast("int", it["row"])):
            row: dict[str, Any] = {
                key: entry[key] for key in ("row", "input", "id") if key in entry
            }
            if reader is not None:
                cells = next(rows).cells
                row["cells"] = {name: _as_json(cells.get(name)) for name in columns}
            if "what" in entry:
                yield {**row, "error": f"it was not sent: {entry['what']}"}
                continue
            if entry["id"] not in places:
                yield {**row, "error": "the service gave no answer"}
                continue
            _, index, offset = places[entry["id"]]
            result = _line_at(files[index], offset)
            yield {**row, **_answer(result, service, validators.get(entry.get("schema")))}
    unknown = {*columns} - (reader.names if reader else set())
    if unknown:
        raise DataError(f"there is no column {min(unknown)!r} in {', '.join(inputs)}")


def _as_json(cell: object) -> object:
    """Return a cell; a number that JSON cannot have is null, as pandas writes what is missing."""
    return None if isinstance(cell, float) and not isfinite(cell) else cell


def _entries(path: str) -> Iterator[dict[str, Any]]:
    """Yield the entries of a journal."""
    with open(path, encoding="utf-8") as file:
        yield from map(json.loads, file)


def _places(paths: Sequence[str], service: Service) -> dict[str, tuple[bool, int, int]]:
    """Return where the result of each id is: whether it is an answer, its file, and the offset."""
    places: dict[str, tuple[bool, int, int]] = {}
    for index, path in enumerate(paths):
        try:
            with open(path, "rb") as file:
                offset = 0
                for number, raw in enumerate(file, start=1):
                    if raw.strip():
                        result = _parsed(raw, f"{path}:{number}", service)
                        id, is_answer = result[service.id], not _wrong(result, service)
                        if is_answer or id not in places or not places[id][0]:
                            places[id] = (is_answer, index, offset)
                    offset += len(raw)
        except OSError as error:
            raise DataError(f"cannot read {path}: {error.strerror}") from None
    return places


def _refuse_foreign(places: Iterable[str], folder: str) -> None:
    """Raise :class:`DataError` for results of other requests than those of the batch."""
    foreign = set(places)
    for entry in _entries(os.path.join(folder, IDS)):
        foreign.discard(entry["id"])
    if foreign:
        some = ", ".join(sorted(foreign)[:3])
        raise DataError(
            f"the results have {len(foreign):,} of no request of this batch, such as {some}",
            fix=f"give the result files of the batch in {folder} alone",
        )


def _parsed(raw: bytes, place: str, service: Service) -> dict[str, Any]:
    value = read_json(raw.decode("utf-8", "replace"))
    if value is ABSENT:
        raise DataError(f"{place} is not JSON", fix="get the file again: it may be cut off")
    if not isinstance(value, dict) or not isinstance(value.get(service.id), str):
        problem, fix = f"it has no {service.id!r}", "give the files with the results alone"
    elif service.body in value and not {service.answer[0], "error"} & value.keys():
        problem, fix = "it is a request", "give the files that the service returned"
    else:
        return value
    raise DataError(f"{place} is no result of {service.name}: {problem}", fix=fix)


def _line_at(file: IO[bytes], offset: int) -> Any:  # Any: JSON
    file.seek(offset)
    return read_json(file.readline().decode("utf-8", "replace"))


def _at(value: Any, way: Iterable[str]) -> Any:  # Any: JSON
    """Return the value at the end of a way of keys, ``None`` where it ends before."""
    return reduce(lambda it, key: it.get(key) if is_mapping(it) else None, way, value)


def _wrong(result: object, service: Service) -> str:
    """Return why a line of results is no answer, an empty text for an answer."""
    for way in service.errors:
        if wrong := _at(result, way):
            return _words(wrong)
    if _at(result, service.answer) is None:
        ending = _at(result, service.ending) if service.ending else ""
        return f"the service gave no answer: {ending or 'it does not say why'}"
    return ""


def _answer(result: object, service: Service, validator: Any) -> dict[str, Any]:  # Any: jsonschema
    """Return the answer, or the error, in a line of results."""
    if wrong := _wrong(result, service):
        return {"error": wrong}
    try:
        message = read_response(_at(result, service.answer))
    except PromptError as error:
        return {"error": error.what}
    found: dict[str, Any] = {
        "text": message.text,
        "finish_reason": message.finish_reason,
        "usage": dict(message.token_usage or {}),
    }
    if message.calls:
        found["calls"] = [call.to_dict() for call in message.calls]
    if validator is not None and not message.calls:
        output = read_json(message.text)
        problem = _problem(output, validator)
        found |= {"error": problem} if problem else {"output": output}
    return found


def _words(wrong: object) -> str:
    """Return an error of a service as a text: its message where it has one."""
    if is_mapping(wrong):
        return str(wrong.get("message") or wrong.get("errorMessage") or json.dumps(wrong))
    return str(wrong)


def _problem(output: object, validator: Any) -> str:  # Any: jsonschema may not be installed
    """Return why an answer does not have the form of its schema, an empty text if it has."""
    if output is ABSENT:
        return "the answer is not JSON"
    error = next(validator.iter_errors(output), None)
    if error is None:
        return ""
    way = ".".join(map(str, error.absolute_path))
    return f"the answer is not as its schema says: {way + ': ' if way else ''}{error.message[:200]}"
