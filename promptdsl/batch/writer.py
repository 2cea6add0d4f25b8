"""The writer of the folder of a batch: request files, and journals with the result of each row.

While a file is written, its name ends in ``.part``. ``manifest.json`` has the number of bytes up to
which each file is complete; when the batch is resumed, the rest of the file is cut off.
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
MOST_SCHEMAS = 1_000
"""The number of schemas that are remembered; one that is forgotten is written again."""
EVERY = 500
"""The number of rows between two checkpoints."""
_PART = re.compile(r"(?:(?:ids|errors|losses|schemas|requests-\d{5,})\.jsonl|manifest\.json)\.part")
_ID = re.compile(rf"[A-Za-z0-9_-]{{1,{LONGEST_ID}}}")


class PartFile(NamedTuple):
    """A request file: its first row, the digest of the row's body, and the size of the file."""

    name: str
    row: int
    digest: str
    requests: int = 0
    bytes: int = 0


class BatchWriter:
    """Writes the results of rows to a folder, in their order.

    ``about`` is the description of the batch for the manifest. ``state`` is that of an unfinished
    batch, which continues. ``id`` is the column with the ids. With ``dedupe``, equal bodies are one
    request.
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
        """The files and libraries that the rows used so far, with their digests."""
        self.rows, self.sent, self.failed, self.lossy, self.hinted = (
            state.get(key, 0) for key in _COUNTS
        )
        self.parts = [PartFile(**part) for part in state["parts"]]
        self._schemas = set[str]()
        self.examples: list[str] = []
        """The first rows that failed."""
        self._files: dict[str, IO[bytes]] = {}
        self._journals: dict[str, int] = {**dict.fromkeys(JOURNALS, 0), **state["journals"]}
        self._index = _Index() if dedupe or id else None
        self._open_files()

    def note(self, used: Iterable[tuple[str, str]]) -> None:
        """Note the files and libraries of rows; raise :class:`DataError` if one has changed."""
        for name, digest in used:
            path = shown_path(name)
            if self.used.setdefault(path, digest) != digest:
                fix = "--resume --force continues with the current files; a new folder starts again"
                raise DataError(f"since the batch began, {path} has changed", fix=fix)

    def add(self, result: RowResult) -> None:
        """Write the result of a row; raise :class:`DataError` if a file that it used changed."""
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
            why = {key: value for key, value in problem._asdict().items() if value}
            self._write(ERRORS, {**row, **why})
        elif result.losses or result.hints:
            self.lossy += bool(result.losses)
            self.hinted += bool(result.hints)
            row["losses"] = list(result.losses)
            if result.hints:
                row["hints"] = list(result.hints)
            self._write(LOSSES, row)
        # A row is counted only now, when it is written completely.
        self.rows += 1
        self._is_writing = False
        if self.rows % EVERY == 0:
            self.checkpoint()

    def _id_cell(self, result: RowResult) -> JsonValue:
        """Return the cell with the id of a row as JSON data; ``None`` if it has none."""
        cells: object = result.row.cells  # it may come from any program that renders rows
        return json_cell(cells.get(self._id_column or "")) if is_mapping(cells) else None

    def _send(self, result: RowResult, row: Mapping[str, object]) -> Problem | None:
        """Write the request of a row and its id; return the problem of its id, if there is one."""
        id, known = f"r{result.row.number}x{result.digest}", None
        if self._id_column is not None:
            cell = self._id_cell(result)
            id = str(cell)
            if cell is None or _ID.fullmatch(id) is None:
                what = f"the id in {self._id_column!r} cannot be sent: {id[:80]!r}"
                if cell is None:
                    what = f"the row has no id in {self._id_column!r}"
                return Problem("DataError", what, "1 to 64 of the characters A-Z a-z 0-9 _ -")
        if self._index is not None:
            # The complete digest: with 12 digits, some of a few million bodies would be equal.
            key = sha256(result.body.encode()).hexdigest() if self._dedupe else id
            known = self._index.note(id, key)
            if known is not None and not self._dedupe:
                what = f"an earlier row has the id {id!r}, too"
                return Problem("DataError", what, "each row needs another id")
            if self._dedupe:
                row = {**row, "digest": key}
        if known is None:
            self._request(self.service.line_of(id, result.body), result)
        entry = {"id": known or id, **row}
        if result.schema:
            entry["schema"] = self._schema(result.schema)
        self._write(IDS, entry)
        return None

    def _request(self, line: bytes, result: RowResult) -> None:
        """Write the line of a request to the file that has room for it."""
        part = self.parts[-1] if self.parts else None
        if part is None or self.service.is_full(part.requests + 1, part.bytes + len(line)):
            if part is not None:
                self.checkpoint()
                self._files.pop(part.name).close()
                self._location(part.name)
            name = _part_name(len(self.parts) + 1)
            part = PartFile(name, result.row.number, result.digest)
            self.parts.append(part)
            self._files[name] = self._opened(name)
        self._files[part.name].write(line)
        self.parts[-1] = part._replace(requests=part.requests + 1, bytes=part.bytes + len(line))
        self.sent += 1

    def _schema(self, schema: str) -> str:
        """Return the name of an output schema, and write the schema once."""
        name = sha256(schema.encode()).hexdigest()[:12]
        if name not in self._schemas:
            self._write(SCHEMAS, {"name": name, "schema": json.loads(schema)})
            self._remember(name)
        return name

    def _remember(self, schema: str) -> None:
        if len(self._schemas) == MOST_SCHEMAS:
            self._schemas.clear()
        self._schemas.add(schema)

    def _write(self, name: str, entry: Mapping[str, object]) -> None:
        self._files[name].write(f"{json_line(entry)}\n".encode(errors="backslashreplace"))

    def _location(self, name: str) -> None:
        """Give a complete file its final name."""
        path = os.path.join(self.folder, name)
        os.replace(path + PART, path)

    def _opened(self, name: str) -> IO[bytes]:
        return open(os.path.join(self.folder, name + PART), "ab", opener=_private)

    def checkpoint(self) -> None:
        """Write all files to the disk, then the manifest with their sizes."""
        for name, file in self._files.items():
            file.flush()
            os.fsync(file.fileno())
            if name in JOURNALS:
                self._journals[name] = file.tell()
        state = {
            **{key: getattr(self, key) for key in _COUNTS},
            "finished": self.finished,
            "parts": [part._asdict() for part in self.parts],
            "journals": self._journals,
            "used": self.used,
        }
        text = json.dumps({**self.about, "state": state}, ensure_ascii=False, indent=1)
        path = os.path.join(self.folder, MANIFEST + PART)
        with open(path, "wb", opener=_private) as manifest:
            manifest.write(text.encode(errors="backslashreplace"))
            manifest.flush()
            os.fsync(manifest.fileno())
        self._location(MANIFEST)

    def close(self, *, finished: bool) -> None:
        """Close the files; those of a finished batch get their final names."""
        if not self._is_writing:  # else the last row is not complete, and is cut off
            self.checkpoint()
        for file in self._files.values():
            file.close()
        if self._index is not None:
            self._index.close()
        self.finished = finished
        if finished:
            for name in self._files:
                self._location(name)
            self._files.clear()
            self.checkpoint()

    def _open_files(self) -> None:
        """Open the files that are written, and cut each to its size in the manifest."""
        os.makedirs(self.folder, exist_ok=True)
        sizes = self._journals | {part.name: part.bytes for part in self.parts}
        for name, size in sizes.items():
            path = os.path.join(self.folder, name)
            existing = [candidate for candidate in (path, path + PART) if os.path.exists(candidate)]
            if size > max(map(os.path.getsize, existing), default=0):
                raise DataError(f"{path} is missing, or a part of it", fix="name a new folder")
        self.checkpoint()  # from here on the batch is not finished
        with suppress(FileNotFoundError):  # started after the manifest was written
            os.unlink(os.path.join(self.folder, _part_name(len(self.parts) + 1)) + PART)
        for name in (*JOURNALS, *(part.name for part in self.parts[-1:])):
            path = os.path.join(self.folder, name)
            with suppress(FileNotFoundError):  # moved after the manifest was written
                os.replace(path, path + PART)
            file = self._files[name] = self._opened(name)
            file.seek(file.truncate(sizes[name]))
        with open(os.path.join(self.folder, SCHEMAS + PART), encoding="utf-8") as schemas:
            for entry in map(json.loads, schemas):
                self._remember(entry["name"])
        if self._index is not None:
            with open(os.path.join(self.folder, IDS + PART), encoding="utf-8") as ids:
                for entry in map(json.loads, ids):
                    self._index.note(entry["id"], entry.get("digest", entry["id"]))


class CountingWriter(BatchWriter):
    """Counts the files, requests and bytes of a batch; nothing is written."""

    def _open_files(self) -> None:
        self._files = {name: self._opened(name) for name in JOURNALS}

    def _opened(self, name: str) -> IO[bytes]:
        return open(os.devnull, "ab")

    def _location(self, name: str) -> None:
        pass

    def checkpoint(self) -> None:
        """Keep nothing."""


def _private(path: str, flags: int) -> int:
    """Open a file; a new file can be read by its owner only."""
    return os.open(path, flags, 0o600)


def is_unfinished(name: str) -> bool:
    """Return whether a name is that of an unfinished file of a batch."""
    return _PART.fullmatch(name) is not None


def shown_path(path: str) -> str:
    """Return a path for the manifest: relative to the current folder if it is in it."""
    return path.removeprefix(os.path.join(os.getcwd(), ""))


def _part_name(number: int) -> str:
    return f"requests-{number:05}.jsonl"


_COUNTS = ("rows", "sent", "failed", "lossy", "hinted")
"""The counts of a writer that are in its state."""


class _Index:
    """The ids that were sent, or the digests with their ids; on disk, as there may be millions.

    When a batch is resumed, the index is made again from the file of ids.
    """

    def __init__(self) -> None:
        # A database without a name is a temporary file, which is deleted when it is closed.
        self._database = sqlite3.connect("", isolation_level=None)
        self._database.execute("PRAGMA journal_mode = OFF")
        self._database.execute("CREATE TABLE sent (key TEXT PRIMARY KEY, id TEXT) WITHOUT ROWID")

    def note(self, id: str, key: str) -> str | None:
        """Return the id that was noted for a key; if there is none, note this one."""
        known = self._database.execute("SELECT id FROM sent WHERE key = ?", (key,)).fetchone()
        if known is None:
            self._database.execute("INSERT INTO sent VALUES (?, ?)", (key, id))
        return None if known is None else cast("str", known[0])

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
        raise DataError(f"{folder} has no batch", fix=f"there is no file {path}") from None
    except (OSError, ValueError) as error:
        raise DataError(f"cannot read {path}: {error}") from None
    if not is_mapping(manifest) or "state" not in manifest:
        raise DataError(f"{path} is not the manifest of a batch")
    return dict(manifest)
