"""Operators, texts and formats as templates have them: each result is bounded."""

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

from jinja2 import Undefined

from promptdsl.foundation.errors import ContentError, TemplateError
from promptdsl.foundation.escaping import text_of
from promptdsl.templates.limits import (
    MAX_TEXT,
    bounded,
    check_bits,
    check_count,
    check_decimal,
    check_length,
    check_width,
    counted,
    stop,
    too_much,
)


def text(value: object, name: str | None = None) -> str:
    """Return what a value is as text, when a template puts it out or works on it.

    Nothing for an inline ``if`` without an ``else``. Raises :class:`TemplateError` for ``None``,
    booleans, lists, mappings and objects.
    """
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, Undefined):
        # All but the one of an inline ``if`` refuse to be a string.
        return str(value)
    if value is None or isinstance(value, bool):
        raise TemplateError(f"{name or 'a value'} is {value}, which is no text", fix=_INSTEAD)
    try:
        return text_of(value)
    except ContentError as error:
        raise _no_text(value, name, error) from None


_INSTEAD = 'say what to write instead: {{ "yes" if flag else "no" }}, {% if value is none %}'


def _no_text(value: object, name: str | None, error: ContentError) -> TemplateError:
    shown = name or "value"
    if isinstance(value, Iterable):
        kind = "mapping" if isinstance(value, Mapping) else "list"
        return TemplateError(
            f"{name or 'a value'} is a {kind}, which is no text",
            fix=f'write {{{{ {shown}|join(", ") }}}} or {{{{ {shown}|tojson }}}}, or loop over it',
        )
    if callable(value):
        return TemplateError(
            f"{name or 'a value'} is to be called, and is no text",
            fix=f"call it: {{{{ {name or 'name'}() }}}}",
        )
    return TemplateError(error.what, fix="write the part of it that is text")


def joined(texts: Iterable[str]) -> str:
    """Return texts as one, which is bounded."""
    parts: list[str] = []
    length = 0
    for part in texts:
        length += len(part)
        if length > MAX_TEXT:
            stop(texts, too_much(length))
        parts.append(part)
    return str(bounded("".join(parts)))


def join(separator: object, items: Iterable[Any]) -> str:
    """Return the texts of items with a separator between them."""
    return joined(_separated(text(separator), items))


def _separated(separator: str, items: Iterable[Any]) -> Iterator[str]:
    for number, item in enumerate(counted(items)):
        if number:
            yield separator
        yield text(item)


def replace(value: object, old: object, new: object, count: int | None = None) -> str:
    """Return a text with one part of it replaced, ``count`` times or wherever it stands."""
    whole, part, other = text(value), text(old), text(new)
    found = whole.count(part)
    times = found if count is None or count < 0 else min(count, found)
    check_length(len(whole) + times * (len(other) - len(part)))
    return str(bounded(whole.replace(part, other, times)))


def binary(sign: str, left: Any, right: Any) -> Any:
    """Return what an operator makes of two values.

    Raises :class:`TemplateError` for what would be too large, before it is made.
    """
    if sign == "%" and isinstance(left, str):
        return percent(left, right)
    check = _CHECKS.get(sign)
    if check is not None:
        check(left, right)
    return bounded(_OPERATORS[sign](left, right))


_OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": lambda left, right: left / right,
    "//": lambda left, right: left // right,
    "%": operator.mod,
    "**": lambda left, right: left**right,
}


def _check_sum(left: Any, right: Any) -> None:
    if isinstance(left, str) and isinstance(right, str):
        check_length(len(left) + len(right))
    elif isinstance(left, list | tuple) and isinstance(right, list | tuple):
        check_count(len(left) + len(right))  # pyright: ignore[reportUnknownArgumentType]


def _check_product(left: Any, right: Any) -> None:
    for items, times in ((left, right), (right, left)):
        if not isinstance(times, int):
            continue
        if isinstance(items, str):
            check_length(len(items) * times)
        elif isinstance(items, list | tuple):
            check_count(len(items) * times)  # pyright: ignore[reportUnknownArgumentType]


def _check_power(left: Any, right: Any) -> None:
    if isinstance(left, int | Fraction) and isinstance(right, int):
        top, bottom = abs(left.numerator), left.denominator
        if max(top, bottom) > 1:
            check_bits((max(top, bottom).bit_length() - 1) * abs(right))


_CHECKS: Mapping[str, Callable[[Any, Any], None]] = {
    "+": _check_sum,
    "*": _check_product,
    "**": _check_power,
}


# What Python calls a conversion specifier, but for the width that is taken from the values. A key
# has an end in sight, as looking for its bracket again and again would take forever.
_SPECIFIER = re.compile(
    r"%(?:\((?P<key>[^)]{0,100})\))?(?P<flags>[#0\- +]*)(?P<width>\d*)"
    r"(?:\.(?P<precision>\d*))?[hlL]?(?P<kind>.?)",
    re.DOTALL,
)


def percent(template: str, given: Any) -> str:
    """Return ``template % given``; a text is put in for ``%s``, a number for any other letter.

    Raises :class:`TemplateError` for a width or precision over the limit, for an unknown letter,
    and for too few or too many values.
    """
    values: Iterable[Any] = given if isinstance(given, tuple) else (given,)  # pyright: ignore[reportUnknownVariableType]
    waiting = iter(values)  # pyright: ignore[reportUnknownArgumentType]
    made = joined(_formatted(text(template), given, waiting))
    if not isinstance(given, Mapping) and next(waiting, None) is not None:
        raise TemplateError(
            f"the format {template[:60]!r} has more values than places", fix="write a %s for each"
        )
    return made


def _formatted(template: str, given: Any, waiting: Iterator[Any]) -> Iterator[str]:
    end = 0
    for match in _SPECIFIER.finditer(template):
        yield template[end : match.start()]
        yield "%" if match["kind"] == "%" else _specified(match, _value(match, given, waiting))
        end = match.end()
    yield template[end:]


def _value(match: re.Match[str], given: Any, waiting: Iterator[Any]) -> Any:
    if match["key"] is not None and isinstance(given, Mapping):
        return given[match["key"]]  # pyright: ignore[reportUnknownVariableType]
    try:
        return next(waiting)
    except StopIteration:
        raise TemplateError("a format has fewer values than places", fix="give more") from None


def _specified(match: re.Match[str], value: Any) -> str:
    for number in (match["width"], match["precision"]):
        check_width(int(number[:9]) if number else 0)
    kind = match["kind"]
    if kind not in {*"sdifFeEgGxXo"}:
        raise TemplateError(
            f"{match[0]!r} is not a place in a format",
            fix="known: %s, %d, %f, %.2f, %e, %g, %x, %%",
        )
    if kind != "s":
        check_decimal(value)
    precision = "" if match["precision"] is None else f".{match['precision']}"
    form = f"%{match['flags']}{match['width']}{precision}{kind}"
    return form % (text(value) if kind == "s" else _number(value),)


def _number(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal | Fraction):
        raise TemplateError(
            f"{type(value).__name__} is no number, which a format asks for", fix="write %s for text"
        )
    return value
