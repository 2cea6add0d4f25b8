"""The front matter of a template: its title, its description and its inputs.

First come the inputs (:class:`Input`), with their types, defaults and docs. :func:`split` reads the
front matter of a file.
"""

import json
import re
from collections.abc import Mapping
from datetime import date, datetime
from functools import lru_cache
from keyword import iskeyword
from typing import Any, TypeAlias

import attrs

from promptdsl.foundation.errors import TemplateError, nearest, shown
from promptdsl.foundation.escaping import Label
from promptdsl.foundation.frozen import frozen, is_list
from promptdsl.foundation.json import DECODER
from promptdsl.foundation.unicode import exact
from promptdsl.templates.limits import WhiteSpace, label
from promptdsl.templates.variables import check_variables

# The inputs of a template: their types, defaults and docs, as its front matter declares them.

BLANKS = re.compile(r"[ \t]*")
TYPES = "str, int, float, bool, date, list[...] of these, or one of A, B"
"""The types of inputs, in the words of an error."""
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

    ``type`` is its type as it is written. In front matter this is ``str``, ``int``, ``float``,
    ``bool``, ``date``, ``list[...]`` of these, or ``one of EU, US``. For a function it is the
    annotation of the parameter. An input without a default is ``required``.

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
        return self.type if kind is None else spelling_of(kind, as_code=True)

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
        """Return a value that fits the type; raises :class:`TemplateError` for any other value.

        A boolean is not an ``int``, and a ``datetime`` is not a ``date``, but an ``int`` fits
        ``float``. ``None`` fits no type. If front matter does not have the type, any value fits.
        """
        kind = kind_of(self.type)
        if kind is not None:
            _check(value, kind, f"input {self.name!r}")
        return value

    def parsed(self, text: str) -> object:
        """Return the value of a text from the command line.

        A text, a date and a choice are written without quotes. Any other value is JSON. Raises
        :class:`TemplateError` for a text that is not a value of the type.
        """
        kind = kind_of(self.type)
        if kind is None or kind is str:
            return text
        value: object = text
        if kind is not date and not isinstance(kind, tuple):
            json_and_end = json_at(text, 0)
            if json_and_end is None or json_and_end[1] != len(text):
                raise _wrong_value(f"input {self.name!r}", kind, text)
            value = json_and_end[0]
        return self.checked(from_json(value, kind))


def kind_at(text: str, start: int) -> tuple[Kind, int] | None:
    """Return the type that begins at an index of a text, and the index after it.

    Returns ``None`` if there is no type, if two choices are equal, and for more than two levels of
    lists.
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
    """Return the default that is written at an index of a text, and the index after it.

    Returns ``None`` if there is neither JSON nor a date nor a word. Whether the default fits the
    type is not checked here.
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
    """Return the JSON value at an index of a text, and the index after it, or ``None``."""
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
def kind_of(spelling: str) -> Kind | None:
    """Return the type with this spelling, ``None`` if front matter does not have such a type."""
    kind_and_end = kind_at(spelling, 0)
    return kind_and_end[0] if kind_and_end and kind_and_end[1] == len(spelling) else None


def spelling_of(kind: Kind, *, as_code: bool = False) -> str:
    """Return a type as front matter writes it, or as Python code."""
    match kind:
        case tuple() if as_code:
            return f"Literal[{', '.join(map(repr, kind))}]"
        case tuple():
            return f"one of {', '.join(map(_written_choice, kind))}"
        case ListOf():
            return f"list[{spelling_of(kind.item, as_code=as_code)}]"
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
    """Return JSON data with a date instead of the text of a date, if the type is a date."""
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
"""The Python types whose values fit ``int`` and ``float``."""


def _check(value: object, kind: Kind, location: str) -> None:
    """Raise :class:`TemplateError` if a value does not fit a type.

    ``location`` is where the value is, in the words of the error: ``item 0 of input 'days'``.
    """
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
            # The value of a volatile date is a text.
            is_text = isinstance(value, Label) and _DATE.fullmatch(str(value)) is not None
            fits = is_text or (isinstance(value, date) and not isinstance(value, datetime))
        case _:
            fits = isinstance(value, kind)
    if not fits:
        raise _wrong_value(location, kind, value)


def _wrong_value(location: str, kind: Kind, value: object) -> TemplateError:
    value_shown = type(value).__name__
    if isinstance(value, str | bool | None):
        value_shown = shown(exact(value))
    fix = "give a value of that type"
    if isinstance(kind, tuple) and isinstance(value, str):
        suggestion = nearest(str.__str__(value), kind)
        fix = suggestion if suggestion.startswith("did") else "give one of these"
    elif value is None:
        fix = "give a value, or leave it out if it has a default"
    elif kind is date and isinstance(value, datetime):
        fix = "give its day: value.date()"
    elif kind is date and isinstance(value, str):
        fix = "give a datetime.date: date(2026, 1, 31)"
    return TemplateError(f"{location} takes {spelling_of(kind)}, not {value_shown}", fix=fix)


# The front matter of a template: its title, its description and its inputs.

MAX_INPUTS = 100
"""The maximum number of inputs of a template."""
MAX_LINE = 1_000
"""The maximum number of characters of a line of front matter."""

_LINE_END = re.compile(r"\r\n|\r|\n")
_FENCE = re.compile(r"---[ \t]*")
_LATE = re.compile(r"(\s+)---[ \t]*[\r\n]\s*(?:title|description|inputs)[ \t]*:")
"""Front matter that does not begin with the text: there is white space before it."""
_EMPTY_LINES = re.compile(r"(?:[ \t]*(?:\r\n|\r|\n))*")
"""The empty lines after front matter, which are not sent."""
_KEY = re.compile(r"(\w+)[ \t]*:[ \t]*(.*)")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_RESERVED = {
    "caller",
    "kwargs",
    "loop",
    "none",
    "self",
    "super",
    "true",
    "false",
    "varargs",
    "vars",
    *WhiteSpace._fields,
}
"""The names that have a meaning in templates, or that are arguments of ``Template``."""
_TEXT_ADVICE = 'to send "---" as text, begin the file with {# #}'


@attrs.frozen
class FrontMatter:
    """What a template declares between two lines ``---``, which are not sent.

    ``inputs`` is ``None`` if it declares no inputs: then it takes any variables. ``lines`` is the
    number of lines before the text of the template. ``name`` is the name of the template in errors.
    """

    title: str = ""
    description: str = ""
    inputs: tuple[Input, ...] | None = None
    lines: int = 0
    name: str | None = None

    def checked(self, variables: Mapping[str, object]) -> Mapping[str, object]:
        """Check the variables of a template by its inputs, and return them with the defaults.

        Raises :class:`TemplateError` for a variable that is not an input, for a missing input, and
        for a value that does not fit.
        """
        if self.inputs is None:
            return variables
        by_name = {declared.name: declared for declared in self.inputs}
        for name in variables:
            if name not in by_name:
                fix = nearest(str(name), by_name) if by_name else "it takes no inputs"
                raise TemplateError(f"{label(self.name)} has no input {str(name)[:60]!r}", fix=fix)
        chosen = self.chosen(variables)
        return variables if len(chosen) == len(variables) else check_variables(chosen)

    def chosen(self, variables: Mapping[str, object]) -> dict[str, object]:
        """Check and return the inputs among variables, with the defaults; others are left out.

        Raises :class:`TemplateError` for a missing input, and for a value that does not fit.
        """
        chosen: dict[str, object] = {}
        for declared in self.inputs or ():
            if declared.name in variables:
                try:
                    chosen[declared.name] = declared.checked(variables[declared.name])
                except TemplateError as error:
                    problem = f"{label(self.name)}: {error.what}"
                    raise TemplateError(problem, fix=error.fix) from None
            elif declared.required:
                problem = f"{label(self.name)} needs the input {declared.name!r}: {declared.type}"
                doc = declared.doc and f" ({declared.doc})"
                raise TemplateError(problem, fix=f"write {declared.name}=...{doc}")
            else:
                chosen[declared.name] = declared.default
        return chosen


def split(source: str, name: str | None) -> tuple[FrontMatter | None, str]:
    """Return the front matter of a template, ``None`` if it has none, and the text after it.

    ``name`` is the name of the template in errors. Raises :class:`TemplateError`, with the line,
    for a mistake in the front matter.
    """
    if not source.startswith("---"):
        late = _LATE.match(source) if source[:1].isspace() else None
        if late is not None:
            lines_before = len(_LINE_END.findall(late[1]))
            problem = "front matter begins in the first line, without white space before it"
            raise _wrong(name, lines_before + 1, problem, f"remove the white space; {_TEXT_ADVICE}")
        return None, source
    lines: list[str] = []
    start, is_closed = 0, False
    while not is_closed:
        end = _LINE_END.search(source, start)
        line = source[start : end.start() if end else None]
        is_fence = _FENCE.fullmatch(line) is not None
        if not lines and not is_fence:
            return None, source
        is_closed = is_fence and len(lines) > 0
        start = end.end() if end else len(source)
        lines.append(line)
        if end is None and not is_closed:
            raise _wrong(name, 1, "the front matter has no closing line ---", _TEXT_ADVICE)
    empty_lines = _EMPTY_LINES.match(source, start)
    text_start = empty_lines.end() if empty_lines else start
    lines_before_text = len(_LINE_END.findall(source, 0, text_start))
    return _front_matter(lines[1:-1], lines_before_text, name), source[text_start:]


def _front_matter(lines: list[str], lines_before_text: int, name: str | None) -> FrontMatter:
    """Return what the lines between the two lines ``---`` declare.

    Raises :class:`TemplateError`, with the number of the line, for a mistake.
    """
    texts: dict[str, str] = {}
    inputs: list[Input] | None = None
    for line_number, line in enumerate(lines, 2):
        problem, fix = "", _TEXT_ADVICE
        if len(line) > MAX_LINE:
            problem, fix = f"the line has more than {MAX_LINE:,} characters", "make it shorter"
        elif _CONTROL.search(line):
            problem, fix = "the line has a control character", "leave the character out"
        elif not line.strip(" \t") or line.lstrip(" \t").startswith("#"):
            continue
        elif line[0] in " \t" and [*texts][-1:] == ["inputs"]:
            inputs = inputs or []
            parsed = _input(line.strip(" \t"), {declared.name for declared in inputs})
            if isinstance(parsed, Input):
                inputs.append(parsed)
            else:
                problem, fix = parsed
            if len(inputs) > MAX_INPUTS:
                problem = f"there are more than {MAX_INPUTS} inputs"
                fix = "declare one input for several values: a list"
        elif not (match := _KEY.fullmatch(line)):
            problem = f"{line[:60]!r} is not a line of front matter"
        elif match[1] not in ("title", "description", "inputs"):
            problem = f"front matter has no {match[1][:60]!r}"
            suggestion = nearest(match[1], ("title", "description", "inputs"))
            fix = f"{suggestion}; {_TEXT_ADVICE}".replace("?;", "?")
            follows_inputs = [*texts][-1:] == ["inputs"]
            fix = "begin the line of an input with two spaces" if follows_inputs else fix
        elif match[1] in texts:
            problem, fix = f"{match[1]!r} is written twice", "leave one of them out"
        elif match[1] == "inputs" and match[2] and match[2][0] != "#":
            problem = "the inputs begin on the next line"
            fix = "write each input on a separate line, indented: name: type = default  # doc"
        else:
            texts[match[1]] = match[2].rstrip(" \t")
        if problem:
            raise _wrong(name, line_number, problem, fix)
    return FrontMatter(
        title=texts.get("title", ""),
        description=texts.get("description", ""),
        inputs=tuple(inputs or ()) if "inputs" in texts else None,
        lines=lines_before_text,
        name=name,
    )


def _input(line: str, earlier_names: set[str]) -> Input | tuple[str, str]:
    """Return the input that a line declares, or the problem and the advice of an error."""
    name, colon, _ = line.partition(":")
    name = name.rstrip(" \t")
    if not colon or not _NAME.fullmatch(name):
        return f"{line[:60]!r} does not declare an input", "write name: type = default  # doc"
    if iskeyword(name) or name in _RESERVED:
        return f"{name!r} cannot be the name of an input", "choose another name"
    if name in earlier_names:
        return f"the input {name!r} is declared twice", "leave one of them out"
    start = _skipped(line, line.index(":") + 1)
    kind_and_end = kind_at(line, start)
    if kind_and_end is None:
        type_text = line[start:].partition("#")[0].partition("=")[0].strip(" \t")[:60]
        return f"{type_text!r} is not a type of an input", f"the types are {TYPES}"
    kind, end = kind_and_end
    end = _skipped(line, end)
    type_ = spelling_of(kind)
    required, default, doc = True, None, ""
    if line.startswith("=", end):
        start = _skipped(line, end + 1)
        value = default_at(line, start, kind)
        if value is None:
            fix = 'write JSON: "text", 3, true, ["a"]; a date is 2026-01-31'
            return f"the default of {name!r} cannot be read", fix
        try:
            default = Input(name, type_).checked(value[0])
        except TemplateError as error:
            return f"the default of {error.what}", error.fix
        required, end = False, _skipped(line, value[1])
    if line.startswith("#", end):
        doc, end = line[end + 1 :].strip(" \t"), len(line)
    if end < len(line):
        fix = "write name: type = default  # doc"
        if line[end] == "|":
            fix = "choices have commas: one of a, b"
        return f"{line[end:][:60]!r} cannot follow the input on this line", fix
    return Input(name, type_, doc, required, default)


def _skipped(line: str, start: int) -> int:
    """Return the index after the blanks that begin at an index of a line."""
    blanks = BLANKS.match(line, start)
    return blanks.end() if blanks else start


def _wrong(name: str | None, line: int, problem: str, fix: str) -> TemplateError:
    return TemplateError(f"{label(name)}, line {line}: {problem}", fix=fix)
