"""What every public class and function says to arguments that it does not take."""

import asyncio
import inspect
from collections.abc import Callable, Coroutine
from importlib import import_module
from types import FunctionType
from typing import Any

import pytest

from promptdsl import OptionError, PromptError
from tests.public_names import tables

NOT_CALLED = {
    "TranscriptStore": "a protocol, for type checkers",
    "TokenCounter": "a protocol, for type checkers",
    "Tokens": "an abstract class: Python names the methods that a subclass has to write",
    "Node": "the base of all nodes, for type checkers",
    "LostContentWarning": "a warning as Python's own: the library makes it",
    "SnapshotFormatError": "an error as Python's own: the library makes it",
    "Prompt": "every render makes one: a call more would be longer than its fields are set",
    "Rendered": "every render makes one, no author does",
}
"""Public classes whose calls Python itself refuses, with the reason."""


def called() -> dict[str, Callable[..., object]]:
    """Return the public classes and functions of all packages by their full names."""
    names = {
        f"{package}.{name}": getattr(import_module(package), name)
        for package, table in tables().items()
        for name in " ".join(table.values()).split()
        if name not in NOT_CALLED
    }
    return {name: value for name, value in names.items() if isinstance(value, type | FunctionType)}


CALLED = called()
WRONG: dict[str, tuple[tuple[object, ...], dict[str, object]]] = {
    "an unknown option": ((), {"no_such_option": 1}),
    "thirty arguments": (tuple(object() for _ in range(30)), {}),
    "no arguments": ((), {}),
}
TAKES_ANY = {
    "promptdsl.ModelFacts": "it has more than thirty fields",
    "promptdsl.page.page_data": "it takes any inputs by name",
    "promptdsl.comparing.content_policy": "it takes any number of rules",
}
"""What takes such arguments, with the reason."""


def outcome(function: Callable[..., object], case: str) -> object:
    """Return the error of a call with wrong arguments, or what it returns."""
    arguments, options = WRONG[case]
    try:
        value = function(*arguments, **options)
        return asyncio.run(value) if isinstance(value, Coroutine) else value
    except Exception as error:
        return error


def fault(function: Callable[..., object], case: str) -> str:
    """Return what is wrong about an error: nothing, if it has advice and the author's line."""
    error = outcome(function, case)
    if isinstance(error, PromptError):
        is_complete = error.fix and error.at and error.at[0].startswith(__file__)
        return "" if is_complete else f"{error} has no advice, or no line"
    is_wrong = isinstance(error, Exception) or case != "no arguments"
    return f"{type(error).__name__}: {error}" if is_wrong else ""


@pytest.mark.parametrize("case", WRONG)
def test_wrong_arguments_of_all_that_is_public(case: str) -> None:
    """Arguments that a public class or function does not take are an error with advice."""
    faults = {
        name: fault(function, case) for name, function in CALLED.items() if name not in TAKES_ANY
    }
    assert {} == {name: text for name, text in faults.items() if text}


@pytest.mark.parametrize("name", TAKES_ANY)
def test_what_takes_any_arguments(name: str) -> None:
    """What is left out takes thirty arguments, or any option."""
    refused = {case for case in WRONG if isinstance(outcome(CALLED[name], case), OptionError)}
    assert {*WRONG} - {"no arguments"} - refused


@pytest.mark.parametrize("name", NOT_CALLED)
def test_what_is_not_called(name: str) -> None:
    """What is left out is refused by Python itself, whatever the arguments are."""
    packages = [import_module(package) for package in tables()]
    values = [getattr(package, name) for package in packages if name in package.__all__]
    assert values
    assert all(isinstance(value, type) for value in values)


def test_the_error_names_what_was_called() -> None:
    """The error has the name of the class and its own counts, without ``self``."""
    error = outcome(CALLED["promptdsl.TextBlock"], "thirty arguments")
    assert isinstance(error, OptionError)
    assert "TextBlock() takes at most 3 arguments by position, not 30" == error.what
    missing = outcome(CALLED["promptdsl.Loss"], "no arguments")
    assert isinstance(missing, OptionError)
    assert "Loss() needs 'kind', 'what', 'why'" == missing.what


def test_signatures_stay() -> None:
    """Editors read the parameters of a class as they are declared."""
    parameters = inspect.signature(CALLED["promptdsl.TextBlock"]).parameters
    assert ["text", "cache", "extra"] == [*parameters]


def test_a_subclass_keeps_the_errors() -> None:
    """A class of an author that extends a public one says the same of wrong arguments."""
    base: Any = CALLED["promptdsl.Message"]
    subclass = type("Question", (base,), {})
    error = outcome(subclass, "an unknown option")
    assert isinstance(error, OptionError)
    assert error.fix


def test_the_error_of_a_method_names_the_class_that_is_known() -> None:
    """The error of an inherited method has the name of the public class."""
    transcript: Any = CALLED["promptdsl.Transcript"]
    for call in (transcript().vacuum, transcript().subscribe):
        error = outcome(call, "no arguments")
        assert isinstance(error, OptionError)
        assert error.what.startswith("Transcript.")
