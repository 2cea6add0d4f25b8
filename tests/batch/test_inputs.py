"""Named inputs: what a mapping or a function of them gives, and errors with the author's line."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from types import MappingProxyType
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from promptdsl.batch import NamedInputs, inputs_of_name, named_inputs
from tests.errors import lines_of, raised, this_line


@dataclass
class Customer:
    """A value that JSON cannot express."""

    name: str


def ask(question: str, customer: Customer | None = None) -> Timeline:
    """Return a prompt."""
    return Timeline(User(question, customer and customer.name))


CASES: dict[str, dict[str, Any]] = {
    "short": {"question": "Why?"},
    "known": {"question": "Why?", "customer": Customer("Ada")},
}


def returned() -> dict[str, dict[str, Any]]:
    """Return the cases."""
    return CASES


async def awaited_inputs() -> dict[str, dict[str, Any]]:
    """Return the cases, asynchronously."""
    return CASES


def failing() -> dict[str, dict[str, Any]]:
    """Raise an error."""
    raise ValueError("no database")


def needing(folder: str) -> dict[str, dict[str, Any]]:
    """Take a parameter."""
    return {folder: {}}


async def ask_later(question: str) -> Timeline:
    """Return a prompt, asynchronously."""
    return ask(question)


def by_position(question: str, /) -> Timeline:
    """Take an argument that has no name."""
    return ask(question)


@pytest.mark.parametrize(
    "inputs", [CASES, OrderedDict(CASES), MappingProxyType(CASES), returned, awaited_inputs]
)
def test_what_inputs_may_be(inputs: Any) -> None:
    """A mapping, or a function that returns one: the arguments by name, in their order."""
    short, known = named_inputs(inputs)
    assert ["short", "known"] == [short.name, known.name]
    assert CASES == {short.name: short.arguments, known.name: known.arguments}
    assert ask("Why?", Customer("Ada")) == known.prompt_of(ask)


def test_they_are_frozen() -> None:
    """Inputs do not change, and a later change of the mapping does not change them."""
    cases: dict[str, dict[str, Any]] = {"short": {"question": "Why?"}}
    (short,) = named_inputs(cases)
    cases["short"]["question"] = "How?"
    assert {"question": "Why?"} == short.arguments
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        short.name = "long"  # type: ignore[misc]


def test_an_asynchronous_prompt_is_awaited_inputs() -> None:
    """The prompt of an asynchronous function is what it returns."""
    assert ask("Why?") == NamedInputs("a", {"question": "Why?"}).prompt_of(ask_later)


def test_where_an_event_loop_runs() -> None:
    """An asynchronous test or a notebook may use them, too."""

    async def test() -> Timeline:
        (short, _) = named_inputs(awaited_inputs)
        prompt: Timeline = short.prompt_of(ask_later)
        return prompt

    assert ask("Why?") == asyncio.run(test())


def test_data_for_a_record() -> None:
    """JSON stays, and any other value is the name of its type."""
    arguments = {
        "text": "Why?",
        "list": [1, {"a": None, "history": History([])}],
        "customer": Customer("Ada"),
        "day": date(2026, 11, 29),
        "keys": {1: 2},
        "number": float("nan"),
    }
    assert {
        "text": "Why?",
        "list": [1, {"a": None, "history": "(History)"}],
        "customer": "(Customer)",
        "day": "(date)",
        "keys": "(dict)",
        "number": "(float)",
    } == NamedInputs("all", arguments).data


@given(st.dictionaries(st.text(min_size=1), st.dictionaries(st.text(), st.integers()), min_size=1))
def test_any_names(cases: dict[str, dict[str, int]]) -> None:
    """Any names and arguments come back as they are, and each is found by its name."""
    inputs = named_inputs(cases)
    assert cases == {case.name: case.arguments for case in inputs}
    assert [*inputs] == [inputs_of_name(inputs, name) for name in cases]


FORM = "write {'short': {'question': 'Why?'}}: a name, and the arguments of the prompt"


@pytest.mark.parametrize(
    ("inputs", "what", "fix"),
    [
        ([], "the inputs are a list, not inputs by name", FORM),
        (None, "the inputs are None, not inputs by name", FORM),
        ({}, "the inputs are empty", FORM),
        (lambda: 3, "the inputs are an int, not inputs by name", FORM),
        (
            {"question": "Why?"},
            "the inputs are arguments without a name",
            "give them a name: {'short': {'question': ...}}",
        ),
        (
            {"a": {}, "b": "Why?"},
            "the inputs 'b' are a str, not arguments by name",
            FORM,
        ),
        (
            {1: {}},
            "the inputs have the name 1, which is not a text",
            "give each a name: a text that is not empty",
        ),
        (
            {"": {}},
            "the inputs have the name '', which is not a text",
            "give each a name: a text that is not empty",
        ),
        (
            {"a": {1: "Why?"}},
            "the inputs 'a' have the argument 1, which is not a text",
            "write the name of a parameter",
        ),
        (
            needing,
            "the inputs need folder, but are called without arguments",
            "write it without parameters, or give them defaults",
        ),
    ],
)
def test_what_is_no_inputs(inputs: Any, what: str, fix: str) -> None:
    """The error says what is there and what to write."""
    error = raised(DataError, lambda: named_inputs(inputs))
    assert (what, fix) == (error.what, error.fix)


def test_the_line_of_an_error() -> None:
    """It is that of the caller; of a function, its own; or the one that the caller names."""
    wrong: Any = []
    error = raised(DataError, lambda: named_inputs(wrong))
    assert (f"{__file__}:{this_line() - 1}",) == error.at
    assert lines_of(needing, 0) == raised(DataError, lambda: named_inputs(needing)).at  # type: ignore[arg-type]
    error = raised(DataError, lambda: named_inputs(wrong, name="x.py:A", at="x.py:3"))
    assert "x.py:3: x.py:A are a list, not inputs by name" == str(error).splitlines()[0]


def test_a_function_that_raises() -> None:
    """Its error is raised, with a note of its line."""
    error = raised(ValueError, lambda: named_inputs(failing, name="the inputs x.py:failing"))
    (line,) = lines_of(failing, 0)
    assert [f"{line}: raised by the inputs x.py:failing"] == error.__notes__


@pytest.mark.parametrize(
    ("arguments", "function", "what", "fix"),
    [
        (
            {"qestion": "Why?"},
            ask,
            "inputs 'a': ask has no parameter 'qestion'",
            "did you mean 'question'?",
        ),
        ({"a": 1}, returned, "inputs 'a': returned has no parameter 'a'", "remove it"),
        (
            {},
            ask,
            "inputs 'a' have no 'question', which ask needs",
            "add 'question': ... to them",
        ),
        (
            {},
            by_position,
            "by_position takes 'question' by position only",
            "write a function whose arguments can be passed by name",
        ),
    ],
)
def test_other_arguments_than_the_prompt_takes(
    arguments: dict[str, Any], function: Callable[..., Any], what: str, fix: str
) -> None:
    """The error names the line of the inputs and that of the function."""
    case = NamedInputs("a", arguments, "cases.py:3")
    error = raised(OptionError, lambda: case.prompt_of(function))
    assert (what, fix) == (error.what, error.fix)
    assert ("cases.py:3", *lines_of(function, 0)) == error.at


def test_an_error_of_the_prompt_is_raised() -> None:
    """An error in the function of a prompt stays as it is, also a ``TypeError``."""

    def broken(text: Any) -> Any:
        return text + 1

    error = raised(TypeError, lambda: NamedInputs("a", {"text": "x"}).prompt_of(broken))
    assert "broken" not in str(error)


def test_inputs_of_a_name() -> None:
    """Without a name it is the only ones; several need one, and a wrong one is an error."""
    inputs = named_inputs(CASES)
    assert inputs[1] == inputs_of_name(inputs, "known")
    assert inputs[0] == inputs_of_name(inputs[:1], None)
    error = raised(OptionError, lambda: inputs_of_name(inputs, None))
    assert (
        "there are 2 inputs, so one of them must be named",
        "name one of short, known",
    ) == (error.what, error.fix)
    several = named_inputs({"a\x1b[31m\nb": {}, "c": {}})
    error = raised(OptionError, lambda: inputs_of_name(several, None))
    assert r"name one of a\x1b[31m\nb, c" == error.fix
    error = raised(OptionError, lambda: inputs_of_name(inputs, "knwon"))
    assert ("no inputs are named 'knwon'", "did you mean 'known'?") == (error.what, error.fix)
