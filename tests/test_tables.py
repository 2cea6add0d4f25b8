"""Tables as text, in every format a table can have."""

import csv
import io
import json
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import decode, trusted
from tests.hostile import HOSTILE
from tests.internals import FORMATS, cell_locations, table_text

COLUMNS = ("a", "b")
ROWS = ((1, "x"), (None, "<y> & |"))


@pytest.mark.parametrize(
    ("format", "expected"),
    [
        ("markdown", "| a | b |\n| --- | --- |\n| 1 | x |\n|  | &lt;y&gt; &amp; &#124; |"),
        ("csv", "a,b\n1,x\n,&lt;y&gt; &amp; |"),
        ("json", '[{"a": 1, "b": "x"}, {"a": null, "b": "\\u003cy\\u003e \\u0026 |"}]'),
        (
            "xml",
            '<table>\n<row><cell column="a">1</cell><cell column="b">x</cell></row>\n'
            '<row><cell column="a"></cell><cell column="b">&lt;y&gt; &amp; |</cell></row>\n'
            "</table>",
        ),
        (
            "html",
            "<table>\n<tr><th>a</th><th>b</th></tr>\n<tr><td>1</td><td>x</td></tr>\n"
            "<tr><td></td><td>&lt;y&gt; &amp; |</td></tr>\n</table>",
        ),
    ],
)
def test_formats(format: str, expected: str) -> None:
    """A table has its columns and rows in every format, its cells are encoded."""
    assert expected == table_text(COLUMNS, ROWS, format)


@pytest.mark.parametrize(
    ("format", "expected"),
    [
        ("markdown", "|  |  |\n| --- | --- |\n| 1 | x |"),
        ("csv", "1,x"),
        ("json", '[[1, "x"]]'),
        ("xml", "<table>\n<row><cell>1</cell><cell>x</cell></row>\n</table>"),
        ("html", "<table>\n<tr><td>1</td><td>x</td></tr>\n</table>"),
    ],
)
def test_without_columns(format: str, expected: str) -> None:
    """Without columns a table is its rows alone; in Markdown it has to have a head."""
    assert expected == table_text(None, ROWS[:1], format)


def test_two_columns_of_one_name_among_others() -> None:
    """Each cell has the name of its own column."""
    expected = (
        '<table>\n<row><cell column="a">1</cell><cell column="b">2</cell>'
        '<cell column="c">3</cell><cell column="b">4</cell></row>\n</table>'
    )
    assert expected == table_text(("a", "b", "c", "b"), [(1, 2, 3, 4)], "xml")


def test_every_format_is_tested() -> None:
    """These are the formats there are."""
    assert ["csv", "html", "json", "markdown", "xml"] == sorted(FORMATS)


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("a,b", '"a,b"'),
        ('a"b', '"a""b"'),
        ('"', '""""'),
        (" a", "&#32;a"),
        ("a ", '"a "'),
        ("", '""'),
        (None, '""'),
        ("a\nb", "a&#10;b"),
        ("=1+2", "&#61;1+2"),
        (trusted('<b>, "'), '"<b>, """'),
        (trusted("a\nb"), "a&#10;b"),
    ],
)
def test_csv_fields(cell: str | None, expected: str) -> None:
    """A field is one line, in quotes where RFC 4180 wants it or where blanks would be lost."""
    assert expected == table_text(None, [(cell,)], "csv")


@pytest.mark.parametrize(
    ("format", "cell", "expected"),
    [
        ("markdown", "<b> | \n", "<b> &#124; &#10;"),
        ("markdown", "a\\", "a&#92;"),
        ("xml", "<b> </cell> < / ROW", "<b> &lt;/cell> &lt; / ROW"),
        ("xml", "a <", "a &lt;"),
        ("html", "<b> </td> <table>", "<b> &lt;/td> &lt;table>"),
        ("json", "<b>", "\\u003cb\\u003e"),
    ],
)
def test_what_an_author_vouches_for(format: str, cell: str, expected: str) -> None:
    """An author's cell is as written, but cannot leave its cell."""
    harmless = table_text(None, [("WORD",)], format)
    assert harmless.replace("WORD", expected) == table_text(None, [(trusted(cell),)], format)


def test_rows_of_two_empty_cells_in_csv() -> None:
    """A row without any text has its comma; only a row of one empty cell needs quotes."""
    assert "a,b\n,\nx,\n," == table_text(COLUMNS, [(None, ""), ("x", None), ("", "")], "csv")
    assert 'a\n""\nx\n""' == table_text(("a",), [("",), ("x",), (None,)], "csv")


def test_places_of_empty_cells_in_csv() -> None:
    """An empty cell of two has an empty place, between its own neighbours."""
    assert [(0, 1), (2, 3), (4, 4), (5, 5), (6, 7), (8, 8)] == [
        *cell_locations(COLUMNS, [(None, ""), ("x", None)], "csv")
    ]


def read_csv(columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[list[str]]:
    """Return the cells that a reader of CSV finds in a table, each of them decoded."""
    read = csv.reader(io.StringIO(table_text(columns, rows, "csv")))
    return [list(map(decode, row)) for row in read]


def test_a_csv_reader_finds_every_cell() -> None:
    """A reader of CSV finds as many cells as there are, and each can be read back."""
    expected = [[[value, "b"], ["x", value], [value, "y"]] for value in HOSTILE]
    assert expected == [read_csv((v, "b"), [("x", v), (v, "y")]) for v in HOSTILE]


def test_a_json_reader_finds_every_cell() -> None:
    """A reader of JSON finds every value as it was."""
    values = [value for value in HOSTILE if "\ud83d" not in value]
    written = [table_text((v + "1", "b"), [("x", v), (v, "y")], "json") for v in values]
    rows = [[{value + "1": "x", "b": value}, {value + "1": value, "b": "y"}] for value in values]
    assert rows == [json.loads(text) for text in written]


# XML has no name for control characters, U+FFFE and U+FFFF, not even as references.
XML_TEXT = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc"], exclude_characters="\ufffe\uffff")
)


@given(XML_TEXT)
def test_an_xml_reader_finds_every_cell(value: str) -> None:
    """A reader of XML finds every value as it was, names of columns included."""
    written = table_text((value,), [(value,), ("x",)], "xml")
    cells = [cell for row in ElementTree.fromstring(written) for cell in row]
    assert [(value, value), (value, "x")] == [
        (cell.get("column"), cell.text or "") for cell in cells
    ]


@given(XML_TEXT)
def test_an_html_table_is_well_formed(value: str) -> None:
    """So is an HTML table read, its head first."""
    root = ElementTree.fromstring(table_text((value,), [(value,)], "html"))
    assert [("th", value), ("td", value)] == [(c.tag, c.text or "") for row in root for c in row]
