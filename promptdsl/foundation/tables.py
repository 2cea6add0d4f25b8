"""Tables in the formats a table can have of its own: Markdown, CSV, JSON, XML, HTML.

Cells are plain data; every one is encoded for its place. What an author vouches for is kept as
written, but cannot leave its cell.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

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
from promptdsl.foundation.guards import guard, guard_end
from promptdsl.foundation.trusted import Trusted

Columns = tuple[str, ...] | None
Rows = Iterable[tuple[Any, ...]]
Encoder = Callable[[str], str]


def table_text(columns: Columns, rows: Rows, format: str) -> str:
    """Return a table as text; ``format`` is one of :data:`FORMATS`.

    Raises :class:`ContentError` for what JSON has no word for.
    """
    return FORMATS[format](columns, rows)


def _cells(row: Iterable[Any], value: Encoder, author: Encoder) -> list[str]:
    return [author(x) if type(x) is Trusted else value(data_text(x)) for x in row]


def _markdown(columns: Columns, rows: Rows) -> str:
    lines = [_cells(row, cell, authored_cell) for row in rows]
    # A Markdown table has a head. Without columns it is blank.
    width = len(columns) if columns is not None else max(map(len, lines), default=0)
    head = _cells(columns or [""] * width, cell, cell)
    return "\n".join(_bars(line) for line in (head, ["---"] * width, *lines))


def _bars(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _csv(columns: Columns, rows: Rows) -> str:
    lines = [_csv_cells(row) for row in rows]
    head = [] if columns is None else [_csv_cells(columns)]
    # A line without a character would be none at all.
    return "\n".join(",".join(map(_quoted, line)) or '""' for line in (*head, *lines))


def _csv_cells(row: Iterable[Any]) -> list[str]:
    """Return the cells of a line: only the first could begin one, and a number begins nothing."""
    values = list(row)
    first = [x if type(x) in _NUMBERS else None for x in values[:1]]
    cells = _cells(values[:1], inline_line, title) + _cells(values[1:], one_line, title)
    return [str(first[0]), *cells[1:]] if first and first[0] is not None else cells


_NUMBERS = (int, float)


def _quoted(text: str) -> str:
    """Return a field as RFC 4180 has it: in quotes when it holds one, or a comma, or has ends."""
    if text and '"' not in text and "," not in text and text == text.strip():
        return text
    return '"' + text.replace('"', '""') + '"' if text else ""


def _json(columns: Columns, rows: Rows) -> str:
    lines = [[_json_value(cell) for cell in row] for row in rows]
    if columns is None:
        return json_text(lines)
    return json_text([dict(zip(columns, line, strict=True)) for line in lines])


def _json_value(cell: Any) -> Any:
    """Return a cell as JSON has it: what it has no word for as text, a date for one."""
    return cell if cell is None or isinstance(cell, str | bool | int | float) else data_text(cell)


def _xml(columns: Columns, rows: Rows) -> str:
    names = ("table", "row", "cell")
    opened = [f'<cell column="{attribute(name)}">' for name in columns or ()]
    lines = [
        "".join(
            f"{opened[i] if opened else '<cell>'}{text}</cell>"
            for i, text in enumerate(_cells(row, body, _guarding(names)))
        )
        for row in rows
    ]
    return "\n".join(("<table>", *(f"<row>{line}</row>" for line in lines), "</table>"))


def _html(columns: Columns, rows: Rows) -> str:
    names = ("table", "tr", "th", "td")
    lines = [_html_row(_cells(row, body, _guarding(names)), "td") for row in rows]
    head = [] if columns is None else [_html_row(_cells(columns, body, body), "th")]
    return "\n".join(("<table>", *head, *lines, "</table>"))


def _html_row(cells: list[str], tag: str) -> str:
    return "<tr>" + "".join(f"<{tag}>{text}</{tag}>" for text in cells) + "</tr>"


def _guarding(names: tuple[str, ...]) -> Encoder:
    return lambda text: guard_end(guard(text, names))


FORMATS: Mapping[str, Callable[[Columns, Rows], str]] = {
    "markdown": _markdown,
    "csv": _csv,
    "json": _json,
    "xml": _xml,
    "html": _html,
}
