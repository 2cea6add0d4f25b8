"""Transcripts in a SQLite database: ``chats.db:KEY`` is the name of a transcript."""

import os
import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from tempfile import TemporaryDirectory
from urllib.parse import quote

from promptdsl import Transcript
from promptdsl.cli.errors import FileError

MAGIC = b"SQLite format 3\0"
"""The beginning of every database of SQLite 3."""


def is_database(path: str) -> bool:
    """Return whether a file is a database of SQLite."""
    try:
        with open(path, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def names_in(path: str) -> list[str]:
    """Return the names of the transcripts in a database."""
    query = "SELECT DISTINCT key FROM promptdsl_entries ORDER BY key"
    return [f"{path}:{key}" for (key,) in _rows(path, query)]


@contextmanager
def file_of(name: str) -> Generator[str]:
    """Give the path of a transcript; for one in a database, of a temporary file with its lines."""
    ends = [end for end, sign in enumerate(name) if sign == ":" and is_database(name[:end])]
    if os.path.lexists(name) or not ends:
        yield name
        return
    path, key = name[: ends[0]], name[ends[0] + 1 :]
    query = "SELECT line FROM promptdsl_entries WHERE key = ? ORDER BY number"
    lines = [line for (line,) in _rows(path, query, key)]
    if not lines:
        raise FileError(f"{path} has no transcript {key!r}")
    with TemporaryDirectory() as folder:
        file = os.path.join(folder, "transcript.jsonl")
        Transcript().save(file)
        with open(file, "ab") as out:
            out.writelines(line.encode(errors="surrogatepass") + b"\n" for line in lines)
        yield file


def _rows(path: str, query: str, *values: str) -> list[tuple[str]]:
    try:
        with closing(sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True)) as connection:
            return connection.execute(query, values).fetchall()
    except sqlite3.Error as error:
        raise FileError(f"cannot read transcripts of {path}: {error}") from None
