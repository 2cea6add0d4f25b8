"""The lines of a transcript file: JSON with a number and a checksum, one line for each entry."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from zlib import crc32

from promptdsl.foundation.json import DECODER, unique
from promptdsl.foundation.unicode import is_valid_unicode
from promptdsl.messages.message_checks import KEYS
from promptdsl.messages.roles import ROLES
from promptdsl.transcript.entry_types import BUILT_IN, is_known

FORMAT = "promptdsl.transcript"
_SUM = b',"sum":"'
_LENGTH = len(b'"}') + 8 + len(_SUM)
_KEYS = frozenset({"n", "at", "type", "data", "change"})


def with_sum(data: dict[str, object]) -> bytes:
    """Return the line of an object, with the CRC-32 of its other bytes as checksum."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    if not is_valid_unicode(text):
        text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return summed(text)


def summed(text: str) -> bytes:
    """Return the line of the JSON text of an object, with the same checksum."""
    body = text.encode()
    return b'%b%b%08x"}\n' % (body[:-1], _SUM, crc32(body))


HEADER = with_sum({"format": FORMAT, "version": "1.0"})


def object_of(line: bytes) -> dict[str, Any]:  # Any: JSON
    """Return the object of a line; :class:`ValueError` says what is wrong."""
    body = line[:-_LENGTH] + b"}"
    if line[-_LENGTH : -_LENGTH + len(_SUM)] != _SUM:
        raise ValueError("it has no checksum at its end")
    if line[-_LENGTH + len(_SUM) :] != b'%08x"}' % crc32(body):
        raise ValueError("its checksum is wrong: its bytes were changed")
    try:
        text = body.decode().strip(" \t\r")
        json_object: dict[str, Any]  # its last byte is a brace
        json_object, end = DECODER.raw_decode(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    except ValueError:
        raise ValueError("it is not JSON") from None
    if end != len(text):
        raise ValueError("it is not a JSON object")
    if _may_lose_a_key(body, json_object):
        json.loads(text, object_pairs_hook=unique)
    return json_object


def _may_lose_a_key(body: bytes, json_object: Any) -> bool:  # Any: JSON
    """Return whether a JSON text may have a key twice, of which only one is in its data.

    Each key is followed by a quote and a colon. If a text has as many of these as its data has
    keys, no key is lost. A string that begins with a colon only raises their number.
    """
    text = body.translate(None, b" \t\r").replace(b"\\\\", b"")
    count = text.count(b'":') - text.count(b'\\":')
    values: list[Any] = [json_object]
    for value in values:
        cls = value.__class__
        if cls is dict:
            count -= len(value)
            values += value.values()
        elif cls is list:
            values += value
    return count != 0


class LineFields(NamedTuple):
    """The fields of an entry, as its line has them."""

    number: int
    type: str
    at: str | None
    change: int
    data: Any  # Any: JSON
    opaque: bool
    is_current: bool
    """Whether this version would write the same keys."""


def fields_of(line: bytes) -> LineFields:
    """Return the fields of an entry by its line; :class:`ValueError` says what is wrong."""
    json_object = object_of(line)
    number, kind = json_object.get("n"), json_object.get("type")
    if (
        type(number) is not int
        or number < 1
        or not isinstance(kind, str)
        or "data" not in json_object
    ):
        raise ValueError("it has no number, type or data")
    at, change = json_object.get("at"), json_object.get("change", number)
    if type(change) is not int or not 0 < change <= number or not isinstance(at, str | None):
        raise ValueError("its time or the number of its change is wrong")
    data = json_object["data"]
    opaque = not _is_readable(kind, data)
    if not opaque and kind == "undo" and not 0 <= data["to"] < number:
        raise ValueError("it goes back to an entry that is not before it")
    is_current = not opaque and json_object.keys() <= _KEYS
    return LineFields(number, kind, at, change, data, opaque, is_current)


def _is_readable(kind: str, data: Any) -> bool:  # Any: JSON
    """Return whether this version can read the data of a type; messages are read later."""
    if not _is_dict(data) or not is_known(kind):
        return False
    keys = BUILT_IN.get(kind)
    if keys is None:
        return [*data] == ["value"]
    if not keys - _OPTIONAL <= data.keys() <= keys:
        return False
    return all(_CHECKS[key](value) for key, value in data.items())


def _is_message(data: Any) -> bool:  # Any: JSON
    return _is_dict(data) and data.keys() <= KEYS and data.get("role") in ROLES


def _is_dict(value: object) -> bool:
    return type(value) is dict


def _is_list(value: object) -> bool:
    return type(value) is list


def _is_number(value: object) -> bool:
    return type(value) is int


_NUMBER = re.compile("[0-9]{1,18}")
_OPTIONAL = frozenset({"reply", "also", "rest"})
_CHECKS: Mapping[str, Callable[[Any], bool]] = {  # Any: JSON
    "message": _is_message,
    "reply": _is_dict,
    "turn": _is_number,
    "also": lambda value: _is_list(value) and all(map(_is_number, value)),
    "rest": lambda value: (
        _is_dict(value)
        and all(map(_NUMBER.fullmatch, value))
        and all(map(_is_message, value.values()))
    ),
    "text": lambda value: type(value) is str,
    "upto": _is_number,
    "to": _is_number,
    "note": lambda _: True,
    "metadata": _is_dict,
}
