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

from promptdsl import DataError, History, Message, TextBlock, Timeline, User, render
from promptdsl.json_text import plain
from promptdsl.messages import KINDS, ROLES
from tests.blocks.test_reading import anything, blocks, mappings, nested, some, texts
from tests.places import places, raised
from tests.test_plain_data import Liar, json_values, shallow_stack

__all__ = ["shallow_stack"]


class Word(str, Enum):  # noqa: UP042 (StrEnum formats as its value)
    """Strings that format as something else."""

    USER = "user"
    ID = "a1"

    def __str__(self) -> str:
        return "FORGED"


@pytest.mark.parametrize(
    ("key", "value", "what"),
    [
        ("kind", [], "'kind' is a string, not list"),
        ("kind", "writen", "unknown 'kind' 'writen'"),
        ("id", [1], "'id' is a string, not list"),
        ("name", 5, "'name' is a string, not int"),
        ("metadata", 5, "'metadata' is a mapping, not int"),
        ("token_usage", [1], "'token_usage' is a mapping, not list"),
        ("finish_reason", 5, "'finish_reason' is a string, not int"),
    ],
)
def test_the_wrong_key_is_named(key: str, value: Any, what: str) -> None:
    """A value that a key cannot hold is an error that names the message, the key and the line."""

    def write() -> None:
        render(Timeline(History([{"role": "user", "content": "x", key: value}])))

    error = raised(DataError, write)
    assert (places(write, 1), f"messages[0]: {what}") == (error.at, error.what)


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

messages = st.builds(
    Message,
    st.sampled_from(ROLES),
    texts | st.lists(blocks, max_size=2),
    kind=st.sampled_from(KINDS),
    id=some,
    name=some,
    metadata=mappings,
    token_usage=st.none() | mappings,
    structured_output=json_values,
    finish_reason=some,
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


@given(shapes, st.sampled_from([*ROLES, "wizard", None]))
def test_any_shape_is_read_or_refused(data: dict[Any, Any], role: str | None) -> None:
    """Whatever stands under a key, the message is read, or refused with a :class:`DataError`."""
    assert outcome(data) in ("read", "refused")
    assert outcome({"role": role, **data}) in ("read", "refused")


def outcome(data: object) -> str:
    """Return whether a message was read; what was read has a dictionary that is read again."""
    try:
        message = Message.from_dict(data)
    except DataError as error:
        return "refused" if error.what else "refused without a word"
    return "read" if message == Message.from_dict(message.to_dict()) else "changed"


@pytest.mark.parametrize("key", ["metadata", "token_usage", "structured_output"])
def test_deep_data_is_kept(key: str) -> None:
    """Data 10,000 levels deep is read, written, compared, printed, copied and saved."""
    data = {"role": "assistant", "content": "x", key: {"a": nested(10_000)}}
    message = Message.from_dict(data)
    saved = pickle.loads(pickle.dumps(message))
    assert plain(data[key], "") == plain(message.to_dict()[key], "")
    assert message == saved == copy.deepcopy(message) != Message("assistant", "x")
    assert (hash(message), repr(message)) == (hash(saved), repr(saved))


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
        (5, "a message is a mapping, not int"),
        ({"content": "x"}, "a message needs a 'role'"),
        ({"role": None, "content": "x"}, "'role' is a string, not None"),
        ({"role": Liar("wizard"), "content": "x"}, "unknown role 'wizard'"),
        ({"role": "user", "kind": Liar("x")}, "unknown 'kind' 'x'"),
        ({"role": "user", "contents": "x"}, "unknown key 'contents' in a message"),
        ({"role": "user", Liar("x"): 1}, "unknown key 'x' in a message"),
        ({"role": "user", "__class__": 1}, "unknown key '__class__' in a message"),
        ({"role": "user", 1: 1}, "a key of a message is a string, not int"),
        ({"role": "user", "content": 5}, "'content' is a string or a list of blocks, not int"),
        (
            {"role": "user", "content": {"type": "text", "text": "x"}},
            "'content' is a string or a list of blocks, not dict",
        ),
        (
            {"role": "user", "content": ["x", 5]},
            "content[1]: a block is a dictionary or a string, not int",
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
        ({"role": "user", "id": True}, "'id' is a string, not bool"),
        ({"role": "user", "metadata": {1: 2}}, "a key of 'metadata' is a string, not int"),
    ],
)  # fmt: skip
def test_what_is_refused(data: object, what: str) -> None:
    """What cannot be read is an error that names the key, and the path to it."""
    assert what == raised(DataError, lambda: Message.from_dict(data)).what


def test_a_content_that_is_not_given_is_empty() -> None:
    """A message may say nothing: a content that is missing, null or empty has no blocks."""
    given = [{"role": "user", **content} for content in ({}, {"content": None}, {"content": ""})]
    assert [{"role": "user", "content": []}] * 3 == [Message.from_dict(m).to_dict() for m in given]


def test_code_may_note_anything() -> None:
    """Metadata written in code may hold what JSON cannot say: it is never sent."""
    assert {"when": date(2026, 1, 2)} == Message(
        "user", metadata={"when": date(2026, 1, 2)}
    ).metadata
