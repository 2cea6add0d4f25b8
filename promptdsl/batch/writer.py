"""The folder of a batch: files of requests, and what became of each row.

While it is written, every file has ``.part`` at the end of its name. ``manifest.json`` says how far
each file is whole; what is behind that is cut off when the batch is resumed.
"""

import json
import os
import re
import sqlite3
from collections.abc import Mapping
from contextlib import suppress
from typing import IO, Any, NamedTuple, cast

from promptdsl.batch.renderer import Problem, RowRenderer, RowResult, json_line
from promptdsl.foundation.errors import DataError

MANIFEST, PART = "manifest.json", ".part"
IDS, ERRORS, LOSSES, SCHEMAS = "ids.jsonl", "errors.jsonl", "losses.jsonl", "schemas.jsonl"
JOURNALS = (IDS, ERRORS, LOSSES, SCHEMAS)
EVERY = 500
"""The number of rows between two checkpoints."""
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Stopped(Exception):
    """A row failed, and the batch stops at the first one."""


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
    which goes on. With ``dedupe``, equal bodies are one request.
    """

    def __init__(
        self,
        folder: str,
        renderer: RowRenderer,
        about: Mapping[str, object],
        *,
        state: Mapping[str, Any] | None = None,
        dedupe: bool = False,
        stop: bool = False,
    ) -> None:
        self.folder, self.service, self.about = folder, renderer.service, dict(about)
        self._id_column, self._dedupe, self._stop = renderer.id, dedupe, stop
        self.rows = self.failed = self.lossy = self.sent = 0
        self.parts: list[PartFile] = []
        self._files: dict[str, IO[bytes]] = {}
        self._schemas: dict[str, str] = {}
        os.makedirs(folder, exist_ok=True)
        self._restore(state or {})
        self._index = _Index(folder) if dedupe or self._id_column else None

    def add(self, result: RowResult) -> None:
        """Write what became of a row; :class:`Stopped` if it failed and the batch stops there."""
        row = result.row
        about = {"row": row.number, "input": row.place}
        problem = result.problem or self._send(result)
        if problem is not None:
            self.failed += 1
            entry = {**about, **problem._asdict()}
            self._write(ERRORS, {key: value for key, value in entry.items() if value})
        elif result.losses:
            self.lossy += 1
            self._write(LOSSES, {**about, "losses": list(result.losses)})
        # A row counts when all of it is written: a file of requests may have ended before.
        self.rows += 1
        if self.rows % EVERY == 0:
            self.checkpoint()
        if problem is not None and self._stop:
            raise Stopped

    def _send(self, result: RowResult) -> Problem | None:
        """Write the request of a row, and its id; return what is wrong with its id."""
        row = result.row
        id, known = f"r{row.number}x{result.digest}", None
        if self._id_column is not None:
            given = row.cells.get(self._id_column)
            id = str(given)
            if _ID.fullmatch(id) is None or given is None:
                what = f"the id {id[:80]!r} of the column {self._id_column!r} cannot be sent"
                return Problem("DataError", what, (), "1 to 64 of the characters A-Z a-z 0-9 _ -")
        if self._index is not None:
            known = self._index.note(id, result.digest if self._dedupe else id)
        if known is not None and self._id_column is not None and not self._dedupe:
            return Problem("DataError", f"another row has the id {id!r}, too", (), "make it unique")
        if known is None:
            self._request(self.service.line_of(id, result.body), row.number, result.digest)
        entry: dict[str, object] = {"id": known or id, "row": row.number, "input": row.place}
        if self._dedupe:
            entry["digest"] = result.digest
        if result.schema:
            entry["schema"] = self._schema(result.schema)
        self._write(IDS, entry)
        return None

    def _request(self, line: bytes, row: int, digest: str) -> None:
        """Write the line of a request to the file that has room for it."""
        part = self.parts[-1] if self.parts else None
        if part is None or self.service.is_full(part.requests + 1, part.bytes + len(line)):
            self._finish_part()
            name = f"requests-{len(self.parts) + 1:05}.jsonl"
            part = PartFile(name, row, digest)
            self.parts.append(part)
            self._files[name] = self._opened(name)
        self._files[part.name].write(line)
        self.parts[-1] = part._replace(requests=part.requests + 1, bytes=part.bytes + len(line))
        self.sent += 1

    def _schema(self, schema: str) -> str:
        name = self._schemas.get(schema)
        if name is None:
            name = self._schemas[schema] = f"schema{len(self._schemas) + 1}"
            self._write(SCHEMAS, {"name": name, "schema": json.loads(schema)})
        return name

    def _write(self, name: str, entry: Mapping[str, object]) -> None:
        self._files[name].write(f"{json_line(entry)}\n".encode(errors="backslashreplace"))

    def _finish_part(self) -> None:
        """Move the file of requests that is being written into its place."""
        if self.parts:
            self.checkpoint()
            name = self.parts[-1].name
            self._files.pop(name).close()
            path = os.path.join(self.folder, name)
            os.replace(path + PART, path)

    def _opened(self, name: str) -> IO[bytes]:
        return open(os.path.join(self.folder, name + PART), "ab")

    def checkpoint(self, *, finished: bool = False) -> None:
        """Write all to the disk, and the manifest that says how far it is whole."""
        for file in self._files.values():
            file.flush()
            os.fsync(file.fileno())
        journals = {name: file.tell() for name, file in self._files.items() if name in JOURNALS}
        state = {
            **{key: getattr(self, key) for key in _COUNTS},
            "finished": finished,
            "parts": [part._asdict() for part in self.parts],
            "journals": journals,
        }
        path = os.path.join(self.folder, MANIFEST)
        with open(path + PART, "w", encoding="utf-8") as manifest:
            json.dump({**self.about, "state": state}, manifest, ensure_ascii=False, indent=1)
            manifest.flush()
            os.fsync(manifest.fileno())
        os.replace(path + PART, path)

    def close(self, *, finished: bool) -> None:
        """End the writing; the files of a finished batch get their names."""
        self.checkpoint()
        names = list(self._files)
        while self._files:
            self._files.popitem()[1].close()
        if self._index is not None:
            self._index.close()
        if finished:
            for name in names:
                path = os.path.join(self.folder, name)
                if name in (IDS, ERRORS) or os.path.getsize(path + PART):
                    os.replace(path + PART, path)
                else:
                    os.unlink(path + PART)
            self.checkpoint(finished=True)

    def _restore(self, state: Mapping[str, Any]) -> None:
        """Cut every file to what the manifest says is whole; begin anew without a state."""
        for key in _COUNTS:
            setattr(self, key, state.get(key, 0))
        self.parts = [PartFile(**part) for part in state.get("parts", ())]
        whole = {part.name for part in self.parts}
        for name in os.listdir(self.folder):
            if name.startswith("requests-") and name.removesuffix(PART) not in whole:
                os.unlink(os.path.join(self.folder, name))
        sizes = {**dict.fromkeys(JOURNALS, 0), **state.get("journals", {})}
        sizes.update((part.name, part.bytes) for part in self.parts[-1:])
        for name, size in sizes.items():
            path = os.path.join(self.folder, name)
            with suppress(FileNotFoundError):  # moved after the manifest was written
                os.replace(path, path + PART)
            self._files[name] = self._opened(name)
            self._files[name].truncate(size)
        with open(os.path.join(self.folder, SCHEMAS + PART), encoding="utf-8") as file:
            for entry in map(json.loads, file):
                self._schemas[json.dumps(entry["schema"])] = entry["name"]


_COUNTS = ("rows", "failed", "lossy", "sent")
"""The numbers of a writer that its state has."""


class _Index:
    """The ids that were sent, or the digests and their ids: on the disk, as there may be millions.

    It is made anew of the file of ids when a batch goes on.
    """

    def __init__(self, folder: str) -> None:
        self._path = os.path.join(folder, "index" + PART)
        with suppress(FileNotFoundError):
            os.unlink(self._path)
        self._database = sqlite3.connect(self._path, isolation_level=None)
        self._database.execute("PRAGMA synchronous = OFF")
        self._database.execute("PRAGMA journal_mode = OFF")
        self._database.execute("CREATE TABLE sent (key TEXT PRIMARY KEY, id TEXT) WITHOUT ROWID")
        with open(os.path.join(folder, IDS + PART), encoding="utf-8") as file:
            for entry in map(json.loads, file):
                self.note(entry["id"], entry.get("digest", entry["id"]))

    def note(self, id: str, key: str) -> str | None:
        """Return the id that was noted for a key, or note this one."""
        known = self._database.execute("SELECT id FROM sent WHERE key = ?", (key,)).fetchone()
        if known is None:
            self._database.execute("INSERT INTO sent VALUES (?, ?)", (key, id))
        return None if known is None else cast("str", known[0])

    def close(self) -> None:
        """Remove the database."""
        self._database.close()
        os.unlink(self._path)


def read_manifest(folder: str) -> dict[str, Any]:
    """Return what the manifest of a batch says; :class:`DataError` for a folder without one."""
    path = os.path.join(folder, MANIFEST)
    try:
        with open(path, encoding="utf-8") as file:
            return cast("dict[str, Any]", json.load(file))
    except FileNotFoundError:
        raise DataError(f"{folder} has no batch", fix=f"there is no file {path}") from None
    except (OSError, ValueError) as error:
        raise DataError(f"cannot read {path}: {error}") from None
