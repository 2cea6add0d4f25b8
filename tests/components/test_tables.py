"""Tables: what they are made of, and what they refuse."""

import datetime
from collections.abc import Iterator
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import pytest

from promptdsl import *
from tests.components.failing import Write, failed, refusal
from tests.renders import comes_to, losses_of, only_text

XML: Any = {"format": "xml"}
HEAD = "| a | b |\n| --- | --- |\n"

# Rows.


@pytest.mark.parametrize(
    "table",
    [
        Table([{"a": 1, "b": 2}]),
        Table([MappingProxyType({"a": 1, "b": 2})]),
        Table([[1, 2]], columns=["a", "b"]),
        Table([[1, 2]], ["a", "b"]),
        Table(((1, 2),), columns=("a", "b")),
        Table((row for row in [(1, 2)]), columns=(name for name in "ab")),
        Table([{"b": 2, "c": 3, "a": 1}], columns=["a", "b"]),
    ],
)
def test_rows(table: Table) -> None:
    """Rows are sequences of cells, or mappings of which the columns are chosen."""
    assert f"{HEAD}| 1 | 2 |" == only_text(System(table))


def test_rows_without_columns() -> None:
    """A Markdown table has a head; without columns it is blank."""
    assert "|  |  |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 |" == only_text(
        System(Table([[1, 2], [3, 4]]))
    )


def test_columns_of_mappings() -> None:
    """Without columns those of all mappings count, in the order they are met first."""
    table = Table([{"b": 1}, {"a": 2, "b": 3}])
    assert "| b | a |\n| --- | --- |\n| 1 |  |\n| 3 | 2 |" == only_text(System(table))


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        (None, ""),
        ("", ""),
        (True, "true"),
        (False, "false"),
        (0, "0"),
        (0.5, "0.5"),
        (Decimal("1.10"), "1.10"),
        (float("nan"), "nan"),
        (datetime.date(2026, 2, 3), "2026-02-03"),
        ("<b> & |", "&lt;b&gt; &amp; &#124;"),
        ("a\nb\r\nc", "a&#10;b&#13;&#10;c"),
        ("a\\", "a&#92;"),
        (trusted("<b> | \n"), "<b> &#124; &#10;"),
        (trusted("\ud800"), "\ufffd"),
    ],
)
def test_cells(cell: Any, expected: str) -> None:
    """A cell is a value on one line; what an author vouches for is as written, in its cell."""
    assert f"| a |\n| --- |\n| {expected} |" == only_text(System(Table([[cell]], columns=["a"])))


def test_names_of_columns_are_values() -> None:
    """The name of a column may come from data: it is a value, of any type that has a text."""
    assert "| &lt;a&gt;&#124; | 1 |" == only_text(System(Table([{"<a>|": 0, 1: 0}]))).split("\n")[0]


def test_a_table_is_what_it_was_when_it_was_written() -> None:
    """Changing the rows a table was made of changes no prompt."""
    rows = [[1, 2]]
    table = Table(rows, columns=["a", "b"])
    rows[0][0] = 9
    rows.append([3, 4])
    assert f"{HEAD}| 1 | 2 |" == only_text(System(table))


@pytest.mark.parametrize("rows", [[], [[]], [[], []], [{}], iter(()), ()])
@pytest.mark.parametrize("form", ["markdown", "xml"])
def test_empty_tables(rows: Any, form: Any) -> None:
    """A table without cells yields nothing."""
    tree = System("a", Table(rows), "b")
    assert "a\n\nb" == only_text(tree, transformation={"format": form})


def test_a_table_of_columns_alone() -> None:
    """Neither does one that has columns and no rows, and no message is made for it."""
    assert [] == comes_to(System(Table([], columns=["a"])), User(Table([], columns=["a"])))


# Places.

LINES = f"{HEAD}| 1 | <b> |".replace("<b>", "&lt;b&gt;")


@pytest.mark.parametrize(
    ("place", "role", "expected"),
    [
        (System, "system", LINES),
        (lambda t: Section("s", t, title="S"), "system", f"## S\n{LINES}"),
        (User, "user", LINES),
        (Assistant, "assistant", LINES),
        (Event, "user", f"<event>\n{LINES}\n</event>"),
        (Ephemeral, "user", f"<context>\n{LINES}\n</context>"),
        (lambda t: Grounding("g", t), "user", f"<context>\n{LINES}\n</context>"),
        (lambda t: System(Quote(t)), "system", "> " + LINES.replace("\n", "\n> ")),
    ],
)
def test_places(place: Any, role: str, expected: str) -> None:
    """Cells are encoded in every place, conversation included."""
    assert [(role, expected)] == comes_to(place(Table([[1, "<b>"]], columns=["a", "b"])))


def test_in_the_answer_of_a_tool() -> None:
    """A table is one block of a tool's answer."""
    call = Assistant(ToolUse("t", {}, id="1"))
    table = Table([[1, "<b>"]], columns=["a", "b"])
    assert ("tool", ("result", "1", LINES)) == comes_to(call, ToolMessage("1", table))[-1]


def test_in_a_block() -> None:
    """A table written in a block belongs to it."""
    with System() as written:
        Table([[1, "<b>"]], columns=["a", "b"])
    assert LINES == only_text(written)


@pytest.mark.parametrize("form", ["markdown", "xml", "html", "csv", "json"])
@pytest.mark.parametrize("cell", ["</context>", "< / CONTEXT >", "<context>", "x <", "</rules>"])
def test_what_is_trusted_stays_in_its_fence(form: Any, cell: str) -> None:
    """What an author vouches for cannot close the fences around its table."""
    tree = Ephemeral(Section("rules", Table([[trusted(cell)], ["/context>"]], format=form)))
    whole = only_text(tree, transformation=XML).lower()
    assert (1, 1) == (whole.count("<context"), whole.count("</context"))
    assert (1, 1) == (whole.count("<rules"), whole.count("</rules"))


@pytest.mark.parametrize(("cell", "expected"), [("]]", "&#93;]"), (trusted("]]"), "&#93;&#93;")])
def test_cells_hold_no_delimiter(cell: str, expected: str) -> None:
    """No cell holds a delimiter that is configured and no tag."""
    config: Any = {"delimiters": {"ephemeral": ("[[", "]]")}}
    whole = only_text(Ephemeral(Table([[cell]])), transformation=config)
    assert f"[[\n|  |\n| --- |\n| {expected} |\n]]" == whole


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("a\x07", [("hint", "control characters U+0007")]),
        ("a\u202e", [("hint", "invisible characters U+202E")]),
        (trusted("a\ud800"), [("content", "a lone surrogate")]),
        (trusted("a\u202e"), []),
        ("a", []),
    ],
)
def test_losses(cell: str, expected: list[tuple[str, str]]) -> None:
    """What a reader does not see in a cell is reported."""
    assert expected == losses_of(System(Table([[cell]])))


# Data frames. Each class has the shape of one library's, as far as a table looks at it.

NAMES = ("a", "b")


class Pandas:
    """The shape of a ``pandas.DataFrame``."""

    def __init__(self, rows: list[tuple[Any, ...]], columns: tuple[Any, ...] = NAMES) -> None:
        self.columns = columns
        self.rows = rows

    def itertuples(self, index: bool = True, name: str | None = "Pandas") -> Iterator[Any]:
        """Return the rows, as ``pandas`` does when asked for plain tuples."""
        assert (False, None) == (index, name)
        return iter(self.rows)


class Polars:
    """The shape of a ``polars.DataFrame``."""

    def __init__(self, rows: list[tuple[Any, ...]]) -> None:
        self.columns = list(NAMES)
        self.rows = rows

    def iter_rows(self) -> Iterator[Any]:
        """Return the rows."""
        return iter(self.rows)


class PyArrow:
    """The shape of a ``pyarrow.Table``, whose ``columns`` are no names."""

    def __init__(self, rows: list[tuple[Any, ...]]) -> None:
        self.columns = [object(), object()]
        self.column_names = list(NAMES)
        self.rows = rows

    def to_pylist(self) -> list[dict[str, Any]]:
        """Return a mapping for every row."""
        return [dict(zip(NAMES, row, strict=True)) for row in self.rows]


class Missing:
    """The shape of ``pandas.NA``: what it is compared with, the answer is missing too."""

    __hash__ = object.__hash__

    def __ne__(self, other: object) -> Any:
        return self

    def __bool__(self) -> bool:
        raise TypeError("boolean value of NA is ambiguous")


class NotATime(datetime.datetime):
    """The shape of ``pandas.NaT``: a time that equals nothing."""

    __hash__ = datetime.datetime.__hash__

    def __ne__(self, other: object) -> bool:
        return True


class Scalar:
    """The shape of a scalar of ``numpy``, which is not a number of Python's."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def item(self) -> Any:
        """Return the plain value."""
        return self.value


class Array:
    """The shape of an array of ``numpy``: whether it equals itself has many answers."""

    __hash__ = object.__hash__

    def __ne__(self, other: object) -> Any:
        return self

    def __bool__(self) -> bool:
        raise ValueError("the truth value of an array is ambiguous")


every_frame = pytest.mark.parametrize("frame", [Pandas, Polars, PyArrow])


@every_frame
def test_frames(frame: Any) -> None:
    """A data frame is a table of its columns and rows."""
    assert f"{HEAD}| 1 | &lt;x&gt; |\n| 2 | y |" == only_text(
        System(Table(frame([(1, "<x>"), (2, "y")])))
    )


@every_frame
@pytest.mark.parametrize(
    "missing", [None, float("nan"), Decimal("nan"), Missing(), NotATime(1, 1, 1)]
)
def test_missing_cells(frame: Any, missing: Any) -> None:
    """What is missing in a frame is an empty cell."""
    assert f"{HEAD}|  | 1 |" == only_text(System(Table(frame([(missing, 1)]))))


@every_frame
@pytest.mark.parametrize(
    ("value", "expected"),
    [(7, "7"), (0.5, "0.5"), (True, "true"), ("<x>", "&lt;x&gt;"), (None, "")],
)
def test_scalars(frame: Any, value: Any, expected: str) -> None:
    """The scalars of array libraries are their plain values."""
    assert f"{HEAD}| {expected} | 1 |" == only_text(
        System(Table(frame([(Scalar(value), Scalar(1))])))
    )


@every_frame
def test_columns_of_a_frame(frame: Any) -> None:
    """Columns choose those of a frame, in their own order."""
    table = Table(frame([(1, 2)]), columns=["b"])
    assert "| b |\n| --- |\n| 2 |" == only_text(System(table))
    assert "| b | a |" == only_text(System(Table(frame([(1, 2)]), ["b", "a"]))).split("\n")[0]


@every_frame
def test_an_empty_frame(frame: Any) -> None:
    """A frame without rows yields nothing."""
    assert "a" == only_text(System("a", Table(frame([]))))


def test_numbers_as_names() -> None:
    """The columns of a frame may be called by numbers."""
    table = Table(Pandas([(1, 2)], (0, 1)))
    assert "| 0 | 1 |\n| --- | --- |\n| 1 | 2 |" == only_text(System(table))


@pytest.mark.parametrize("frame", [Pandas, Polars, PyArrow])
def test_volatile_cells_of_a_frame(frame: Any) -> None:
    """They leave the block, as cells of rows do."""
    with System() as system:
        Table(frame([(1, Volatile("a", "x")), (2, Volatile("b", "y"))]))
    spans = render(system).spans()
    assert ["a", "b"] == [span.text for span in spans if span.kind == "volatile"]


# Bad input.

TEXT_FIX = "write str(value), or json.dumps(value) for its structure"
CELL_FIX = "write its text: a cell is a value, and trusted(text) is author text"
ROWS_FIX = "write a list of rows: [[1, 2], [3, 4]], or a list of mappings"
ROW_FIX = "write each row as a list of cells, or as a mapping"
NAMES_FIX = 'write a list of names: columns=["name", "price"]'
EVEN_FIX = "write a cell for each column in each row, None for an empty cell"


@pytest.mark.parametrize(
    ("kind", "fix", "write"),
    [
        (ContentError, ROWS_FIX, lambda: Table(None)),
        (ContentError, ROWS_FIX, lambda: Table(True)),
        (ContentError, ROWS_FIX, lambda: Table("a")),
        (ContentError, ROWS_FIX, lambda: Table({"a": [1]})),
        (ContentError, ROWS_FIX, lambda: Table({(1, 2), (3, 4)})),
        (ContentError, ROWS_FIX, lambda: Table(Text("a"))),
        (ContentError, ROW_FIX, lambda: Table(["a"])),
        (ContentError, ROW_FIX, lambda: Table([1])),
        (ContentError, ROW_FIX, lambda: Table([{1, 2}])),
        (ContentError, ROW_FIX, lambda: Table([[1], {"a": 1}])),
        (ContentError, ROW_FIX, lambda: Table([Text("a")])),
        (ContentError, EVEN_FIX, lambda: Table([[1], [1, 2]])),
        (ContentError, EVEN_FIX, lambda: Table([[1]], columns=["a", "b"])),
        (ContentError, "write data.decode()", lambda: Table([[b"a"]])),
        (ContentError, TEXT_FIX, lambda: Table([[["a"]]])),
        (ContentError, TEXT_FIX, lambda: Table([{"a": object()}])),
        (ContentError, "leave it out, or write an empty string", lambda: Table([{None: 1}])),
        (ContentError, CELL_FIX, lambda: Table([[Text("a"), Text("b")], [Value("c"), 1]])),
        (ContentError, CELL_FIX, lambda: Table([{"a": 1, "b": Text("b")}])),
        (ContentError, CELL_FIX, lambda: Table(iter([(Item("a"),)]))),
        (ContentError, CELL_FIX, lambda: Table([(Image.from_url("https://example.org/a.png"),)])),
        (ContentError, NAMES_FIX, lambda: Table([[1]], columns="a")),
        (ContentError, NAMES_FIX, lambda: Table([[1]], columns=1)),  # type: ignore[arg-type]
        (ContentError, NAMES_FIX, lambda: Table([[1, 2]], columns={"a", "b"})),
        (ContentError, "write its text", lambda: Table([[1]], columns=[Text("a")])),  # type: ignore[list-item]
        (ContentError, "did you mean 'b'?", lambda: Table(Polars([(1, 2)]), columns=["bb"])),
        (ContentError, "known: a, b", lambda: Table(PyArrow([(1, 2)]), columns=["price"])),
        (ContentError, TEXT_FIX, lambda: Table(Pandas([(1, Array())]))),
        (ContentError, TEXT_FIX, lambda: Table(Pandas([(1, Scalar(1j))]))),
        (ContentError, TEXT_FIX, lambda: Table(Pandas([], (("a", "b"),)))),
        (OptionError, "did you mean 'html'?", lambda: Table([[1]], format="htm")),  # type: ignore[arg-type]
        (OptionError, "known: csv, html, json, markdown, xml", lambda: Table([[1]], format=[])),  # type: ignore[arg-type]
        (OptionError, "did you mean 'columns'?", lambda: Table([[1]], column=["a"])),  # type: ignore[arg-type]
        (OptionError, "known: columns, format, rows_or_frame", lambda: Table([[1]], x=Text("a"))),  # type: ignore[arg-type]
        (
            ContentError,
            "give each column of a JSON table a different name",
            lambda: Table([[1, 2]], columns=["a", "a"], format="json"),
        ),
    ],
)
def test_bad_input(kind: type[PromptError], fix: str, write: Write) -> None:
    """Bad input is an error that names the line, says what to do, and leaves nothing behind."""
    assert refusal(kind, fix) == failed(write)


@pytest.mark.parametrize(
    ("rows", "what"),
    [
        ([[1, 2], [3, b"4"]], "rows[1][1]: bytes is not text"),
        ([{"a": 1}, {"a": Text("x")}], "rows[1]['a']: a Text cannot be in a cell"),
        ([[1], [2], [3, 4]], "rows[2] has 2 cells, not 1"),
        ([[1], 2], "rows[1] is int, not a row of cells"),
        (Pandas([(1, 2), (3, Array())]), "rows[1][1]: Array is not text"),
    ],
)
def test_errors_name_the_cell(rows: Any, what: str) -> None:
    """An error says which row and which cell it is."""
    with pytest.raises(ContentError) as caught:
        Table(rows)
    assert what == caught.value.what


def test_what_json_has_no_word_for() -> None:
    """A number that JSON cannot say is an error with the line of its table."""
    table = Table([[float("nan")]], format="json")
    with pytest.raises(ContentError) as caught:
        render(Timeline(System(table)))
    assert (str(table.source),) == caught.value.at


@pytest.mark.parametrize("count", [10_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_wide(count: int) -> None:
    """A table of very many rows is written to the last."""
    whole = only_text(System(Table([number, number] for number in range(count))))
    assert (count + 2, f"| {count - 1} | {count - 1} |") == (
        len(whole.split("\n")),
        whole.rpartition("\n")[2],
    )
