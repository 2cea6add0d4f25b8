"""Blocks: values that nobody can change, and their dictionary form, checked."""

import copy
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import DataError, Event, Timeline, UserAction, render
from promptdsl.blocks import (
    EMPTY,
    Block,
    CodeBlock,
    DocumentBlock,
    ImageBlock,
    JsonBlock,
    ReasoningBlock,
    StateChangeBlock,
    SystemEventBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
    UserActionBlock,
    block_from_dict,
)
from promptdsl.sources import MediaSource

BLOCKS: list[Block] = [
    TextBlock("x", extra={"a": [1]}),
    ImageBlock(MediaSource("url", "https://x")),
    DocumentBlock(MediaSource("file_id", "f"), extra={"context": {"a": []}}),
    ToolUseBlock("1", "f", "{}"),
    ToolResultBlock("1", (TextBlock("x"),)),
    ReasoningBlock("x"),
    UserActionBlock("x", target=[1], details={"a": {"b": []}}),
    StateChangeBlock("k", old=[1], new={"a": 1}),
    SystemEventBlock("x", source={}, data={"a": [1]}),
    JsonBlock({"a": [1]}),
    CodeBlock("x"),
    UnknownBlock({"type": "new", "a": [{"b": 1}]}),
]

every_block = pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.type)
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda below: st.lists(below) | st.dictionaries(st.text(), below),
)


def nested(depth: int) -> Any:
    """Return a list in a list in a list."""
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


def error_of(data: object) -> str:
    """Return what is wrong with a block in dictionary form."""
    with pytest.raises(DataError) as caught:
        block_from_dict(data)
    return caught.value.what


@every_block
def test_every_block_has_a_hash(block: Block) -> None:
    """Equal blocks have equal hashes, whatever data they hold."""
    assert hash(block) == hash(copy.deepcopy(block))


@every_block
def test_every_block_can_be_saved(block: Block) -> None:
    """A block is read back as it was saved, and copied as it is."""
    assert (block, block) == (pickle.loads(pickle.dumps(block)), copy.deepcopy(block))


def test_nothing_is_always_the_same() -> None:
    """The empty mapping that blocks share is one object, saved or copied too."""
    assert EMPTY is pickle.loads(pickle.dumps(EMPTY)) is copy.deepcopy(EMPTY)
    assert TextBlock("x", extra={}).extra is EMPTY
    assert ({}, "{}") == (EMPTY, repr(EMPTY))


@pytest.mark.parametrize("name", ["a", "b"])
def test_nothing_cannot_be_filled(name: str) -> None:
    """What all blocks share cannot be changed through one of them."""
    with pytest.raises(TypeError, match="frozen"):
        TextBlock("x").extra[name] = 1  # type: ignore[index]
    assert {"type": "text", "text": "y"} == TextBlock("y").to_dict()


@given(plain)
def test_any_data_given_in_can_be_changed_afterwards(value: Any) -> None:
    """A block is as it was made, whatever becomes of the data it was made of."""
    data = {"type": "new", "value": [value]}
    block = block_from_dict(data)
    before = block.to_dict()
    data["value"].append("changed")  # type: ignore[attr-defined]
    assert before == block.to_dict() == {"type": "new", "value": [value]}


@given(plain)
def test_any_data_handed_out_is_a_copy(value: Any) -> None:
    """Changing the dictionary of a block does not change the block."""
    block = UnknownBlock({"type": "new", "value": [value]})
    block.to_dict()["value"].append("changed")
    assert {"type": "new", "value": [value]} == block.to_dict()


def test_deep_data_is_kept() -> None:
    """Data 10,000 levels deep is copied without recursion."""
    block = UnknownBlock({"type": "new", "value": nested(10_000)})
    assert ["type", "value"] == list(block.to_dict())


def test_circles_are_refused() -> None:
    """Data that holds itself is an error, not an endless loop."""
    circle: list[Any] = []
    circle.append(circle)
    assert error_of({"type": "new", "value": circle}) == "data that holds itself"


def test_a_formatter_cannot_change_the_tree() -> None:
    """A block that ``format_block`` is given refuses every change."""
    tree = Timeline(Event(UserAction("clicked", page="1")))

    def change(block: Any) -> str:
        block.details["page"] = "2"
        return ""

    with pytest.raises(TypeError, match="frozen"):
        render(tree, transformation={"format_block": change})
    assert "page: 1" in str(render(tree).messages[0].plain)


@pytest.mark.parametrize(
    ("data", "what"),
    [
        ({"type": "text", "text": 1}, "'text' is a string, not int"),
        ({"type": "text", "text": "x", "cache": "zz"}, "unknown 'cache' 'zz'"),
        ({"type": "text", "text": "x", "cache": []}, "'cache' is a string, not list"),
        ({"type": "image", "source": {"type": [1]}}, "unknown source [1]"),
        ({"type": "image", "url": "https://x", "title": 1}, "'title' is a string, not int"),
        (
            {"type": "image", "url": "https://x", "media_type": 1},
            "'media_type' is a string, not int",
        ),
        ({"type": "tool_use", "id": [], "name": "f", "input": {}}, "'id' is a string, not list"),
        ({"type": "tool_use", "id": "1", "name": 1, "input": {}}, "'name' is a string, not int"),
        ({"type": "tool_result", "tool_use_id": []}, "'tool_use_id' is a string, not list"),
        ({"type": "tool_result", "tool_use_id": "1", "name": 1}, "'name' is a string, not int"),
        (
            {"type": "tool_result", "tool_use_id": "1", "is_error": "no"},
            "'is_error' is true or false, not 'no'",
        ),
        (
            {"type": "tool_result", "tool_use_id": "1", "error_type": "timeout"},
            "unknown 'error_type' 'timeout'",
        ),
        ({"type": "user_action", "action": None}, "'action' is a string, not NoneType"),
        (
            {"type": "user_action", "action": "a", "details": "x"},
            "'details' is a mapping, not str",
        ),
        ({"type": "system_event", "event": "a", "data": []}, "'data' is a mapping, not list"),
        ({"type": "state_change", "key": True}, "'key' is a string, not bool"),
        ({"type": "reasoning", "text": "x", "signature": 1}, "'signature' is a string, not int"),
    ],
)
def test_the_wrong_key_is_named(data: object, what: str) -> None:
    """A value that a key cannot hold is an error that names the key."""
    assert what == error_of(data)


@pytest.mark.parametrize("depth", [1, 3_000])
def test_a_result_holds_no_result(depth: int) -> None:
    """A result in a result is refused, however deep."""
    data: dict[str, Any] = {"type": "tool_result", "tool_use_id": "1"}
    for _ in range(depth):
        data = {"type": "tool_result", "tool_use_id": "1", "content": [data]}
    assert "'content' of a 'tool_result' block holds no 'tool_result' block" == error_of(data)
