"""Checks of the fields of blocks and messages.

Each check returns the value that the block or message has, or raises :class:`DataError` with the
key of the field.
"""

from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias, TypeVar, get_args

from promptdsl.foundation.errors import DataError, nearest
from promptdsl.foundation.escaping import is_rare
from promptdsl.foundation.frozen import Around, FrozenDict, FrozenList, is_mapping, json_leaf, plain
from promptdsl.foundation.json import ABSENT, LEVELS, JsonObject, JsonValue
from promptdsl.foundation.unicode import exact
from promptdsl.messages.media_type import MediaSource

S = TypeVar("S", bound=str)

Check: TypeAlias = Callable[[object, str], object]

Cache: TypeAlias = Literal["default", "5m", "1h"]
"""A cache mark after a block, with its lifetime: the provider's default, 5 minutes or an hour."""

CACHES: tuple[Cache, ...] = get_args(Cache)

ErrorType: TypeAlias = Literal[
    "unknown_tool", "validation_error", "execution_error", "timeout_error", "interrupted"
]
ERROR_TYPES: tuple[ErrorType, ...] = get_args(ErrorType)


def checks(**by_field: Check) -> Mapping[str, Check]:
    """Return the check of each field, in the order of the fields.

    The last check is that of ``extra``, a field of almost every block.
    """
    return {**by_field, "extra": json_mapping}


def kind_of(value: object) -> str:
    """Return the name of a value's type for an error."""
    if isinstance(value, type):
        return "type"  # the name of a metaclass does not help
    names: dict[type[object], str] = {FrozenDict: "dict", FrozenList: "list", type(None): "None"}
    return names.get(type(value)) or type(value).__name__


def string(value: object, key: str) -> str:
    """Return a string."""
    if not isinstance(value, str):
        raise DataError(f"{key!r} must be a string, not {kind_of(value)}", fix="give its text")
    return value if type(value) is str else exact(value)


def call_id(value: object, key: str) -> str:
    """Return the id of a tool call, a string that is not empty."""
    if not (id := string(value, key)):
        raise DataError(f"{key!r}, the id of a call, is empty", fix='write one, such as "call_1"')
    return id


def optional_string(value: object, key: str) -> str | None:
    """Return a string or ``None``."""
    return None if value is None else string(value, key)


def mapping(value: object, key: str) -> Mapping[str, object]:
    """Return a mapping."""
    if not is_mapping(value):
        fix = 'write a dictionary, such as {"plan": "Pro"}'
        raise DataError(f"{key!r} must be a mapping, not {kind_of(value)}", fix=fix)
    return value


def word(value: object, key: str) -> object:
    """Return a string or a number."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    # A word is part of an event: its number may be infinite or NaN, which ``json_value`` refuses.
    return plain(value, key, _event_leaf) if is_number else string(value, key)


def flag(value: object, key: str) -> bool:
    """Return a boolean."""
    if not isinstance(value, bool):
        actual = (
            repr(exact(value)) if isinstance(value, str) and len(value) < 60 else kind_of(value)
        )
        raise DataError(f"{key!r} must be true or false, not {actual}", fix="write True or False")
    return value


def one_of(choices: tuple[S, ...], value: object, key: str) -> S:
    """Return one of the ``choices``."""
    text = string(value, key)
    if text not in choices:
        raise DataError(f"unknown {key} {text[:60]!r}", fix=nearest(text[:60], choices))
    return choices[choices.index(text)]  # equal to ``text``, and of the type of the choices


def cache(value: object, key: str) -> str | None:
    """Return a cache mark or ``None``."""
    return None if value is None else one_of(CACHES, value, key)


def error_type(value: object, key: str) -> str | None:
    """Return a type of error or ``None``."""
    return None if value is None else one_of(ERROR_TYPES, value, key)


def media(value: object, key: str) -> MediaSource:
    """Return the source of an attachment."""
    if not isinstance(value, MediaSource):
        raise DataError(
            f"{key!r} must be a MediaSource, not {kind_of(value)}",
            fix="block_from_dict() takes it as a dictionary",
        )
    return value


def json_value(value: object, key: str) -> JsonValue:
    """Return a frozen copy of a JSON value."""
    return plain(value, key)


def json_mapping(value: object, key: str) -> JsonObject:
    """Return a frozen copy of a JSON object."""
    return plain(mapping(value, key), key)


def event_value(value: object, key: str) -> object:
    """Return a frozen copy of an event's data: JSON, and some other values.

    These are dates, times, ``Decimal``, ``Fraction`` and ``UUID``, which JSON cannot express.
    """
    return value if value is ABSENT else plain(value, key, _event_leaf)


def event_mapping(value: object, key: str) -> Mapping[str, object]:
    """Return a frozen copy of a mapping of an event's data; each value may be 200 levels deep."""
    copy: Mapping[str, object] = plain(mapping(value, key), key, _event_leaf, levels=LEVELS + 1)
    return copy


def _event_leaf(item: object, enclosing: Around, key: object) -> object:
    """Return a value in an event; :class:`DataError` for a value that no event may have.

    An event may have values that JSON does not have: infinite numbers, NaN, and the values that
    :func:`event_value` lists.
    """
    # Most values are of these types: for them ``is_rare`` and its imports are not needed.
    common = item is None or isinstance(item, str | int)
    if isinstance(item, float) or (not common and is_rare(item)):
        return item
    return json_leaf(item, enclosing, key)
