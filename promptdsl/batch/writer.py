"""The folder of a batch: files of requests, and what became of each row.

While it is written, every file has ``.part`` at the end of its name. ``manifest.json`` says how far
each file is whole; what is behind that is cut off when the batch is resumed.
"""

import json
import os
import re
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import suppress
from hashlib import sha256
from typing import IO, Any, NamedTuple, cast

from promptdsl.batch.cells import json_cell
from promptdsl.batch.problem import Problem
from promptdsl.batch.renderer import RowResult, json_line
from promptdsl.batch.service import LONGEST_ID, Service
from promptdsl.foundation.errors import DataError
from promptdsl.foundation.frozen import is_mapping
from promptdsl.foundation.json import JsonValue

MANIFEST, PART = "manifest.json", ".part"
JOURNALS = IDS, ERRORS, LOSSES, SCHEMAS = (
    *("ids.jsonl", "errors.jsonl", "losses.jsonl", "schemas.jsonl"),
)
MOST_SCHEMAS = 1_000
"""How many schemas are remembered; another one is written again."""
EVERY = 500
"""The number of rows between two checkpoints."""
_PART = re.compile(r"(?:(?:ids|errors|losses|schemas|requests-\d{5,})\.jsonl|manifest\.json)\.part")
_ID = re.compile(rf"[A-Za-z0-9_-]{{1,{LONGEST_ID}}}")


class PartFile(NamedTuple):
    """A file of requests: its first row, the digest of its body, and how much is in the file."""

    name: str
    row: int
    digest: str
    requests: int = 0
    bytes: int = 0


class BatchWriter:
    """Writes the results of rows to a folder, in their order.

    ``about`` is what the manifest says of the batch. ``state`` is the state of an unfinished batch,
    which goes on. ``id`` is the column with the ids. With ``dedupe``, equal bodies are one request.
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
        self._cut()

    def note(self, used: Iterable[tuple[str, str]]) -> None:
        """Note files and libraries of rows; :class:`DataError` for one that changed meanwhile."""
        for name, digest in used:
            path = shown_path(name)
            if self.used.setdefault(path, digest) != digest:
                fix = "--resume --force goes on with what is there now; a new folder begins anew"
                raise DataError(f"since the batch began, {path} has changed", fix=fix)

    def add(self, result: RowResult) -> None:
        """Write the result of a row; :class:`DataError` where it used what has changed."""
        self.note(result.used)
        self._is_writing = True
        row: dict[str, object] = {"row": result.row.number, "input": result.row.place}
        problem = result.problem or self._send(result, row)
        if problem is not None:
            self.failed += 1
            if len(self.examples) < 3:
                self.examples.append(f"{result.row.place}: {problem}")
            id = self._id_cell(result)
            if id is not None:
                row["id"] = id
            why = {key: value for key, value in problem._asdict().items() if value}
            self._write(ERRORS, {**row, **why})
        elif result.losses or result.hints:
            self.lossy += bool(result.losses)
            self.hinted += bool(result.hints)
            hints = {"hints": list(result.hints)} if result.hints else {}
            self._write(LOSSES, {**row, "losses": list(result.losses), **hints})
        # A row counts when all of it is written: a file of requests may have ended before.
        self.rows += 1
        self._is_writing = False
        if self.rows % EVERY == 0:
            self.checkpoint()

    def _id_cell(self, result: RowResult) -> JsonValue:
        """Return the cell with the id of a row as JSON data, ``None`` where it has none."""
        cells: object = result.row.cells  # of any program that renders rows
        return json_cell(cells.get(self._id_column or "")) if is_mapping(cells) else None

    def _send(self, result: RowResult, row: Mapping[str, object]) -> Problem | None:
        """Write the request of a row, and its id; return what is wrong with its id."""
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
            # All digits: with twelve, some of a few million bodies would be taken for equal.
            key = sha256(result.body.encode()).hexdigest() if self._dedupe else id
            known = self._index.note(id, key)
            if known is not None and not self._dedupe:
                what = f"a row before has the id {id!r}, too"
                return Problem("DataError", what, "the ids of a batch have to differ")
            row = {**row, "digest": key} if self._dedupe else row
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
                self._place(part.name)
            name = _part_name(len(self.parts) + 1)
            part = PartFile(name, result.row.number, result.digest)
            self.parts.append(part)
            self._files[name] = self._opened(name)
        self._files[part.name].write(line)
        self.parts[-1] = part._replace(requests=part.requests + 1, bytes=part.bytes + len(line))
        self.sent += 1

    def _schema(self, schema: str) -> str:
        """Return the name of the schema of an answer, which is written once."""
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

    def _place(self, name: str) -> None:
        """Move a file that is complete to its name."""
        path = os.path.join(self.folder, name)
        os.replace(path + PART, path)

    def _opened(self, name: str) -> IO[bytes]:
        return open(os.path.join(self.folder, name + PART), "ab", opener=_private)

    def checkpoint(self) -> None:
        """Write all to the disk, and the manifest that says how far it is whole."""
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
        self._place(MANIFEST)

    def close(self, *, finished: bool) -> None:
        """End the writing; the files of a finished batch get their names."""
        if not self._is_writing:  # half a row is cut off again
            self.checkpoint()
        for file in self._files.values():
            file.close()
        if self._index is not None:
            self._index.close()
        self.finished = finished
        if finished:
            for name in self._files:
                self._place(name)
            self._files.clear()
            self.checkpoint()

    def _cut(self) -> None:
        """Open every file that is written, and cut it to what the manifest says is whole."""
        os.makedirs(self.folder, exist_ok=True)
        sizes = self._journals | {part.name: part.bytes for part in self.parts}
        for name, size in sizes.items():
            path = os.path.join(self.folder, name)
            there = [it for it in (path, path + PART) if os.path.exists(it)]
            if size > max(map(os.path.getsize, there), default=0):
                raise DataError(f"{path} is gone, or a part of it", fix="name a new folder")
        self.checkpoint()  # it is not finished from here on, whatever becomes of the names
        with suppress(FileNotFoundError):  # begun after the manifest was written
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
    """Counts what a batch would be; nothing is written."""

    def _cut(self) -> None:
        self._files = {name: self._opened(name) for name in JOURNALS}

    def _opened(self, name: str) -> IO[bytes]:
        return open(os.devnull, "ab")

    def _place(self, name: str) -> None:
        pass

    def checkpoint(self) -> None:
        """Keep nothing."""


def _private(path: str, flags: int) -> int:
    """Open a file that is for its owner alone if it is new."""
    return os.open(path, flags, 0o600)


def is_part(name: str) -> bool:
    """Return whether a name is that of a file which is written, or was when a batch was killed."""
    return _PART.fullmatch(name) is not None


def shown_path(path: str) -> str:
    """Return a path as a manifest has it: relative to the current folder if it is in it."""
    return path.removeprefix(os.path.join(os.getcwd(), ""))


def _part_name(number: int) -> str:
    return f"requests-{number:05}.jsonl"


_COUNTS = ("rows", "sent", "failed", "lossy", "hinted")
"""The numbers of a writer that its state has."""


class _Index:
    """The ids that were sent, or the digests and their ids: on the disk, as there may be millions.

    It is made anew of the file of ids when a batch goes on.
    """

    def __init__(self) -> None:
        # A database without a name is a file of the system's, which is gone when it is closed.
        self._database = sqlite3.connect("", isolation_level=None)
        self._database.execute("PRAGMA journal_mode = OFF")
        self._database.execute("CREATE TABLE sent (key TEXT PRIMARY KEY, id TEXT) WITHOUT ROWID")

    def note(self, id: str, key: str) -> str | None:
        """Return the id that was noted for a key, or note this one."""
        known = self._database.execute("SELECT id FROM sent WHERE key = ?", (key,)).fetchone()
        if known is None:
            self._database.execute("INSERT INTO sent VALUES (?, ?)", (key, id))
        return None if known is None else cast("str", known[0])

    def close(self) -> None:
        """Remove the database."""
        self._database.close()


def read_manifest(folder: str) -> dict[str, Any]:
    """Return the manifest of a batch; :class:`DataError` for a folder without one."""
    path = os.path.join(folder, MANIFEST)
    try:
        with open(path, encoding="utf-8") as file:
            manifest = json.load(file)
    except FileNotFoundError:
        raise DataError(f"{folder} has no batch", fix=f"there is no file {path}") from None
    except (OSError, ValueError) as error:
        raise DataError(f"cannot read {path}: {error}") from None
    if not is_mapping(manifest) or "state" not in manifest:
        raise DataError(f"{path} is not of a batch")
    return dict(manifest)
