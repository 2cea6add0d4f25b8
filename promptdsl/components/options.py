"""What may be said of a component beside its content: its options, checked."""

import re
from collections.abc import Callable, Iterable, Mapping
from math import isfinite
from typing import Any, cast

from promptdsl.foundation.errors import DataError, OptionError, nearest
from promptdsl.foundation.frozen import EMPTY, frozen
from promptdsl.foundation.unicode import exact
from promptdsl.tree.masks import SPOKEN
from promptdsl.tree.node import DEFAULTS, Options, implied, label

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*\Z")
AUDIENCES = ("all", "model", "people")
NOT_SPOKEN = ~SPOKEN
TURN_OPTIONS = frozenset({"id", "metadata", "tags", "audience", "cache", "priority"})


def unknown_option(component: Any, name: str, accepts: Iterable[str], at: object) -> OptionError:
    """Return the error for a keyword a component does not take."""
    return OptionError(
        f"{label(component)}() takes no {name!r}", fix=nearest(name, accepts), at=(at,)
    )


def refuse_options(component: Any, given: Iterable[str], known: Iterable[str] = ()) -> None:
    """Raise :class:`OptionError` for the first keyword of a component that takes none of them."""
    for name in given:
        raise unknown_option(component, name, known, component.source)


def options_of(component: Any, given: Mapping[str, Any]) -> Options:
    """Return the options of a component and note in its mask what they imply.

    Raises :class:`OptionError` for an unknown name or a value an option cannot take.
    """
    if len(given) == 1 and "priority" in given and "priority" in component._accepts:
        return at_priority(component, given["priority"])
    for name, value in given.items():
        if name not in component._accepts:
            raise unknown_option(component, name, component._keywords(), component.source)
        problem = _CHECKS[name](value)
        if problem:
            raise OptionError(
                f"{label(component)}({name}={value!r})", fix=problem, at=(component.source,)
            )
    try:
        options = Options(**{name: _KEEP.get(name, _same)(v) for name, v in given.items()})
    except DataError as error:  # metadata that contains itself, or is nested too deep
        raise error.located(component.source) from None
    # What has options of its own is not plain speech any more.
    component.mask = component.mask & NOT_SPOKEN | implied(options)
    return options


_PRIORITIES: Mapping[type[Any], dict[float, Options]] = {int: {}, float: {}}
_MOST = 10_000


def at_priority(component: Any, priority: object) -> Options:
    """Return the options of a component that has a priority and no other one.

    Nothing that is sent depends on it, so plain speech is plain speech still.
    Raises :class:`OptionError` for a priority that is none.
    """
    # Asked by type: True is 1, and a page of turns may have a priority each.
    remembered = _PRIORITIES.get(type(priority))
    known = None if remembered is None else remembered.get(cast("float", priority))
    if known is not None:
        return known
    if priority is None:
        return DEFAULTS
    options = Options(priority=check_priority(component, priority))
    if remembered is not None and len(remembered) < _MOST:
        remembered[cast("float", priority)] = options
    return options


def check_priority(component: Any, given: object) -> float | None:
    """Return a priority as it is kept, or raise :class:`OptionError`."""
    problem = _a_priority(given)
    if problem:
        raise OptionError(
            f"{label(component)}(priority={given!r})", fix=problem, at=(component.source,)
        )
    return cast("float | None", _number(given))


def check_count(component: Any, name: str, given: object, least: int) -> int:
    """Return a whole number of ``least`` or more, or raise :class:`OptionError`."""
    if isinstance(given, int) and not isinstance(given, bool) and int.__int__(given) >= least:
        return int.__int__(given)
    raise OptionError(
        f"{label(component)}({name}={given!r})",
        fix=f"write a whole number, {least} or more",
        at=(component.source,),
    )


def _number(given: Any) -> Any:
    """Return a number as an exact one: a subclass may compare as it likes."""
    if isinstance(given, int):
        return int.__int__(given)
    return None if given is None else float.__float__(given)


def _same(value: Any) -> Any:
    return value


def _text(value: Any) -> Any:
    return value if type(value) is str else exact(value)


def _tags(value: Iterable[str]) -> tuple[str, ...]:
    """Return the tags as they were given; a set has no order, so its tags are sorted."""
    tags: list[str] = list(map(exact, value))
    return tuple(sorted(tags) if isinstance(value, set | frozenset) else tags)


_KEEP: Mapping[str, Callable[[Any], Any]] = {
    "id": _text,
    "name": _text,
    "metadata": lambda value: frozen(value) if value else EMPTY,
    "tags": _tags,
    "priority": _number,
}


def check_id(value: object) -> str:
    """Return what is wrong with an id, or an empty string."""
    if isinstance(value, str) and NAME.match(value):
        return ""
    return "an id starts with a letter or _, then letters, digits, _ . -"


def _optional_id(value: object) -> str:
    return "" if value is None else check_id(value)


def _optional_text(value: object) -> str:
    return "" if value is None or isinstance(value, str) else "write a string"


def _a_mapping(value: object) -> str:
    return "" if value is None or isinstance(value, Mapping) else "write a mapping"


def _some_tags(value: object) -> str:
    good = isinstance(value, list | tuple | set | frozenset) and all(
        isinstance(tag, str) for tag in cast("Iterable[object]", value)
    )
    return "" if good else 'write a tuple of strings: tags=("a", "b")'


def _an_audience(value: object) -> str:
    return "" if value in AUDIENCES else "one of 'all', 'model', 'people'"


def _a_bool(value: object) -> str:
    return "" if isinstance(value, bool) else "write True or False"


def _a_priority(value: object) -> str:
    whole = isinstance(value, int) and not isinstance(value, bool)
    if value is None or whole or (isinstance(value, float) and isfinite(value)):
        return ""
    return "write a number: the higher, the longer it is kept"


_CHECKS: Mapping[str, Callable[[object], str]] = {
    "id": _optional_id,
    "name": _optional_text,
    "metadata": _a_mapping,
    "tags": _some_tags,
    "audience": _an_audience,
    "cache": _a_bool,
    "merge": _a_bool,
    "priority": _a_priority,
}
