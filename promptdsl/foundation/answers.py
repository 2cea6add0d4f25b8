"""The JSON value in the text of an answer: a model may write other text around it."""

import json
import re
from collections.abc import Callable

from promptdsl.foundation.errors import DataError
from promptdsl.foundation.json import ABSENT, DECODER, Absent, JsonObject, JsonValue, read_json

_OPENING = re.compile(r"[ \t]*(`{3,}|~{3,})[^`]*")
"""The line that opens a code fence."""
_QUOTE_OR_BRACKET = re.compile(r'["{}\[\]]')
_QUOTE_OR_BACKSLASH = re.compile(r'["\\]')
_PAIRS = {"{": "}", "[": "]"}


def read_answer(text: str, fits: Callable[[JsonValue], bool] | None = None) -> JsonValue | Absent:
    """Return the JSON value of an answer, or ``ABSENT`` where there is none.

    It is the complete text, else the value in a code fence, else the only object or list in the
    prose. Nothing is repaired: a value that is cut off does not count. Of several values, the one
    that ``fits`` is returned. Raises :class:`DataError` where several remain.
    """
    complete = read_json(text)
    if complete is not ABSENT:
        return complete
    fenced = [value for value in map(read_json, _fenced(text)) if not isinstance(value, Absent)]
    if fenced and (fits is None or any(map(fits, fenced))):
        return _only(fenced, fits)
    in_prose = _values_in(text)
    return _only([*in_prose, *(value for value in fenced if value not in in_prose)], fits)


def _fenced(text: str) -> list[str]:
    """Return the contents of the code fences in a text; a fence that is not closed is left out."""
    contents: list[str] = []
    fence, start = "", 0
    lines = text.splitlines()
    for index, line in enumerate(lines):
        opening = None if fence else _OPENING.fullmatch(line)
        if opening:
            fence, start = opening[1], index + 1
        elif fence and line.strip() == fence:
            contents.append("\n".join(lines[start:index]))
            fence = ""
    return contents


def has_shape(value: JsonValue, schema: JsonObject) -> bool:
    """Return whether a value has the type of a schema, and the keys that the schema requires."""
    kinds = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
    kind, required = schema.get("type"), schema.get("required")
    if isinstance(kind, str) and kind in kinds and not isinstance(value, kinds[kind]):
        return False
    if not isinstance(value, dict) or not isinstance(required, list | tuple):
        return True
    return all(name in value for name in required)


def _only(values: list[JsonValue], fits: Callable[[JsonValue], bool] | None) -> JsonValue | Absent:
    """Return the only value, or the only one that fits; equal values count once."""
    by_text = {json.dumps(value, sort_keys=True): value for value in values}
    if fits is not None and len(by_text) > 1:
        by_text = {text: value for text, value in by_text.items() if fits(value)} or by_text
    if len(by_text) > 1:
        first, second, *_ = by_text
        problem = f"the answer has several JSON values: {first:.80} and {second:.80}"
        raise DataError(problem, fix="ask for one value, and for nothing around it")
    return next(iter(by_text.values()), ABSENT)


def _values_in(text: str) -> list[JsonValue]:
    """Return the outermost objects and lists in prose; nothing where one of them is cut off."""
    values: list[JsonValue] = []
    start = 0
    while (begin := _next_bracket(text, start)) >= 0:
        end, is_cut_off = _end_of(text, begin)
        if is_cut_off:
            return []
        value = read_json(text[begin:end])
        if not isinstance(value, Absent):
            values.append(value)
        start = end
    return values


def _next_bracket(text: str, start: int) -> int:
    locations = [
        location for location in (text.find("{", start), text.find("[", start)) if location >= 0
    ]
    return min(locations, default=-1)


def _end_of(text: str, begin: int) -> tuple[int, bool]:
    """Return the index after the bracket that closes the one at ``begin``; whether none does.

    Of a list that is no JSON and is not closed, such as the interval ``[0, 1)``, only the opening
    bracket is skipped.
    """
    is_at_end = False
    try:
        return DECODER.raw_decode(text, begin)[1], False
    except json.JSONDecodeError as error:
        is_at_end = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated")
    except (ValueError, RecursionError):
        pass
    end = _closing(text, begin)
    if end < 0 and text[begin] == "[" and not is_at_end:
        return begin + 1, False
    return end, end < 0


def _closing(text: str, begin: int) -> int:
    """Return the index after the bracket that closes the one at ``begin``, -1 without one."""
    waiting: list[str] = []
    location = begin
    while match := _QUOTE_OR_BRACKET.search(text, location):
        location = match.end()
        if match[0] == '"':
            location = _end_of_string(text, location)
            if location < 0:
                return -1
        elif match[0] in _PAIRS:
            waiting.append(_PAIRS[match[0]])
        elif waiting and match[0] == waiting[-1]:
            waiting.pop()
            if not waiting:
                return location
    return -1


def _end_of_string(text: str, start: int) -> int:
    while match := _QUOTE_OR_BACKSLASH.search(text, start):
        if match[0] == '"':
            return match.end()
        start = match.end() + 1
    return -1
