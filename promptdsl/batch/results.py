"""Reads the result files of a batch service, and joins the results to the rows by their ids.

Read :func:`read_results` first. ``_Results`` finds the line of each id in the result files; the
functions after it read one line.
"""

import heapq
import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, BinaryIO, NamedTuple, Self, cast

from promptdsl import Message, PromptError, ProviderId, provider_names, read_response
from promptdsl.batch.inputs import json_cell
from promptdsl.batch.renderer import json_line
from promptdsl.batch.rows import RowReader, digest_of
from promptdsl.batch.service import MESSAGES, Service, service_of
from promptdsl.batch.writer import ERRORS, IDS, SCHEMAS, read_manifest
from promptdsl.foundation.errors import DataError, require
from promptdsl.foundation.files import atomic_writer
from promptdsl.foundation.frozen import is_mapping
from promptdsl.foundation.json import ABSENT, json_problem, read_answer, read_json


def read_results(
    paths: Sequence[str],
    folder: str,
    columns: Sequence[str] = (),
    *,
    notes: list[str] | None = None,
) -> Iterator[dict[str, Any]]:
    """Yield a dictionary for each row of a batch, in the order of the rows.

    Each dictionary has the ``row``, its ``input``, and the ``id`` of its request, if the request
    was sent. With an answer it has the ``text``, the ``output`` by its schema, the tool ``calls``,
    the ``finish_reason`` and the ``usage``. Without an answer it has an ``error``. A line that
    cannot be read is the ``error`` of its row.

    ``paths`` are the result files of the service, in any order. If they contain an id more than
    once, an answer is used rather than an error, and a later line rather than an earlier one. With
    ``columns``, the inputs are read again, and the dictionary has the ``cells`` of these columns.
    ``notes`` gets a text for each line that belongs to no row, and for each answer that is not
    used. Nothing is rendered. The locations of all results are in memory, about 270 bytes for each.

    Raises :class:`DataError` before the first row if the files are not results of this batch, if
    the batch is not finished, or if an input has changed. After the last row it raises
    :class:`DataError` for a column that no input has.
    """
    manifest = read_manifest(folder)
    if not manifest.get("state", {}).get("finished"):
        raise DataError(f"the batch in {folder} is not finished", fix="--resume continues it")
    options = manifest["options"]
    name = options["service"]
    if name not in (MESSAGES, *provider_names()):
        name = options.get("adapter", name)
    service = service_of(name)
    if not service.answer:
        raise DataError(f"a batch of {service.name} is not sent to a service")
    validators = {
        journal_line["name"]: _validator(journal_line["schema"])
        for journal_line in _journal_lines(os.path.join(folder, SCHEMAS))
    }
    inputs, digests = manifest["options"]["inputs"], manifest["inputs"]
    changed = [path for path in inputs if columns and digest_of(path) != digests[path]]
    if changed:
        raise DataError(
            f"{changed[0]} has changed since the batch", fix="read the results without columns"
        )
    reader = RowReader(inputs, columns) if columns else None
    rows = iter(reader or ())
    results = _Results(paths, service)
    results.refuse_foreign(folder)
    if notes is not None:
        notes += results.notes
    sent_lines = _journal_lines(os.path.join(folder, IDS))
    failed_lines = _journal_lines(os.path.join(folder, ERRORS))
    with results:
        for journal_line in heapq.merge(
            sent_lines, failed_lines, key=lambda journal_line: cast("int", journal_line["row"])
        ):
            row: dict[str, Any] = {
                key: journal_line[key] for key in ("row", "input", "id") if key in journal_line
            }
            if reader is not None:
                cells = next(rows).cells
                row["cells"] = {name: json_cell(cells.get(name)) for name in columns}
            if "what" in journal_line:
                yield {**row, "error": f"the request was not sent: {journal_line['what']}"}
            else:
                yield {
                    **row,
                    **results.answer(
                        journal_line["id"], validators.get(journal_line.get("schema"))
                    ),
                }
    if reader is not None and (unknown := {*columns} - reader.names):
        raise DataError(f"there is no column {min(unknown)!r} in {', '.join(inputs)}")


class WrittenResults(NamedTuple):
    """The number of rows, the number of rows with an answer, and notes on what is left out."""

    rows: int
    answered: int
    notes: tuple[str, ...]


def write_results(
    paths: Sequence[str], folder: str, output: str, columns: Sequence[str] = ()
) -> WrittenResults:
    """Write what :func:`read_results` yields to a file, as a line of JSON for each row.

    An old file is replaced completely or not at all. Raises the errors of :func:`read_results`, and
    :class:`OSError` if the file cannot be written.
    """
    rows = answered = 0
    notes: list[str] = []
    with atomic_writer(output) as write:
        for answer in read_results(paths, folder, columns, notes=notes):
            rows += 1
            answered += "error" not in answer
            write(f"{json_line(answer)}\n".encode(errors="backslashreplace"))
    return WrittenResults(rows, answered, tuple(notes))


def _journal_lines(path: str) -> Iterator[dict[str, Any]]:
    """Yield the lines of a journal; each is a JSON object."""
    with open(path, encoding="utf-8") as file:
        yield from map(json.loads, file)


class _Location(NamedTuple):
    """Where the result of a request is: the index of its file, its line, and its offset in bytes.

    ``is_answer`` is false for the error of a request, and for a line that cannot be read.
    """

    is_answer: bool
    file: int
    line: int
    offset: int


class _Results:
    """The lines of result files, by the ids of their requests.

    The files are read once to note the locations, and each line again when it is asked for. As a
    context manager it keeps the files open.
    """

    def __init__(self, paths: Sequence[str], service: Service) -> None:
        self._paths, self._service = paths, service
        self._locations: dict[str, _Location] = {}
        self.notes: list[str] = []
        """A text for each line that is not a result, and for each answer that is not used."""
        self._unread: list[str] = []
        """For each line without an id, the reason why it is not a result."""
        self._broken: list[tuple[str, _Location, str]] = []
        """The lines with an id that cannot be read: the id, the location and the reason."""
        self._handles: list[BinaryIO] = []
        for index, path in enumerate(paths):
            try:
                self._add_file(index, path)
            except OSError as error:
                raise DataError(f"cannot read {path}: {error.strerror}") from None
        if self._unread and not self._locations:
            raise DataError(self._unread[0], fix="download the result files again")
        self.notes += [f"{why}: the line belongs to no row" for why in self._unread]
        self.notes += [
            f"{why}: {self._location_text(self._locations[id])} has a result for {id}, too"
            for id, location, why in self._broken
            if self._locations[id] != location
        ]

    def __enter__(self) -> Self:
        try:
            for path in self._paths:
                self._handles.append(open(path, "rb"))  # closed by close()
        except OSError as error:
            self.__exit__()
            raise DataError(f"cannot read {error.filename}: {error.strerror}") from None
        return self

    def __exit__(self, *error: object) -> None:
        for file in self._handles:
            file.close()

    def _add_file(self, index: int, path: str) -> None:
        """Note the locations of the results in a file.

        Raises :class:`DataError` if a line is JSON but no result, and no line is a result.
        """
        refused: DataError | None = None
        has_results, offset = False, 0
        with open(path, "rb") as file:
            for line_number, raw in enumerate(file, start=1):
                if line_number == 1 and raw.startswith((b"\xff\xfe", b"\xfe\xff")):
                    raise DataError(f"{path} is UTF-16", fix="save it as UTF-8")
                try:
                    has_results |= self._add_line(raw, index, line_number, offset)
                except DataError as error:
                    refused = refused or error
                    self._unread.append(error.what)
                offset += len(raw)
        if refused is not None and not has_results:
            raise refused

    def _add_line(self, raw: bytes, index: int, line_number: int, offset: int) -> bool:
        """Note the location of the result in a line, and return whether the line has an id.

        Raises :class:`DataError` for JSON that is not a result.
        """
        line_location = f"{self._paths[index]}:{line_number}"
        text = _text(raw)
        if not text:
            return False
        value = read_json(text)
        if value is ABSENT:
            id = _id_in(text, self._service.id)
            if id is None:
                self._unread.append(f"{line_location} {json_problem(text)}")
                return False
            location = _Location(False, index, line_number, offset)
            self._locations.setdefault(id, location)
            self._broken.append((id, location, f"{line_location} {json_problem(text)}"))
            return True
        id = _id_of(value, line_location, self._service)
        location = _Location(not _service_error(value, self._service), index, line_number, offset)
        earlier = self._locations.get(id)
        if earlier is None or location.is_answer >= earlier.is_answer:
            self._locations[id] = location
            if earlier is not None and earlier.is_answer and _text(self._line(earlier)) != text:
                unused, used = self._location_text(earlier), self._location_text(location)
                self.notes.append(f"{unused} is left out: {used} has a result for {id}, too")
        return True

    def refuse_foreign(self, folder: str) -> None:
        """Add a note for each result whose request is not in the batch.

        Raises :class:`DataError` if more than half of all results belong to another batch.
        """
        foreign = {*self._locations}
        for journal_line in _journal_lines(os.path.join(folder, IDS)):
            foreign.discard(journal_line["id"])
        for id in sorted(foreign):
            self.notes.append(
                f"{self._location_text(self._locations[id])} belongs to another batch: {id}"
            )
        if len(foreign) * 2 > len(self._locations):
            examples = ", ".join(sorted(foreign)[:3])
            raise DataError(
                f"{len(foreign):,} results belong to another batch, such as {examples}",
                fix=f"give only the result files of the batch in {folder}",
            )

    def answer(self, id: str, validator: Any) -> dict[str, Any]:  # Any: jsonschema
        """Return the fields for the dictionary of a row: those of its answer, or its ``error``."""
        location = self._locations.get(id)
        if location is None:
            unread = ", or its line cannot be read: " if self._unread else ""
            return {"error": f"the service gave no answer{unread}{'; '.join(self._unread[:3])}"}
        text = _text(self._line(location))
        value = read_json(text)
        if value is ABSENT:
            return {"error": f"{self._location_text(location)} {json_problem(text)}"}
        return _answer(value, self._service, validator)

    def _line(self, location: _Location) -> bytes:
        if self._handles:
            self._handles[location.file].seek(location.offset)
            return self._handles[location.file].readline()
        with open(self._paths[location.file], "rb") as file:
            file.seek(location.offset)
            return file.readline()

    def _location_text(self, location: _Location) -> str:
        return f"{self._paths[location.file]}:{location.line}"


def _text(raw: bytes) -> str:
    """Return the text of a line, without the byte order mark that some programs write."""
    return raw.decode("utf-8", "replace").strip("\ufeff \t\r\n")


def _id_of(value: object, line_location: str, service: Service) -> str:
    """Return the id of a result; raise :class:`DataError` for JSON that is not a result."""
    if not is_mapping(value) or not isinstance(value.get(service.id), str):
        problem, fix = f"it has no {service.id!r}", "give only the result files"
    elif service.body in value and not {service.answer[0], "error"} & value.keys():
        problem, fix = "it is a request", "give the files that the service returned"
    else:
        return cast("str", value[service.id])
    raise DataError(f"{line_location} is not a result of {service.name}: {problem}", fix=fix)


_TOKEN = re.compile(r'[ \t]*("(?:[^"\\]|\\.)*"|[\[\]{},:]|[^ \t\[\]{},:"]+)')
"""A token of JSON; it also matches in JSON that is cut off or nested too deeply."""


def _id_in(text: str, key: str) -> str | None:
    """Return the id in a line that is not valid JSON; ``None`` if the line has no id."""
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


def _value_at(value: Any, path: Iterable[str]) -> Any:  # Any: JSON
    """Return the value at a path of keys; ``None`` if a key is missing."""
    for key in path:
        value = value.get(key) if is_mapping(value) else None
    return value


def _service_error(result: object, service: Service) -> str:
    """Return the reason why a result is not an answer, or ``""`` for an answer."""
    for path in service.errors:
        if error := _value_at(result, path):
            return _error_text(error)
    if _value_at(result, service.answer) is None:
        ending = _value_at(result, service.ending) if service.ending else ""
        return f"the service gave no answer: {ending or 'it does not say why'}"
    return ""


def _answer(result: object, service: Service, validator: Any) -> dict[str, Any]:  # Any: jsonschema
    """Return the fields of the answer in a result, or its ``error``."""
    if problem := _service_error(result, service):
        return {"error": problem}
    try:
        answer = _value_at(result, service.answer)
        message = read_response(answer, provider=ProviderId(service.name))
    except PromptError as error:
        return {"error": error.what}
    except Exception as error:  # a wrong line is only the error of its own row
        return {"error": f"the answer cannot be read: {type(error).__name__}: {error}"}
    fields: dict[str, Any] = {
        "text": message.text,
        "finish_reason": message.finish_reason,
        "usage": dict(message.token_usage or {}),
    }
    if message.calls:
        fields["calls"] = [call.to_dict() for call in message.calls]
    if validator is not None and not message.calls:
        output, problem = _output_of(message, validator)
        if problem:
            fields["error"] = problem
        else:
            fields["output"] = output
    return fields


def _output_of(message: Message, validator: Any) -> tuple[object, str]:  # Any: jsonschema
    """Return the JSON value of an answer, and how it breaks the schema, or ``""``."""
    if message.is_refusal:
        return ABSENT, f"the model refused to answer: {message.text[:200]!r}"
    try:
        output = read_answer(message.text, lambda output: not _problem(output, validator))
    except PromptError as error:
        return ABSENT, error.what
    return output, _problem(output, validator)


def _error_text(error: object) -> str:
    """Return an error of a service as text: its message, or all of it if it has no message."""
    if is_mapping(error):
        return str(error.get("message") or error.get("errorMessage") or json.dumps(error))
    return str(error)


def _validator(schema: Any) -> Any:  # Any: JSON; jsonschema may not be installed
    """Return the validator of a schema; it never loads the address in a ``$ref``."""
    registry = require("jsonschema_specifications", "batch").REGISTRY
    validator: Any = require("jsonschema", "batch").Draft202012Validator
    return validator(schema, registry=registry)


def _problem(output: object, validator: Any) -> str:  # Any: jsonschema may not be installed
    """Return how the JSON value of an answer breaks its schema, or ``""``."""
    if output is ABSENT:
        return "the answer is not JSON"
    try:
        error = next(validator.iter_errors(output), None)
    except Exception as raised:  # the schema is not valid, or refers to a missing one
        return f"the schema of the answer cannot be used: {raised}"[:300]
    if error is None:
        return ""
    path = ".".join(map(str, error.absolute_path))
    location = f"{path}: " if path else ""
    return f"the answer breaks its schema: {location}{error.message[:200]}"
