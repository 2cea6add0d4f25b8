"""What of a value a template may read with a dot, and call."""

from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from functools import partial
from typing import Any

from jinja2.environment import TemplateModule
from jinja2.runtime import BlockReference, LoopContext
from jinja2.utils import Cycler, Namespace

from promptdsl.foundation.json import ABSENT
from promptdsl.templates.operators import join, replace

_DAY = "day isoformat isoweekday month weekday year"
_HOUR = "hour isoformat microsecond minute second"

# Strings have no methods that depend on a locale or pad to a width; dates none that do.
_READABLE: tuple[tuple[type, frozenset[str]], ...] = tuple(
    (kind, frozenset(names.split()))
    for kind, names in (
        (
            str,
            "capitalize casefold count endswith find index isalnum isalpha isascii isdecimal"
            " isdigit islower isnumeric isspace istitle isupper join lower lstrip partition"
            " removeprefix removesuffix replace rfind rindex rpartition rsplit rstrip split"
            " splitlines startswith strip swapcase title upper",
        ),
        (dict, "get items keys values"),
        (tuple, "count grouper index list"),
        (list, "count index"),
        (datetime, f"{_DAY} {_HOUR} date time"),
        (date, _DAY),
        (time, _HOUR),
        (
            LoopContext,
            "changed cycle depth depth0 first index index0 last length nextitem previtem revindex"
            " revindex0",
        ),
        (BlockReference, "super"),
        (Cycler, "current next reset"),
    )
)
_NONE: frozenset[str] = frozenset()
_GROWING: Mapping[str, Callable[..., str]] = {"join": join, "replace": replace}


def read_attribute(value: Any, name: str) -> Any:
    """Return an attribute of a value, ``ABSENT`` when it has none that a template may read."""
    if isinstance(value, str) and name in _GROWING:
        return partial(_GROWING[name], value)
    if name in readable(value):
        return getattr(value, name, ABSENT)
    return ABSENT


def readable(value: Any) -> frozenset[str]:
    """Return the names of what a template may read of a value, those in a mapping aside."""
    if isinstance(value, Namespace | TemplateModule):
        return frozenset(name for name in _own(value) if not name.startswith("_"))
    return next((names for kind, names in _READABLE if isinstance(value, kind)), _NONE)


def _own(value: Any) -> Any:
    if isinstance(value, TemplateModule):
        return vars(value)
    return object.__getattribute__(value, "_Namespace__attrs")
