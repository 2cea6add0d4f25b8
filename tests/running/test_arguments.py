"""The arguments of calls: which fit, and what a model reads of those that do not."""

import json
from datetime import date
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from promptdsl import *
from tests.running.tools import call, only_result, results
from tests.searching import examples


class Line(BaseModel):
    """A line of an invoice."""

    text: str
    amount: int = Field(ge=1)


def bill(  # noqa: PLR0917
    customer: str,
    lines: list[Line],
    month: Literal["May", "June"] = "May",
    due: date | None = None,
    tags: dict[str, int] = {},  # noqa: B006
    size: Annotated[int, Field(alias="n", le=9)] = 3,
) -> Any:
    """Write a bill."""
    return [customer, [line.amount for line in lines], month, due, tags, size]


def test_arguments_have_their_types() -> None:
    """Arguments become the types of the parameters, laxly, and defaults are filled."""
    lines = [{"text": "Tea", "amount": "2"}]
    assert ('["Ann", [2], "May", null, {}, 3]', None) == only_result(
        bill, customer="Ann", lines=lines
    )
    assert ('["Ann", [], "June", "2026-05-01", {"a": 1}, 4]', None) == only_result(
        bill, customer="Ann", lines=[], month="June", due="2026-05-01", tags={"a": "1"}, size=4
    )


@pytest.mark.parametrize(
    ("arguments", "problems"),
    [
        ({"lines": []}, ["customer is missing, expected: string"]),
        ({"customer": 1, "lines": []}, ["customer is not accepted, expected: string"]),
        ({"customer": "", "lines": 1}, ["lines is not accepted, expected: array of object"]),
        (
            {"customer": "", "lines": [{"text": "", "amount": 0}, {"amount": 1}]},
            [
                "lines[0].amount is not accepted, expected: integer (minimum 1)",
                "lines[1].text is missing, expected: string",
            ],
        ),
        (
            {"customer": "", "lines": [], "month": "July", "due": "soon", "tags": {"x": "y"}},
            [
                'month is not accepted, expected: one of "May", "June"',
                "due is not accepted, expected: string (format date) or null",
                "tags is not accepted, expected: object",
            ],
        ),
        (
            {"customer": "", "lines": [], "size": 10},
            ["size is not accepted, expected: integer (maximum 9)"],
        ),
        (
            {"customer": "", "lines": [], "n": 4},
            ["the arguments: a name is unknown, known: customer, lines, month, due, tags, size"],
        ),
    ],
)
def test_arguments_that_do_not_fit(arguments: dict[str, Any], problems: list[str]) -> None:
    """The text names the parameter and what it expects, not what the model wrote."""
    text = "\n- ".join(["the arguments do not fit:", *problems])
    assert (text, "validation_error") == only_result(bill, **arguments)


@pytest.mark.parametrize("text", ["[1]", "7", "", "{", '{"a": NaN}', "[" * 300])
def test_arguments_that_are_no_object(text: str) -> None:
    """Arguments that are no JSON object are told so, and the function is not called."""
    assert [("the arguments are no JSON object", "validation_error")] == results(
        [ToolUseBlock("1", "bill", text)], [bill]
    )


def test_arguments_that_pydantic_cannot_read() -> None:
    """A lone surrogate, and data as deep as JSON may be, are arguments that cannot be read."""

    def take(value: Any) -> str:
        return repr(value)

    deep: Any = 1
    for _ in range(198):
        deep = [deep]
    expected = "the arguments do not fit:\n- the arguments cannot be read, or are refused together"
    assert (expected, "validation_error") == only_result(take, value="\ud800")
    assert only_result(take, value=deep)[1] in (None, "validation_error")


def test_many_problems() -> None:
    """Ten problems are told, and how many more there are."""
    lines = [{"text": 1, "amount": 1}] * 12
    text, _ = only_result(bill, customer="", lines=lines)
    assert (12, "- and 2 more") == (len(text.splitlines()), text.splitlines()[-1])


def test_further_names() -> None:
    """A model that takes further names gets them; nested ones that are unknown are told."""

    class Open(BaseModel, extra="allow"):
        pass

    class Closed(BaseModel, extra="forbid"):
        name: str = ""

    def take(value: Closed) -> str:
        return value.name

    assert ('{"a": 1}', None) == only_result(Open, a=1)
    assert (
        "the arguments do not fit:\n- value: a name is unknown, known: name",
        "validation_error",
    ) == (only_result(take, value={"other": 1}))


def test_a_parameter_with_an_alias() -> None:
    """A parameter is given by its own name, which is that of the schema, not by its alias."""

    def find(query: Annotated[str, Field(alias="q")]) -> str:
        return query

    assert ["query"] == [*Tool(find).definition.input_schema["properties"]]  # type: ignore[misc,index,call-overload]
    assert ("tea", None) == only_result(find, query="tea")
    assert "validation_error" == only_result(find, q="tea")[1]


SECRET = "ζsecretζ"
"""What every text and key that is drawn contains; no schema has it."""

secrets = st.text(max_size=5).map(lambda text: f"{text}{SECRET}")
hostile = st.recursive(
    secrets | st.sampled_from([987654321, 9876.54321, -987654321]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(secrets, inner, max_size=3),
    max_leaves=8,
)
names = st.sampled_from(["customer", "lines", "month", "due", "tags", "size", "call"])


def leaks(arguments: dict[str, Any]) -> bool:
    """Return whether the result of a call repeats something of its arguments."""
    text, kind = only_result(bill, **arguments)
    return kind is not None and (SECRET in text or "98765" in text or "9876.5" in text)


@examples(500)
@given(st.dictionaries(names | secrets, hostile, max_size=7))
def test_no_value_is_repeated(arguments: dict[str, Any]) -> None:
    """Whatever a model writes, no error text repeats a value or a key of it."""
    arguments = {"lines": [{"text": 1, SECRET: 2}], **arguments}
    assert not leaks(arguments)


@examples(500)
@given(arguments=st.dictionaries(names, hostile, max_size=7), data=st.data())
def test_no_value_in_a_place_that_is_typed(arguments: dict[str, Any], data: st.DataObject) -> None:
    """The same holds for values inside the types of the author."""
    line = st.fixed_dictionaries({"text": hostile, "amount": hostile}, optional={SECRET: hostile})
    lines = data.draw(st.lists(line, max_size=3))
    assert not leaks({**arguments, "lines": lines, "customer": "Ann"})


@given(st.text())
def test_any_text_as_arguments(text: str) -> None:
    """Any text as the arguments of a call is a result."""
    assert 1 == len(results([ToolUseBlock("1", "bill", text)], [bill]))
    assert 1 == len(results([call("bill", customer=text)], [bill]))
    assert json.dumps(text) not in results([call("bill", customer=[text * 9])], [bill])[0][0]
