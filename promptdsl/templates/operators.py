"""The text of a value, and the operators of templates; too large results are refused."""

from collections.abc import Iterable, Sized
from decimal import Decimal
from fractions import Fraction
from typing import TypeGuard, cast

from jinja2 import Undefined

from promptdsl.foundation.errors import ContentError, TemplateError
from promptdsl.foundation.escaping import text_of
from promptdsl.templates.limits import RUN, bounded, check_bits, check_count, check_length

_SEQUENCES: tuple[type[Sized], ...] = (str, list, tuple)


def is_mapping(value: object) -> TypeGuard[dict[object, object]]:
    """Return whether a value is a mapping: variables hold dictionaries, also frozen ones."""
    return isinstance(value, dict)


def text(value: object, name: str | None = None) -> str:
    """Return the text of a value that a template outputs or changes.

    The text of an inline ``if`` without an ``else`` is empty. Raises :class:`TemplateError`, which
    names the variable ``name``, for ``None``, booleans, lists, mappings and objects.
    """
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, Undefined):
        # Undefined values raise an error here, except for that of an inline ``if``.
        return str(value)
    if value is None and RUN.get().none_is_empty:
        return ""
    what = name or "a value"
    if value is None or isinstance(value, bool):
        raise TemplateError(
            f"{what} is {value}, which is not text",
            fix='write what is meant: {{ "yes" if flag else "no" }}, {% if value is none %}',
        )
    try:
        return text_of(value)
    except ContentError as error:
        is_dict = is_mapping(value)
        if isinstance(value, Iterable):
            kind = "mapping" if is_dict else "list"
            problem, shown = f"{what} is a {kind}, which is not text", name or "value"
            fix = f'write {{{{ {shown}|join(", ") }}}} or {{{{ {shown}|tojson }}}}, or loop over it'
        elif callable(value):
            problem = f"{what} is a function, which is not text"
            fix = f"call it: {{{{ {name or 'name'}() }}}}"
        else:
            problem, fix = error.what, "write the part of it that is text"
        raise TemplateError(problem, fix=fix) from None


def joined(values: Iterable[object], separator: object = "") -> str:
    """Return the texts of values as one text, with a separator between them."""
    texts = [text(value) for value in values]
    between = text(separator)
    check_length(sum(map(len, texts)) + len(between) * (len(texts) - 1))
    return bounded(between.join(texts))


def replaced(value: object, old: object, new: object, count: int | None = None) -> str:
    """Return a text with ``old`` replaced by ``new``, ``count`` times or everywhere."""
    original, part, other = text(value), text(old), text(new)
    times = original.count(part) if count is None or count < 0 else min(count, original.count(part))
    check_length(len(original) + times * (len(other) - len(part)))
    return original.replace(part, other, times)


def percent(template: str, values: object) -> str:
    """Return ``template % values``; the values are texts and numbers."""
    if is_mapping(values):
        return template % _Printable(values)
    if isinstance(values, tuple):
        return template % tuple(map(_printable, cast("tuple[object, ...]", values)))
    return template % (_printable(values),)


class _Printable(dict[object, object]):
    """The values of a format by name; each is checked when the format asks for it."""

    def __getitem__(self, name: object) -> object:
        return _printable(super().__getitem__(name))


def _printable(value: object) -> object:
    is_number = isinstance(value, int | float | Decimal | Fraction) and not isinstance(value, bool)
    return value if is_number else text(value)


def check_operands(operator: str, left: object, right: object) -> None:
    """Raise :class:`TemplateError` for a product or power that is too large to be made."""
    if operator == "*":
        for items, times in ((left, right), (right, left)):
            if isinstance(items, _SEQUENCES) and isinstance(times, int):
                check = check_length if isinstance(items, str) else check_count
                check(len(items) * times)
    if operator == "**" and isinstance(left, int | Fraction) and isinstance(right, int):
        base = max(abs(left.numerator), left.denominator)
        if base > 1:
            check_bits((base.bit_length() - 1) * abs(right))
