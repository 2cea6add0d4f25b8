"""Rows of tables: what each kind of file gives, and what is wrong with a line."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from promptdsl import DataError
from promptdsl.batch import RowReader
from tests.errors import raised

LONG = "x" * 10_000_000


def read(tmp_path: Path, content: bytes | str, name: str) -> list[object]:
    """Return the cells of each row of a file, or what is wrong with it, with its line."""
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    rows = [*RowReader([str(path)])]
    assert [*range(1, len(rows) + 1)] == [row.number for row in rows]
    return [
        f"{row.location.removeprefix(f'{path}:')}: {row.problem}" if row.problem else row.cells
        for row in rows
    ]


JSON_LINES: list[tuple[bytes | str, list[object]]] = [
    ('{"a": 1}\n{"a": null}', [{"a": 1}, {"a": None}]),
    ('\ufeff{"a": 1}\n', [{"a": 1}]),
    ('{"a": 1}\r\n\r\n \n{"b": {"c": [2]}}\n', [{"a": 1}, {"b": {"c": [2]}}]),
    ('{"a": 1}\n\n{"a": \n', [{"a": 1}, "3: the line is not JSON: '{\"a\":'"]),
    ('{"a": NaN}\n', ["1: the line is not JSON: '{\"a\": NaN}'"]),
    ("[1]\n{}\n", ["1: the line is not a JSON object, but list", {}]),
    (b'{"a": "\xff"}\n{}\n', ["1: the line is not UTF-8: invalid start byte at byte 7", {}]),
    ('{"a": "\\ud800"}\n', [{"a": "\ud800"}]),
    ('{"a": "1\u20282\x85"}\n', [{"a": "1\u20282\x85"}]),
    ("", []),
    (
        '{"a": 1, }\n5\n"x"\nnull\ntrue\n{"b": 0}',
        [
            "1: the line is not JSON: '{\"a\": 1, }'",
            "2: the line is not a JSON object, but int",
            "3: the line is not a JSON object, but str",
            "4: the line is not a JSON object, but NoneType",
            "5: the line is not a JSON object, but bool",
            {"b": 0},
        ],
    ),
    (
        b'{"a": 1}\n\n\xef\xbb\xbf{"a": 2}\n{"b": "\xff"}\n{"\xfe": 1}\n{"a": 3}\n',
        [
            {"a": 1},
            "3: the line is not JSON: '\\ufeff{\"a\": 2}'",
            "4: the line is not UTF-8: invalid start byte at byte 7",
            "5: the line is not UTF-8: invalid start byte at byte 2",
            {"a": 3},
        ],
    ),
    (
        f'{{"a": "{LONG[:60]}\n{{\n',
        [f'1: the line is not JSON: \'{{"a": "{LONG[:53]}\'', "2: the line is not JSON: '{'"],
    ),
]


@pytest.mark.parametrize(("content", "rows"), JSON_LINES)
def test_lines_of_json(tmp_path: Path, content: bytes | str, rows: list[object]) -> None:
    """A line is an object; blank lines are none; a line that cannot be read is a bad row."""
    assert rows == read(tmp_path, content, "rows.jsonl")


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        ("a,b\n1,\n", [{"a": "1", "b": ""}]),
        ("\ufeffa\r\n1\r\n", [{"a": "1"}]),
        ('a,b\n"1\n2, ""3""",4\n5,6\n', [{"a": '1\n2, "3"', "b": "4"}, {"a": "5", "b": "6"}]),
        ("a,b\n\n1,2\n", [{"a": "1", "b": "2"}]),
        (
            "a,b\n1,2,3\n4\n5,6\n",
            [
                "2: the row has 3 cells, but the first line has 2",
                "3: the row has 1 cells, but the first line has 2",
                {"a": "5", "b": "6"},
            ],
        ),
        (b"a\n\xff\n1\n", ["2: the row is not UTF-8", {"a": "1"}]),
        (
            'a,b\n"1"2,3\n4,5\n',
            ["2: the row is not CSV: ',' expected after '\"'", {"a": "4", "b": "5"}],
        ),
        (
            'a\n1\n"2\n3\n',
            [{"a": "1"}, "3: the row is not CSV: unexpected end of data (lines 3 to 4)"],
        ),
        ("a\u2028b\n1\x85\n", [{"a\u2028b": "1\x85"}]),
        ("a\n\n1\n\n", [{"a": ""}, {"a": "1"}, {"a": ""}]),
        ("\n\na,b\n\n1,2\n\n3,4", [{"a": "1", "b": "2"}, {"a": "3", "b": "4"}]),
        (
            'a,b\n"1\n\n2",3\n"4"x,5\n6\n"7\n8",9\n"10,\n11',
            [
                {"a": "1\n\n2", "b": "3"},
                "5: the row is not CSV: ',' expected after '\"'",
                "6: the row has 1 cells, but the first line has 2",
                {"a": "7\n8", "b": "9"},
                "9: the row is not CSV: unexpected end of data (lines 9 to 10)",
            ],
        ),
        (
            b"a,b\n1,\xff\n\xfe,2\n3,4\n\xef\xbb\xbf5,6\n",
            [
                "2: the row is not UTF-8",
                "3: the row is not UTF-8",
                {"a": "3", "b": "4"},
                {"a": "\ufeff5", "b": "6"},
            ],
        ),
        ("a,b\n", []),
        ("", []),
    ],
)
def test_lines_of_csv(tmp_path: Path, content: bytes | str, rows: list[object]) -> None:
    """Cells of CSV are texts; a line with other cells than the first one is a bad row."""
    assert rows == read(tmp_path, content, "rows.csv")


def test_tabs_divide_the_cells_of_tsv(tmp_path: Path) -> None:
    """A file of the suffix ``.tsv`` has tabs."""
    assert [{"a": "1,2", "b": "3"}] == read(tmp_path, "a\tb\n1,2\t3\n", "rows.TSV")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("a,b,a\n1,2,3\n", "{path} has two columns 'a'"),
        ("a,b,c,c,b\n1,2,3,4,5\n", "{path} has two columns 'b'"),
        ("a,,b,\n1,2,3,4\n", "{path} has two columns ''"),
        (b"a,a,\xff\n1,2,3\n", "the first line of {path} is not UTF-8"),
        (b"a,\xff\n1,2\n", "the first line of {path} is not UTF-8"),
        ("a,b\n".encode("utf-16"), "the first line of {path} is not UTF-8"),
        ('a,"b\n1,2\n', "the first line of {path} is not CSV: unexpected end of data"),
    ],
)
def test_a_first_line_that_names_no_columns(
    tmp_path: Path, content: bytes | str, problem: str
) -> None:
    """The first line of CSV names the columns: without them no row can be read."""
    error = raised(DataError, lambda: read(tmp_path, content, "rows.csv"))
    assert problem.format(path=tmp_path / "rows.csv") == error.what


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "content"), [("rows.jsonl", f'{{"a": "{LONG}"}}\n'), ("rows.csv", f"a\n{LONG}\n")]
)
def test_ten_million_characters_are_a_cell(tmp_path: Path, name: str, content: str) -> None:
    """No cell is too long to be read."""
    assert [{"a": LONG}] == read(tmp_path, content, name)


def test_a_cell_may_be_longer_than_csv_allows_by_itself(tmp_path: Path) -> None:
    """The limit of 131,072 characters that Python has for a cell does not hold."""
    assert [{"a": LONG[:200_000]}] == read(tmp_path, f"a\n{LONG[:200_000]}\n", "rows.csv")


def arrow(tmp_path: Path, columns: dict[str, list[Any]]) -> str:
    """Write columns as a Parquet file, and return its path."""
    pyarrow = pytest.importorskip("pyarrow", reason="needs pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs pyarrow")
    path = str(tmp_path / "rows.parquet")
    parquet.write_table(pyarrow.table(columns), path)
    return path


def test_rows_of_parquet_have_types(tmp_path: Path) -> None:
    """Null is ``None``, numbers and dates are what they are, the place is the row."""
    columns: dict[str, list[Any]] = {
        "a": [1, None],
        "b": [date(2026, 11, 26), None],
        "c": [["x"], []],
    }
    rows = [*RowReader([arrow(tmp_path, columns)])]
    assert [
        {"a": 1, "b": date(2026, 11, 26), "c": ["x"]},
        {"a": None, "b": None, "c": []},
    ] == [row.cells for row in rows]
    assert str(tmp_path / "rows.parquet:2") == rows[1].location


@pytest.mark.parametrize("cell", [{"x": 1}, [{"x": 1}]])
def test_structs_of_parquet_are_refused_where_they_are_used(tmp_path: Path, cell: object) -> None:
    """Arrow gives every struct the keys of all others, so that a column of them is refused."""
    path = arrow(tmp_path, {"a": [1], "b": [cell]})
    assert [1] == [row.cells["a"] for row in RowReader([path], ["a"])]
    for columns in (["b"], None):
        error = raised(DataError, lambda: RowReader([path], columns))  # noqa: B023
        assert f"the column 'b' of {path} has structs; Arrow adds null keys to them" == error.what


def test_what_is_no_parquet_is_refused(tmp_path: Path) -> None:
    """A file that is cut off, or something else, is an error with its name."""
    path = Path(arrow(tmp_path, {"a": [1]}))
    path.write_bytes(path.read_bytes()[:-9])
    assert raised(DataError, lambda: RowReader([str(path)])).what.startswith(
        f"{path} is not a complete Parquet file"
    )


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("rows.xlsx", "rows.xlsx is not a table that can be read"),
        ("row.csv", "no such file: row.csv"),
        ("folder.csv", "no such file: folder.csv"),
    ],
)
def test_what_is_no_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, problem: str
) -> None:
    """A path that is no table of a known kind is refused before anything is read."""
    monkeypatch.chdir(tmp_path)
    Path("rows.csv").touch()
    Path("folder.csv").mkdir()
    assert problem == raised(DataError, lambda: RowReader([name])).what


def test_rows_are_numbered_over_all_files(tmp_path: Path) -> None:
    """The rows of several files are one sequence; an empty file is noted, the share grows to 1."""
    paths = [str(tmp_path / name) for name in ("a.jsonl", "b.csv", "c.csv")]
    for path, text in zip(paths, ('{"a": 1}\n{"a": 2}\n', "a\n", "b\n3\n"), strict=True):
        Path(path).write_text(text)
    reader = RowReader(paths)
    rows: list[object] = []
    shares: list[float] = []
    for row in reader:
        rows.append((row.number, row.location, row.texts))
        shares.append(reader.share)
    assert [
        (1, f"{paths[0]}:1", False),
        (2, f"{paths[0]}:2", False),
        (3, f"{paths[2]}:2", True),
    ] == rows
    assert [9 / 24, 18 / 24, 1.0] == shares
    assert ([paths[1]], {"a", "b"}, 1.0) == (reader.empty, reader.names, reader.share)


def test_a_table_of_another_file_system(tmp_path: Path) -> None:
    """The address of a file that pyarrow reads is that of a table, of every kind."""
    path = arrow(tmp_path, {"a": ["1", "2"]})
    (tmp_path / "rows.jsonl").write_text('{"a": "1"}\n\n{"a": "2"}', "utf-8")
    (tmp_path / "rows.csv").write_text("a\n1\n2\n", "utf-8")
    for name in ("rows.jsonl", "rows.csv", path.rpartition("/")[2]):
        address = (tmp_path / name).as_uri()
        problem_of_file, there = [*RowReader([str(tmp_path / name)])], [*RowReader([address])]
        assert [row.cells for row in problem_of_file] == [row.cells for row in there]
        assert f"{address}:{problem_of_file[1].location.rpartition(':')[2]}" == there[1].location


@pytest.mark.parametrize(
    ("address", "problem"),
    [
        ("file:///nowhere/rows.csv", "no such file: file:///nowhere/rows.csv"),
        ("ftp://here/rows.csv", "cannot read ftp://here/rows.csv: Unrecognized filesystem type"),
    ],
)
def test_an_address_of_no_table(address: str, problem: str) -> None:
    """An address that leads nowhere is named."""
    pytest.importorskip("pyarrow", reason="needs pyarrow")
    assert raised(DataError, lambda: RowReader([address])).what.startswith(problem)


@pytest.mark.parametrize("line", ["a,a", '"a', "\udcff"])
def test_a_wrong_first_line_at_an_address(tmp_path: Path, line: str) -> None:
    """It is reported as that of a file, with the address."""
    pytest.importorskip("pyarrow", reason="needs pyarrow")
    path = tmp_path / "rows.csv"
    path.write_bytes(f"{line}\n1\n".encode(errors="surrogateescape"))
    problem_of_file = raised(DataError, lambda: RowReader([str(path)])).what
    there = raised(DataError, lambda: RowReader([path.as_uri()])).what
    assert problem_of_file.replace(str(path), path.as_uri()) == there


def test_two_tables_of_parquet_and_one_of_lines(tmp_path: Path) -> None:
    """Places begin again in each file, numbers go on; only what is used is read, all is named."""
    one = Path(arrow(tmp_path, {"a": [*range(257)], "s": [{"x": 1}] * 257, "b": [None] * 257}))
    first, second = str(one.rename(tmp_path / "1.parquet")), str(tmp_path / "2.jsonl")
    Path(second).write_text('{"c": 1}\n{"a": 2, "d": 3}\n', "utf-8")
    third = arrow(tmp_path, {"e": [5, 6], "a": [7, 8]})
    reader = RowReader([first, second, third], {"a", "b"})
    assert ({"a", "b", "s", "e"}, []) == (reader.names, reader.empty)
    rows, shares = [], []
    for row in reader:
        rows.append((row.number, row.location, row.cells, row.texts))
        shares.append(reader.share)
    sizes = [Path(path).stat().st_size for path in (first, second, third)]
    total = sum(sizes)
    assert [
        (1, f"{first}:1", {"a": 0, "b": None}, False),
        (256, f"{first}:256", {"a": 255, "b": None}, False),
        (257, f"{first}:257", {"a": 256, "b": None}, False),
        (258, f"{second}:1", {"c": 1}, False),
        (259, f"{second}:2", {"a": 2, "d": 3}, False),
        (260, f"{third}:1", {"a": 7}, False),
        (261, f"{third}:2", {"a": 8}, False),
    ] == [rows[0], *rows[255:]]
    assert [
        sizes[0] / 257 / total,
        sizes[0] / total,
        (sizes[0] + 9) / total,
        (sizes[0] + sizes[1]) / total,
        (sizes[0] + sizes[1] + sizes[2] / 2) / total,
        1.0,
    ] == pytest.approx([shares[0], *shares[256:]])
    assert {"a", "b", "c", "d", "e", "s"} == reader.names


def test_structs_of_two_columns(tmp_path: Path) -> None:
    """The first one that is used is named; a map and a list of structs are such, too."""
    pyarrow = pytest.importorskip("pyarrow", reason="needs pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs pyarrow")
    path = str(tmp_path / "rows.parquet")
    maps = pyarrow.array([[("k", 1)]], pyarrow.map_(pyarrow.string(), pyarrow.int64()))
    columns = {"a": [1], "b": [{"x": 1}], "c": maps, "d": [[[{"x": 1}]]]}
    parquet.write_table(pyarrow.table(columns), path)
    words = "the column {!r} of {} has structs; Arrow adds null keys to them"
    assert [words.format(name, path) for name in "bcd"] == [
        raised(DataError, lambda used=used: RowReader([path], used)).what
        for used in (["d", "c", "b", "a"], ["a", "d", "c"], ["d"])
    ]
    assert [{"a": 1}] == [row.cells for row in RowReader([path], ["a", "z"])]
    table = pyarrow.table([[1], [2], [3], [4]], names=["a", "b", "b", "a"])
    parquet.write_table(table, path)
    twice = [
        raised(DataError, lambda used=used: RowReader([path], used)).what
        for used in (None, ["b", "c"])
    ]
    assert [f"{path} has two columns {name!r}" for name in "ab"] == twice


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        (["a.csv", "b.txt", "c.xls"], "b.txt is not a table that can be read"),
        (["a.csv", "x.csv", "b.txt"], "b.txt is not a table that can be read"),
        (["a.csv", "x.csv", "y.csv"], "no such file: x.csv"),
        (["a.csv", "d.csv", "e.csv"], "d.csv has two columns 'q'"),
        (["a.csv?x=1.csv"], "no such file: a.csv?x=1.csv"),
    ],
)
def test_the_first_of_two_tables_that_are_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: list[str], problem: str
) -> None:
    """All kinds are looked at before all files, and these before what is in them."""
    monkeypatch.chdir(tmp_path)
    for name, text in {"a": "q\n1\n", "d": "p,q,q\n", "e": "q,q\n"}.items():
        Path(f"{name}.csv").write_text(text, "utf-8")
    assert problem == raised(DataError, lambda: RowReader(names)).what
