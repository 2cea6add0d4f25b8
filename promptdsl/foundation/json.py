"""JSON text, read and written strictly, however deep it is nested. Nothing recurses."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from typing import Any, TypeAlias, cast

from promptdsl.foundation.errors import DataError
from promptdsl.foundation.frozen import PLAIN, plain

JsonValue: TypeAlias = (
    "bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
)
"""JSON data: what :func:`json.loads` returns, and frozen forms of it."""

JsonObject: TypeAlias = Mapping[str, JsonValue]
"""A JSON object."""


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
    """Return the value of a strict JSON text, or ``ABSENT`` for any other text.

    Others are ``NaN``, a number that a float cannot hold (``1e400``), and data nested deeper than
    Python's own reader goes, which its sender could not write either.
    """
    try:
        return _DECODER.decode(text)
    except (ValueError, RecursionError):
        return ABSENT


def read_any_depth(text: str) -> Any:
    """Return the value of a strict JSON text of any depth, or ``ABSENT`` for any other text."""
    try:
        return _DECODER.decode(text)
    except ValueError:
        return ABSENT
    except RecursionError:
        pass
    try:
        return read_deep(text, _DECODER)
    except ValueError:
        return ABSENT


def write_json(value: object) -> str:
    """Return the strict JSON text of a value of any depth, keys in their order.

    Raises :class:`DataError` when it has none.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, allow_nan=False)
    except RecursionError:
        return _deep_text(value)
    except (TypeError, ValueError) as error:
        raise DataError(f"not a JSON value: {error}", fix=PLAIN) from None
    return text


def _deep_text(value: object) -> str:
    # Data that holds itself may be too deep for Python to notice: plain() does.
    checked = plain(value, "")
    text = write_deep(checked)
    try:
        text.encode()
    except UnicodeEncodeError:
        return write_deep(checked, ascii_only=True)
    return text


def canonical(value: object) -> str:
    """Return the one JSON text of data: equal for the same values, whatever the order of keys.

    ``True`` and ``1``, which Python takes to be equal, have texts of their own.
    """
    return write_deep(value, ascii_only=True, ordered=True)


def _refuse(constant: str) -> Any:
    raise ValueError(constant)


def _finite(text: str) -> float:
    number = float(text)
    return number if isfinite(number) else _refuse(text)


# Built once: making a decoder costs more than reading a call's arguments with it.
_DECODER = json.JSONDecoder(parse_constant=_refuse, parse_float=_finite)


# Deeper than Python's own reader and writer go.

OPENED, AFTER, ENTRY, VALUE = range(4)
"""The place of a reader: in an empty container, after a value, after a comma, after a key or at the
start."""

_SPACE = re.compile(r"[ \t\n\r]*")
_KEY_END = re.compile(r"[ \t\n\r]*:")


def read_deep(text: str, decoder: json.JSONDecoder) -> Any:
    """Return the value of a JSON text; ``decoder`` reads values other than containers.

    Raises :class:`ValueError` for any other text.
    """
    top: list[Any] = []
    around: list[Any] = [top]
    keys: list[Any] = [None]
    place = VALUE
    for mark, value in _marks(text, decoder):
        inside = around[-1]
        if mark in ("}", "]"):
            _expect(place in (OPENED, AFTER) and inside is not top)
            _expect(isinstance(inside, dict) == (mark == "}"))
            around.pop()
            keys.pop()
            place = AFTER
        elif mark == ",":
            _expect(place == AFTER and inside is not top)
            place = ENTRY
        elif mark == "key":
            _expect(place in (OPENED, ENTRY) and isinstance(inside, dict))
            keys[-1] = value
            place = VALUE
        else:
            _expect(place == VALUE or (place != AFTER and isinstance(inside, list)))
            _put(inside, keys[-1], value)
            place = AFTER
            if mark:
                around.append(value)
                keys.append(None)
                place = OPENED
    _expect(place == AFTER and around[-1] is top)
    return top[0]


def _expect(right: bool) -> None:
    if not right:
        raise ValueError("no JSON")


def _put(inside: Any, key: str, value: Any) -> None:
    if isinstance(inside, dict):
        inside[key] = value
    else:
        inside.append(value)


def _marks(text: str, decoder: json.JSONDecoder) -> Iterator[tuple[str, Any]]:
    """Yield brackets and commas, keys (``key``) and values other than containers (``""``).

    An opening bracket comes with its container, still empty.
    """
    at = _end(_SPACE, text, 0)
    while at < len(text):
        character = text[at]
        if character in "[{":
            yield character, [] if character == "[" else {}
            at += 1
        elif character in "]},":
            yield character, None
            at += 1
        else:
            value, at = _scalar(text, at, decoder)
            key = _KEY_END.match(text, at) if character == '"' else None
            yield "key" if key else "", value
            at = key.end() if key else at
        at = _end(_SPACE, text, at)


def _scalar(text: str, at: int, decoder: json.JSONDecoder) -> tuple[Any, int]:
    try:
        return cast("tuple[Any, int]", cast("Any", decoder).scan_once(text, at))
    except StopIteration:
        raise ValueError("no JSON") from None


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at


def write_deep(value: Any, *, ascii_only: bool = False, ordered: bool = False) -> str:
    """Return plain data as the JSON text that :func:`json.dumps` would write.

    ``ordered`` writes keys in the order of their characters, so that equal data has one text.
    """
    return "".join(_pieces(value, ascii_only, ordered))


def _pieces(value: Any, ascii_only: bool, ordered: bool) -> Iterator[str]:
    waiting: list[Any] = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, _Piece):
            yield item
        elif isinstance(item, dict):
            entries = cast("dict[str, Any]", item).items()
            parts: list[Any] = [_Piece("{")]
            for number, (key, inner) in enumerate(
                sorted(entries, key=_key) if ordered else entries
            ):
                written = json.dumps(key, ensure_ascii=ascii_only)
                parts += (_Piece(f"{', ' if number else ''}{written}: "), inner)
            waiting += reversed([*parts, _Piece("}")])
        elif isinstance(item, list | tuple):
            divided = [part for one in cast("list[Any]", item) for part in (_COMMA, one)]
            waiting += reversed([_Piece("["), *divided[1:], _Piece("]")])
        else:
            yield json.dumps(item, ensure_ascii=ascii_only, allow_nan=False)


def _key(entry: tuple[str, Any]) -> str:
    return entry[0]


class _Piece(str):
    """Text that is already JSON."""

    __slots__ = ()


_COMMA = _Piece(", ")
