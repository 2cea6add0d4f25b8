"""Tables as text: Markdown, CSV, JSON, XML, HTML.

Each cell is plain data and is encoded for its format. A cell that an author marked as trusted stays
as written, but cannot end its cell.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TypeAlias

from promptdsl.foundation.escaping import (
    attribute,
    authored_cell,
    body,
    cell,
    data_text,
    inline_line,
    json_text,
    one_line,
    title,
)
from promptdsl.foundation.guards import guard
from promptdsl.foundation.trusted import Trusted

Columns: TypeAlias = tuple[str, ...] | None
Rows: TypeAlias = Iterable[tuple[object, ...]]
Encoder: TypeAlias = Callable[[str], str]


def table_text(columns: Columns, rows: Rows, format: str) -> str:
    """Return a table as text; ``format`` is one of :data:`FORMATS`.

    Raises :class:`ContentError` for a cell that JSON cannot express.
    """
    return FORMATS[format](columns, rows)


def _cells(row: Iterable[object], encode: Encoder, encode_authored: Encoder) -> list[str]:
    return [
        encode_authored(value) if type(value) is Trusted else encode(data_text(value))
        for value in row
    ]


def _markdown(columns: Columns, rows: Rows) -> str:
    lines = [_cells(row, cell, authored_cell) for row in rows]
    # A Markdown table has a head; without columns, a blank one.
    width = len(columns) if columns is not None else max(map(len, lines), default=0)
    head = _cells(columns or [""] * width, cell, cell)
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, ["---"] * width, *lines))


def _csv(columns: Columns, rows: Rows) -> str:
    lines = [_csv_cells(row) for row in rows]
    head = [] if columns is None else [_csv_cells(columns)]
    # A row of one empty cell is written as two quotes: an empty line would be no row.
    return "\n".join(",".join(map(_quoted, line)) or '""' for line in (*head, *lines))


def _csv_cells(row: Iterable[object]) -> list[str]:
    """Return the cells of a CSV line: the first must not begin a Markdown line."""
    values = list(row)
    first = _cells(values[:1], inline_line, title)
    if values and type(values[0]) in (int, float):
        first = [str(values[0])]  # a number begins nothing, not even one with a minus
    return first + _cells(values[1:], one_line, title)


def _quoted(text: str) -> str:
    """Return a field as in RFC 4180: in quotes when it has a quote, a comma, or outer space."""
    if text and '"' not in text and "," not in text and text == text.strip():
        return text
    return '"' + text.replace('"', '""') + '"' if text else ""


def _json(columns: Columns, rows: Rows) -> str:
    # Cells that JSON has no type for, such as dates, are text.
    lines = [
        [
            value
            if value is None or isinstance(value, str | bool | int | float)
            else data_text(value)
            for value in row
        ]
        for row in rows
    ]
    if columns is None:
        return json_text(lines)
    return json_text([dict(zip(columns, line, strict=True)) for line in lines])


def _xml(columns: Columns, rows: Rows) -> str:
    encode, guarded = _tagged("xml")
    opened = [f'<cell column="{guarded(attribute(name))}">' for name in columns or ()]
    lines = [
        "".join(
            f"{opened[index] if opened else '<cell>'}{text}</cell>"
            for index, text in enumerate(_cells(row, encode, guarded))
        )
        for row in rows
    ]
    return "\n".join(("<table>", *(f"<row>{line}</row>" for line in lines), "</table>"))


def _html(columns: Columns, rows: Rows) -> str:
    encode, guarded = _tagged("html")
    lines = [_html_row(_cells(row, encode, guarded), "td") for row in rows]
    head = [] if columns is None else [_html_row(_cells(columns, encode, guarded), "th")]
    return "\n".join(("<table>", *head, *lines, "</table>"))


def _html_row(cells: list[str], tag: str) -> str:
    return "<tr>" + "".join(f"<{tag}>{text}</{tag}>" for text in cells) + "</tr>"


def _tagged(format: str) -> tuple[Encoder, Encoder]:
    """Return two encoders of cells, one for values and one for author text."""
    guarded = partial(guard, names=TABLE_TAGS[format])
    return lambda value: guarded(body(value)), guarded


TABLE_TAGS: Mapping[str, tuple[str, ...]] = {
    "xml": ("table", "row", "cell"),
    "html": ("table", "tr", "th", "td"),
}
"""By format, the tags of a table."""
FORMATS: Mapping[str, Callable[[Columns, Rows], str]] = {
    "markdown": _markdown,
    "csv": _csv,
    "json": _json,
    "xml": _xml,
    "html": _html,
}
