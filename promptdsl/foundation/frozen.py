"""Plain data that nobody can change: dictionaries, lists and the values in them.

A tuple is a list, as in JSON. Nothing recurses: copying, comparing, printing and saving keep their
own stack, so any depth will do.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isfinite
from typing import Any, NamedTuple, Never, TypeAlias, cast

from promptdsl.foundation.errors import DataError
from promptdsl.foundation.unicode import exact

PLAIN = "give plain data: dict, list, str, int, float"


class _Frozen:
    """The base of both containers. A copy of one is itself, as nothing can change."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]

    def __eq__(self, other: object) -> bool:
        return _equal(self, other) if isinstance(other, dict | list) else NotImplemented

    def __ne__(self, other: object) -> bool:
        return not _equal(self, other) if isinstance(other, dict | list) else NotImplemented

    def __repr__(self) -> str:
        return "".join(_printed(self))

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: object) -> Any:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (_flat(self),)


class FrozenDict(_Frozen, dict[Any, Any]):
    """A dictionary that refuses every change. It is equal to a plain one, and JSON can write it."""

    __slots__ = ()


class FrozenList(_Frozen, list[Any]):
    """A list that refuses every change."""

    __slots__ = ()


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

EMPTY: Mapping[str, Any] = FrozenDict()
"""The empty mapping that all share who have none."""

# Copying.

Leaf: TypeAlias = Callable[[Any, "Around", Any], Any]
"""Returns the form in which a value other than a container is kept, given the containers around it
and its key there; raises :class:`DataError` when it cannot be kept."""

Around: TypeAlias = dict[int, Any]
"""The containers around a value by their ``id()``, from the outermost, each with its own key."""


class _Rule(NamedTuple):
    """The containers of a copy, and the rule for its other values."""

    mapping: type[dict[Any, Any]]
    sequence: type[list[Any]]
    leaf: Leaf
    only_strings: bool = False
    """Whether every key has to be a string."""


def frozen(value: Any) -> Any:
    """Return a copy of plain data that nobody can change; values other than containers stay.

    An empty mapping is always the same object. Raises :class:`DataError` for data that holds
    itself, and for two keys that are one string.
    """
    if type(value) in _FROZEN:
        return value
    if type(value) is dict and _is_flat(value):  # pyright: ignore[reportUnknownArgumentType]
        return FrozenDict(value) if value else EMPTY  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(value, Mapping) and not value:
        return EMPTY
    return _copied(value, "", _FREEZE)


def plain(value: Any, key: str, leaf: Leaf | None = None) -> Any:
    """Return a copy of JSON data that nobody can change.

    Strings and numbers are of exactly these types. ``leaf`` may keep values of other types. Raises
    :class:`DataError`, with the path that starts with ``key``, for values that JSON cannot say.
    """
    if value is EMPTY or type(value) in _SIMPLE:
        return value
    if type(value) is dict and _is_flat(value):  # pyright: ignore[reportUnknownArgumentType]
        return FrozenDict(value) if value else EMPTY  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(value, Mapping) and not value:
        return EMPTY
    return _copied(value, key, _Rule(FrozenDict, FrozenList, leaf or json_leaf, True))


def _is_flat(data: dict[Any, Any]) -> bool:
    # Most data is, and is copied in a third of the time.
    for key, item in data.items():
        if type(key) is not str or type(item) not in _SIMPLE:
            return False
    return True


def thawed(value: Any) -> Any:
    """Return plain data as dictionaries and lists of its own."""
    return _copied(value, "", _THAW)


def json_leaf(item: Any, around: Around, key: Any) -> Any:
    """Return a string, number, boolean or ``None``; :class:`DataError` names any other value."""
    if item is None or isinstance(item, bool):
        return item
    if issubclass(type(item), str):
        return exact(item)
    if isinstance(item, float) and isfinite(item):
        return float.__float__(item)
    if not isinstance(item, int):
        found = float.__repr__(item) if isinstance(item, float) else type(item).__name__
        raise DataError(f"{_path(around, key)!r} is not a JSON value: {found}", fix=PLAIN)
    number = int.__int__(item)
    if number.bit_length() > 2_000 and not _can_be_written(number):
        raise DataError(
            f"{_path(around, key)!r} is a number of more digits than Python reads or writes",
            fix="give it as a string",
        )
    return number


def _can_be_written(number: int) -> bool:
    # Up to sys.get_int_max_str_digits(), which is 4,300 unless somebody changed it.
    try:
        return bool(int.__repr__(number))
    except ValueError:
        return False


def _copied(value: Any, key: Any, rule: _Rule) -> Any:
    """Return a copy of nested containers of any depth."""
    top: list[Any] = []
    waiting: list[tuple[Any, Any, Any]] = [(top, key, value)]
    around: Around = {}
    while waiting:
        into, key, item = waiting.pop()
        if into is None:
            del around[key]
        elif isinstance(item, Mapping | list | tuple):
            made = rule.mapping() if _is_mapping(cast("Any", item)) else rule.sequence()
            _put(into, key, made)
            waiting += _entered(made, (key, cast("Any", item)), around, rule)
        else:
            _put(into, key, rule.leaf(item, around, key))
    return top[0]


_set_item = cast("Any", dict).__setitem__
_append = cast("Any", list).append


def _put(into: Any, key: Any, made: Any) -> None:
    if isinstance(into, dict):
        _set_item(into, key, made)
    else:
        _append(into, made)


def _is_mapping(value: object) -> bool:
    return isinstance(value, Mapping)


def _entered(
    made: Any, keyed: tuple[Any, Any], around: Around, rule: _Rule
) -> list[tuple[Any, Any, Any]]:
    """Return the steps that fill a container, last first, after the one that closes it."""
    key, item = keyed
    if id(item) in around:
        raise DataError("data that holds itself", fix="give plain data, without circles")
    around[id(item)] = key
    entries = _keyed(item, around, rule) if _is_mapping(item) else [*enumerate(item)]
    # None closes the container when all that is in it is done.
    return [(None, id(item), None), *((made, key, value) for key, value in reversed(entries))]


def _keyed(item: Mapping[Any, Any], around: Around, rule: _Rule) -> list[tuple[Any, Any]]:
    entries = [(exact(key), value) for key, value in item.items()]
    if rule.only_strings:
        for key, _ in entries:
            if type(key) is not str:
                place = _path(around)
                raise DataError(
                    f"a key{place and f' of {place!r}'} is a string, not {type(key).__name__}",
                    fix="write it as a string, as JSON does",
                )
    if len({key for key, _ in entries}) != len(entries):
        raise DataError("two keys that are one string", fix="give every key once")
    return entries


_SIMPLE = frozenset({str, bool, type(None)})
_FROZEN = frozenset({FrozenDict, FrozenList, str, int, float, bool, type(None), bytes})


def _exact_leaf(item: Any, *_: Any) -> Any:
    return exact(item)


def _same_leaf(item: Any, *_: Any) -> Any:
    return item


_FREEZE = _Rule(FrozenDict, FrozenList, _exact_leaf)
_THAW = _Rule(dict, list, _same_leaf)


def _path(around: Around, *last: Any) -> str:
    """Return the path of a value, such as ``details.items[2]``; a long one without its middle."""
    keys = [*around.values(), *last]
    parts = [f"[{key}]" if isinstance(key, int) else f".{key[:60]}" for key in keys]
    if len(parts) > 12:
        parts[6:-6] = ["..."]
    return "".join(parts).removeprefix(".").removeprefix(".")


# Comparing, printing, saving.


def _equal(one: Any, two: Any) -> bool:
    pairs: list[tuple[Any, Any]] = [(one, two)]
    while pairs:
        one, two = pairs.pop()
        if one is two:
            continue
        if isinstance(one, dict) and isinstance(two, dict):
            if dict.keys(one) != dict.keys(two):  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
                return False
            pairs += [(value, two[key]) for key, value in one.items()]  # pyright: ignore[reportUnknownVariableType]
        elif isinstance(one, list) and isinstance(two, list):
            if len(one) != len(two):  # pyright: ignore[reportUnknownArgumentType]
                return False
            pairs += zip(one, two, strict=True)  # pyright: ignore[reportUnknownArgumentType]
        elif isinstance(one, _Frozen) or isinstance(two, _Frozen) or one != two:
            return False
    return True


def _printed(value: Any) -> Iterator[str]:
    """Yield the pieces of the ``repr`` of plain containers with the same content."""
    waiting: list[tuple[bool, Any]] = [(False, value)]
    while waiting:
        ready, item = waiting.pop()
        if ready:
            yield item
        elif isinstance(item, dict):
            waiting += reversed([(True, "{"), *_printed_entries(item), (True, "}")])  # pyright: ignore[reportUnknownArgumentType]
        elif isinstance(item, list):
            inside = [part for one in cast("Any", item) for part in ((True, ", "), (False, one))]
            waiting += reversed([(True, "["), *inside[1:], (True, "]")])
        else:
            yield repr(item)


def _printed_entries(item: dict[Any, Any]) -> list[tuple[bool, Any]]:
    parts: list[tuple[bool, Any]] = []
    for number, (key, value) in enumerate(item.items()):
        parts += ((True, f"{', ' if number else ''}{key!r}: "), (False, value))
    return parts


def _flat(value: Any) -> list[tuple[Any, ...]]:
    """Return a container as records in document order: one without containers, as pickle recurses.

    ``(keys,)`` is a dictionary, ``(keys, length)`` with no keys a list, ``(None, None, value)``
    anything else.
    """
    records: list[tuple[Any, ...]] = []
    waiting: list[Any] = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, FrozenDict):
            records.append((tuple(item),))
            waiting += reversed(item.values())
        elif isinstance(item, FrozenList):
            records.append((None, len(item)))
            waiting += reversed(item)
        else:
            records.append((None, None, item))
    return records


def _rebuilt(records: Sequence[tuple[Any, ...]]) -> Any:
    """Return the container of flat records; read backwards, its content comes before it."""
    made: list[Any] = []
    for keys, *rest in reversed(records):
        if len(rest) == 2:
            made.append(rest[1])
            continue
        count = len(keys) if keys is not None else rest[0]
        content = [made.pop() for _ in range(count)]
        made.append(_container(keys, content))
    return made[0]


def _container(keys: tuple[Any, ...] | None, content: list[Any]) -> Any:
    if keys == ():
        return EMPTY
    made: Any = FrozenList() if keys is None else FrozenDict()
    for key, value in zip(keys or content, content, strict=True):
        _put(made, key, value)
    return made
