"""Messages in dictionary form, checked and kept."""

import copy
import json
import pickle
from datetime import date
from enum import Enum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from tests.any_data import (
    Liar,
    anything,
    blocks,
    deep_list,
    json_values,
    mappings,
    results,
    some,
    texts,
)
from tests.errors import lines_of, raised
from tests.internals import KINDS, ROLES
from tests.internals import plain_data as plain
from tests.renders import reported
from tests.searching import outcomes

pytestmark = pytest.mark.usefixtures("shallow_stack")


class Word(str, Enum):  # noqa: UP042 (StrEnum formats as its value)
    """Strings that format as something else."""

    USER = "user"
    ID = "a1"

    def __str__(self) -> str:
        return "FORGED"


@pytest.mark.parametrize(
    ("key", "value", "what"),
    [
        ("kind", [], "'kind' must be a string, not list"),
        ("kind", "writen", "unknown kind 'writen'"),
        ("id", [1], "'id' must be a string, not list"),
        ("name", 5, "'name' must be a string, not int"),
        ("metadata", 5, "'metadata' must be a mapping, not int"),
        ("tags", "vip", "'tags' must be a list of strings, not str"),
        ("tags", ["vip", 5], "'tags[1]' must be a string, not int"),
        ("token_usage", [1], "'token_usage' must be a mapping, not list"),
        ("finish_reason", 5, "'finish_reason' must be a string, not int"),
        ("raw_finish_reason", 5, "'raw_finish_reason' must be a string, not int"),
    ],
)
def test_the_wrong_key_is_named(key: str, value: Any, what: str) -> None:
    """A value that a key cannot hold is an error that names the message, the key and the line."""

    def write() -> None:
        render(Timeline(History([{"role": "user", "content": "x", key: value}])))

    error = raised(DataError, write)
    assert (lines_of(write, 1), f"messages[0]: {what}") == (error.at, error.what)


def test_tags_of_a_message() -> None:
    """The tags of a message are a tuple, part of it as its metadata is, and never sent."""
    message = Message("user", "x", tags=["vip", "late"])
    data = {"role": "user", "content": [{"type": "text", "text": "x"}], "tags": ["vip", "late"]}
    rendered = render(Timeline(History([data])), provider="openai")
    assert (("vip", "late"), data) == (message.tags, message.to_dict())
    assert (message,) == rendered.messages != (Message("user", "x"),)
    assert ([{"role": "user", "content": "x"}], ()) == (
        rendered.to_openai()["messages"],
        reported(rendered),
    )


def test_metadata_given_in_can_be_changed_afterwards() -> None:
    """A message keeps its metadata as it was made of."""
    notes = {"k": [1]}
    rendered = render(Timeline(History([{"role": "user", "content": "x", "metadata": notes}])))
    notes["k"].append(2)
    assert {"k": [1]} == rendered.messages[0].metadata


def test_metadata_handed_out_cannot_be_changed() -> None:
    """The metadata of a message is read-only at every depth, its dictionary form is a copy."""
    message = Message("user", "x", metadata={"k": [1]})
    message.to_dict()["metadata"]["k"].append(2)
    with pytest.raises(TypeError, match="frozen"):
        message.metadata["k"].append(2)
    assert {"k": [1]} == message.metadata


def test_shared_metadata_cannot_be_filled() -> None:
    """Nothing can be written into the metadata of a message that has none."""
    with pytest.raises(TypeError, match="frozen"):
        render(Timeline(User("x"))).messages[0].metadata["k"] = 1  # type: ignore[index]
    assert {} == render(Timeline(User("x"))).messages[0].metadata


def test_strings_are_exact() -> None:
    """A role, an id and a name that are of a kind of string are the strings they hold."""
    message = Message(Word.USER, "x", id=Word.ID, name=Word.ID, metadata={Word.ID: 1})  # type: ignore[arg-type]
    assert ("user", "a1", "a1", "a1") == (
        f"{message.role}",
        f"{message.id}",
        f"{message.name}",
        "".join(f"{key}" for key in message.metadata),
    )


# Round trips.

contents = {role: texts | st.lists(blocks, max_size=2) for role in ROLES}
contents["tool"] = st.lists(results, max_size=2)
messages = st.sampled_from(ROLES).flatmap(
    lambda role: st.builds(
        Message,
        st.just(role),
        contents[role],
        kind=st.sampled_from(KINDS),
        id=some,
        name=some,
        metadata=mappings,
        tags=st.lists(st.text(), max_size=2),
        token_usage=st.none() | mappings,
        structured_output=json_values,
        finish_reason=some,
        raw_finish_reason=some,
    )
)


@given(messages)
def test_any_message_is_read_as_it_was_written(message: Message) -> None:
    """The dictionary of any message reads as the message, also after JSON wrote and read it."""
    data = message.to_dict()
    assert message == Message.from_dict(data) == Message.from_dict(json.loads(json.dumps(data)))
    assert json.dumps(data) == json.dumps(Message.from_dict(data).to_dict())


@given(messages)
def test_any_message_is_a_value(message: Message) -> None:
    """Any message has a hash, and is saved, copied and printed as an equal one."""
    saved = pickle.loads(pickle.dumps(message))
    assert (message, hash(message), repr(message)) == (saved, hash(saved), repr(saved))
    assert message == copy.copy(message) == copy.deepcopy(message) == message.replace()


KEYS = ("role", "content", "kind", "id", "metadata", "token_usage", "structured_output", "extra")
shapes = st.dictionaries(st.sampled_from(KEYS) | st.text() | st.integers(), anything, max_size=3)


@pytest.mark.hypothesis
def test_any_shape_is_read_or_refused() -> None:
    """Whatever stands under a key, the message is read, or refused with a :class:`DataError`."""
    roles = st.sampled_from([*ROLES, "wizard", None])
    with_role = st.builds(lambda role, data: {"role": role, **data}, roles, shapes)
    good = {"role": "user", "content": [{"type": "text", "text": "a"}], "metadata": {"a": 1}}
    assert {"read", "refused"} == outcomes(read_or_refused, good, shapes | with_role, 200)


def read_or_refused(data: object) -> str:
    """Return whether a message was read; what was read has a dictionary that is read again."""
    try:
        message = Message.from_dict(data)
    except DataError as error:
        return "refused" if error.what else "refused without a word"
    return "read" if message == Message.from_dict(message.to_dict()) else "changed"


@pytest.mark.parametrize("key", ["metadata", "token_usage", "structured_output"])
def test_deep_data_is_kept(key: str) -> None:
    """Data of 200 levels is read, written, compared, printed, copied and saved."""
    data = {"role": "assistant", "content": "x", key: {"a": deep_list(198)}}
    message = Message.from_dict(data)
    saved = pickle.loads(pickle.dumps(message))
    assert plain(data[key], "") == plain(message.to_dict()[key], "")
    assert message == saved == copy.deepcopy(message) != Message("assistant", "x")
    assert (hash(message), repr(message)) == (hash(saved), repr(saved))


@pytest.mark.parametrize("key", ["metadata", "token_usage", "structured_output"])
def test_deeper_data_is_refused(key: str) -> None:
    """Data of more levels is refused by name."""
    data = {"role": "assistant", "content": "x", key: {"a": deep_list(199)}}
    error = raised(DataError, lambda: Message.from_dict(data))
    assert error.what.startswith(f"'{key}.a[0][0]")
    assert error.what.endswith("is nested deeper than 200 levels")


@pytest.mark.parametrize("key", ["metadata", "token_usage", "structured_output"])
@pytest.mark.parametrize("value", [b"x", float("nan"), date(2026, 1, 2), {1}, TextBlock("x")])
def test_what_json_cannot_say(key: str, value: object) -> None:
    """Data that JSON has no word for is refused where it is given, with the path to it."""
    data = {"role": "assistant", "content": "x", key: {"a": [value]}}
    error = raised(DataError, lambda: Message.from_dict(data))
    assert error.what.startswith(f"'{key}.a[0]' is not a JSON value: ")


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (5, "a message must be a mapping, not int"),
        ({"content": "x"}, "a message needs a 'role'"),
        ({"role": None, "content": "x"}, "'role' must be a string, not None"),
        ({"role": Liar("wizard"), "content": "x"}, "unknown role 'wizard'"),
        ({"role": "user", "kind": Liar("x")}, "unknown kind 'x'"),
        ({"role": "user", "contents": "x"}, "unknown key 'contents' in a message"),
        ({"role": "user", Liar("x"): 1}, "unknown key 'x' in a message"),
        ({"role": "user", "__class__": 1}, "unknown key '__class__' in a message"),
        ({"role": "user", 1: 1}, "a key of a message must be a string, not int"),
        ({"role": "user", "content": 5}, "'content' must be a string or a list of blocks, not int"),
        (
            {"role": "user", "content": {"type": "text", "text": "x"}},
            "'content' must be a string or a list of blocks, not dict",
        ),
        (
            {"role": "user", "content": ["x", 5]},
            "content[1]: a block must be a dictionary or a string, not int",
        ),
        (
            {"role": "user", "content": ["x", "y", {"type": "image", "source": {"type": "x"}}]},
            "content[2].source: unknown source 'x'",
        ),
        (
            {"role": "user", "content": [{"type": "new", "a": [b""]}]},
            "'content[0].a[0]' is not a JSON value: bytes",
        ),
        (
            {"role": "tool", "content": [{
                "type": "tool_result", "tool_use_id": "1", "content": ["x", {"type": "code"}]
            }]},
            "content[0].content[1]: a 'code' block needs 'text'",
        ),
        (
            {"role": "tool", "content": "x"},
            "a tool message contains tool results, not a 'text' block",
        ),
        (
            {"role": "tool", "content": [{"type": "tool_result", "tool_use_id": "1"}, "x"]},
            "a tool message contains tool results, not a 'text' block",
        ),
        ({"role": "user", "id": True}, "'id' must be a string, not bool"),
        ({"role": "user", "metadata": {1: 2}}, "a key of 'metadata' must be a string, not int"),
    ],
)  # fmt: skip
def test_what_is_refused(data: object, what: str) -> None:
    """What cannot be read is an error that names the key, and the path to it."""
    assert what == raised(DataError, lambda: Message.from_dict(data)).what


@pytest.mark.parametrize(
    ("data", "form"),
    [
        ({"role": "tool", "tool_call_id": "1", "content": "x"}, "openai"),
        ({"role": "assistant", "content": None, "tool_calls": []}, "openai"),
        ({"type": "function_call", "call_id": "1", "name": "f"}, "openai_responses"),
        ({"role": "user", "parts": [{"text": "x"}]}, "gemini"),
    ],
)
def test_the_form_of_a_provider_is_known(data: object, form: str) -> None:
    """A message in the form of a provider is an error that names what reads it."""
    error = raised(DataError, lambda: Message.from_dict(data))
    assert f"read a list of these with History.from_{form}(messages)" == error.fix


@pytest.mark.parametrize("content", ["x", ["x"], [TextBlock("x")]])
def test_a_loose_tool_message_says_what_it_holds(content: Any) -> None:
    """A tool message without a result is an error with the form that is right."""
    error = raised(DataError, lambda: Message("tool", content))
    assert (
        'write {"type": "tool_result", "tool_use_id": ..., "content": ...}, '
        "or Message.tool_result(tool_use_id, content)"
    ) == error.fix


# What a message says and calls.


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("a", "a"),
        ([TextBlock("a ", "5m"), ReasoningBlock("hm"), TextBlock("b")], "a b"),
        ([ToolUseBlock("1", "f", "{}")], ""),
        ([], ""),
    ],
)
def test_the_text_of_a_reply(content: Any, text: str) -> None:
    """The text of an assistant is its texts with nothing between them, as SDKs join them."""
    assert text == Message("assistant", content).text


@pytest.mark.parametrize("role", ["system", "developer", "user", "event", "ephemeral"])
def test_the_text_of_a_message(role: Any) -> None:
    """The text of any other message is its texts with a blank line between them."""
    image = {"type": "image", "url": "https://example.com/a.png"}
    message = Message(role, [TextBlock("a", "5m"), image, TextBlock(""), TextBlock("b\n")])
    assert ("a\n\nb\n", "a", "") == (message.text, Message(role, "a").text, Message(role).text)


def test_the_text_of_a_result_is_that_of_its_message() -> None:
    """The text of a tool message is that of its results, also of results in them."""
    inner = ToolResultBlock("2", [TextBlock("c")])
    blocks = (ToolResultBlock("1", [TextBlock("a"), TextBlock("b")]), ToolResultBlock("3", [inner]))
    assert "a\n\nb\n\nc" == Message("tool", blocks).text
    assert "x" == Message.tool_result("1", "x").text


@pytest.mark.parametrize(
    ("content", "ids"),
    [
        ("a", []),
        ([TextBlock("a"), ToolUseBlock("1", "f", "{}"), ToolUseBlock("2", "f", "{}")], ["1", "2"]),
    ],
)
def test_the_calls_of_a_message(content: Any, ids: list[str]) -> None:
    """The calls of a message are its tool calls, in order."""
    assert ids == [call.id for call in Message("assistant", content).calls]


# The result of a tool, as a message.


@pytest.mark.parametrize(
    ("content", "kept"),
    [
        ("x", (TextBlock("x"),)),
        ([TextBlock("x")], (TextBlock("x"),)),
        ([{"type": "text", "text": "x"}], (TextBlock("x"),)),
        ("", ()),
    ],
)
def test_a_result_is_a_text_or_blocks(content: Any, kept: Any) -> None:
    """The content of a tool result may be given as a string, or a list of blocks."""
    assert Message("tool", (ToolResultBlock("1", kept),)) == Message.tool_result("1", content)


def test_a_result_has_a_name_and_a_fault() -> None:
    """A tool result may say which tool answered, and what went wrong."""
    result = Message.tool_result("1", "x", name="f", is_error=True, error_type="timeout_error")
    block = ToolResultBlock("1", "x", "f", True, "timeout_error")
    assert Message("tool", (block,)) == result


@pytest.mark.parametrize(
    ("write", "what"),
    [
        (lambda: Message.tool_result(1, "x"), "'tool_use_id' must be a string, not int"),  # type: ignore[arg-type]
        (
            lambda: Message.tool_result("1", {"a": 1}),  # type: ignore[arg-type]
            "'content' must be a string or a list of blocks, not dict",
        ),
        (
            lambda: Message.tool_result("1", "x", error_type="timeout"),
            "unknown error_type 'timeout'",
        ),
    ],
)
def test_a_wrong_result_is_refused(write: Any, what: str) -> None:
    """A value that a tool result cannot hold is an error that names the key."""
    assert what == raised(DataError, write).what


def test_data_is_no_content() -> None:
    """A mapping as a content is an error that says how data is sent."""
    error = raised(DataError, lambda: Message("user", {"a": 1}))
    assert "write json.dumps(value), or [JsonBlock(value)]" == error.fix


def test_a_content_that_is_not_given_is_empty() -> None:
    """A message may say nothing: a content that is missing, null or empty has no blocks."""
    given = [{"role": "user", **content} for content in ({}, {"content": None}, {"content": ""})]
    assert [{"role": "user", "content": []}] * 3 == [Message.from_dict(m).to_dict() for m in given]


def test_code_may_note_dates() -> None:
    """Metadata written in code may hold dates, which JSON cannot say: it is never sent."""
    assert {"when": date(2026, 1, 2)} == Message(
        "user", metadata={"when": date(2026, 1, 2)}
    ).metadata
