"""Tables as text: Markdown, CSV, JSON, XML, HTML.

Each cell is plain data and is encoded for its format. A cell that an author marked as trusted stays
as written, but cannot end its cell.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
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


Line: TypeAlias = tuple[tuple[str, ...], list[str]]
"""A line of a table: its encoded cells, and the texts before, between and after them."""


def table_text(columns: Columns, rows: Rows, format: str) -> str:
    """Return a table as text; ``format`` is one of :data:`FORMATS`.

    Raises :class:`ContentError` for a cell that JSON cannot express.
    """
    if format == "json":
        return _json(columns, rows)
    form: dict[tuple[str, ...], str] = {}
    lines: list[str] = []
    for frame, cells in FORMATS[format](columns, rows):
        if frame not in form:
            form[frame] = "%s".join(text.replace("%", "%%") for text in frame)
        lines.append(form[frame] % tuple(cells))
    return "\n".join(lines)


def cell_places(columns: Columns, rows: Rows, format: str) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of each cell in the text of a table.

    The names of columns come first, where they stand above the cells, in a line of their own.
    """
    position = 0
    for frame, cells in FORMATS[format](columns, rows):
        for before, text in zip(frame, [*cells, None], strict=True):
            position += len(before)
            if text is not None:
                yield position, position + len(text)
                position += len(text)
        position += format != "json"  # the line end


def _cells(row: Iterable[object], encode: Encoder, encode_authored: Encoder) -> list[str]:
    return [
        encode_authored(value) if type(value) is Trusted else encode(data_text(value))
        for value in row
    ]


def _around(cells: int, start: str, between: str, end: str) -> tuple[str, ...]:
    """Return the texts around the cells of a line."""
    return (start, *[between] * (cells - 1), end) if cells else (start + end,)


def _markdown(columns: Columns, rows: Rows) -> list[Line]:
    lines = [_cells(row, cell, authored_cell) for row in rows]
    # A Markdown table has a head; without columns, a blank one.
    width = len(columns) if columns is not None else max(map(len, lines), default=0)
    frame = _around(width, "| ", " | ", " |")
    head: Line = (("".join(frame),), [])
    if columns is not None:
        head = frame, _cells(columns, cell, cell)
    rule: Line = ((f"| {' | '.join(['---'] * width)} |",), [])
    return [head, rule, *((_around(len(line), "| ", " | ", " |"), line) for line in lines)]


def _csv(columns: Columns, rows: Rows) -> list[Line]:
    lines = [] if columns is None else [_csv_cells(columns)]
    lines += map(_csv_cells, rows)
    # A row of one empty cell is written as two quotes: an empty line would be no row.
    quoted = [[*map(_quoted, line)] if line != [""] else ['""'] for line in lines]
    return [(_around(len(line), "", ",", ""), line) for line in quoted]


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
    lines = [[*map(_json_cell, row)] for row in rows]
    if columns is None:
        return json_text(lines)
    return json_text([dict(zip(columns, line, strict=True)) for line in lines])


def _json_cell(value: object) -> object:
    # Cells that JSON has no type for, such as dates, are text.
    is_json = value is None or isinstance(value, str | bool | int | float)
    return value if is_json else data_text(value)


def _json_lines(columns: Columns, rows: Rows) -> list[Line]:
    keys = [f"{json_text(name)}: " for name in columns or ()]
    start, end = "[]" if columns is None else "{}"
    lines: list[Line] = []
    before = f"[{start}"
    for row in rows:
        cells = [json_text(_json_cell(value)) for value in row]
        names = keys or [""] * len(cells)
        frame = [f"{', ' if index else ''}{name}" for index, name in enumerate(names)]
        lines.append(((before + frame[0], *frame[1:], end), cells))
        before = f", {start}"
    return [*lines, (("]",), [])]


def _xml(columns: Columns, rows: Rows) -> list[Line]:
    guarded, end = _guard_of("table", "row", "cell"), "</cell></row>"
    opened = [f'<cell column="{attribute(name)}">' for name in columns or ()]
    lines: list[Line] = []
    for row in rows:
        cells = _cells(row, body, guarded)
        first, *others = opened or ["<cell>"] * len(cells)
        lines.append(((f"<row>{first}", *[f"</cell>{tag}" for tag in others], end), cells))
    return [(("<table>",), []), *lines, (("</table>",), [])]


def _html(columns: Columns, rows: Rows) -> list[Line]:
    guarded = _guard_of("table", "tr", "th", "td")
    head = [] if columns is None else [(_html_row(len(columns), "th"), _cells(columns, body, body))]
    cells = [_cells(row, body, guarded) for row in rows]
    lines = [(_html_row(len(line), "td"), line) for line in cells]
    return [(("<table>",), []), *head, *lines, (("</table>",), [])]


def _html_row(cells: int, tag: str) -> tuple[str, ...]:
    return _around(cells, f"<tr><{tag}>", f"</{tag}><{tag}>", f"</{tag}></tr>")


def _guard_of(*names: str) -> Encoder:
    return lambda text: guard(text, names)


FORMATS: Mapping[str, Callable[[Columns, Rows], list[Line]]] = {
    "markdown": _markdown,
    "csv": _csv,
    "json": _json_lines,
    "xml": _xml,
    "html": _html,
}
