"""The variables of a template: plain data, which is copied when a ``Template`` is made."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import date, datetime, time
from decimal import Decimal
from fractions import Fraction
from functools import partial
from types import MemberDescriptorType
from typing import Any
from uuid import UUID

from promptdsl.foundation.author_text import Trusted
from promptdsl.foundation.errors import ContentError, DataError
from promptdsl.foundation.escaping import Label
from promptdsl.foundation.frozen import Around, Fields, FrozenDict, plain


class _Checked(FrozenDict):
    """Variables that were checked. After pickling they are checked again."""

    __slots__ = ()


def check_variables(
    variables: Mapping[str, object], convert: Callable[[object], object] | None = None
) -> Mapping[str, object]:
    """Return the variables of a template as a frozen copy of plain data.

    Plain data are strings, numbers, booleans, ``None``, dates and times, ``UUID``, and mappings
    with string keys, lists and tuples of these, at any depth. An instance of a dataclass or an
    attrs class becomes a mapping of its fields. Variables that were checked before are returned
    unchanged. ``convert`` returns the data for an object of another type, or ``None``.

    Raises :class:`ContentError` for any other data.
    """
    if isinstance(variables, _Checked):
        return variables
    if not isinstance(variables, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ContentError(
            f"the variables of a template must be a mapping, not {type(variables).__name__}",
            fix='write vars={"name": value}',
        )
    try:
        copied = plain(variables, "vars", partial(_plain_leaf, convert))
    except DataError as error:
        raise ContentError(error.what, fix=error.fix) from None
    checked = _Checked()
    # A frozen dictionary refuses changes through its own methods, so those of ``dict`` are used.
    dict[str, object].update(checked, copied)
    return checked


def _plain_leaf(
    convert: Callable[[object], object] | None, item: object, enclosing: Around, key: object
) -> object:
    """Return one value as an object of a plain type: no code of a subclass is kept or run.

    Raises :class:`ContentError`, with the path of the value, for an object that is not data.
    """
    if item is None or isinstance(item, bool | Trusted | Label):
        return item
    for kind, as_plain in _KINDS:
        if isinstance(item, kind):
            return as_plain(item)
    data = convert(item) if convert else None
    if data is not None:
        return data
    if (fields := _fields_of(item)) is not None:
        return fields
    path = ".".join(str(key_or_index)[:60] for key_or_index in [*enclosing.values(), key][-6:])
    from promptdsl.foundation.remedies import json_remedy

    fix = "pass the data in it that the template needs: strings, numbers, lists, dictionaries"
    problem = f"{path} is an object, not plain data: {type(item).__name__}"
    raise ContentError(problem, fix=json_remedy(item, fix))


def _fields_of(item: object) -> Fields | None:
    """Return the fields that are set in a dataclass or attrs object, without running its code.

    Returns ``None`` for any other object.
    """
    kind: Any = type(item)  # Any: a class of either library
    declared_fields = getattr(kind, "__attrs_attrs__", None)
    if declared_fields is None and hasattr(kind, "__dataclass_fields__"):
        from dataclasses import fields

        declared_fields = fields(kind)
    values = Fields()
    for name in (field.name for field in declared_fields or ()):
        containers = (vars(base) for base in type.mro(type(item)))
        declared: object = next((members[name] for members in containers if name in members), None)
        is_code = hasattr(type(declared), "__get__") and type(declared) is not MemberDescriptorType
        with suppress(AttributeError):
            # A property or a method with the name of a field stays one, and is refused later.
            values[name] = declared if is_code else object.__getattribute__(item, name)
    return None if declared_fields is None else values


def _plain_clock(kind: Any, value: Any) -> object:  # Any: ``datetime`` or ``time``, and one of it
    """Return a time as an object of exactly this type."""
    if type(value) is kind and value.tzinfo is None:
        return value
    # The offset is kept. The time zone is not, because it is an object that may run code.
    return kind.fromisoformat(kind.isoformat(value))


# The types of plain data, each with a function that copies a value as exactly this type.
# Any: each function takes the type that is written before it.
_KINDS: tuple[tuple[type, Callable[[Any], object]], ...] = (
    (str, str.__str__),
    (int, int.__int__),
    (float, float.__float__),
    (Decimal, Decimal),
    (Fraction, Fraction),
    (datetime, partial(_plain_clock, datetime)),
    (date, lambda value: date(value.year, value.month, value.day)),
    (time, partial(_plain_clock, time)),
    (UUID, lambda value: UUID(UUID.__str__(value))),
)
