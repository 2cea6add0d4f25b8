"""Plain data that nobody can change: dictionaries, lists and the values in them.

``plain`` checks and copies JSON data. ``frozen`` copies other data. ``thawed`` returns a copy that
can be changed. A tuple becomes a list, as in JSON. Data is nested at most 200 levels deep.
"""

from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any, NamedTuple, Never, Self, TypeAlias, TypeGuard, cast, overload

from promptdsl.foundation.errors import DataError
from promptdsl.foundation.json import (
    LEVELS,
    PLAIN_DATA_ADVICE,
    JsonObject,
    JsonValue,
    depth_error,
    full_stack_error,
)
from promptdsl.foundation.unicode import exact

# Factories for fields of every prompt: list[str]() takes eight times as long as list().
new_list: Any = list  # Any: pyright takes the items of list itself for unknown
new_dict: Any = dict  # Any: as above
new_set: Any = set  # Any: as above


class _Frozen:
    """The base of both containers. A copy is the same object, because nothing can change."""

    __slots__ = ()

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self


class FrozenDict(_Frozen, dict[Any, Any]):  # Any: keys and values of authors
    """A dictionary that refuses every change. It equals a plain dictionary; JSON can write it."""

    __slots__ = ()

    def __reduce__(self) -> tuple[object, ...]:
        return _restored, (dict(self),)


class FrozenList(_Frozen, list[object]):
    """A list that refuses every change. It equals a plain list; JSON can write it."""

    __slots__ = ()

    def __reduce__(self) -> tuple[object, ...]:
        return FrozenList, (list(self),)


def _refuse_change(*_: object, **__: object) -> Never:
    raise TypeError("this value is frozen: change a copy of it, such as dict(value) or to_dict()")


_CHANGES = (
    (FrozenDict, "__setitem__ __delitem__ __ior__ clear pop popitem setdefault update"),
    (
        FrozenList,
        "__setitem__ __delitem__ __iadd__ __imul__ append clear extend insert pop remove reverse"
        " sort",
    ),
)
for _class, _names in _CHANGES:
    for _name in _names.split():
        setattr(_class, _name, _refuse_change)

EMPTY: Mapping[str, Never] = FrozenDict()
"""The empty mapping; there is only this object."""


def _restored(content: dict[object, object]) -> object:
    return FrozenDict(content) if content else EMPTY


# Copying.


def is_mapping(value: object) -> TypeGuard[Mapping[str, object]]:
    """Return whether a value is a mapping; its reader checks the keys."""
    return type(value) is dict or isinstance(value, Mapping)


def mapping_or_empty(value: object) -> Mapping[str, object]:
    """Return a mapping; an empty mapping for any other value."""
    if is_mapping(value):
        return value
    return EMPTY


def list_or_empty(value: object) -> Sequence[Any]:  # Any: its reader checks the items
    """Return a list or tuple; an empty tuple for any other value."""
    return value if is_list(value) else ()


def text_or_empty(value: object) -> str:
    """Return a text; an empty text for any other value."""
    if isinstance(value, str):
        return value
    return ""


def is_list(value: object) -> TypeGuard[list[object] | tuple[object, ...]]:
    """Return whether a value is a list or a tuple."""
    return isinstance(value, list | tuple)


Around: TypeAlias = dict[int, object]
"""The enclosing containers of a value: the key of each by its ``id()``, the outermost first."""

Leaf: TypeAlias = Callable[[object, Around, object], object]
"""A function that returns the copy of a value that is not a container, or its :class:`Fields`.

The arguments are the value, its enclosing containers, and its key. It raises :class:`DataError` for
a value that cannot be in the data."""


class Fields(dict[str, object]):
    """The fields of an object that is copied as a mapping."""


class _Rule(NamedTuple):
    """How data is copied: the types of the containers, and the function for other values."""

    mapping: Callable[[dict[object, object]], object]
    sequence: Callable[[list[object]], object]
    leaf: Leaf
    only_strings: bool = False
    """Whether every key has to be a string."""
    levels: int = LEVELS
    """The maximum depth of the data, in levels."""


def frozen(value: Any) -> Any:  # Any: data of authors, of the same shape
    """Return a copy of plain data that nobody can change.

    Only containers are copied. An empty mapping is always the same object. Raises
    :class:`DataError` for data that contains itself, for data nested deeper than 200 levels, and
    for two keys that are the same string.
    """
    if type(value) in _FROZEN:
        return value
    copy = _flat_copy(value)
    return _copied_from(value, "", _FREEZE) if copy is None else copy


@overload
def plain(value: Mapping[str, object], key: str) -> JsonObject: ...
@overload
def plain(value: object, key: str) -> JsonValue: ...
@overload
def plain(
    value: object, key: str, leaf: Leaf, *, levels: int = LEVELS
) -> Any: ...  # Any: the leaf decides what it keeps
def plain(value: object, key: str, leaf: Leaf | None = None, *, levels: int = LEVELS) -> object:
    """Return a copy of JSON data that nobody can change.

    A string or number of a subclass becomes a plain one. ``leaf`` may keep values of other types.
    Raises :class:`DataError` for a value that JSON cannot express, and for data nested deeper than
    ``levels``. The error names the path of the value, which starts with ``key``.
    """
    if value is EMPTY or type(value) in _SIMPLE:
        return value
    copy = _flat_copy(value)
    if copy is not None:
        return copy
    rule = _PLAIN if leaf is None else _Rule(FrozenDict, FrozenList, leaf, True, levels)
    return _copied_from(value, key, rule)


def thawed(value: object) -> Any:  # Any: plain data that its reader knows
    """Return plain data as dictionaries and lists that can be changed."""
    return _copied_from(value, "", _THAW)


def json_leaf(item: object, enclosing: Around, key: object) -> JsonValue:
    """Return a string, number, boolean or ``None``; :class:`DataError` for any other value."""
    if item is None or isinstance(item, bool):
        return item
    text = exact(item)
    if type(text) is str:
        return text
    if isinstance(item, float) and isfinite(item):
        return float.__float__(item)
    if not isinstance(item, int):
        from promptdsl.foundation.remedies import json_remedy

        text_shown = float.__repr__(item) if isinstance(item, float) else type(item).__name__
        problem = f"{_path(enclosing, key)!r} is not a JSON value: {text_shown}"
        raise DataError(problem, fix=json_remedy(item, PLAIN_DATA_ADVICE))
    number = int.__int__(item)
    if number.bit_length() > 2_000:
        try:
            int.__repr__(number)
        except ValueError:  # beyond sys.get_int_max_str_digits(), 4,300 by default
            raise DataError(
                f"{_path(enclosing, key)!r} is a number of more digits than Python reads or writes",
                fix="write it as a string",
            ) from None
    return number


def _flat_copy(value: Any) -> object:  # Any: data of authors
    """Return the frozen copy of a dictionary of strings, booleans and ``None``, else ``None``.

    This is five times as fast as the general copy.
    """
    kind = type(value)  # pyright: ignore[reportUnknownVariableType]
    if kind is not dict:
        return None
    for name, item in value.items():
        if type(name) is not str or type(item) not in _SIMPLE:
            return None
    return FrozenDict(value) if value else EMPTY


def _copied_from(value: object, key: str, rule: _Rule) -> object:
    try:
        return _copied(value, key, {}, rule)
    except RecursionError:
        raise full_stack_error() from None


def _copied(item: object, key: object, enclosing: Around, rule: _Rule) -> object:
    if type(item) in _SIMPLE:
        return item
    content: object = item
    if not _is_container(item):
        content = rule.leaf(item, enclosing, key)
        if not isinstance(content, Fields):
            return content
    if id(item) in enclosing:
        raise DataError("the data contains itself", fix="write plain data without cycles")
    if len(enclosing) == rule.levels:
        raise depth_error(_path(enclosing, key))
    enclosing[id(item)] = key
    copy: object
    if is_mapping(content):
        entries: dict[object, object] = {}
        for written_name, value in content.items():
            name = exact(written_name)
            if rule.only_strings and type(name) is not str:
                path = _path(enclosing)
                raise DataError(
                    f"a key{path and f' of {path!r}'} must be a string, not {type(name).__name__}",
                    fix="write it as a string, as JSON does",
                )
            if name in entries:
                raise DataError("two keys are the same string", fix="write each key once")
            entries[name] = _copied(value, name, enclosing, rule)
        copy = rule.mapping(entries) if entries or rule is _THAW else EMPTY
    else:
        items = cast("list[object]", content)
        values = [_copied(value, index, enclosing, rule) for index, value in enumerate(items)]
        copy = rule.sequence(values)
    del enclosing[id(item)]
    return copy


def _is_container(
    item: object,
) -> TypeGuard[Mapping[object, object] | list[object] | tuple[object, ...]]:
    return isinstance(item, (dict, list, tuple, Mapping))


def _exact_leaf(item: object, *_: object) -> object:
    return exact(item)


def _unchanged_leaf(item: object, *_: object) -> object:
    return item


_SIMPLE = frozenset({str, bool, type(None)})
_FROZEN = frozenset({FrozenDict, FrozenList, str, int, float, bool, type(None), bytes})

_FREEZE = _Rule(FrozenDict, FrozenList, _exact_leaf)
_PLAIN = _Rule(FrozenDict, FrozenList, json_leaf, only_strings=True)
_THAW = _Rule(dict, list, _unchanged_leaf)


def _path(enclosing: Around, *last: object) -> str:
    """Return the path of a value, such as ``details.items[2]``; a long path without its middle."""
    keys = [*enclosing.values(), *last]
    steps = [f"[{key}]" if isinstance(key, int) else f".{str(key)[:60]}" for key in keys]
    if len(steps) > 12:
        steps[6:-6] = ["..."]
    return "".join(steps).removeprefix(".").removeprefix(".")
