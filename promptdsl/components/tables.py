"""Tables of plain data: rows, dictionaries, or a data frame."""

# What an author gives is told by its shape, which tells a checker less.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, Never, TypeAlias, cast

from promptdsl.components.arguments import TEXT_BITS, retract
from promptdsl.components.block import Written
from promptdsl.components.options import refuse_options
from promptdsl.components.scope import place
from promptdsl.foundation.errors import ContentError, OptionError, PromptError, nearest
from promptdsl.foundation.escaping import data_text, text_of
from promptdsl.foundation.tables import FORMATS
from promptdsl.foundation.trusted import Trusted
from promptdsl.foundation.unicode import exact
from promptdsl.tree.masks import HOLLOW
from promptdsl.tree.node import DEFAULTS, Node, found_in, named_label
from promptdsl.tree.part_nodes import TableNode

_getframe = sys._getframe  # pyright: ignore[reportPrivateUsage]

TableFormat: TypeAlias = Literal["markdown", "csv", "json", "xml", "html"]
Rows: TypeAlias = Iterable[Mapping[Any, Any] | Iterable[Any]]


class Table(Written, TableNode):
    """A table of plain data.

    ``rows_or_frame`` are rows (sequences of cells, or mappings by column), or a data frame of
    pandas, polars or pyarrow. ``columns`` names the columns, or chooses those of mappings and
    frames. ``format`` is ``markdown``, ``csv``, ``json``, ``xml`` or ``html``; without it that of
    the text around. Cells are values: ``None`` and what is missing in a frame is empty;
    :func:`trusted` makes author text of one.

    Raises :class:`ContentError` for cells that are no text, rows of different lengths, and
    columns that a frame does not have; :class:`OptionError` for an unknown format.
    """

    __slots__ = ()

    def __init__(
        self,
        rows_or_frame: Any,
        columns: Iterable[str] | None = None,
        format: TableFormat | None = None,
        **options: Never,
    ) -> None:
        frame = _getframe(1)
        self.code = frame.f_code
        self.offset = frame.f_lasti
        self.content = ()
        self.mask = TEXT_BITS
        self.options = DEFAULTS
        given = list(rows_or_frame) if isinstance(rows_or_frame, Iterator) else rows_or_frame
        try:
            refuse_options(self, options, ("columns", "format"))
            self.format = _format(format)
            self.columns, self.rows = _read(given, columns)
            _check_names(self)
        except PromptError as error:
            retract(found_in(given, columns, format, *options.values()))
            raise error.located(self.source) from None
        if not any(self.rows):
            self.rows = ()
            self.mask |= HOLLOW
        place(self)


def _format(format: object) -> str | None:
    if format is None:
        return None
    name = format if isinstance(format, str) else ""
    if name not in FORMATS:
        raise OptionError(f"Table(format={format!r})", fix=nearest(name, FORMATS))
    return exact(name)


def _check_names(table: Table) -> None:
    """Raise :class:`ContentError` for a name that two columns of a JSON table have: one is lost."""
    names = table.columns or ()
    twice = [name for index, name in enumerate(names) if name in names[:index]]
    if twice and table.format == "json":
        raise ContentError(
            f"two columns are called {twice[0]!r}", fix="name every column of a JSON table once"
        )


_Table: TypeAlias = tuple[tuple[str, ...] | None, tuple[tuple[Any, ...], ...]]


def _read(given: Any, columns: Iterable[str] | None) -> _Table:
    """Return the columns and rows of what was given."""
    chosen = None if columns is None else _names(columns)
    frame = _frame(given)
    if frame is not None:
        names, rows = frame
        known = tuple(text_of(name) for name in names)
        return _chosen(known, [_framed(row, number) for number, row in enumerate(rows)], chosen)
    if not _is_row(given):
        raise ContentError(
            f"a Table takes rows or a data frame, not {type(given).__name__}",
            fix="give a list of rows: [[1, 2], [3, 4]], or of mappings",
        )
    rows = list(given)
    if rows and all(isinstance(row, Mapping) for row in rows):
        return _of_mappings(rows, chosen)
    return chosen, _even([_row(row, number) for number, row in enumerate(rows)], chosen)


def _names(columns: Iterable[str]) -> tuple[str, ...]:
    if not _is_row(columns):
        raise ContentError(
            f"columns={columns!r}", fix='write a list of names: columns=["name", "price"]'
        )
    return tuple(text_of(name) for name in columns)


def _frame(given: Any) -> tuple[Iterable[Any], Iterable[Any]] | None:
    """Return column names and rows of a data frame, told by its methods; ``None`` for others."""
    for names, rows, arguments in _FRAMES:
        columns, read = getattr(given, names, None), getattr(given, rows, None)
        if columns is not None and callable(read):
            found: Any = read(**arguments)
            if rows == "to_pylist":
                found = [row.values() for row in found]
            return columns, found
    return None


_FRAMES: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("columns", "itertuples", {"index": False, "name": None}),  # pandas
    ("columns", "iter_rows", {}),  # polars
    ("column_names", "to_pylist", {}),  # pyarrow
)


def _framed(row: Iterable[Any], number: int) -> tuple[Any, ...]:
    return tuple([_checked(_present(cell), number, index) for index, cell in enumerate(row)])


def _present(cell: Any) -> Any:
    """Return a cell of a frame, ``None`` where it is missing: not a number, not a time, NA."""
    try:
        missing = bool(cell != cell)  # noqa: PLR0124 (what is missing is not equal to itself)
    except TypeError:
        missing = True  # NA has no truth value
    except ValueError:
        return cell  # an array, which is no text
    if missing:
        return None
    item = getattr(cell, "item", None)
    # The scalars of array libraries give their plain value.
    return item() if callable(item) else cell


def _of_mappings(rows: list[Mapping[Any, Any]], chosen: tuple[str, ...] | None) -> _Table:
    named = [{text_of(key): value for key, value in row.items()} for row in rows]
    known = chosen or tuple(dict.fromkeys(key for row in named for key in row))
    cells = [
        tuple(_checked(row.get(name), number, name) for name in known)
        for number, row in enumerate(named)
    ]
    return known, tuple(cells)


def _chosen(
    known: tuple[str, ...], rows: list[tuple[Any, ...]], chosen: tuple[str, ...] | None
) -> _Table:
    if chosen is None:
        return known, tuple(rows)
    for name in chosen:
        if name not in known:
            raise ContentError(f"the frame has no column {name!r}", fix=nearest(name, known))
    places = [known.index(name) for name in chosen]
    return chosen, tuple(tuple(row[place] for place in places) for row in rows)


def _row(row: object, number: int) -> tuple[Any, ...]:
    if not _is_row(row):
        raise ContentError(
            f"rows[{number}] is {type(row).__name__}, no row of cells",
            fix="give a list of cells each, or a mapping each",
        )
    cells = tuple(cast("Iterable[Any]", row))
    return tuple(_checked(cell, number, index) for index, cell in enumerate(cells))


def _is_row(given: object) -> bool:
    """Whether something holds others in an order of their own, which a set has not."""
    ordered = not isinstance(given, str | bytes | Mapping | set | frozenset)
    return isinstance(given, Iterable) and ordered


def _even(
    rows: list[tuple[Any, ...]], columns: tuple[str, ...] | None
) -> tuple[tuple[Any, ...], ...]:
    width = len(rows[0] if columns is None else columns) if rows else 0
    for number, row in enumerate(rows):
        if len(row) != width:
            raise ContentError(
                f"rows[{number}] has {len(row)} cells, not {width}",
                fix="give every row a cell for every column, None for an empty one",
            )
    return tuple(rows)


def _checked(cell: object, number: int, column: object) -> Any:
    try:
        return _cell(cell)
    except ContentError as error:
        raise ContentError(f"rows[{number}][{column!r}]: {error.what}", fix=error.fix) from None


def _cell(cell: Any) -> Any:
    """Return a cell as plain data that has a text."""
    if isinstance(cell, Node):
        raise ContentError(
            f"{named_label(cell)} cannot stand in a cell",
            fix="give its text: a cell is a value; trusted(text) makes author text of it",
        )
    data_text(cell)
    return cell if type(cell) is Trusted else exact(cell)
