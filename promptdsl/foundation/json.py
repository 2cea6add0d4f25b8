"""Strict JSON: its types, its text, and the JSON value in the text of an answer."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from math import isfinite
from typing import TYPE_CHECKING, Any, Final, Never, TypeAlias

from promptdsl.foundation.errors import DataError
from promptdsl.foundation.unicode import is_valid_unicode

# Strict JSON: its types, its reader and its writer.
#
# Data is nested at most ``LEVELS`` deep, so that recursive functions can process it.

if TYPE_CHECKING:
    JsonValue: TypeAlias = (
        "bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
    )
    """JSON data: the values that :func:`json.loads` returns, and frozen copies of them."""
else:  # tools that evaluate annotations cannot resolve a recursive type
    JsonValue: TypeAlias = object

JsonObject: TypeAlias = Mapping[str, JsonValue]
"""A JSON object."""

JsonDict: TypeAlias = dict[str, Any]  # Any: users index into it without checks
"""A JSON object that the caller may change, as :func:`json.loads` returns it."""

LEVELS = 200
"""The maximum depth of JSON data, in levels; a list in a list has two levels."""

PLAIN_DATA_ADVICE = "give plain data: dict, list, str, int, float"
"""The advice about a value that JSON cannot express."""


class Absent(Enum):
    """The type of :data:`ABSENT`: an enumeration, so that a copy or a pickle is the same object."""

    ABSENT = "ABSENT"

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = Absent.ABSENT
"""The sign of a missing value, for data in which ``None`` is a valid value."""


def depth_error(path: str = "") -> DataError:
    """Return the error for data that is nested too deep."""
    subject = repr(path) if path else "the data"
    return DataError(
        f"{subject} is nested deeper than {LEVELS} levels",
        fix="flatten it, or give its JSON text as a string",
    )


def full_stack_error() -> DataError:
    """Return the error for data that is nested deeper than Python's recursion limit allows."""
    return DataError(
        "nested data reached Python's recursion limit",
        fix="call this from a less deep recursion, or flatten the data",
    )


def read_json(text: str) -> JsonValue | Absent:
    """Return the value of a strict JSON text, or ``ABSENT`` for any other text.

    A text is not strict if it has ``NaN``, a number that is too large for a float (``1e400``), or
    data nested deeper than 200 levels.
    """
    # This is twice as fast as decode(), which removes white space by regular expressions.
    text = text.strip(" \t\n\r")
    try:
        value: JsonValue
        value, end = DECODER.raw_decode(text)
    except (ValueError, RecursionError):
        return ABSENT
    if end != len(text) or (_may_be_deep(text) and _is_deep(value)):
        return ABSENT
    return value


def is_json(text: str) -> bool:
    """Return whether a text is JSON of at most 200 levels, with numbers of any size."""
    try:
        return not _is_deep(_ANY_NUMBERS.decode(text))
    except (ValueError, RecursionError):
        return False


def json_problem(text: str) -> str:
    """Return what is wrong with a text that :func:`read_json` refuses, such as "is not JSON"."""
    deep = f"is nested deeper than {LEVELS} levels"
    try:
        value = _ANY_NUMBERS.decode(text)
    except RecursionError:
        return deep
    except ValueError:
        return "is not JSON"
    return deep if _is_deep(value) else "has a number that is too large"


def write_json(value: object, *, outer_levels: int = 0) -> str:
    """Return the strict JSON text of a value, with its keys in their order.

    Raises :class:`DataError` for a value that JSON cannot express, and for data that is nested
    deeper than 200 levels. ``outer_levels`` is how many levels promptdsl puts around an author's
    data: they do not count.
    """
    try:
        text = ENCODER.encode(value)
    except RecursionError:
        raise (depth_error() if _is_deep(value, outer_levels) else full_stack_error()) from None
    except (TypeError, ValueError) as error:
        raise DataError(f"not a JSON value: {error}", fix=PLAIN_DATA_ADVICE) from None
    if _may_be_deep(text) and _is_deep(value, outer_levels):
        raise depth_error()
    # UTF-8 cannot contain a lone surrogate, so json.dumps() writes it as an escape (``\ud800``).
    return text if is_valid_unicode(text) else json.dumps(value)


def object_of_pairs(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return the JSON object of key-value pairs; :class:`ValueError` for a repeated key."""
    json_object = dict(pairs)
    if len(json_object) < len(pairs):
        raise ValueError("it has a key twice")
    return json_object


def canonical(value: JsonValue) -> str:
    """Return a JSON text of data that does not depend on the order of its keys.

    ``True``, ``1`` and ``1.0``, which are equal in Python, have different texts.
    """
    return json.dumps(value, sort_keys=True)


def _may_be_deep(text: str) -> bool:
    # Almost every text has too few brackets to be deep. So _is_deep() need not search its value.
    return text.count("[") + text.count("{") > LEVELS


def _is_deep(value: object, outer_levels: int = 0) -> bool:
    """Return whether data is nested deeper than 200 levels; without recursion."""
    level: list[_Container] = [value] if isinstance(value, (dict, list, tuple)) else []
    for _ in range(LEVELS + outer_levels):
        level = [
            inner
            for container in level
            for inner in (container.values() if isinstance(container, dict) else container)
            if isinstance(inner, (dict, list, tuple))
        ]
        if not level:
            return False
    return True


_Container: TypeAlias = "dict[object, object] | list[object] | tuple[object, ...]"


def _refuse(constant: str) -> Never:
    raise ValueError(constant)


def _finite(text: str) -> float:
    number = float(text)
    return number if isfinite(number) else _refuse(text)


# Built once, because this takes longer than to read or write the arguments of a call.
DECODER = json.JSONDecoder(parse_constant=_refuse, parse_float=_finite)
"""Reads strict JSON: it refuses ``NaN``, ``Infinity`` and a number that is too large."""
_ANY_NUMBERS = json.JSONDecoder(parse_constant=_refuse, parse_float=str, parse_int=str)
"""Reads strict JSON with numbers of any size, as texts."""
ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
"""Writes strict JSON without escapes for characters beyond ASCII, even for lone surrogates."""


# The JSON value in the text of an answer: a model may write other text before and after it.

_OPENING = re.compile(r"[ \t]*(`{3,}|~{3,})[^`]*")
"""The line that opens a code fence."""
_LINE_END = re.compile(r"\r\n?|\n")
_QUOTE_OR_BRACKET = re.compile(r'["{}\[\]]')
_QUOTE_OR_BACKSLASH = re.compile(r'["\\]')
_PAIRS = {"{": "}", "[": "]"}


def read_answer(
    text: str, is_expected: Callable[[JsonValue], bool] | None = None
) -> JsonValue | Absent:
    """Return the JSON value of an answer, or ``ABSENT`` for an answer without JSON.

    The value is looked for in this order:

    1. If the complete text is JSON, this is the value.
    2. Else the values in code fences count, if one of them ``is_expected``. Without
       ``is_expected``, any values in fences count.
    3. Else the outermost objects and lists in the text count, and the values in fences, too. A
       fence may have a text or a number, which is neither an object nor a list.

    Of several different values, the value that ``is_expected`` is returned. Raises
    :class:`DataError` if several values remain. A single value is returned without this check.

    Nothing is repaired. If an object or a list in the text is cut off, only the values in fences
    count.
    """
    complete = read_json(text)
    if complete is not ABSENT:
        return complete
    fenced = [value for value in map(read_json, _fenced(text)) if not isinstance(value, Absent)]
    if fenced and (is_expected is None or any(map(is_expected, fenced))):
        return _single_value(fenced, is_expected)
    outermost = _outermost_values(text)
    # The texts are compared, because in Python ``[1]`` and ``[True]`` are equal.
    texts = {canonical(value) for value in outermost}
    only_fenced = [value for value in fenced if canonical(value) not in texts]
    return _single_value([*outermost, *only_fenced], is_expected)


def _fenced(text: str) -> list[str]:
    """Return the contents of the code fences in a text, without a fence that is not closed.

    Lines end as in Markdown. ``str.splitlines`` would also divide a JSON string at U+2028.
    """
    contents: list[str] = []
    fence, start = "", 0
    lines = _LINE_END.split(text)
    for index, line in enumerate(lines):
        opening = None if fence else _OPENING.fullmatch(line)
        if opening:
            fence, start = opening[1], index + 1
        elif fence and line.strip() == fence:
            contents.append("\n".join(lines[start:index]))
            fence = ""
    return contents


def _single_value(
    values: list[JsonValue], is_expected: Callable[[JsonValue], bool] | None
) -> JsonValue | Absent:
    """Return the only value, or the only value that is expected; equal values count once.

    Returns ``ABSENT`` for an empty list. Raises :class:`DataError` if several values remain.
    """
    by_text = {canonical(value): value for value in values}
    if is_expected is not None and len(by_text) > 1:
        expected = {text: value for text, value in by_text.items() if is_expected(value)}
        by_text = expected or by_text
    if len(by_text) > 1:
        first, second, *_ = by_text
        problem = f"the answer has several JSON values: {first:.80} and {second:.80}"
        raise DataError(problem, fix="ask the model for one JSON value, without other text")
    return next(iter(by_text.values()), ABSENT)


def _outermost_values(text: str) -> list[JsonValue]:
    """Return the outermost objects and lists in a text; an empty list if one of them is cut off.

    Text between brackets that is not JSON is skipped, with all values in it.
    """
    values: list[JsonValue] = []
    start = 0
    while (begin := _next_bracket(text, start)) >= 0:
        end = _end_of_value(text, begin)
        if end < 0:
            return []
        value = read_json(text[begin:end])
        if not isinstance(value, Absent):
            values.append(value)
        start = end
    return values


def _next_bracket(text: str, start: int) -> int:
    """Return the index of the next opening bracket or brace, -1 without one."""
    locations = [
        location for location in (text.find("{", start), text.find("[", start)) if location >= 0
    ]
    return min(locations, default=-1)


def _end_of_value(text: str, begin: int) -> int:
    """Return the index after the value that the bracket at ``begin`` opens, -1 if it is cut off.

    There are four cases:

    - A JSON value: the index after it.
    - Other text with a closing bracket, such as ``{x}``: the index after the closing bracket.
    - A ``[`` that is not closed, before text that is not JSON, such as ``[0, 1)``. Prose has such
      brackets: the index after the ``[``.
    - Any other value that is not closed is cut off: -1.
    """
    is_cut_off = False
    try:
        return DECODER.raw_decode(text, begin)[1]
    except json.JSONDecodeError as error:
        # The text ends within the value, or within a string of it: up to there, it was JSON.
        is_cut_off = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated")
    except (ValueError, RecursionError):
        pass
    end = _after_closing_bracket(text, begin)
    # Only a bracket may be prose: a brace that is not closed is always an object that is cut off.
    if end < 0 and text[begin] == "[" and not is_cut_off:
        return begin + 1
    return end


def _after_closing_bracket(text: str, begin: int) -> int:
    """Return the index after the closing bracket for the bracket at ``begin``, -1 without one."""
    closers: list[str] = []
    location = begin
    while match := _QUOTE_OR_BRACKET.search(text, location):
        location = match.end()
        if match[0] == '"':
            location = _end_of_string(text, location)
            if location < 0:
                return -1
        elif match[0] in _PAIRS:
            closers.append(_PAIRS[match[0]])
        elif closers and match[0] == closers[-1]:
            closers.pop()
            if not closers:
                return location
    return -1


def _end_of_string(text: str, start: int) -> int:
    """Return the index after the closing quote of a string; -1 without a closing quote."""
    while match := _QUOTE_OR_BACKSLASH.search(text, start):
        if match[0] == '"':
            return match.end()
        start = match.end() + 1
    return -1


def has_shape(value: JsonValue, schema: JsonObject) -> bool:
    """Return whether a value has the type of a schema, and the keys that the schema requires.

    The types ``number`` and ``integer`` are not checked, nor is a list of types.
    """
    python_types = {
        "object": dict,
        "array": list,
        "string": str,
        "boolean": bool,
        "null": type(None),
    }
    schema_type, required = schema.get("type"), schema.get("required")
    if (
        isinstance(schema_type, str)
        and schema_type in python_types
        and not isinstance(value, python_types[schema_type])
    ):
        return False
    if not isinstance(value, dict) or not isinstance(required, list | tuple):
        return True
    return all(name in value for name in required)
