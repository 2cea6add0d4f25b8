"""The component :class:`Table`: a table of plain data, which is rows, dictionaries or a data frame.

:func:`_read_table` reads all of them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal, Never, TypeAlias, TypeGuard

from promptdsl.components.arguments import TEXT_BITS, adopt_values
from promptdsl.components.options import check_choice, refuse_options, too_many
from promptdsl.components.scope import Component, join_open_block, retract, start
from promptdsl.foundation.author_text import Trusted
from promptdsl.foundation.errors import ContentError, PromptError, nearest, shown
from promptdsl.foundation.escaping import data_text, text_of
from promptdsl.foundation.frozen import is_mapping
from promptdsl.foundation.source import end_traceback
from promptdsl.foundation.tables import FORMATS
from promptdsl.foundation.unicode import exact
from promptdsl.messages.field_checks import kind_of
from promptdsl.tree.masks import OPAQUE
from promptdsl.tree.node import Node, named_label, nodes_in
from promptdsl.tree.part_nodes import TableNode, VolatileNode

Names: TypeAlias = tuple[str, ...]
Rows: TypeAlias = list[tuple[object, ...]]


class Table(Component, TableNode):
    """A table of plain data.

    ``rows_or_frame`` is a list of rows, or a data frame of pandas, polars or pyarrow. A row is a
    list of cells, or a mapping by column. ``columns`` names the columns of rows, and chooses
    columns of mappings and frames. ``format`` is ``"markdown"``, ``"csv"``, ``"json"``, ``"xml"``
    or ``"html"``; by default it is the format of the surrounding text.

    Cells are values, and may be :class:`Volatile`. ``None`` and missing cells of a frame are empty.
    ``trusted(text)`` marks a string as author text.

    Raises :class:`ContentError` for a cell without a text, for rows of different lengths, for a
    column that a frame does not have, and for equal columns with ``format="json"``. Raises
    :class:`OptionError` for an unknown format.

    >>> from promptdsl import System, Table, render
    >>> table = Table([{"name": "Ann", "age": 40}, {"name": "Bob", "age": 7}], columns=["name"])
    >>> print(render(System(table)).messages[0].text)
    | name |
    | --- |
    | Ann |
    | Bob |
    """

    __slots__ = ()
    _initial_mask = TEXT_BITS

    def __init__(
        self,
        rows_or_frame: object,
        columns: Iterable[str] | None = None,
        format: Literal["markdown", "csv", "json", "xml", "html"] | None = None,
        *extra: Never,
        **unknown: Never,
    ) -> None:
        if extra:
            raise too_many(self, rows_or_frame, columns, format, *extra)
        start(self)
        data, volatile = rows_or_frame, list[VolatileNode]()
        if _is_ordered(data) and isinstance(data, Iterator):
            data = [*data]
        try:
            refuse_options(self, unknown)
            if format is not None:
                check_choice(self, "format", format, FORMATS)
            self.format = exact(format)
            self.columns, rows = _read_table(data, columns, volatile)
            if volatile:
                adopt_values(self, volatile)
            names = self.columns or ()
            repeated = [name for index, name in enumerate(names) if name in names[:index]]
            if repeated and format == "json":
                raise ContentError(
                    f"two columns are called {repeated[0]!r}",
                    fix="give each column of a JSON table a different name",
                )
        except PromptError as error:
            retract(nodes_in(data, columns, format, *unknown.values()))
            end_traceback(error.located(self.source))
            raise
        self.rows = tuple(rows) if any(rows) else ()
        if not self.rows:
            self._mask |= OPAQUE
        join_open_block(self)


def _read_table(
    data: object, columns: object, volatile: list[VolatileNode]
) -> tuple[Names | None, Rows]:
    """Return the columns and rows of a table, and add its volatile cells to ``volatile``.

    Raises :class:`ContentError` for data that is not a table.
    """
    if columns is not None and not _is_ordered(columns):
        raise ContentError(
            f"columns={shown(columns)}", fix='write a list of names: columns=["name", "price"]'
        )
    chosen_names: Names | None = None
    if columns is not None:
        chosen_names = _names(columns)
    frame = _read_frame(data, chosen_names, volatile)
    if frame is not None:
        return frame
    if not _is_ordered(data):
        raise ContentError(
            f"a Table takes rows or a data frame, not {kind_of(data)}",
            fix="write a list of rows: [[1, 2], [3, 4]], or a list of mappings",
        )
    records = [*data]
    mappings = [record for record in records if is_mapping(record)]
    if records and len(mappings) == len(records):
        rows_by_name = [dict(zip(_names(row), row.values(), strict=True)) for row in mappings]
        names = chosen_names or tuple(dict.fromkeys(key for row in rows_by_name for key in row))
        return names, [
            tuple(_checked_cell(row.get(name), row_index, name, volatile) for name in names)
            for row_index, row in enumerate(rows_by_name)
        ]
    # Rows of cells: all rows have the same width.
    rows: Rows = []
    for row_index, record in enumerate(records):
        if not _is_ordered(record):
            raise ContentError(
                f"rows[{row_index}] is {kind_of(record)}, not a row of cells",
                fix="write each row as a list of cells, or as a mapping",
            )
        cells = enumerate(record)
        rows.append(tuple(_checked_cell(cell, row_index, index, volatile) for index, cell in cells))
    width = len(rows[0]) if rows else 0
    if chosen_names is not None:
        width = len(chosen_names)
    for row_index, row in enumerate(rows):
        if len(row) != width:
            raise ContentError(
                f"rows[{row_index}] has {len(row)} cells, not {width}",
                fix="write a cell for each column in each row, None for an empty cell",
            )
    return chosen_names, rows


def _names(columns: Iterable[object]) -> Names:
    """Return the names of columns as texts."""
    names: list[str] = []
    for name in columns:
        if isinstance(name, Node):
            raise ContentError(
                f"{named_label(name)} cannot be the name of a column", fix="write its text"
            )
        names.append(text_of(name))
    return tuple(names)


def _is_ordered(value: object) -> TypeGuard[Iterable[object]]:
    """Return whether a value contains values in an order; a set, a mapping and a text do not."""
    ordered = not isinstance(value, str | bytes | Mapping | set | frozenset)
    return isinstance(value, Iterable) and ordered


_FRAMES: tuple[tuple[str, str, Mapping[str, bool | None]], ...] = (
    ("columns", "itertuples", {"index": False, "name": None}),  # pandas
    ("columns", "iter_rows", {}),  # polars
    ("column_names", "to_pylist", {}),  # pyarrow
)
"""The attributes of data frames: the column names, the method for the rows, and its arguments."""


def _read_frame(
    data: object, chosen_names: Names | None, volatile: list[VolatileNode]
) -> tuple[Names, Rows] | None:
    """Return the columns and rows of a data frame, ``None`` for other data.

    A frame is recognised by its methods. Raises :class:`ContentError` for a column in
    ``chosen_names`` that it does not have.
    """
    for columns_name, rows_name, arguments in _FRAMES:
        columns: Iterable[object] | None = getattr(data, columns_name, None)
        read_rows: Callable[..., Iterable[Iterable[object]]] | None
        read_rows = getattr(data, rows_name, None)
        if columns is None or not callable(read_rows):
            continue
        records = read_rows(**arguments)
        if rows_name == "to_pylist":
            records = [row.values() for row in records if is_mapping(row)]
        names = _names(columns)
        rows: Rows = []
        for row_index, record in enumerate(records):
            cells = enumerate(map(_present, record))
            rows.append(
                tuple(_checked_cell(cell, row_index, index, volatile) for index, cell in cells)
            )
        if chosen_names is None:
            return names, rows
        for name in chosen_names:
            if name not in names:
                raise ContentError(f"the frame has no column {name!r}", fix=nearest(name, names))
        indexes = [names.index(name) for name in chosen_names]
        return chosen_names, [tuple(row[index] for index in indexes) for row in rows]
    return None


def _present(cell: object) -> object:
    """Return the plain value of a cell of a frame, ``None`` for a missing value: NaN, NaT, NA."""
    try:
        is_missing = bool(cell != cell)  # noqa: PLR0124 (a missing cell is not equal to itself)
    except TypeError:
        is_missing = True  # NA has no truth value
    except ValueError:
        return cell  # an array, which has no text: _checked_cell() raises the error
    if is_missing:
        return None
    item = getattr(cell, "item", None)
    # A scalar of an array library has the method item(), which returns its plain value.
    return item() if callable(item) else cell


def _checked_cell(
    cell: object, row_index: int, column: object, volatile: list[VolatileNode]
) -> object:
    """Return a cell, a string as an exact ``str``; add a volatile cell to ``volatile``.

    Raises :class:`ContentError`, with its row and column, for a cell without a text.
    """
    try:
        if isinstance(cell, Node):
            if isinstance(cell, VolatileNode):
                volatile.append(cell)
                return cell
            raise ContentError(
                f"{named_label(cell)} cannot be in a cell",
                fix="write its text: a cell is a value, and trusted(text) is author text",
            )
        data_text(cell)
    except ContentError as error:
        raise ContentError(f"rows[{row_index}][{column!r}]: {error.what}", fix=error.fix) from None
    return cell if type(cell) is Trusted else exact(cell)
