"""Messages in dictionary form, checked and kept."""

from enum import Enum
from typing import Any

import pytest

from promptdsl import DataError, History, Message, Timeline, User, render
from tests.places import places, raised


class Word(str, Enum):  # noqa: UP042 (StrEnum formats as its value)
    """Strings that format as something else."""

    USER = "user"
    ID = "a1"

    def __str__(self) -> str:
        return "FORGED"


@pytest.mark.parametrize(
    ("key", "value", "what"),
    [
        ("kind", [], "unknown 'kind' []"),
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
