"""Strict JSON text, both ways, plain data that nobody can change, and the value for "not given"."""

import json
from collections.abc import Mapping
from math import isfinite
from typing import Any, Never

from promptdsl.errors import DataError


class _Absent:
    """The value of ``old`` or ``new`` where none was given (which is not ``None``)."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "ABSENT"

    def __reduce__(self) -> str:
        return "ABSENT"

    def __copy__(self) -> "_Absent":
        return self

    def __deepcopy__(self, memo: object) -> "_Absent":
        return self


ABSENT = _Absent()


def read_json(text: str) -> Any:
    """Return the value of a strict JSON text, or ``ABSENT`` when it is not one.

    Neither ``NaN`` is one, nor a number that a float cannot hold (``1e400``).
    """
    try:
        return _DECODER.decode(text)
    except (ValueError, RecursionError):
        return ABSENT


def write_json(value: object) -> str:
    """Return ``value`` as strict JSON text, keys in their order.

    Raises :class:`DataError` when it has none.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise DataError(
            f"not a JSON value: {error}", fix="give plain data: dict, list, str, int, float"
        ) from None
    return text


def _refuse(constant: str) -> Any:
    raise ValueError(constant)


def _finite(text: str) -> float:
    number = float(text)
    return number if isfinite(number) else _refuse(text)


class FrozenDict(dict[Any, Any]):
    """A dictionary that refuses every change. It is equal to a plain one, and JSON can write it."""

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return frozen, (dict(self),)


class FrozenList(list[Any]):
    """A list that refuses every change."""

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return frozen, (list(self),)


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

_NOTHING = FrozenDict()


def exact(value: Any) -> Any:
    """Return a string as an exact ``str``: a subclass may say another text when it is formatted."""
    return str.__str__(value) if isinstance(value, str) and type(value) is not str else value


def frozen(value: Any) -> Any:
    """Return plain data as a copy that nobody can change; what is no container stays as it is.

    An empty mapping is always the same object. Raises :class:`DataError` for what holds itself.
    """
    if type(value) in _FROZEN:
        return value
    if isinstance(value, Mapping) and not value:
        return _NOTHING
    return _copied(value, FrozenDict, FrozenList)


def thawed(value: Any) -> Any:
    """Return plain data as dictionaries and lists of its own."""
    return _copied(value, dict, list)


_FROZEN = frozenset({FrozenDict, FrozenList, str, int, float, bool, type(None), bytes})


def _copied(value: Any, mapping: type[dict[Any, Any]], sequence: type[list[Any]]) -> Any:
    """Return a copy of nested containers. Nothing recurses, so any depth will do."""
    top: list[Any] = []
    waiting: list[tuple[Any, Any, Any]] = [(top, None, value)]
    # The containers around the one at hand: None closes the last of them.
    around: set[int] = set()
    while waiting:
        into, key, item = waiting.pop()
        if into is None:
            around.discard(key)
            continue
        made = _shell(item, mapping, sequence)
        if made is not item:
            if id(item) in around:
                raise DataError("data that holds itself", fix="give plain data, without circles")
            around.add(id(item))
            waiting.append((None, id(item), None))
            waiting += _entries(made, item)
        if isinstance(into, dict):
            dict.__setitem__(into, key, made)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
        else:
            list.append(into, made)  # pyright: ignore[reportUnknownMemberType]
    return top[0]


def _shell(item: Any, mapping: type[dict[Any, Any]], sequence: type[list[Any]]) -> Any:
    """Return the empty container a container is copied into, anything else as it is."""
    if isinstance(item, Mapping):
        return mapping()
    return sequence() if isinstance(item, list) else item


def _entries(made: Any, item: Any) -> list[tuple[Any, Any, Any]]:
    """Return what goes into a container, last first."""
    if isinstance(item, Mapping):
        return [(made, exact(key), value) for key, value in item.items()][::-1]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return [(made, None, value) for value in reversed(item)]


# Built once: making a decoder costs more than reading a call's arguments with it.
_DECODER = json.JSONDecoder(parse_constant=_refuse, parse_float=_finite)
