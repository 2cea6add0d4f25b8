"""Named inputs: the arguments of a prompt function for cases to look at, to check and to test."""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from contextvars import copy_context
from typing import Any, TypeAlias, cast

import attrs

from promptdsl.batch.cells import Parameters
from promptdsl.foundation.errors import DataError, OptionError, nearest, shown, with_article
from promptdsl.foundation.frozen import Around, is_mapping, json_leaf, plain, thawed
from promptdsl.foundation.json import JsonDict, JsonValue
from promptdsl.foundation.source import Source, author, note_caller, public_api
from promptdsl.foundation.unicode import on_one_line

InputsByName: TypeAlias = Mapping[str, Mapping[str, object]]
"""The arguments of a prompt function by the name of each case."""
InputsSource: TypeAlias = InputsByName | Callable[[], InputsByName | Awaitable[InputsByName]]
"""Named inputs, or a function without parameters that returns them."""
EXAMPLE = "write {'short': {'question': 'Why?'}}: a name, and the arguments of the prompt"


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
        """The arguments as JSON, for a record: another value is its type, such as ``(History)``."""
        return {name: _as_data(argument) for name, argument in self.arguments.items()}

    @public_api
    def prompt_of(self, function: Callable[..., Any], *, name: str = "") -> Any:  # Any: a prompt
        """Return what a function returns for these arguments; an asynchronous one is run.

        ``name`` is that of the function in errors. Raises :class:`OptionError` if it takes other
        arguments, and whatever the function raises.
        """
        name = name or getattr(function, "__name__", "the function")
        self._check(function, name)
        return _awaited(function(**self.arguments))

    def _check(self, function: Callable[..., object], name: str) -> None:
        """Raise :class:`OptionError` for an unknown and for a missing argument of a function."""
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
    """Return the inputs of a mapping, or of a function that returns one, in their order.

    ``name`` is what errors call them. ``at`` is the author's line, ``file:line``: without it that
    of the function, or of the caller. A function is called once; an asynchronous one is run.

    >>> from promptdsl.batch import named_inputs
    >>> [case.name for case in named_inputs({"short": {"question": "Why?"}, "none": {}})]
    ['short', 'none']

    Raises :class:`DataError` for anything else, and if there are none; and what the function
    raises, with a note of the line.
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
    """Return the inputs with a name; without a name the only ones.

    >>> from promptdsl.batch import inputs_of_name, named_inputs
    >>> inputs_of_name(named_inputs({"short": {}, "long": {}}), "long").name
    'long'

    Raises :class:`OptionError` for an unknown name, and where several need a name.
    """
    names = [case.name for case in inputs]
    if name is None and len(inputs) == 1:
        return inputs[0]
    if name is None:
        raise OptionError("name the inputs", fix=f"there is {', '.join(map(on_one_line, names))}")
    for case in inputs:
        if case.name == name:
            return case
    raise OptionError(f"no inputs are named {name!r}", fix=nearest(name, names))


def line_of(function: Callable[..., object]) -> str:
    """Return the line of a function, ``file:line``; ``""`` if Python does not know it."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return "" if code is None else str(Source(code.co_filename, code.co_firstlineno))


def _returned(function: Callable[[], object], name: str, at: str) -> object:
    """Return what a function of inputs returns."""
    required = Parameters(function, name).required
    if required:
        what = f"{name} need {', '.join(required)}, but are called without arguments"
        raise DataError(what, fix="write it without parameters, or give them defaults", at=(at,))
    try:
        return _awaited(function())
    except Exception as error:
        note_caller(error, at, name)
        raise


def _awaited(value: Any) -> Any:  # Any: what an author's function returns
    """Return a value; of a coroutine, its result.

    It runs in a new event loop; if one already runs, as in a notebook, that is in a thread.
    """
    if not inspect.iscoroutine(value):
        return value
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(value)
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(copy_context().run, asyncio.run, value).result()


def _case(case: object, arguments: object, name: str, at: str) -> NamedInputs:
    """Return the inputs of an entry. Raises :class:`DataError` if it is no name and arguments."""
    if not isinstance(case, str) or not case:
        what = f"{name} have the name {shown(case)}, which is no text"
        raise DataError(what, fix="give each a name: a text that is not empty", at=(at,))
    if not is_mapping(arguments):
        what = f"the inputs {case!r} are {_kind(arguments)}, not arguments by name"
        raise DataError(what, fix=EXAMPLE, at=(at,))
    for argument in arguments:
        if not isinstance(argument, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            what = f"the inputs {case!r} have the argument {shown(argument)}, which is no text"
            raise DataError(what, fix="write the name of a parameter", at=(at,))
    return NamedInputs(case, {**arguments}, at)


def _kind(value: object) -> str:
    return "None" if value is None else with_article(type(value).__name__)


def _as_data(argument: object) -> JsonValue:
    """Return an argument as JSON; of a value that JSON cannot express, the name of its type."""
    try:
        return cast("JsonValue", thawed(plain(argument, "inputs", _leaf)))
    except DataError:  # a key that is no text, or data that is too deep
        return _type_name(argument)


def _leaf(value: object, around: Around, key: object) -> JsonValue:
    try:
        return json_leaf(value, around, key)
    except DataError:
        return _type_name(value)


def _type_name(value: object) -> str:
    return f"({type(value).__name__})"
