"""The variables of a template: plain data, copied when the component ``Template`` is made."""

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
    """Variables that were checked; after a pickle they are checked again."""

    __slots__ = ()


def check_variables(
    variables: Mapping[str, object], known: Callable[[object], object] | None = None
) -> Mapping[str, object]:
    """Return the variables of a template as a frozen copy of plain data.

    Plain are strings, numbers, booleans, ``None``, dates and times, ``UUID``, and mappings with
    string keys, lists and tuples of these, at any depth. An instance of a dataclass or an attrs
    class is the mapping of its fields. Checked variables are returned unchanged. ``known`` returns
    the data for an object of another kind, or ``None``.
    """
    if isinstance(variables, _Checked):
        return variables
    if not isinstance(variables, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ContentError(
            f"the variables of a template are a mapping, not {type(variables).__name__}",
            fix='write vars={"name": value}',
        )
    try:
        copied = plain(variables, "vars", partial(_plain_leaf, known))
    except DataError as error:
        raise ContentError(error.what, fix=error.fix) from None
    checked = _Checked()
    # A frozen dictionary refuses every change through its own methods.
    dict[str, object].update(checked, copied)
    return checked


def _plain_leaf(
    known: Callable[[object], object] | None, item: object, around: Around, key: object
) -> object:
    """Return a single value as an object of a plain type, without the code of a subclass."""
    if item is None or isinstance(item, bool | Trusted | Label):
        return item
    for kind, exactly in _KINDS:
        if isinstance(item, kind):
            return exactly(item)
    data = known(item) if known else None
    if data is not None:
        return data
    if (fields := _fields_of(item)) is not None:
        return fields
    path = ".".join(str(part)[:60] for part in [*around.values(), key][-6:])
    from promptdsl.foundation.remedies import json_remedy

    fix = "give what the template needs of it: a string, a number, a list, a dictionary"
    problem = f"{path} is a live object, not plain data: {type(item).__name__}"
    raise ContentError(problem, fix=json_remedy(item, fix))


def _fields_of(item: object) -> Fields | None:
    """Return the fields of a dataclass or attrs object that are set, without running its code."""
    kind: Any = type(item)  # Any: a class of either library
    known = getattr(kind, "__attrs_attrs__", None)
    if known is None and hasattr(kind, "__dataclass_fields__"):
        from dataclasses import fields

        known = fields(kind)
    values = Fields()
    for name in (field.name for field in known or ()):
        containers = (vars(base) for base in type.mro(type(item)))
        declared: object = next((members[name] for members in containers if name in members), None)
        is_code = hasattr(type(declared), "__get__") and type(declared) is not MemberDescriptorType
        with suppress(AttributeError):
            # A property or a method with the name of a field is refused.
            values[name] = declared if is_code else object.__getattribute__(item, name)
    return None if known is None else values


def _plain_clock(kind: Any, value: Any) -> object:  # Any: ``datetime`` or ``time``, and one of it
    if type(value) is kind and value.tzinfo is None:
        return value
    # The offset stays and the time zone, which is an object with code of its own, does not.
    return kind.fromisoformat(kind.isoformat(value))


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
