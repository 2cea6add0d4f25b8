"""Strict JSON text, both ways, plain data that nobody can change, and the value for "not given"."""

import json
from collections.abc import Mapping
from math import isfinite
from typing import Any

from promptdsl.deep_json import read_deep, write_deep
from promptdsl.errors import DataError
from promptdsl.plain_data import PLAIN, exact, frozen, plain, thawed

__all__ = [
    "ABSENT",
    "EMPTY",
    "canonical",
    "exact",
    "frozen",
    "plain",
    "read_any_depth",
    "read_json",
    "thawed",
    "write_json",
]


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

EMPTY: Mapping[str, Any] = frozen({})
"""The empty mapping that all share who have none."""


def read_json(text: str) -> Any:
    """Return the value of a strict JSON text, or ``ABSENT`` when it is not one.

    Neither ``NaN`` is one, nor a number that a float cannot hold (``1e400``), nor what is nested
    deeper than Python's own reader goes: who sends it could not write it either.
    """
    try:
        return _DECODER.decode(text)
    except (ValueError, RecursionError):
        return ABSENT


def read_any_depth(text: str) -> Any:
    """Return the value of a strict JSON text however deep it is, ``ABSENT`` when it is not one."""
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
    """Return ``value`` as strict JSON text, keys in their order, however deep it is.

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
    # What holds itself may be too deep for Python to notice: plain() does.
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
