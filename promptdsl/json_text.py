"""Strict JSON text, both ways, and the value that stands for "not given"."""

import json
from math import isfinite
from typing import Any

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


# Built once: making a decoder costs more than reading a call's arguments with it.
_DECODER = json.JSONDecoder(parse_constant=_refuse, parse_float=_finite)
