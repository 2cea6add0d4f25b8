"""Tables as text: Markdown, CSV, JSON, XML, HTML.

Each cell is plain data and is encoded for its format. A text that an author marked as trusted stays
as written, but cannot end its cell.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TypeAlias

from promptdsl.foundation.author_text import Trusted
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

Columns: TypeAlias = tuple[str, ...] | None
Rows: TypeAlias = Iterable[tuple[object, ...]]
Encoder: TypeAlias = Callable[[str], str]

Lines: TypeAlias = tuple[tuple[str, ...], list[list[str]]]
"""Lines of a table: the texts before, between and after the cells of each line, and the cells."""


def table_text(columns: Columns, rows: Rows, format: str) -> str:
    """Return a table as text; ``format`` is one of :data:`FORMATS`."""
    if format == "json":
        return _json(columns, rows)
    texts: list[str] = []
    for frame, lines in FORMATS[format](columns, rows):
        start, between, end = frame[0], frame[1:-1], frame[-1]
        if between and between == between[:1] * len(between):  # the usual case, twice as fast
            texts += [f"{start}{between[0].join(cells)}{end}" for cells in lines]
        else:
            row_format = "%s".join([text.replace("%", "%%") for text in frame])
            texts += [row_format % tuple(cells) for cells in lines]
    return "\n".join(texts)


def cell_locations(columns: Columns, rows: Rows, format: str) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of each cell in the text of a table.

    If the names of the columns are a line above the cells, they come first.
    """
    position = 0
    for frame, lines in FORMATS[format](columns, rows):
        for cells in lines:
            for before, text in zip(frame, cells, strict=False):
                start = position + len(before)
                position = start + len(text)
                yield start, position
            position += len(frame[-1])
            position += format != "json"  # the line end


def _cells(row: Iterable[object], encode: Encoder, encode_authored: Encoder) -> list[str]:
    return [
        encode_authored(value) if type(value) is Trusted else encode(data_text(value))
        for value in row
    ]


def _framed(lines: list[list[str]], start: str, between: str, end: str) -> Lines:
    """Return lines with the same number of cells, and the texts around these cells."""
    width = len(lines[0]) if lines else 0
    return (start, *[between] * (width - 1), end) if width else (start + end,), lines


def _fixed_line(text: str) -> Lines:
    return (text,), [[]]


def _markdown(columns: Columns, rows: Rows) -> list[Lines]:
    lines = [_cells(row, cell, authored_cell) for row in rows]
    # A Markdown table always has a head: without names of columns, the head is blank.
    heads = [] if columns is None else [_cells(columns, cell, cell)]
    width = len(columns) if columns is not None else max(map(len, lines), default=0)
    blank, rule = (_fixed_line(f"| {' | '.join([text] * width)} |") for text in ("", "---"))
    head = _framed(heads, "| ", " | ", " |") if heads else blank
    return [head, rule, _framed(lines, "| ", " | ", " |")]


def _csv(columns: Columns, rows: Rows) -> list[Lines]:
    lines = [] if columns is None else [_csv_cells(columns)]
    lines += map(_csv_cells, rows)
    # A row with one empty cell is written as two quotes, because an empty line is not a row.
    quoted = [[*map(_quoted, line)] if line != [""] else ['""'] for line in lines]
    return [_framed(quoted, "", ",", "")]


def _csv_cells(row: Iterable[object]) -> list[str]:
    """Return the cells of a CSV line; the first cell is encoded so that it begins no Markdown."""
    values = list(row)
    first = _cells(values[:1], inline_line, title)
    if values and type(values[0]) in (int, float):
        first = [str(values[0])]  # a number begins no Markdown, not even with a minus
    return first + _cells(values[1:], one_line, title)


def _quoted(text: str) -> str:
    """Return a field as in RFC 4180: in quotes if it has a quote, a comma, or outer space."""
    if text and '"' not in text and "," not in text and text == text.strip():
        return text
    return '"' + text.replace('"', '""') + '"' if text else ""


def _json(columns: Columns, rows: Rows) -> str:
    lines = [[*map(_json_cell, row)] for row in rows]
    if columns is None:
        return json_text(lines)
    return json_text([dict(zip(columns, line, strict=True)) for line in lines])


def _json_cell(value: object) -> object:
    # A cell of a type that JSON does not have, such as a date, is text.
    is_json = value is None or isinstance(value, str | bool | int | float)
    return value if is_json else data_text(value)


def _json_lines(columns: Columns, rows: Rows) -> list[Lines]:
    """Return the lines of a table in JSON, which are sent without line ends between them."""
    names = [f", {json_text(name)}: " for name in columns or ()]
    start, end = "[]" if columns is None else "{}"
    lines: list[Lines] = []
    for row in rows:
        cells = [json_text(_json_cell(value)) for value in row]
        between = names or [", "] * len(cells)
        start_of_row = f"{', ' if lines else '['}{start}{between[0].removeprefix(', ')}"
        lines.append(((start_of_row, *between[1:], end), [cells]))
    return [*lines, _fixed_line("]")]


def _xml(columns: Columns, rows: Rows) -> list[Lines]:
    encode, guarded = _tagged("xml")
    cells = [_cells(row, encode, guarded) for row in rows]
    lines = _framed(cells, "<row><cell>", "</cell><cell>", "</cell></row>")
    if columns is not None:
        first_tag, *tags = [f'<cell column="{guarded(attribute(name))}">' for name in columns]
        frame = f"<row>{first_tag}", *[f"</cell>{tag}" for tag in tags], "</cell></row>"
        lines = frame, cells
    return [_fixed_line("<table>"), lines, _fixed_line("</table>")]


def _html(columns: Columns, rows: Rows) -> list[Lines]:
    encode, guarded = _tagged("html")
    head = [] if columns is None else [_cells(columns, encode, guarded)]
    cells = [_cells(row, encode, guarded) for row in rows]
    return [
        _fixed_line("<table>"),
        _framed(head, "<tr><th>", "</th><th>", "</th></tr>"),
        _framed(cells, "<tr><td>", "</td><td>", "</td></tr>"),
        _fixed_line("</table>"),
    ]


def _tagged(format: str) -> tuple[Encoder, Encoder]:
    """Return two encoders of cells, one for values and one for author text."""
    guarded = partial(guard, names=TABLE_TAGS[format])
    return lambda value: guarded(body(value)), guarded


TABLE_TAGS: Mapping[str, tuple[str, ...]] = {
    "xml": ("table", "row", "cell"),
    "html": ("table", "tr", "th", "td"),
}
"""By format, the tags of a table."""
FORMATS: Mapping[str, Callable[[Columns, Rows], list[Lines]]] = {
    "markdown": _markdown,
    "csv": _csv,
    "json": _json_lines,
    "xml": _xml,
    "html": _html,
}
