"""Reads tables: the rows of JSON Lines, CSV and Parquet files, one file after the other.

Read :class:`RowReader` first; ``_json_lines``, ``_csv`` and ``_parquet`` read one file each.
"""

import csv
import os
from collections.abc import Container, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from hashlib import file_digest
from io import BufferedReader
from typing import Any, BinaryIO, NamedTuple, cast

from promptdsl.batch.inputs import OddCell
from promptdsl.foundation.errors import DataError, require
from promptdsl.foundation.json import ABSENT, json_problem, read_json
from promptdsl.foundation.old_names import new_name_with_warning
from promptdsl.foundation.unicode import is_valid_unicode

SUFFIXES = {".jsonl": "json", ".ndjson": "json", ".csv": ",", ".tsv": "\t", ".parquet": "parquet"}
"""The file types by the end of the file name; the type of a CSV file is its delimiter."""
_LONGEST_CELL = 2**31 - 1
"""The maximum number of characters of a cell of a CSV file; the default of Python is 131,072."""


class TableRow(NamedTuple):
    """A row of a table.

    ``number`` counts from 1 over all files. ``location`` is ``file:line``, for a Parquet file
    ``file:row``. A row that cannot be read has a ``problem`` and no ``cells``. ``texts`` is true if
    all cells are texts because the file is CSV.
    """

    number: int
    location: str
    cells: Mapping[str, object]
    problem: str = ""
    texts: bool = False

    @property
    def place(self) -> str:
        """The old name of ``location``."""
        location: str = getattr(self, new_name_with_warning("TableRow.place"))
        return location


def numbered(rows: Iterable[Mapping[str, object] | TableRow]) -> Iterator[TableRow]:
    """Yield rows with their numbers; a :class:`TableRow` keeps its number."""
    for row_number, row in enumerate(rows, start=1):
        yield row if isinstance(row, TableRow) else TableRow(row_number, "", row)


class RowReader:
    """The rows of files, in their order, and the share that was read.

    ``columns`` are the columns that are used; ``None`` means all. The beginning of each file is
    read immediately. Raises :class:`DataError` for a file that cannot be read, has an unknown type
    or wrong column names, or has structs in a column that is used.
    """

    def __init__(self, paths: Sequence[str], columns: Container[str] | None = None) -> None:
        self.paths = paths
        self.names: set[str] = set()
        """The names of all columns that were read."""
        self._columns = columns
        self.share = 0.0
        """The share of the bytes that were read, from 0 to 1."""
        self.empty: list[str] = []
        """The files that were read completely and have no row."""
        for path in paths:
            if _suffix(path) not in SUFFIXES:
                endings = ", ".join(SUFFIXES)
                raise DataError(
                    f"{path} is not a table that can be read", fix=f"give a file of {endings}"
                )
        self._sizes = [*map(_size, paths)]
        for index in range(len(paths)):
            with closing(self._read(index)) as rows:
                next(rows, None)

    def __iter__(self) -> Iterator[TableRow]:
        row_number = 0
        for index, path in enumerate(self.paths):
            rows_before = row_number
            for location, cells, problem, is_csv in self._read(index):
                row_number += 1
                self.names.update(cells)
                yield TableRow(row_number, f"{path}:{location}", cells, problem, is_csv)
            if row_number == rows_before:
                self.empty.append(path)
        self.share = 1.0

    def _read(self, index: int) -> "Generator[tuple[int, Mapping[str, object], str, bool]]":
        """Yield the rows of a file, each with whether the file is CSV; set ``share`` on the way."""
        path = self.paths[index]
        kind = SUFFIXES[_suffix(path)]
        total, bytes_before = sum(self._sizes) or 1, sum(self._sizes[:index])
        try:
            if kind == "parquet":
                for share, row in _parquet(path, self._columns, self.names):
                    self.share = (bytes_before + share * self._sizes[index]) / total
                    yield *row, False
                return
            with _open_file(path) as file:
                for row in _json_lines(file) if kind == "json" else _csv(file, path, kind):
                    self.share = (bytes_before + file.tell()) / total
                    yield *row, kind != "json"
        except OSError as error:
            raise DataError(f"cannot read {path}: {error.strerror or error}") from None


_ReadRow = tuple[int, Mapping[str, object], str]
"""The line of a row, its cells, and the reason why it cannot be read, or ``""``."""


def digest_of(path: str) -> str:
    """Return the SHA-256 of a file, in hexadecimal digits."""
    with _open_file(path) as file:
        return file_digest(file, "sha256").hexdigest()


def _suffix(path: str) -> str:
    """Return the end of a file name, without the options after ``?`` in an address."""
    name = path.partition("?")[0] if "://" in path else path
    return os.path.splitext(name)[1].lower()


def _open_file(path: str) -> BufferedReader:
    """Open a local file, or with pyarrow one at ``s3://``, ``gs://`` or ``hdfs://``.

    Raises :class:`OSError`.
    """
    if "://" not in path:
        return open(path, "rb")
    try:
        system, name = require("pyarrow.fs", "batch").FileSystem.from_uri(path)
    except ValueError as error:
        raise OSError(str(error)) from None
    return BufferedReader(system.open_input_file(name))


def _size(path: str) -> int:
    """Return the size of a file in bytes; raise :class:`DataError` if there is no file."""
    try:
        if "://" not in path and not os.path.isfile(path):
            raise FileNotFoundError
        with _open_file(path) as file:
            return file.seek(0, os.SEEK_END)
    except FileNotFoundError:
        raise DataError(f"no such file: {path}") from None
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}") from None


def _json_lines(file: BinaryIO) -> Iterator[_ReadRow]:
    """Yield the rows of a file with a JSON object on each line."""
    for line, raw in enumerate(iter(file.readline, b""), start=1):
        try:
            text = raw.decode("utf-8-sig" if line == 1 else "utf-8")
        except UnicodeDecodeError as error:
            yield line, {}, f"the line is not UTF-8: {error.reason} at byte {error.start}"
            continue
        if not text.strip():
            continue
        value = read_json(text)
        if value is ABSENT:
            yield line, {}, f"the line {json_problem(text)}: {text.strip()[:60]!r}"
        elif isinstance(value, dict):
            yield line, cast("dict[str, object]", value), ""
        else:
            yield line, {}, f"the line is not a JSON object, but {type(value).__name__}"


def _csv(file: BinaryIO, path: str, delimiter: str) -> Iterator[_ReadRow]:
    """Yield the rows of a CSV file; its first line has the names of the columns."""
    csv.field_size_limit(_LONGEST_CELL)
    # Bytes that are not UTF-8 become lone surrogates, so only their row has a problem.
    lines = (
        raw.decode("utf-8-sig" if index == 0 else "utf-8", "surrogateescape")
        for index, raw in enumerate(iter(file.readline, b""))
    )
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    names: list[str] = []
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            if not names:
                raise DataError(f"the first line of {path} is not CSV: {error}") from None
            # A quotation mark that is never closed swallows all lines after it.
            line_range = f" (lines {line} to {reader.line_num})" if reader.line_num > line else ""
            yield line, {}, f"the row is not CSV: {error}{line_range}"
            continue
        if not cells and len(names) != 1:
            continue
        cells = cells or [""]  # a blank line is an empty cell of the only column
        if not names:
            names = cells
            if not all(map(is_valid_unicode, names)):
                raise DataError(f"the first line of {path} is not UTF-8", fix="save it as UTF-8")
            repeated_name = next((name for name in names if names.count(name) > 1), None)
            if repeated_name is not None:
                raise DataError(f"{path} has two columns {repeated_name!r}", fix="rename one")
        elif len(cells) != len(names):
            yield line, {}, f"the row has {len(cells)} cells, but the first line has {len(names)}"
        elif not all(map(is_valid_unicode, cells)):
            yield line, {}, "the row is not UTF-8"
        else:
            yield line, dict(zip(names, cells, strict=True)), ""


def _parquet(
    path: str, columns: Container[str] | None, seen: set[str]
) -> Iterator[tuple[float, _ReadRow]]:
    """Yield the rows of a Parquet file, each with the share of the file that was read."""
    parquet = require("pyarrow.parquet", "batch")
    try:
        with _open_file(path) as stream, parquet.ParquetFile(stream) as file:
            names = usable_columns(file.schema_arrow, path, columns)
            seen.update(file.schema_arrow.names)
            rows, row_number = file.metadata.num_rows, 0
            for batch in file.iter_batches(batch_size=256, columns=names):
                for cells in arrow_rows(batch, names):
                    row_number += 1
                    yield row_number / rows, (row_number, cells, "")
    except DataError:
        raise
    except Exception as error:  # Arrow raises many types of errors
        raise DataError(f"{path} is not a complete Parquet file: {error}") from None


def arrow_rows(
    table: Any,  # Any: pyarrow has no types
    names: Sequence[str],
) -> Iterator[dict[str, object]]:
    """Yield the cells of each row of an Arrow table; ``names`` are the columns.

    Python has no value for some cells of Arrow: a date after the year 9999, a time with
    nanoseconds, a time zone that the machine does not have, a text that is not UTF-8. For these
    cells the value is an :class:`OddCell`.
    """
    columns = [_column(table[name], name) for name in names]
    for index in range(table.num_rows):
        yield {name: cells[index] for name, cells in zip(names, columns, strict=True)}


def _column(column: Any, name: str) -> list[object]:  # Any: pyarrow
    """Return the cells of a column."""
    try:
        return cast("list[object]", column.to_pylist())
    except Exception:  # Arrow raises many types of errors; then each cell is read alone
        return [_cell(column, index, name) for index in range(len(column))]


def _cell(column: Any, index: int, name: str) -> object:  # Any: pyarrow
    try:
        return cast("object", column[index].as_py())
    except Exception as error:
        return OddCell(f"the cell {name!r}, {column.type}, cannot be read: {error}")


def usable_columns(
    schema: Any,  # Any: pyarrow has no types
    name: str,
    columns: Container[str] | None,
) -> list[str]:
    """Return the names of the columns of an Arrow schema that are used.

    Raises :class:`DataError` if two of them have the same name, or one has structs: Arrow gives
    every struct the keys of all structs, with null, so a missing key would look like null.
    """
    used = [field for field in schema if columns is None or field.name in columns]
    names = [field.name for field in used]
    for field in used:
        # The name of a type also contains the names of types that are nested in it.
        if any(word in str(field.type) for word in ("struct<", "map<")):
            raise DataError(
                f"the column {field.name!r} of {name} has structs; Arrow adds null keys to them",
                fix="keep it as JSON text in a column of strings, and read that in your function",
            )
        if names.count(field.name) > 1:
            raise DataError(f"{name} has two columns {field.name!r}", fix="rename one")
    return names
