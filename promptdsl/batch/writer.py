"""Writes the folder of a batch: request files, and journals with the result of each row.

Read :class:`BatchWriter` first. A journal is a file with a line of JSON for each row. While a file
is written, its name ends in ``.part``. ``manifest.json`` has the number of bytes up to which each
file is complete. When the batch is resumed, the rest of each file is cut off.
"""

import json
import os
import re
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import suppress
from hashlib import sha256
from typing import IO, Any, NamedTuple, cast

from promptdsl.batch.inputs import json_cell
from promptdsl.batch.renderer import Problem, RowResult, json_line
from promptdsl.batch.service import LONGEST_ID, Service
from promptdsl.foundation.errors import DataError
from promptdsl.foundation.frozen import is_mapping
from promptdsl.foundation.json import JsonValue

MANIFEST, PART = "manifest.json", ".part"
JOURNALS = IDS, ERRORS, LOSSES, SCHEMAS = (
    *("ids.jsonl", "errors.jsonl", "losses.jsonl", "schemas.jsonl"),
)
MAXIMUM_SCHEMAS = 1_000
"""The maximum number of schemas that are remembered.

Then all are forgotten, and a forgotten schema may be written a second time.
"""
ROWS_BETWEEN_CHECKPOINTS = 500
"""The number of rows between two checkpoints."""
_PART_NAME = re.compile(
    r"(?:(?:ids|errors|losses|schemas|requests-\d{5,})\.jsonl|manifest\.json)\.part"
)
_ID = re.compile(rf"[A-Za-z0-9_-]{{1,{LONGEST_ID}}}")


class PartFile(NamedTuple):
    """A request file: the first row in it, the digest of the body of this row, and the size so far.

    ``requests`` and ``bytes`` are the size.
    """

    name: str
    row: int
    digest: str
    requests: int = 0
    bytes: int = 0


class BatchWriter:
    """Writes the results of rows to a folder, in their order.

    ``about`` is the description of the batch for the manifest. ``state`` is the state in the
    manifest of an unfinished batch: with it, the batch continues. ``id`` is the column with the
    ids; without it, the writer makes them. With ``dedupe``, equal bodies are sent as one request.

    A new writer makes the folder and opens its files. Raises :class:`DataError` if a file of a
    batch that continues is missing or incomplete.
    """

    def __init__(
        self,
        folder: str,
        service: Service,
        about: Mapping[str, object],
        *,
        state: Mapping[str, Any] | None = None,
        id: str | None = None,
        dedupe: bool = False,
    ) -> None:
        self.folder, self.service, self.about, self.finished = folder, service, about, False
        self._id_column, self._dedupe, self._is_writing = id, dedupe, False
        state = state or {"parts": (), "journals": {}}
        self.used: dict[str, str] = dict(state.get("used", {}))
        """The files and libraries that the rows used so far, each with its digest."""
        self.rows, self.sent, self.failed, self.lossy, self.hinted = (
            state.get(key, 0) for key in _COUNTS
        )
        self.parts = [PartFile(**part_file) for part_file in state["parts"]]
        self._schemas = set[str]()
        self.examples: list[str] = []
        """The first three rows that failed, each with its location and its problem."""
        self._files: dict[str, IO[bytes]] = {}
        self._journals: dict[str, int] = {**dict.fromkeys(JOURNALS, 0), **state["journals"]}
        self._index = _Index() if dedupe or id else None
        self._open_files()

    def note(self, used: Iterable[tuple[str, str]]) -> None:
        """Note the files and libraries that rows used.

        Raises :class:`DataError` if one of them has changed since it was noted.
        """
        for name, digest in used:
            path = shown_path(name)
            if self.used.setdefault(path, digest) != digest:
                fix = "--resume --force continues with the current files; a new folder starts again"
                raise DataError(f"since the batch began, {path} has changed", fix=fix)

    def add(self, result: RowResult) -> None:
        """Write the result of a row.

        Raises :class:`DataError` if a file or library that the row used has changed.
        """
        self.note(result.used)
        self._is_writing = True
        row: dict[str, object] = {"row": result.row.number, "input": result.row.location}
        problem = result.problem or self._send(result, row)
        if problem is not None:
            self.failed += 1
            if len(self.examples) < 3:
                self.examples.append(f"{result.row.location}: {problem}")
            id = self._id_cell(result)
            if id is not None:
                row["id"] = id
            why = {key: detail for key, detail in problem._asdict().items() if detail}
            self._write(ERRORS, {**row, **why})
        elif result.losses or result.hints:
            self.lossy += bool(result.losses)
            self.hinted += bool(result.hints)
            row["losses"] = list(result.losses)
            if result.hints:
                row["hints"] = list(result.hints)
            self._write(LOSSES, row)
        # A row is counted only now, because it is written completely.
        self.rows += 1
        self._is_writing = False
        if self.rows % ROWS_BETWEEN_CHECKPOINTS == 0:
            self.checkpoint()

    def _id_cell(self, result: RowResult) -> JsonValue:
        """Return the cell with the id of a row as JSON data; ``None`` if it has none."""
        cells: object = result.row.cells  # any program may have made the row
        return json_cell(cells.get(self._id_column or "")) if is_mapping(cells) else None

    def _send(self, result: RowResult, row: Mapping[str, object]) -> Problem | None:
        """Write the request of a row and its id; return the problem of the id, or ``None``.

        With ``dedupe``, an equal body is not written again: its row gets the id of the first one.
        """
        id, first_id = f"r{result.row.number}x{result.digest}", None
        if self._id_column is not None:
            cell = self._id_cell(result)
            id = str(cell)
            if cell is None or _ID.fullmatch(id) is None:
                what = f"the id in {self._id_column!r} cannot be sent: {id[:80]!r}"
                if cell is None:
                    what = f"the row has no id in {self._id_column!r}"
                return Problem("DataError", what, "write 1 to 64 of the characters A-Z a-z 0-9 _ -")
        if self._index is not None:
            # This needs the complete digest: of a few million bodies, two would share 12 digits.
            key = sha256(result.body.encode()).hexdigest() if self._dedupe else id
            first_id = self._index.note(id, key)
            if first_id is not None and not self._dedupe:
                what = f"an earlier row already has the id {id!r}"
                return Problem("DataError", what, "give each row its own id")
            if self._dedupe:
                row = {**row, "digest": key}
        if first_id is None:
            self._request(self.service.line_of(id, result.body), result)
        journal_line = {"id": first_id or id, **row}
        if result.schema:
            journal_line["schema"] = self._schema(result.schema)
        self._write(IDS, journal_line)
        return None

    def _request(self, line: bytes, result: RowResult) -> None:
        """Write the line of a request to the last request file, or to a new one if that is full."""
        part_file = self.parts[-1] if self.parts else None
        if part_file is None or self.service.is_full(
            part_file.requests + 1, part_file.bytes + len(line)
        ):
            if part_file is not None:
                self.checkpoint()
                self._files.pop(part_file.name).close()
                self._give_final_name(part_file.name)
            name = _part_name(len(self.parts) + 1)
            part_file = PartFile(name, result.row.number, result.digest)
            self.parts.append(part_file)
            self._files[name] = self._open_part(name)
        self._files[part_file.name].write(line)
        self.parts[-1] = part_file._replace(
            requests=part_file.requests + 1, bytes=part_file.bytes + len(line)
        )
        self.sent += 1

    def _schema(self, schema: str) -> str:
        """Return the name of an output schema, and write the schema once."""
        name = sha256(schema.encode()).hexdigest()[:12]
        if name not in self._schemas:
            self._write(SCHEMAS, {"name": name, "schema": json.loads(schema)})
            self._remember(name)
        return name

    def _remember(self, schema: str) -> None:
        """Note the name of a schema that was written; with too many names, forget the others."""
        if len(self._schemas) == MAXIMUM_SCHEMAS:
            self._schemas.clear()
        self._schemas.add(schema)

    def _write(self, name: str, journal_line: Mapping[str, object]) -> None:
        self._files[name].write(f"{json_line(journal_line)}\n".encode(errors="backslashreplace"))

    def _give_final_name(self, name: str) -> None:
        """Rename a complete file: remove ``.part`` from its name."""
        path = os.path.join(self.folder, name)
        os.replace(path + PART, path)

    def _open_part(self, name: str) -> IO[bytes]:
        return open(os.path.join(self.folder, name + PART), "ab", opener=_open_private)

    def checkpoint(self) -> None:
        """Write all files to the disk, then the manifest with their sizes.

        A batch that stops after this can be resumed from here.
        """
        for name, file in self._files.items():
            file.flush()
            os.fsync(file.fileno())
            if name in JOURNALS:
                self._journals[name] = file.tell()
        state = {
            **{key: getattr(self, key) for key in _COUNTS},
            "finished": self.finished,
            "parts": [part_file._asdict() for part_file in self.parts],
            "journals": self._journals,
            "used": self.used,
        }
        text = json.dumps({**self.about, "state": state}, ensure_ascii=False, indent=1)
        path = os.path.join(self.folder, MANIFEST + PART)
        with open(path, "wb", opener=_open_private) as manifest:
            manifest.write(text.encode(errors="backslashreplace"))
            manifest.flush()
            os.fsync(manifest.fileno())
        self._give_final_name(MANIFEST)

    def close(self, *, finished: bool) -> None:
        """Write the manifest, and close the files; those of a finished batch get their final names.

        Without ``finished``, the batch can be resumed.
        """
        if not self._is_writing:  # else the last row is not complete, and a resume cuts it off
            self.checkpoint()
        for file in self._files.values():
            file.close()
        if self._index is not None:
            self._index.close()
        self.finished = finished
        if finished:
            for name in self._files:
                self._give_final_name(name)
            self._files.clear()
            self.checkpoint()

    def _open_files(self) -> None:
        """Open the files that will be written, and cut each to its size in the manifest.

        Raises :class:`DataError` if a file is missing or smaller than that.
        """
        os.makedirs(self.folder, exist_ok=True)
        sizes = self._journals | {part_file.name: part_file.bytes for part_file in self.parts}
        for name, size in sizes.items():
            path = os.path.join(self.folder, name)
            existing = [candidate for candidate in (path, path + PART) if os.path.exists(candidate)]
            if size > max(map(os.path.getsize, existing), default=0):
                raise DataError(f"{path} is missing or incomplete", fix="name a new folder")
        self.checkpoint()  # from here on the batch is not finished
        with suppress(FileNotFoundError):  # started after the manifest was written
            os.unlink(os.path.join(self.folder, _part_name(len(self.parts) + 1)) + PART)
        for name in (*JOURNALS, *(part_file.name for part_file in self.parts[-1:])):
            path = os.path.join(self.folder, name)
            with suppress(FileNotFoundError):  # moved after the manifest was written
                os.replace(path, path + PART)
            file = self._files[name] = self._open_part(name)
            file.seek(file.truncate(sizes[name]))
        with open(os.path.join(self.folder, SCHEMAS + PART), encoding="utf-8") as schemas:
            for journal_line in map(json.loads, schemas):
                self._remember(journal_line["name"])
        if self._index is not None:
            with open(os.path.join(self.folder, IDS + PART), encoding="utf-8") as ids:
                for journal_line in map(json.loads, ids):
                    self._index.note(
                        journal_line["id"], journal_line.get("digest", journal_line["id"])
                    )


class CountingWriter(BatchWriter):
    """Counts the files, requests and bytes of a batch, and writes nothing."""

    def _open_files(self) -> None:
        self._files = {name: self._open_part(name) for name in JOURNALS}

    def _open_part(self, name: str) -> IO[bytes]:
        return open(os.devnull, "ab")

    def _give_final_name(self, name: str) -> None:
        pass

    def checkpoint(self) -> None:
        """Do nothing: there is no file to write to the disk."""


def _open_private(path: str, flags: int) -> int:
    """Open a file; a new file can be read by its owner only."""
    return os.open(path, flags, 0o600)


def is_unfinished(name: str) -> bool:
    """Return whether a name is the name of an unfinished file of a batch."""
    return _PART_NAME.fullmatch(name) is not None


def shown_path(path: str) -> str:
    """Return a path as the manifest has it: relative to the current folder if it is in there."""
    return path.removeprefix(os.path.join(os.getcwd(), ""))


def _part_name(file_number: int) -> str:
    return f"requests-{file_number:05}.jsonl"


_COUNTS = ("rows", "sent", "failed", "lossy", "hinted")
"""The attributes of a writer that the manifest has in its state."""


class _Index:
    """The keys of the requests that were sent, each with the id of the request.

    A key is the id itself, or with ``dedupe`` the digest of the body. There may be millions of
    keys, so they are on disk. When a batch is resumed, the index is made again from the file of
    ids.
    """

    def __init__(self) -> None:
        # A database without a name is a temporary file, which is deleted when it is closed.
        self._database = sqlite3.connect("", isolation_level=None)
        self._database.execute("PRAGMA journal_mode = OFF")
        self._database.execute("CREATE TABLE sent (key TEXT PRIMARY KEY, id TEXT) WITHOUT ROWID")

    def note(self, id: str, key: str) -> str | None:
        """Return the id of an earlier request with this key; if there is none, note ``id``."""
        row = self._database.execute("SELECT id FROM sent WHERE key = ?", (key,)).fetchone()
        if row is None:
            self._database.execute("INSERT INTO sent VALUES (?, ?)", (key, id))
        return None if row is None else cast("str", row[0])

    def close(self) -> None:
        """Remove the database."""
        self._database.close()


def read_manifest(folder: str) -> dict[str, Any]:
    """Return the manifest of a batch; raise :class:`DataError` if the folder has none."""
    path = os.path.join(folder, MANIFEST)
    try:
        with open(path, encoding="utf-8") as file:
            manifest = json.load(file)
    except FileNotFoundError:
        what = f"{folder} has no batch: there is no file {path}"
        raise DataError(what, fix="name the folder of a batch") from None
    except (OSError, ValueError) as error:
        raise DataError(f"cannot read {path}: {error}") from None
    if not is_mapping(manifest) or "state" not in manifest:
        raise DataError(f"{path} is not the manifest of a batch")
    return dict(manifest)
