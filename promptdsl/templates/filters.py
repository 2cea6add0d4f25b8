"""The filters and tests that templates have: Jinja's, but for those that grow without bound.

Left out are marking as safe, escaping (a value is encoded for its place), chance, and the printing
of objects.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import update_wrapper
from itertools import pairwise
from typing import Any, Literal, TypeAlias

from jinja2 import filters, tests
from jinja2.environment import Environment
from jinja2.utils import pass_environment

from promptdsl.foundation.escaping import json_text
from promptdsl.templates.limits import (
    bounded,
    check_count,
    check_decimal,
    check_length,
    check_width,
    counted,
)
from promptdsl.templates.operators import binary, join, percent, replace, text

Filter: TypeAlias = Callable[..., Any]

JINJA: Mapping[str, Any] = filters.FILTERS


def _plain(made: Any) -> Any:
    """Return what a filter made as a value: a string without marks, a list and no iterator."""
    if isinstance(made, str):
        return bounded(str.__str__(made))
    if isinstance(made, Iterator):
        return list(counted(made))  # pyright: ignore[reportUnknownArgumentType]
    return bounded(made)


def _of_value(function: Filter) -> Filter:
    """Return a filter of anything."""

    def filtered(*args: Any, **options: Any) -> Any:
        return _plain(function(*args, **options))

    return update_wrapper(filtered, function)


def _of_text(function: Filter) -> Filter:
    """Return a filter of which the first argument is text."""

    def filtered(value: Any, *args: Any, **options: Any) -> Any:
        return _plain(function(text(value), *args, **options))

    return filtered


def _of_items(function: Filter) -> Filter:
    """Return a filter that goes through its items; each of them is a step."""
    # Jinja gives the environment or the context first to filters that carry this mark.
    place = int(hasattr(function, "jinja_pass_arg"))

    def filtered(*args: Any, **options: Any) -> Any:
        items = counted(args[place])
        return _plain(function(*args[:place], items, *args[place + 1 :], **options))

    return update_wrapper(filtered, function)


def _indent(value: str, width: int | str = 4, first: bool = False, blank: bool = False) -> Any:
    size = len(width) if isinstance(width, str) else width
    check_length(len(value) + (len(value.splitlines()) + 1) * size)
    return JINJA["indent"](value, width, first, blank)


def _format(value: str, *values: Any, **named: Any) -> str:
    return percent(value, named or values)


def _truncate(value: str, *given: Any, **options: Any) -> Any:
    # Jinja asks its environment, which is the first argument, for nothing but the leeway.
    if len(given) < 4:
        options.setdefault("leeway", 5)
    return JINJA["truncate"](None, value, *given, **options)


def _batch(items: Any, count: int, fill: Any = None) -> Any:
    check_count(count)
    return JINJA["batch"](items, count, fill)


def _slice(items: Any, count: int, fill: Any = None) -> list[list[Any]]:
    """Return items in ``count`` lists; the first ones are the longer, unless ``fill`` is given."""
    check_count(count)
    given = list(items)
    size, longer = divmod(len(given), count)
    ends = [number * size + min(number, longer) for number in range(count + 1)]
    columns = [given[start:end] for start, end in pairwise(ends)]
    for column in columns[longer:] if fill is not None else ():
        column.append(fill)
    return columns


def _round(
    value: Any, precision: int = 0, method: Literal["common", "ceil", "floor"] = "common"
) -> Any:
    check_decimal(value)
    check_width(precision)
    return JINJA["round"](value, precision, method)


def _int(value: Any, default: int = 0, radix: int = 10) -> Any:
    check_decimal(value)
    return JINJA["int"](value, default, radix)


@pass_environment
def _sum(environment: Environment, items: Any, attribute: Any = None, start: Any = 0) -> Any:
    of = filters.make_attrgetter(environment, attribute)
    for item in items:
        start = binary("+", start, of(item))
    return start


@pass_environment
def _join(environment: Environment, items: Any, separator: Any = "", attribute: Any = None) -> str:
    of = filters.make_attrgetter(environment, attribute)
    return join(separator, (of(item) for item in items))


_TEXT: Mapping[str, Filter] = {
    "capitalize": str.capitalize,
    "format": _format,
    "indent": _indent,
    "lower": str.lower,
    "string": str,
    "title": JINJA["title"],
    "trim": str.strip,
    "truncate": _truncate,
    "upper": str.upper,
    "wordcount": JINJA["wordcount"],
}
_ITEMS: Mapping[str, Filter] = {
    "batch": _batch,
    "list": list,
    "slice": _slice,
    "sum": _sum,
    **{
        name: JINJA[name]
        for name in (
            *("groupby", "map", "max", "min", "reject", "rejectattr", "select", "selectattr"),
            *("sort", "unique"),
        )
    },
}
_VALUES: Mapping[str, Filter] = {
    "int": _int,
    "join": _join,
    "replace": replace,
    "round": _round,
    "tojson": json_text,
    **{
        name: JINJA[name]
        for name in (
            *("abs", "count", "d", "default", "dictsort", "first", "float", "items", "last"),
            *("length", "reverse"),
        )
    },
}

FILTERS: Mapping[str, Filter] = {
    **{name: _of_text(function) for name, function in _TEXT.items()},
    **{name: _of_items(function) for name, function in _ITEMS.items()},
    **{name: _of_value(function) for name, function in _VALUES.items()},
}

ELSEWHERE: Mapping[str, str] = {
    "e": "leave it out: a value is encoded for the place it comes to",
    "escape": "leave it out: a value is encoded for the place it comes to",
    "forceescape": "leave it out: a value is encoded for the place it comes to",
    "safe": "give trusted(text) as the variable, and put it out as it is",
}
"""What to do where a filter of Jinja's is left out for a reason."""

_JINJA_TESTS: Mapping[str, Any] = tests.TESTS

TESTS: Mapping[str, Callable[..., Any]] = {
    name: test
    for name, test in _JINJA_TESTS.items()
    if name not in ("callable", "escaped", "filter", "sameas", "test")
}
