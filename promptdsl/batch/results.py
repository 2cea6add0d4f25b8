"""The way back: the result files of a batch service, joined to the rows by their ids."""

import heapq
import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import reduce
from typing import Any, BinaryIO, NamedTuple, Self, cast

from promptdsl import Message, PromptError, ProviderId, provider_names, read_response
from promptdsl.batch.cells import json_cell
from promptdsl.batch.renderer import json_line
from promptdsl.batch.rows import RowReader, digest_of
from promptdsl.batch.service import MESSAGES, Service, service_of
from promptdsl.batch.writer import ERRORS, IDS, SCHEMAS, read_manifest
from promptdsl.foundation.answers import read_answer
from promptdsl.foundation.errors import DataError
from promptdsl.foundation.extras import require
from promptdsl.foundation.files import atomic_writer
from promptdsl.foundation.frozen import is_mapping
from promptdsl.foundation.json import ABSENT, json_problem, read_json


def read_results(
    paths: Sequence[str],
    folder: str,
    columns: Sequence[str] = (),
    *,
    notes: list[str] | None = None,
) -> Iterator[dict[str, Any]]:
    """Yield an answer for each row of a batch, in the order of the rows.

    ``paths`` are the result files of the service, in any order; where an id is in them more than
    once, an answer counts more than an error, and a later line more than an earlier one. Each entry
    has the ``row``, its ``input``, and the ``id`` of its request, if it was sent; of an answer the
    ``text``, the ``output`` that its schema asked for, the tool ``calls``, why it ended
    (``finish_reason``) and the ``usage``; else an ``error``. The cells of ``columns`` are added,
    for which the inputs are read again. A line that cannot be read is the ``error`` of its row;
    ``notes`` gets a text for each one that belongs to no row, and for each answer of which another
    one to the same request counts. Nothing is rendered. The places of all results are in memory,
    about 270 bytes for each. Raises :class:`DataError` before
    the first entry for files that are no results of this batch, and for an input that has changed.
    """
    manifest = read_manifest(folder)
    if not manifest.get("state", {}).get("finished"):
        raise DataError(f"the batch in {folder} is not finished", fix="--resume goes on with it")
    options = manifest["options"]
    name = options["service"]
    known = name in (MESSAGES, *provider_names())
    service = service_of(name if known else options.get("adapter", name))
    if not service.answer:
        raise DataError(f"a batch of {service.name} is sent to no service")
    validators = {
        entry["name"]: _validator(entry["schema"])
        for entry in _entries(os.path.join(folder, SCHEMAS))
    }
    inputs, digests = manifest["options"]["inputs"], manifest["inputs"]
    changed = [path for path in inputs if columns and digest_of(path) != digests[path]]
    if changed:
        raise DataError(f"{changed[0]} has changed since the batch", fix="read it without columns")
    reader = RowReader(inputs, columns) if columns else None
    rows = iter(reader or ())
    results = _Results(paths, service)
    results.refuse_foreign(folder)
    if notes is not None:
        notes += results.notes
    sent = _entries(os.path.join(folder, IDS))
    failed = _entries(os.path.join(folder, ERRORS))
    with results:
        for entry in heapq.merge(sent, failed, key=lambda it: cast("int", it["row"])):
            row: dict[str, Any] = {
                key: entry[key] for key in ("row", "input", "id") if key in entry
            }
            if reader is not None:
                cells = next(rows).cells
                row["cells"] = {name: json_cell(cells.get(name)) for name in columns}
            if "what" in entry:
                yield {**row, "error": f"it was not sent: {entry['what']}"}
            else:
                yield {**row, **results.answer(entry["id"], validators.get(entry.get("schema")))}
    unknown = {*columns} - (reader.names if reader else set())
    if unknown:
        raise DataError(f"there is no column {min(unknown)!r} in {', '.join(inputs)}")


class WrittenResults(NamedTuple):
    """How many rows were written, how many have an answer, and what is left out."""

    rows: int
    answered: int
    notes: tuple[str, ...]


def write_results(
    paths: Sequence[str], folder: str, output: str, columns: Sequence[str] = ()
) -> WrittenResults:
    """Write what :func:`read_results` yields to a file, a line of JSON for each row.

    The file is written whole or not at all, over what it has. Raises what :func:`read_results`
    raises, and :class:`OSError`.
    """
    rows = answered = 0
    notes: list[str] = []
    with atomic_writer(output) as write:
        for answer in read_results(paths, folder, columns, notes=notes):
            rows += 1
            answered += "error" not in answer
            write(f"{json_line(answer)}\n".encode(errors="backslashreplace"))
    return WrittenResults(rows, answered, tuple(notes))


def _entries(path: str) -> Iterator[dict[str, Any]]:
    """Yield the entries of a journal."""
    with open(path, encoding="utf-8") as file:
        yield from map(json.loads, file)


class _Place(NamedTuple):
    """Where the result of an id is, and whether it is an answer."""

    is_answer: bool
    file: int
    line: int
    offset: int


class _Results:
    """The lines of result files, by the ids of their requests."""

    def __init__(self, paths: Sequence[str], service: Service) -> None:
        self._paths, self._service = paths, service
        self._places: dict[str, _Place] = {}
        self.notes: list[str] = []
        """What is left out: lines that are no results, and answers of which a later one counts."""
        self._unread: list[str] = []
        """Why lines without an id are no results."""
        self._broken: list[tuple[str, _Place, str]] = []
        """Lines that cannot be read: their ids, where they are, and why."""
        self._files = ExitStack()
        self._opened: list[BinaryIO] = []
        for index, path in enumerate(paths):
            try:
                self._add_file(index, path)
            except OSError as error:
                raise DataError(f"cannot read {path}: {error.strerror}") from None
        if self._unread and not self._places:
            raise DataError(self._unread[0], fix="get the files of results again")
        self.notes += [f"{why}: it belongs to no row" for why in self._unread]
        self.notes += [
            f"{why}: {self._shown(self._places[id])} answers {id}, too"
            for id, place, why in self._broken
            if self._places[id] != place
        ]

    def __enter__(self) -> Self:
        try:
            for path in self._paths:
                self._opened.append(self._files.enter_context(open(path, "rb")))
        except OSError as error:
            self._files.close()
            raise DataError(f"cannot read {error.filename}: {error.strerror}") from None
        return self

    def __exit__(self, *error: object) -> None:
        self._files.close()

    def _add_file(self, index: int, path: str) -> None:
        """Note the places of the results in a file; JSON without any is no file of results."""
        refused: DataError | None = None
        is_of_results, offset = False, 0
        with open(path, "rb") as file:
            for number, raw in enumerate(file, start=1):
                if number == 1 and raw.startswith((b"\xff\xfe", b"\xfe\xff")):
                    raise DataError(f"{path} is UTF-16", fix="save it as UTF-8")
                try:
                    is_of_results |= self._add_line(raw, index, number, offset)
                except DataError as error:
                    refused = refused or error
                    self._unread.append(error.what)
                offset += len(raw)
        if refused is not None and not is_of_results:
            raise refused

    def _add_line(self, raw: bytes, index: int, number: int, offset: int) -> bool:
        """Note where the result of a line is, and return whether it is one.

        Raises :class:`DataError` for JSON that is no result.
        """
        where = f"{self._paths[index]}:{number}"
        text = _text(raw)
        if not text:
            return False
        value = read_json(text)
        if value is ABSENT:
            id = _id_in(text, self._service.id)
            if id is None:
                self._unread.append(f"{where} {json_problem(text)}")
                return False
            place = _Place(False, index, number, offset)
            self._places.setdefault(id, place)
            self._broken.append((id, place, f"{where} {json_problem(text)}"))
            return True
        id = _id_of(value, where, self._service)
        place = _Place(not _wrong(value, self._service), index, number, offset)
        before = self._places.get(id)
        if place.is_answer or before is None or not before.is_answer:
            self._places[id] = place
            if before is not None and before.is_answer and _text(self._line(before)) != text:
                counts = self._shown(place)
                self.notes.append(f"{self._shown(before)} is left out: {counts} answers {id}, too")
        return True

    def refuse_foreign(self, folder: str) -> None:
        """Note results of other requests than those of the batch.

        Raises :class:`DataError` where they are more than those of the batch.
        """
        foreign = {*self._places}
        for entry in _entries(os.path.join(folder, IDS)):
            foreign.discard(entry["id"])
        for id in sorted(foreign):
            self.notes.append(
                f"{self._shown(self._places[id])} is of no request of this batch: {id}"
            )
        if len(foreign) * 2 > len(self._places):
            some = ", ".join(sorted(foreign)[:3])
            raise DataError(
                f"the results have {len(foreign):,} of no request of this batch, such as {some}",
                fix=f"give the result files of the batch in {folder} alone",
            )

    def answer(self, id: str, validator: Any) -> dict[str, Any]:  # Any: jsonschema
        """Return the answer to a request, or the error, as keys of the entry of its row."""
        place = self._places.get(id)
        if place is None:
            unread = ", or it is in a line that cannot be read: " if self._unread else ""
            return {"error": f"the service gave no answer{unread}{'; '.join(self._unread[:3])}"}
        text = _text(self._line(place))
        value = read_json(text)
        if value is ABSENT:
            return {"error": f"{self._shown(place)} {json_problem(text)}"}
        return _answer(value, self._service, validator)

    def _line(self, place: _Place) -> bytes:
        if self._opened:
            self._opened[place.file].seek(place.offset)
            return self._opened[place.file].readline()
        with open(self._paths[place.file], "rb") as file:
            file.seek(place.offset)
            return file.readline()

    def _shown(self, place: _Place) -> str:
        return f"{self._paths[place.file]}:{place.line}"


def _text(raw: bytes) -> str:
    """Return the text of a line, without the byte order mark that some programs write."""
    return raw.decode("utf-8", "replace").strip("\ufeff \t\r\n")


def _id_of(value: object, where: str, service: Service) -> str:
    """Return the id of a result; :class:`DataError` for JSON that is none."""
    if not is_mapping(value) or not isinstance(value.get(service.id), str):
        problem, fix = f"it has no {service.id!r}", "give the files with the results alone"
    elif service.body in value and not {service.answer[0], "error"} & value.keys():
        problem, fix = "it is a request", "give the files that the service returned"
    else:
        return cast("str", value[service.id])
    raise DataError(f"{where} is no result of {service.name}: {problem}", fix=fix)


_TOKEN = re.compile(r'[ \t]*("(?:[^"\\]|\\.)*"|[\[\]{},:]|[^ \t\[\]{},:"]+)')
"""A token of JSON, also of a text that is nested too deep, or cut off."""


def _id_in(text: str, key: str) -> str | None:
    """Return the id in a line that is not read as JSON, ``None`` where none can be found."""
    depth = position = 0
    before = ("", "")
    while match := _TOKEN.match(text, position):
        token, position = match[1], match.end()
        if depth == 1 and before == (f'"{key}"', ":"):
            id = read_json(token)
            return id if isinstance(id, str) else None
        depth += (token in "[{") - (token in "]}")
        before = (before[1], token)
    return None


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
        answer = _at(result, service.answer)
        message = read_response(answer, provider=ProviderId(service.name))
    except PromptError as error:
        return {"error": error.what}
    except Exception as error:  # whatever it holds, it is the problem of its row
        return {"error": f"the answer cannot be read: {type(error).__name__}: {error}"}
    found: dict[str, Any] = {
        "text": message.text,
        "finish_reason": message.finish_reason,
        "usage": dict(message.token_usage or {}),
    }
    if message.calls:
        found["calls"] = [call.to_dict() for call in message.calls]
    if validator is not None and not message.calls:
        output, problem = _output_of(message, validator)
        found |= {"error": problem} if problem else {"output": output}
    return found


def _output_of(message: Message, validator: Any) -> tuple[object, str]:  # Any: jsonschema
    """Return the JSON value of an answer, and why it has not the form of its schema, if so."""
    if message.is_refusal:
        return ABSENT, f"the model refused to answer: {message.text[:200]!r}"
    try:
        output = read_answer(message.text, lambda value: not _problem(value, validator))
    except PromptError as error:
        return ABSENT, error.what
    return output, _problem(output, validator)


def _words(wrong: object) -> str:
    """Return an error of a service as a text: its message where it has one."""
    if is_mapping(wrong):
        return str(wrong.get("message") or wrong.get("errorMessage") or json.dumps(wrong))
    return str(wrong)


def _validator(schema: Any) -> Any:  # Any: JSON; jsonschema may not be installed
    """Return what checks answers against a schema; no address of a ``$ref`` is opened."""
    known = require("jsonschema_specifications", "batch").REGISTRY
    validator: Any = require("jsonschema", "batch").Draft202012Validator
    return validator(schema, registry=known)


def _problem(output: object, validator: Any) -> str:  # Any: jsonschema may not be installed
    """Return why an answer does not have the form of its schema, an empty text if it has."""
    if output is ABSENT:
        return "the answer is not JSON"
    try:
        error = next(validator.iter_errors(output), None)
    except Exception as raised:  # of a schema that is none, or names what is not in it
        return f"the schema of the answer cannot be used: {raised}"[:300]
    if error is None:
        return ""
    way = ".".join(map(str, error.absolute_path))
    return f"the answer is not as its schema says: {way + ': ' if way else ''}{error.message[:200]}"
