"""The JSON value of an answer: the whole text, that of a fence, or the only one in the prose."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from tests.answer_corpus import ANSWERS, NONE, SCHEMA, SEVERAL
from tests.searching import examples

FORM = OutputSchema(SCHEMA)


def reply(text: str, **keys: Any) -> dict[str, Any]:
    """Return a reply of Chat with a text."""
    message = {"role": "assistant", "content": text, **keys}
    return {"choices": [{"index": 0, "finish_reason": "stop", "message": message}]}


def read(text: str, structured: Any = FORM) -> Any:
    """Return what is read of an answer."""
    try:
        message = read_response(reply(text), structured=structured)
    except DataError as error:
        return SEVERAL if "several JSON values" in error.what else NONE
    assert message.has_structured_output
    assert text == message.text
    return message.structured_output


@pytest.mark.parametrize(("text", "expected"), ANSWERS)
def test_answers(text: str, expected: Any) -> None:
    """Nothing is repaired, and a value that is cut off is none."""
    assert expected == read(text)


def test_the_corpus() -> None:
    """There are eighty answers, each once."""
    assert 80 <= len({text for text, _ in ANSWERS}) == len(ANSWERS)


@pytest.mark.parametrize(
    ("text", "both"),
    [
        ('{"city": "Rome"} or {"city": "Oslo"}', ('{"city": "Rome"}', '{"city": "Oslo"}')),
        ('Sources [1]: {"city": "Rome"}', ("[1]", '{"city": "Rome"}')),
    ],
)
def test_several_values(text: str, both: tuple[str, str]) -> None:
    """Without a schema any two are several; the error shows both."""
    with pytest.raises(DataError, match="several JSON values") as caught:
        read_response(reply(text), structured=True)
    assert all(value in caught.value.what for value in both)


def test_values_that_are_equal_only_in_python() -> None:
    """The value 1 of a fence and the value true of the prose are two values."""
    text = "[true] or [not\n```json\n[1]\n```\n]"
    with pytest.raises(DataError, match="several JSON values"):
        read_response(reply(text), structured=FORM)


@pytest.mark.parametrize("separator", ["\u2028", "\x85"])
def test_a_line_separator_in_a_fence(separator: str) -> None:
    """A string in a fence may have a character that Python takes for the end of a line."""
    answer = {"city": f"Rome{separator}Oslo"}
    text = f"Not [1]:\n```json\n{json.dumps(answer, ensure_ascii=False)}\n```"
    assert answer == read(text, structured=True)


values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab{}[]\"'`\n", max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner),
    max_leaves=6,
)


@examples(150)
@given(
    st.dictionaries(st.sampled_from("abc"), values, min_size=1),
    st.text("ab .,\n<>", max_size=9),
    st.text("ab .,\n<>", max_size=9),
)
def test_any_value_in_any_prose(value: dict[str, Any], before: str, after: str) -> None:
    """An object is read from prose, from a fence, and alone, and never a part of it."""
    text = json.dumps(value)
    fenced = f"{before}\n```json\n{text}\n```\n{after}"
    for answer in (text, f"{before}{text}{after}", fenced):
        assert value == read(answer, structured=True)
    for end in range(1, len(text)):
        assert NONE == read(text[:end], structured=True)


def test_null_is_an_answer() -> None:
    """It is not the same as none: the message knows, also when it is stored."""
    answered = read_response(reply("null"), structured=True)
    unread = read_response(reply("null"))
    assert (None, True) == (answered.structured_output, answered.has_structured_output)
    assert (None, False) == (unread.structured_output, unread.has_structured_output)
    assert answered != unread
    for message in (answered, unread, Message("assistant", "a")):
        again = Message.from_dict(message.to_dict())
        assert (message, message.has_structured_output) == (again, again.has_structured_output)
    assert answered.replace(id="a").has_structured_output


@pytest.mark.parametrize(
    "answer",
    [
        reply("", refusal="I cannot do that."),
        {
            "type": "message",
            "content": [{"type": "text", "text": "I cannot do that."}],
            "stop_reason": "refusal",
        },
    ],
)
def test_a_refusal(answer: dict[str, Any]) -> None:
    """It is told as one, whatever it says."""
    with pytest.raises(DataError, match=r"refused to answer.*I cannot do that"):
        read_response(answer, structured=True)


@pytest.mark.parametrize("structured", [None, False])
def test_nothing_is_asked(structured: Any) -> None:
    """The schema of a prompt without one reads nothing."""
    assert not read_response(reply("Hello."), structured=structured).has_structured_output


@pytest.mark.parametrize("structured", [SCHEMA, "yes", 1, 0, dict])
def test_what_is_no_schema(structured: Any) -> None:
    """Anything else is an error, and not read as yes."""
    with pytest.raises(OptionError, match=r"rendered\.output"):
        read_response(reply("{}"), structured=structured)


def test_a_schema_that_is_a_reference() -> None:
    """It has the shape of its definition."""
    form = OutputSchema({"$ref": "#/$defs/City", "$defs": {"City": SCHEMA}})
    assert {"city": "Rome"} == read('{"n": 1} or {"city": "Rome"}', form)


def test_a_message_that_calls() -> None:
    """It has no answer yet; a text beside a call is read."""
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    message = read_response(reply("", tool_calls=[call]), structured=True)
    assert not message.has_structured_output
    both = read_response(reply('{"city": "Rome"}', tool_calls=[call]), structured=FORM)
    assert {"city": "Rome"} == both.structured_output


def test_an_answer_that_was_cut_off() -> None:
    """The error says why the model stopped."""
    cut_off = reply('{"city": "Ro')
    cut_off["choices"][0]["finish_reason"] = "length"
    with pytest.raises(DataError, match=r"not JSON .finish_reason 'length'"):
        read_response(cut_off, structured=True)


def test_the_schema_of_a_render() -> None:
    """The schema of a rendered prompt tells which of two values is the answer."""
    rendered = render(Timeline(Output(SCHEMA), User("Where?")), model="gpt-3.5-turbo")
    message = read_response(
        reply('I use {"type": 1}: {"city": "Rome"}'), structured=rendered.output
    )
    assert {"city": "Rome"} == message.structured_output
    again = render(
        Timeline(Output(SCHEMA), User("q"), History([message]), User("r")), model="gpt-5"
    )
    assert message.text == again.messages[1].text
