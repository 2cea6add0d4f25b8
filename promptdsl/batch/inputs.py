"""The arguments of a prompt function: from the cells of a table row, or from named inputs.

The first part reads cells by the declared types of the parameters: read :class:`Parameters` first.
The second part has named inputs, which are cases to look at, to check and to test: read
:func:`named_inputs` first.
"""

import base64
import enum
import inspect
import re
import sys
import types
import typing
from collections.abc import Awaitable, Callable, Container, Mapping
from contextvars import copy_context
from datetime import date, datetime, time
from decimal import Decimal
from inspect import Parameter
from math import isfinite
from typing import Any, TypeAlias, cast

import attrs

from promptdsl.foundation.errors import (
    DataError,
    OptionError,
    misspelt,
    nearest,
    shown,
    with_article,
)
from promptdsl.foundation.frozen import Around, is_mapping, json_leaf, plain, thawed
from promptdsl.foundation.json import JsonDict, JsonValue
from promptdsl.foundation.source import Source, author, note_caller, public_api
from promptdsl.foundation.unicode import on_one_line

# The cells of a row as arguments of a function, by their declared types, and as JSON.

_BOOLEANS = {"true": True, "false": False, "1": True, "0": False}
_NUMBER = re.compile(r"\s*[-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?\s*")
_READERS: dict[type, Callable[[str], object]] = {
    int: lambda text: int(_number_text(text)),
    float: lambda text: float(_number_text(text)),
    bool: lambda text: _BOOLEANS[text.strip().lower()],
    datetime: datetime.fromisoformat,
    date: date.fromisoformat,
}
"""For each type that a parameter may declare, the function that reads a text as it."""
_CHECKED_TYPES = (*_READERS, str, type(None))
"""The types that are checked. A parameter of another type takes every cell, except a choice."""


_TOO_MANY_BITS = 10_000
"""An integer with this many bits becomes a shortened text: Python writes at most 4,300 digits."""


@attrs.frozen
class OddCell:
    """A cell for which Python has no value. Its row fails if the function takes the cell."""

    problem: str

    def __str__(self) -> str:
        return self.problem


class Parameters:
    """The parameters of a function, and the cells that are their arguments.

    >>> from promptdsl.batch import Parameters
    >>> def reply(question: str, rating: int = 0): ...
    >>> Parameters(reply, "reply").arguments({"question": "Why?", "rating": "4"}, texts=True)
    {'question': 'Why?', 'rating': 4}

    Raises :class:`OptionError` for a function that cannot be called with arguments by name.
    """

    def __init__(self, function: Callable[..., object], name: str) -> None:
        self.name = name
        self.takes_all = False
        self.types: dict[str, tuple[type, ...]] = {}
        self.choices: dict[str, list[tuple[object, object]]] = {}
        self.required: list[str] = []
        names = getattr(inspect.unwrap(function), "__globals__", {})
        for parameter in _signature(function, name).parameters.values():
            is_required = parameter.default is Parameter.empty
            if parameter.kind in _BY_NAME:
                annotation = _evaluated(parameter.annotation, names)
                self.types[parameter.name] = _types_of(annotation)
                self.choices[parameter.name] = _choices_of(annotation)
                if is_required:
                    self.required.append(parameter.name)
            elif parameter.kind is Parameter.VAR_KEYWORD:
                self.takes_all = True
            elif parameter.kind is Parameter.POSITIONAL_ONLY and is_required:
                problem = f"{name} takes {parameter.name!r} by position only"
                raise OptionError(
                    problem, fix="a column is passed by name: remove the / from the parameters"
                )

    @property
    def columns(self) -> Container[str] | None:
        """The columns that are arguments; ``None`` for all."""
        return None if self.takes_all else self.types

    def takes(self, column: str) -> bool:
        """Return whether a column is an argument."""
        return self.takes_all or column in self.types

    def arguments(self, cells: Mapping[str, object], *, texts: bool = False) -> dict[str, object]:
        """Return the arguments of a row, without the cells that the function does not take.

        With ``texts``, all cells are texts: a cell is read as a number or a truth value if its
        parameter declares this type. Raises :class:`DataError` for a missing cell, or a cell of
        another type.
        """
        missing = [name for name in self.required if name not in cells]
        if missing:
            raise self._missing(missing[0], cells)
        return {
            name: self.argument(name, cell, texts=texts)
            for name, cell in cells.items()
            if self.takes(name)
        }

    def _missing(self, name: str, cells: Mapping[str, object]) -> DataError:
        """Return the error for a missing cell; its fix names a cell with a similar name."""
        problem = f"the row has no {name!r}, which {self.name} needs"
        names = on_one_line(", ".join(sorted(cells)))
        fix = f"it has {names}" if names else ""
        return DataError(problem, fix=misspelt(name, {*cells} - {*self.types}) or fix)

    def argument(self, name: str, cell: object, *, texts: bool) -> object:
        """Return a cell as an argument; raise :class:`DataError` if it has another type."""
        if isinstance(cell, OddCell):
            raise DataError(cell.problem)
        if choices := self.choices.get(name):
            return _chosen(name, cell, choices, texts=texts)
        types = self.types.get(name, ())
        if not types or type(cell) in types or (type(cell) is int and float in types):
            return cell
        if isinstance(cell, str) and str not in types:
            if texts and cell == "" and type(None) in types:
                return None
            for kind in types:
                # JSON has numbers and truth values, but no dates.
                if kind in _READERS and (texts or issubclass(kind, date)):
                    try:
                        return _READERS[kind](cell)
                    except (ValueError, KeyError):
                        continue
        raise _wrong_type(name, cell, types, texts=texts)


def _wrong_type(name: str, cell: object, types: tuple[type, ...], *, texts: bool) -> DataError:
    """Return the error for a cell that has none of the types of its parameter."""
    expected_types = " or ".join(kind.__name__ for kind in types).replace("NoneType", "None")
    actual, fix = f"{type(cell).__name__} {str(cell)[:40]!r}", ""
    if cell is None:
        actual, fix = "null", "add `| None` to the type of the parameter"
    elif cell == "" and texts:
        fix = "an empty cell is None if the type of the parameter has `| None`"
    return DataError(f"the cell {name!r} is {actual}, not {expected_types}", fix=fix)


def json_cell(cell: object) -> JsonValue:
    """Return any cell as JSON data; no cell raises an error.

    NaN and infinity become null, because pandas writes a missing cell as NaN. Bytes become base64,
    dates and times ISO 8601. Keys and cells of other types become their text.

    >>> json_cell([float("nan"), Decimal("1.50"), b"a"])
    [None, '1.50', 'YQ==']
    """
    try:
        return _as_json(cell)
    except KeyboardInterrupt:
        raise
    except BaseException:  # the text of an unknown object may raise any error
        return f"<{type(cell).__name__} that cannot be printed>"


def _as_json(cell: object) -> JsonValue:
    if cell is None or isinstance(cell, bool | str):
        return cell
    if isinstance(cell, int):
        return cell if cell.bit_length() < _TOO_MANY_BITS else shown(cell)
    if isinstance(cell, float):
        return cell if isfinite(cell) else None
    if isinstance(cell, list | tuple):
        return [_as_json(item) for item in cast("list[object]", cell)]
    if is_mapping(cell):
        return {str(key): _as_json(member) for key, member in cell.items()}
    if isinstance(cell, bytes):
        return base64.b64encode(cell).decode()
    is_missing = isinstance(cell, Decimal) and not cell.is_finite()
    return None if is_missing else _as_text(cell)


def _as_text(cell: object) -> str:
    return cell.isoformat() if isinstance(cell, date | time) else str(cell)


_BY_NAME = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


def _number_text(text: str) -> str:
    """Return the text of a number.

    Raises ``ValueError`` for any other text, also for one that only Python reads as a number, such
    as ``1_0``.
    """
    if _NUMBER.fullmatch(text) is None:
        raise ValueError(text)
    return text


def _signature(function: Callable[..., object], name: str) -> inspect.Signature:
    """Return the signature of a function; raise :class:`OptionError` if Python has none."""
    try:
        if sys.version_info >= (3, 14):
            from annotationlib import Format

            # An annotation may use a name that is imported for type checkers only.
            return inspect.signature(function, annotation_format=Format.FORWARDREF)
        return inspect.signature(function)
    except (TypeError, ValueError):
        raise OptionError(f"the parameters of {name} are not known") from None


def _evaluated(annotation: Any, names: dict[str, Any]) -> Any:  # Any: as authors write
    """Return an annotation, evaluated if it is a text; ``object`` if that fails."""
    if not isinstance(annotation, str):
        return annotation
    # It is a text in a module with "from __future__ import annotations".
    try:
        return eval(annotation, names)
    except Exception:  # it may be any code
        return object


def _members(annotation: Any) -> tuple[Any, ...]:  # Any: as authors write
    """Return the members of a union; any other annotation as the only member."""
    is_union = typing.get_origin(annotation) in (typing.Union, types.UnionType)
    return typing.get_args(annotation) if is_union else (annotation,)


def _types_of(annotation: Any) -> tuple[type, ...]:  # Any: as authors write
    """Return the types of an annotation; an empty tuple if one of them is not checked."""
    members = _members(annotation)
    return members if all(member in _CHECKED_TYPES for member in members) else ()


def _choices_of(annotation: Any) -> list[tuple[object, object]]:  # Any: as authors write
    """Return the cells that a ``Literal`` or an ``Enum`` allows, each with its argument.

    The list is empty if the annotation has another type, except ``None``.
    """
    choices: list[tuple[object, object]] = []
    for member in _members(annotation):
        if typing.get_origin(member) is typing.Literal:
            choices += [(literal, literal) for literal in typing.get_args(member)]
        elif isinstance(member, enum.EnumType):
            members_of_enum = cast("list[enum.Enum]", list(member))
            choices += [(enum_member.value, enum_member) for enum_member in members_of_enum]
        elif member is type(None):
            choices.append((None, None))
        else:
            return []
    return [] if choices == [(None, None)] else choices


def _chosen(
    name: str, cell: object, choices: list[tuple[object, object]], *, texts: bool
) -> object:
    """Return the argument for a cell; raise :class:`DataError` for a cell that is not a choice."""
    for choice, argument in choices:
        text = "" if choice is None else str(choice)
        if (texts and cell == text) or cell is argument:
            return argument
        if type(cell) is type(choice) and cell == choice:
            return argument
    choice_names = [repr(choice) for choice, _ in choices]
    actual = "null" if cell is None else repr(str(cell)[:40])
    problem = f"the cell {name!r} is {actual}, not one of {', '.join(choice_names)}"
    raise DataError(problem, fix=nearest(cell, [str(choice) for choice, _ in choices]))


# Named inputs: the arguments of a prompt function for cases to look at, to check and to test.

InputsByName: TypeAlias = Mapping[str, Mapping[str, object]]
"""The arguments of a prompt function by the name of each case."""
InputsSource: TypeAlias = InputsByName | Callable[[], InputsByName | Awaitable[InputsByName]]
"""Named inputs, or a function without parameters that returns them."""
EXAMPLE = "write {'short': {'question': 'Why?'}}: a name, and the arguments of the prompt"
"""The advice for inputs without names."""


@attrs.frozen
class NamedInputs:
    """The arguments of a prompt function under a name; a value may be of any type.

    ``at`` is the author's line that wrote them, ``file:line``, or ``""``.

    >>> from promptdsl import Timeline, User
    >>> from promptdsl.batch import NamedInputs
    >>> def ask(question):
    ...     return Timeline(User(question))
    >>> NamedInputs("short", {"question": "Why?"}).prompt_of(ask)
    Timeline(User('Why?'))
    """

    name: str
    arguments: Mapping[str, object]
    at: str = attrs.field(default="", eq=False)

    @property
    def data(self) -> JsonDict:
        """The arguments as JSON data, for a record.

        A value that JSON cannot express becomes the name of its type, such as ``(History)``.
        """
        return {name: _as_data(argument) for name, argument in self.arguments.items()}

    @public_api
    def prompt_of(self, function: Callable[..., Any], *, name: str = "") -> Any:  # Any: a prompt
        """Return what a function returns for these arguments; an asynchronous function is run.

        ``name`` is what errors call the function. Raises :class:`OptionError` if the function has
        other parameters, and whatever the function raises.
        """
        name = name or getattr(function, "__name__", "the function")
        self._check(function, name)
        return _awaited(function(**self.arguments))

    def _check(self, function: Callable[..., object], name: str) -> None:
        """Raise :class:`OptionError` for an argument without a parameter, and for a missing one."""
        at = tuple(filter(None, (self.at, line_of(function))))
        try:
            parameters = Parameters(function, name)
        except OptionError as error:
            fix = "write a function whose arguments can be passed by name"
            raise OptionError(error.what, fix=fix, at=at) from None
        for argument in self.arguments:
            if not parameters.takes(argument):
                what = f"inputs {self.name!r}: {name} has no parameter {argument!r}"
                fix = nearest(argument, parameters.types) if parameters.types else "remove it"
                raise OptionError(what, fix=fix, at=at)
        missing = [argument for argument in parameters.required if argument not in self.arguments]
        if missing:
            what = f"inputs {self.name!r} have no {missing[0]!r}, which {name} needs"
            raise OptionError(what, fix=f"add {missing[0]!r}: ... to them", at=at)


@public_api
def named_inputs(
    inputs: InputsSource, *, name: str = "the inputs", at: str = ""
) -> tuple[NamedInputs, ...]:
    """Return the inputs in a mapping, or in the mapping that a function returns, in their order.

    ``name`` is what errors call the inputs. ``at`` is the author's line, ``file:line``, that errors
    name; the default is the line of the function, or of the caller. A function is called once; an
    asynchronous one is run.

    >>> from promptdsl.batch import named_inputs
    >>> [case.name for case in named_inputs({"short": {"question": "Why?"}, "none": {}})]
    ['short', 'none']

    Raises :class:`DataError` for anything else, and if there are no inputs. An error that the
    function raises gets a note with the line.
    """
    cases: object = inputs
    if callable(inputs):
        at = line_of(inputs) or at or str(author())
        cases = _returned(inputs, name, at)
    at = at or str(author())
    if not is_mapping(cases):
        what = f"{name} are {_kind(cases)}, not inputs by name"
        raise DataError(what, fix=EXAMPLE, at=(at,))
    if not cases:
        raise DataError(f"{name} are empty", fix=EXAMPLE, at=(at,))
    if not any(is_mapping(arguments) for arguments in cases.values()):
        what = f"{name} are arguments without a name"
        fix = f"give them a name: {{'short': {{{next(iter(cases))!r}: ...}}}}"
        raise DataError(what, fix=fix, at=(at,))
    return tuple(_case(case, arguments, name, at) for case, arguments in cases.items())


@public_api
def inputs_of_name(inputs: tuple[NamedInputs, ...], name: str | None) -> NamedInputs:
    """Return the inputs with this name; without a name, the only inputs.

    >>> from promptdsl.batch import inputs_of_name, named_inputs
    >>> inputs_of_name(named_inputs({"short": {}, "long": {}}), "long").name
    'long'

    Raises :class:`OptionError` for an unknown name, and for two or more inputs without a name.
    """
    names = [case.name for case in inputs]
    if name is None and len(inputs) == 1:
        return inputs[0]
    if name is None:
        what = f"there are {len(names)} inputs, so one of them must be named"
        raise OptionError(what, fix=f"name one of {', '.join(map(on_one_line, names))}")
    for case in inputs:
        if case.name == name:
            return case
    raise OptionError(f"no inputs are named {name!r}", fix=nearest(name, names))


def line_of(function: Callable[..., object]) -> str:
    """Return the line of a function, ``file:line``; ``""`` if Python does not know it."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return "" if code is None else str(Source(code.co_filename, code.co_firstlineno))


def _returned(function: Callable[[], object], name: str, at: str) -> object:
    """Call a function that returns inputs, and return its result."""
    required = Parameters(function, name).required
    if required:
        what = f"{name} need {', '.join(required)}, but are called without arguments"
        raise DataError(what, fix="write it without parameters, or give them defaults", at=(at,))
    try:
        return _awaited(function())
    except Exception as error:
        note_caller(error, at, name)
        raise


def _awaited(returned: Any) -> Any:  # Any: what an author's function returns
    """Return what a function returned; if it is a coroutine, run it and return its result.

    A coroutine runs in a new event loop. If an event loop already runs, as in a notebook, the new
    one is in another thread.
    """
    if not inspect.iscoroutine(returned):
        return returned
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(returned)
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(copy_context().run, asyncio.run, returned).result()


def _case(case: object, arguments: object, name: str, at: str) -> NamedInputs:
    """Return the inputs of one case; raise :class:`DataError` for a wrong name or arguments."""
    if not isinstance(case, str) or not case:
        what = f"{name} have the name {shown(case)}, which is not a text"
        raise DataError(what, fix="give each a name: a text that is not empty", at=(at,))
    if not is_mapping(arguments):
        what = f"the inputs {case!r} are {_kind(arguments)}, not arguments by name"
        raise DataError(what, fix=EXAMPLE, at=(at,))
    for argument in arguments:
        if not isinstance(argument, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            what = f"the inputs {case!r} have the argument {shown(argument)}, which is not a text"
            raise DataError(what, fix="write the name of a parameter", at=(at,))
    return NamedInputs(case, {**arguments}, at)


def _kind(value: object) -> str:
    return "None" if value is None else with_article(type(value).__name__)


def _as_data(argument: object) -> JsonValue:
    """Return an argument as JSON; a value that JSON cannot express becomes the name of its type."""
    try:
        return cast("JsonValue", thawed(plain(argument, "inputs", _leaf)))
    except DataError:  # a key that is no text, or data that is too deep
        return _type_name(argument)


def _leaf(value: object, context: Around, key: object) -> JsonValue:
    try:
        return json_leaf(value, context, key)
    except DataError:
        return _type_name(value)


def _type_name(value: object) -> str:
    return f"({type(value).__name__})"
