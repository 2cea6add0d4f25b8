"""The filters and tests of templates: those of Jinja, with limits on the size of their results.

Some filters of Jinja are left out: those that mark text as safe, choose at random, or print
objects, and those that escape, because every value is encoded.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import wraps
from typing import Any, TypeAlias, cast

from jinja2 import filters, tests
from jinja2.environment import Environment
from jinja2.utils import htmlsafe_json_dumps, pass_environment

from promptdsl.foundation.escaping import json_text
from promptdsl.templates.limits import bounded, counted
from promptdsl.templates.operators import joined, percent, replaced, text

Filter: TypeAlias = Callable[..., object]

_JINJA_FILTERS: Mapping[str, Filter] = filters.FILTERS
_JINJA_TESTS: Mapping[str, Any] = tests.TESTS  # Any: Jinja gives them no signature


def _bounded_filter(function: Filter, prepare: Filter | None = None) -> Filter:
    """Return a filter with a limit on its result; ``prepare`` converts the value before it."""
    # To a filter with this attribute, Jinja passes the environment or the context first.
    position = int(hasattr(function, "jinja_pass_arg"))

    @wraps(function)
    def filtered(*args: object, **options: object) -> object:
        values = [*args]
        if prepare is not None:
            values[position] = prepare(values[position])
        result = function(*values, **options)
        if isinstance(result, str):
            return bounded(str.__str__(result))
        if isinstance(result, Iterator):
            return list(counted(cast("Iterator[object]", result)))
        return bounded(result)

    return filtered


def _format(value: str, *values: object, **named: object) -> str:
    return percent(value, named or values)


@pass_environment
def _join(
    environment: Environment,
    items: Iterable[object],
    separator: object = "",
    attribute: str | int | None = None,
) -> str:
    read = filters.make_attrgetter(environment, attribute)
    return joined(map(read, items), separator)


def _json(value: object, indent: int | None = None) -> str:
    """Return the same bytes as Jinja's ``tojson``: JSON in ASCII with sorted keys."""
    return htmlsafe_json_dumps(json.loads(json_text(value)), indent=indent, sort_keys=True)


_TEXT_FILTERS = (
    *("capitalize", "indent", "lower", "string", "title", "trim", "truncate", "upper", "wordcount"),
)
_ITEM_FILTERS = (
    *("batch", "groupby", "list", "map", "max", "min", "reject", "rejectattr", "select"),
    *("selectattr", "slice", "sort", "sum", "unique"),
)
_VALUE_FILTERS = (
    *("abs", "count", "d", "default", "dictsort", "first", "float", "int", "items", "last"),
    *("length", "reverse", "round"),
)
FILTERS: Mapping[str, Filter] = {
    # Filters of text, of items, each of them a step, and of any value.
    **{name: _bounded_filter(_JINJA_FILTERS[name], text) for name in _TEXT_FILTERS},
    **{name: _bounded_filter(_JINJA_FILTERS[name], counted) for name in _ITEM_FILTERS},
    **{name: _bounded_filter(_JINJA_FILTERS[name]) for name in _VALUE_FILTERS},
    "format": _bounded_filter(_format, text),
    "join": _bounded_filter(_join, counted),
    "replace": _bounded_filter(replaced),
    "tojson": _bounded_filter(_json),
}

TESTS: Mapping[str, Callable[..., bool]] = {
    name: test
    for name, test in _JINJA_TESTS.items()
    if name not in ("callable", "escaped", "filter", "sameas", "test")
}

_ENCODED = "leave it out: every value is encoded"
INSTEAD: Mapping[str, str] = {
    **dict.fromkeys(("e", "escape", "forceescape"), _ENCODED),
    "safe": "give trusted(text) as the variable, and write {{ name }} without a filter",
}
"""The advice for a filter of Jinja that is left out for a reason."""
