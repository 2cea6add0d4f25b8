"""The JSON value in the text of an answer, where a model may write more around it."""

import json
import re
from collections.abc import Callable

from promptdsl.foundation.errors import DataError
from promptdsl.foundation.json import ABSENT, DECODER, Absent, JsonObject, JsonValue, read_json

_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n`]*\n(.*?)^[ \t]*\1[ \t]*$", re.MULTILINE | re.DOTALL)
_PIECE = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]', re.DOTALL)
"""A string, or a bracket: strings may hold brackets."""
_PAIRS = {"{": "}", "[": "]"}


def read_answer(text: str, fits: Callable[[JsonValue], bool] | None = None) -> JsonValue | Absent:
    """Return the JSON value of an answer, or ``ABSENT`` where there is none.

    It is the whole text, else the value in a code fence, else the only object or list in the prose.
    Nothing is repaired: a value that is cut off is none. Of several values the one counts that
    ``fits``. Raises :class:`DataError` where several do.
    """
    whole = read_json(text)
    if whole is not ABSENT:
        return whole
    fenced = [read_json(match[2]) for match in _FENCE.finditer(text)]
    values = [value for value in fenced if not isinstance(value, Absent)]
    return _only(values or _values_in(text), fits)


def has_shape(value: JsonValue, schema: JsonObject) -> bool:
    """Return whether a value is of the type that a schema says, with the keys that it requires."""
    kinds = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
    kind, required = schema.get("type"), schema.get("required")
    if isinstance(kind, str) and kind in kinds and not isinstance(value, kinds[kind]):
        return False
    if not isinstance(value, dict) or not isinstance(required, list | tuple):
        return True
    return all(name in value for name in required)


def _only(values: list[JsonValue], fits: Callable[[JsonValue], bool] | None) -> JsonValue | Absent:
    """Return the only value, or the only one that fits; a value that is repeated is one."""
    by_text = {json.dumps(value, sort_keys=True): value for value in values}
    if fits is not None and len(by_text) > 1:
        by_text = {text: value for text, value in by_text.items() if fits(value)} or by_text
    if len(by_text) > 1:
        first, second, *_ = by_text
        problem = f"the answer has several JSON values: {first:.80} and {second:.80}"
        raise DataError(problem, fix="ask for one value, and for nothing around it")
    return next(iter(by_text.values()), ABSENT)


def _values_in(text: str) -> list[JsonValue]:
    """Return the objects and lists in prose, outermost ones alone; none where one is cut off."""
    values: list[JsonValue] = []
    start = 0
    while (begin := _next_bracket(text, start)) >= 0:
        end = _end_of(text, begin)
        if end < 0:
            return []
        value = read_json(text[begin:end])
        if not isinstance(value, Absent):
            values.append(value)
        start = end
    return values


def _next_bracket(text: str, start: int) -> int:
    places = [place for place in (text.find("{", start), text.find("[", start)) if place >= 0]
    return min(places, default=-1)


def _end_of(text: str, begin: int) -> int:
    """Return the index behind the bracket that closes the one at ``begin``, -1 without one."""
    try:
        return DECODER.raw_decode(text, begin)[1]
    except (ValueError, RecursionError):
        pass
    waiting: list[str] = []
    for piece in _PIECE.finditer(text, begin):
        if piece[0] in _PAIRS:
            waiting.append(_PAIRS[piece[0]])
        elif waiting and piece[0] == waiting[-1]:
            waiting.pop()
            if not waiting:
                return piece.end()
    return -1
