"""The inputs of a template: their types, defaults and docs, as its front matter declares them."""

import json
import re
from collections.abc import Mapping
from datetime import date, datetime
from functools import lru_cache
from typing import Any, TypeAlias

import attrs

from promptdsl.foundation.errors import TemplateError, nearest, shown
from promptdsl.foundation.frozen import frozen, is_list
from promptdsl.foundation.json import DECODER
from promptdsl.foundation.labelled import Label
from promptdsl.foundation.unicode import exact

BLANKS = re.compile(r"[ \t]*")
TYPES = "str, int, float, bool, date, list[...] of these, or one of A, B"
_SCALAR = re.compile(r"(str|int|float|bool|date)\b")
_LIST = re.compile(r"list[ \t]*\[[ \t]*")
_CLOSING = re.compile(r"[ \t]*\]")
_ONE_OF = re.compile(r"one[ \t]+of\b[ \t]*")
_WORD = re.compile(r"[\w.-]+")
_COMMA = re.compile(r"[ \t]*,[ \t]*")
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?!\w)", re.ASCII)
_PYTHON_TYPES: Mapping[str, type] = {kind.__name__: kind for kind in (str, int, float, bool, date)}
_JSON_TYPES: Mapping[type, Mapping[str, str]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    date: {"type": "string", "format": "date"},
}


@attrs.frozen
class ListOf:
    """The type of a list; ``item`` is the type of its items."""

    item: "Kind"


Kind: TypeAlias = type | tuple[str, ...] | ListOf
"""A type of an input: one of five Python types, the choices of ``one of``, or a list."""


@attrs.frozen
class Input:
    """An input of a section of a library.

    ``type`` is its type as it is written. In front matter that is ``str``, ``int``, ``float``,
    ``bool``, ``date``, ``list[...]`` of these, or ``one of EU, US``; for a function it is its
    annotation. Without a default the input is required.

    >>> from promptdsl import Input
    >>> region = Input("region", "one of EU, US", "where the customer lives")
    >>> region.annotation
    "Literal['EU', 'US']"
    >>> dict(region.schema)
    {'type': 'string', 'enum': ['EU', 'US'], 'description': 'where the customer lives'}
    >>> Input("days", "list[int]").parsed("[14, 30]")
    [14, 30]
    """

    name: str
    type: str
    doc: str = ""
    required: bool = True
    default: object = attrs.field(default=None, hash=False)

    @property
    def annotation(self) -> str:
        """The type as Python code: ``Literal['EU', 'US']``, ``list[str]``, ``date``."""
        kind = kind_of(self.type)
        return self.type if kind is None else written(kind, as_code=True)

    @property
    def schema(self) -> Mapping[str, Any]:  # Any: JSON
        """The JSON schema of the type, with its doc and its default."""
        kind = kind_of(self.type)
        schema = {} if kind is None else _schema(kind)
        if self.doc:
            schema["description"] = self.doc
        if not self.required:
            schema["default"] = _as_json(self.default)
        return schema

    def checked(self, value: object) -> object:
        """Return a value that fits the type; raises :class:`TemplateError` for another one.

        ``True`` is not an ``int``, an ``int`` is a ``float``, a ``datetime`` is not a ``date``, and
        ``None`` fits no type. Any value fits a type that front matter does not have.
        """
        kind = kind_of(self.type)
        if kind is not None:
            _check(value, kind, f"input {self.name!r}")
        return value

    def parsed(self, text: str) -> object:
        """Return the value of a text from the command line.

        A text, a date and a choice are written as they are, all else is JSON. Raises
        :class:`TemplateError` for a text that is not a value of the type.
        """
        kind = kind_of(self.type)
        if kind is None or kind is str:
            return text
        value: object = text
        if kind is not date and not isinstance(kind, tuple):
            json_and_end = json_at(text, 0)
            if json_and_end is None or json_and_end[1] != len(text):
                raise _misfit(f"input {self.name!r}", kind, text)
            value = json_and_end[0]
        return self.checked(from_json(value, kind))


def kind_at(text: str, start: int) -> tuple[Kind, int] | None:
    """Return the type that begins at an index of a text, and the index after it.

    Return ``None`` where there is no type, where two choices are the same, and for lists that are
    nested more than twice.
    """
    depth = 0
    while opening := _LIST.match(text, start):
        depth, start = depth + 1, opening.end()
    kind_and_end: tuple[Kind, int] | None = None
    if scalar := _SCALAR.match(text, start):
        kind_and_end = _PYTHON_TYPES[scalar[1]], scalar.end()
    elif opening := _ONE_OF.match(text, start):
        kind_and_end = _choices_at(text, opening.end())
    if kind_and_end is None or depth > 2:
        return None
    kind, end = kind_and_end
    for _ in range(depth):
        closing = _CLOSING.match(text, end)
        if closing is None:
            return None
        kind, end = ListOf(kind), closing.end()
    return kind, end


def _choices_at(text: str, start: int) -> tuple[Kind, int] | None:
    """Return the choices that begin at an index of a text, and the index after them."""
    choices: list[str] = []
    comma: re.Match[str] | None = None
    while not choices or comma:
        choice_and_end = _choice_at(text, start)
        if choice_and_end is None:
            return None
        choices.append(str(choice_and_end[0]))
        comma = _COMMA.match(text, choice_and_end[1])
        start = comma.end() if comma else choice_and_end[1]
    return (tuple(choices), start) if len({*choices}) == len(choices) else None


def default_at(text: str, start: int, kind: Kind) -> tuple[object, int] | None:
    """Return the value that is written at an index of a text, and the index after it.

    Return ``None`` for what is neither JSON nor a date nor a word. The type is not checked.
    """
    default_and_end: tuple[object, int] | None = None
    if kind is date and (day := _DATE.match(text, start)):
        default_and_end = day[0], day.end()
    elif isinstance(kind, tuple):
        default_and_end = _choice_at(text, start)
    else:
        default_and_end = json_at(text, start)
    return default_and_end and (frozen(from_json(default_and_end[0], kind)), default_and_end[1])


def json_at(text: str, start: int) -> tuple[object, int] | None:
    """Return the JSON value at an index of a text, and the index after it; ``None`` for none."""
    try:
        return DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None


def _choice_at(text: str, start: int) -> tuple[object, int] | None:
    """Return the word or the JSON text at an index of a text, and the index after it."""
    if text.startswith('"', start):
        return json_at(text, start)
    word = _WORD.match(text, start)
    return (word[0], word.end()) if word else None


@lru_cache(maxsize=256)
def kind_of(written: str) -> Kind | None:
    """Return the type with this spelling, ``None`` for one that front matter does not have."""
    kind_and_end = kind_at(written, 0)
    return kind_and_end[0] if kind_and_end and kind_and_end[1] == len(written) else None


def written(kind: Kind, *, as_code: bool = False) -> str:
    """Return a type as front matter writes it, or as Python code."""
    match kind:
        case tuple() if as_code:
            return f"Literal[{', '.join(map(repr, kind))}]"
        case tuple():
            return f"one of {', '.join(map(_written_choice, kind))}"
        case ListOf():
            return f"list[{written(kind.item, as_code=as_code)}]"
        case _:
            return kind.__name__


def _written_choice(choice: str) -> str:
    return choice if _WORD.fullmatch(choice) else json.dumps(choice)


def _schema(kind: Kind) -> dict[str, Any]:  # Any: JSON
    match kind:
        case tuple():
            return {"type": "string", "enum": [*kind]}
        case ListOf():
            return {"type": "array", "items": _schema(kind.item)}
        case _:
            return {**_JSON_TYPES[kind]}


def from_json(value: object, kind: Kind) -> object:
    """Return JSON data in which texts of dates are dates, where the type is that of a date."""
    if isinstance(kind, ListOf) and is_list(value):
        return [from_json(item, kind.item) for item in value]
    if kind is date and isinstance(value, str) and _DATE.fullmatch(value):
        try:
            return date.fromisoformat(value)
        except ValueError:
            pass
    return value


def _as_json(value: object) -> object:
    if is_list(value):
        return [_as_json(item) for item in value]
    return value.isoformat() if isinstance(value, date) else value


_NUMBERS: Mapping[type, tuple[type, ...]] = {int: (int,), float: (int, float)}
"""The types of the values that fit a number."""


def _check(value: object, kind: Kind, location: str) -> None:
    match kind:
        case ListOf():
            fits = is_list(value)
            if is_list(value):
                for index, item in enumerate(value):
                    _check(item, kind.item, f"item {index} of {location}")
        case tuple():
            fits = isinstance(value, str) and str.__str__(value) in kind
        case _ if kind in _NUMBERS:
            fits = isinstance(value, _NUMBERS[kind]) and not isinstance(value, bool)
        case _ if kind is date:
            # A volatile date is a text.
            is_text = isinstance(value, Label) and _DATE.fullmatch(str(value)) is not None
            fits = is_text or (isinstance(value, date) and not isinstance(value, datetime))
        case _:
            fits = isinstance(value, kind)
    if not fits:
        raise _misfit(location, kind, value)


def _misfit(location: str, kind: Kind, value: object) -> TemplateError:
    value_shown = type(value).__name__
    if isinstance(value, str | bool | None):
        value_shown = shown(exact(value))
    fix = "give a value of that type"
    if isinstance(kind, tuple) and isinstance(value, str):
        near = nearest(str.__str__(value), kind)
        fix = near if near.startswith("did") else "give one of these"
    elif value is None:
        fix = "give a value, or leave it out if it has a default"
    elif kind is date and isinstance(value, datetime):
        fix = "give its day: value.date()"
    elif kind is date and isinstance(value, str):
        fix = "give a datetime.date: date(2026, 1, 31)"
    return TemplateError(f"{location} takes {written(kind)}, not {value_shown}", fix=fix)
