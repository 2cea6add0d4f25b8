"""Blocks: values that nobody can change, and their dictionary form, checked."""

import copy
import json
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from tests.any_data import Liar, anything, blocks, deep_list, extras, json_values, texts
from tests.internals import EMPTY, contents
from tests.internals import plain_data as frozen_json
from tests.searching import outcomes

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

pytestmark = pytest.mark.usefixtures("shallow_stack")

every_block = pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.type)
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda below: st.lists(below) | st.dictionaries(st.text(), below),
    max_leaves=20,
)


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


def test_circles_are_refused() -> None:
    """Data that holds itself is an error, not an endless loop."""
    circle: list[Any] = []
    circle.append(circle)
    assert error_of({"type": "new", "value": circle}) == "the data contains itself"


def test_a_formatter_cannot_change_the_tree() -> None:
    """A block that ``format_block`` is given refuses every change."""
    tree = Timeline(Event(UserAction("clicked", page="1")))

    def change(block: Any) -> str:
        block.details["page"] = "2"
        return ""

    with pytest.raises(TypeError, match="frozen"):
        render(tree, transformation={"format_block": change})
    assert "page: 1" in str(render(tree).messages[0].text)


@pytest.mark.parametrize(
    ("data", "what"),
    [
        ({"type": "text", "text": 1}, "'text' must be a string, not int"),
        ({"type": "text", "text": "x", "cache": "zz"}, "unknown cache 'zz'"),
        ({"type": "text", "text": "x", "cache": []}, "'cache' must be a string, not list"),
        ({"type": "image", "source": {"type": [1]}}, "source: unknown source list"),
        ({"type": "image", "url": "https://x", "title": 1}, "'title' must be a string, not int"),
        (
            {"type": "image", "url": "https://x", "media_type": 1},
            "'media_type' must be a string, not int",
        ),
        (
            {"type": "tool_use", "id": [], "name": "f", "input": {}},
            "'id' must be a string, not list",
        ),
        (
            {"type": "tool_use", "id": "1", "name": 1, "input": {}},
            "'name' must be a string, not int",
        ),
        ({"type": "tool_result", "tool_use_id": []}, "'tool_use_id' must be a string, not list"),
        (
            {"type": "tool_result", "tool_use_id": "1", "name": 1},
            "'name' must be a string, not int",
        ),
        (
            {"type": "tool_result", "tool_use_id": "1", "is_error": "no"},
            "'is_error' must be true or false, not 'no'",
        ),
        (
            {"type": "tool_result", "tool_use_id": "1", "error_type": "timeout"},
            "unknown error_type 'timeout'",
        ),
        ({"type": "user_action", "action": None}, "'action' must be a string, not None"),
        (
            {"type": "user_action", "action": "a", "details": "x"},
            "'details' must be a mapping, not str",
        ),
        ({"type": "system_event", "event": "a", "data": []}, "'data' must be a mapping, not list"),
        ({"type": "state_change", "key": True}, "'key' must be a string, not bool"),
        (
            {"type": "reasoning", "text": "x", "signature": 1},
            "'signature' must be a string, not int",
        ),
    ],
)
def test_the_wrong_key_is_named(data: object, what: str) -> None:
    """A value that a key cannot hold is an error that names the key."""
    assert what == error_of(data)


@pytest.mark.parametrize("depth", [1, 90])
def test_a_result_holds_no_result(depth: int) -> None:
    """A result in a result is refused, however deep."""
    data: dict[str, Any] = {"type": "tool_result", "tool_use_id": "1"}
    for _ in range(depth):
        data = {"type": "tool_result", "tool_use_id": "1", "content": [data]}
    assert "'content' of a 'tool_result' block contains a 'tool_result' block" == error_of(data)


# Round trips.


@given(blocks)
def test_any_block_is_read_as_it_was_written(block: Block) -> None:
    """The dictionary of any block reads as the block, also after JSON wrote and read it."""
    assert block == block_from_dict(block.to_dict())
    assert block == block_from_dict(json.loads(json.dumps(block.to_dict())))


@given(blocks)
def test_any_dictionary_is_written_as_it_was_read(block: Block) -> None:
    """What is read is written with the same keys and values, in the same order."""
    data = block.to_dict()
    assert json.dumps(data) == json.dumps(block_from_dict(data).to_dict())


@given(blocks)
def test_any_block_is_a_value(block: Block) -> None:
    """Any block has a hash, and is saved, copied and printed as an equal one."""
    saved = pickle.loads(pickle.dumps(block))
    assert (block, hash(block), repr(block)) == (saved, hash(saved), repr(saved))
    assert block == copy.copy(block) == copy.deepcopy(block)


KNOWN: list[dict[str, Any]] = [
    {"type": "text", "text": "x"},
    {"type": "image", "source": {"type": "url", "url": "https://x"}},
    {"type": "audio", "source": {"type": "base64", "data": "eA==", "media_type": "audio/wav"}},
    {"type": "document", "source": {"type": "path", "path": "x"}, "title": ""},
    {"type": "video", "source": {"type": "gcs", "uri": "gs://x"}},
    {"type": "tool_use", "id": "1", "name": "f", "input": {"b": 1, "a": [True]}},
    {"type": "tool_use", "id": "0", "name": "", "arguments": "{"},
    {"type": "tool_result", "tool_use_id": "1", "content": [{"type": "new"}], "is_error": True},
    {"type": "reasoning", "text": "", "signature": "s", "encrypted": "e", "origin": "o"},
    {"type": "user_action", "action": "a", "target": "t", "actor": "u", "details": {"k": [0]}},
    {"type": "state_change", "key": "k", "from": None, "to": False, "trigger": "t"},
    {"type": "system_event", "event": 1.5, "source": "s", "data": {"k": {}}},
    {"type": "json", "value": None},
    {"type": "code", "text": "x", "language": "py"},
    {"type": "new", "source": {"a": 1}, "text": 5},
]
HOSTILE = ["__class__", "__init__", "self", "extra", "", "Type", "type ", "\ud800", "a.b", "cls"]
strange = st.dictionaries(st.sampled_from(HOSTILE) | texts.map("x-".__add__), json_values)


@given(st.sampled_from(KNOWN), strange)
def test_unknown_keys_are_kept(data: dict[str, Any], further: dict[str, Any]) -> None:
    """Keys nobody knows are kept with their values, behind the others, in their order."""
    given = {**data, **further}
    assert json.dumps(given) == json.dumps(block_from_dict(given).to_dict())


@given(st.sampled_from(KNOWN[1:5]), extras)
def test_unknown_keys_of_a_source_are_kept(data: dict[str, Any], further: dict[str, Any]) -> None:
    """Keys of a source nobody knows are kept in it."""
    given = {**data, "source": {**data["source"], **further}}
    assert json.dumps(given) == json.dumps(block_from_dict(given).to_dict())


KEYS = sorted({key for data in KNOWN for key in data} | {"data", "path", "uri", "toolUseId", "old"})


@pytest.mark.hypothesis
def test_any_shape_is_read_or_refused() -> None:
    """Whatever stands under a key, the block is read, or refused with a :class:`DataError`."""
    keys = st.dictionaries(st.sampled_from(KEYS), anything, max_size=3)
    changed = st.builds(lambda data, keys: {**data, **keys}, st.sampled_from(KNOWN), keys)
    assert {"read", "refused"} == outcomes(read_or_refused, KNOWN[5], keys | changed, 200)


def read_or_refused(data: object) -> str:
    """Return whether a block was read; what was read has a dictionary that is read again."""
    try:
        block = block_from_dict(data)
    except DataError as error:
        return "refused" if error.what else "refused without a word"
    return "read" if block == block_from_dict(block.to_dict()) else "changed"


@pytest.mark.parametrize(
    "holding",
    [
        lambda deep: {"type": "text", "text": "x", "further": deep},
        lambda deep: {"type": "image", "source": {"type": "url", "url": "u", "further": deep}},
        lambda deep: {"type": "tool_use", "id": "1", "name": "f", "input": {"a": deep}},
        lambda deep: {"type": "user_action", "action": "a", "target": deep, "details": {"a": 1}},
        lambda deep: {"type": "user_action", "action": "a", "details": {"a": deep}},
        lambda deep: {"type": "state_change", "key": "k", "from": deep, "to": deep[0]},
        lambda deep: {"type": "system_event", "event": "e", "data": {"a": deep}},
        lambda deep: {"type": "json", "value": deep},
        lambda deep: {"type": "new", "value": deep},
        lambda deep: {
            "type": "tool_result",
            "tool_use_id": "1",
            "content": [{"type": "n", "a": deep[0]}],
        },
    ],
    ids=lambda holding: f"{holding(['x'])['type']}-{[*holding(['x'])][-1]}",
)
def test_deep_data_is_kept(holding: Callable[[Any], dict[str, Any]]) -> None:
    """Deep data is read, written, compared, printed, copied and saved; deeper data is refused."""
    data = holding(deep_list(197))
    block = block_from_dict(data)
    assert frozen_json(block.to_dict(), "") == frozen_json(data, "")
    assert block == block_from_dict(block.to_dict()) == pickle.loads(pickle.dumps(block))
    assert (hash(block), repr(block)) == (hash(copy.deepcopy(block)), repr(copy.copy(block)))
    assert " is nested deeper than 200 levels" in error_of(holding(deep_list(204)))


@pytest.mark.parametrize("text", ["[" * 20_000, '{"a":' * 10_000 + "1" + "}" * 10_000, "NaN", ""])
def test_the_text_of_a_call_survives(text: str) -> None:
    """JSON text of a call is kept to the byte, however deep, and whether it is JSON or not."""
    data = {"type": "tool_use", "id": "1", "name": "f", "input": text}
    block: Any = block_from_dict(data)
    again: Any = block_from_dict(block.to_dict())
    assert (text, text) == (block.arguments, again.arguments)


# Other ways to say it.

TOOL_USE = {"type": "tool_use", "id": "1", "name": "f", "input": {"a": 1}}
RESULT = {"type": "tool_result", "tool_use_id": "1"}
IMAGE = {"type": "image", "source": {"type": "url", "url": "u"}}


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ("x", {"type": "text", "text": "x"}),
        ({"type": "tool_use", "toolUseId": "1", "name": "f", "input": {"a": 1}}, TOOL_USE),
        ({**TOOL_USE, "toolUseId": "1"}, TOOL_USE),
        ({**TOOL_USE, "input": '{"a": 1}'}, TOOL_USE),
        ({**TOOL_USE, "arguments": '{"a": 1}'}, TOOL_USE),
        ({**TOOL_USE, "arguments": '{"a":1}'}, {**TOOL_USE, "arguments": '{"a":1}'}),
        ({"type": "tool_use", "id": "1", "name": "f", "arguments": '{"a": 1}'}, TOOL_USE),
        ({"type": "tool_result", "toolUseId": "1"}, RESULT),
        ({"type": "tool_result", "tool_call_id": "1", "tool_use_id": "1"}, RESULT),
        ({**RESULT, "content": "x"}, {**RESULT, "content": [{"type": "text", "text": "x"}]}),
        ({**RESULT, "content": ("x", TextBlock("y"))}, {
            **RESULT, "content": [{"type": "text", "text": "x"}, {"type": "text", "text": "y"}]
        }),
        ({**RESULT, "content": None, "is_error": False, "name": None}, RESULT),
        ({"type": "image", "url": "u"}, IMAGE),
        ({**IMAGE, "url": "u"}, IMAGE),
        ({"type": "image", "source": {"url": "u", "media_type": None}}, IMAGE),
        ({"type": "image", "path": "p"}, {
            "type": "image", "source": {"type": "path", "path": "p"}
        }),
        ({"type": "image", "data": "eA==", "media_type": "image/png"}, {
            "type": "image",
            "source": {"type": "base64", "data": "eA==", "media_type": "image/png"},
        }),
        ({"type": "document", "file_id": "f"}, {
            "type": "document", "source": {"type": "file_id", "file_id": "f"}
        }),
        ({"type": "video", "uri": "s3://b/k"}, {
            "type": "video", "source": {"type": "s3", "uri": "s3://b/k"}
        }),
        ({"type": "video", "uri": "gs://b/k"}, {
            "type": "video", "source": {"type": "gcs", "uri": "gs://b/k"}
        }),
        ({"type": "state_change", "key": "k", "old": 1, "new": None}, {
            "type": "state_change", "key": "k", "from": 1, "to": None
        }),
        ({"type": Liar("text"), "text": Liar("x"), Liar("k"): Liar("v")}, {
            "type": "text", "text": "x", "k": "v"
        }),
    ],
)  # fmt: skip
def test_it_can_be_said_otherwise(given: object, written: dict[str, Any]) -> None:
    """Of the ways to say a thing all are read and one is written."""
    assert json.dumps(written) == json.dumps(block_from_dict(given).to_dict())


@pytest.mark.parametrize(
    ("data", "what"),
    [
        ({**TOOL_USE, "toolUseId": "2"}, "'id' and 'toolUseId' contradict each other"),
        ({**TOOL_USE, "arguments": "{}"}, "'input' and 'arguments' contradict each other"),
        ({**TOOL_USE, "arguments": '{"a": true}'}, "'input' and 'arguments' contradict each other"),
        ({**TOOL_USE, "arguments": "{"}, "'input' and 'arguments' contradict each other"),
        (
            {**TOOL_USE, "input": "a", "arguments": "b"},
            "'input' and 'arguments' contradict each other",
        ),
        ({**RESULT, "tool_call_id": "2"}, "'tool_use_id' and 'tool_call_id' contradict each other"),
        (
            {"type": "tool_result", "toolUseId": "1", "tool_call_id": "2"},
            "'toolUseId' and 'tool_call_id' contradict each other",
        ),
        ({**IMAGE, "url": "v"}, "'source' and 'url' contradict each other"),
        ({**IMAGE, "path": "u"}, "'source' and 'path' contradict each other"),
        ({"type": "image", "url": "u", "path": "u"}, "'url' and 'path' contradict each other"),
        (
            {"type": "image", "source": {"type": "url", "url": "u", "data": ""}},
            "source: 'data' and 'url' contradict each other",
        ),
        (
            {"type": "state_change", "key": "k", "from": [1], "old": [True]},
            "'from' and 'old' contradict each other",
        ),
    ],
)
def test_contradictions(data: object, what: str) -> None:
    """One thing said in two ways that differ is an error that names both."""
    assert what == error_of(data)


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (5, "a block must be a dictionary or a string, not int"),
        ({}, "a block needs a 'type'"),
        ({"type": None}, "a block needs a 'type'"),
        ({"type": "text"}, "a 'text' block needs 'text'"),
        ({"type": Liar("code"), "txt": "x"}, "a 'code' block needs 'text'"),
        ({"type": Liar("image"), "text": "x"}, "an 'image' block needs 'source'"),
        ({"type": "image"}, "an 'image' block needs 'source'"),
        ({"type": "image", "source": "u"}, "'source' must be a mapping, not str"),
        ({"type": "image", "source": {}}, "source: unknown source None"),
        ({"type": "image", "source": {"type": "ftp"}}, "source: unknown source 'ftp'"),
        ({"type": "image", "media_type": "a/b"}, "unknown source None"),
        ({"type": "image", "path": b"x"}, "'path' is not a JSON value: bytes"),
        ({"type": "tool_use", "id": "1", "name": "f"}, "a 'tool_use' block needs 'input'"),
        ({**TOOL_USE, "input": [1]}, "'input' must be a mapping or its JSON text, not list"),
        ({**TOOL_USE, "input": None}, "'input' must be a mapping or its JSON text, not None"),
        ({**TOOL_USE, "arguments": {}}, "'arguments' must be a string, not dict"),
        ({**TOOL_USE, "input": {"a": [b""]}}, "'input.a[0]' is not a JSON value: bytes"),
        ({"type": "text", "text": "x", 1: 2}, "a key must be a string, not int"),
        (
            {"type": "text", "text": "x", "k": {"n": {2: 1}}},
            "a key of 'k.n' must be a string, not int",
        ),
        ({"type": "new", "a": TextBlock("x")}, "'a' is not a JSON value: TextBlock"),
        ({"type": "new", "a": float("nan")}, "'a' is not a JSON value: nan"),
        ({**RESULT, "content": 5}, "'content' must be a string or a list of blocks, not int"),
        ({**RESULT, "content": ["x", {"type": "text"}]}, "content[1]: a 'text' block needs 'text'"),
        (
            {**RESULT, "content": ["x", {"type": "image", "source": {"url": 1}}]},
            "content[1].source: a 'url' source needs 'url', a string",
        ),
        (
            {**RESULT, "content": [{"type": "new", "a": [b""]}]},
            "'content[0].a[0]' is not a JSON value: bytes",
        ),
        ({"type": "reasoning", "text": None}, "'text' must be a string, not None"),
        ({"type": "text", "text": "x", "cache": True}, "'cache' must be a string, not bool"),
        ({"type": "system_event", "event": True}, "'event' must be a string, not bool"),
        ({**RESULT, "is_error": [1] * 99}, "'is_error' must be true or false, not list"),
    ],
)
def test_what_is_refused(data: object, what: str) -> None:
    """What cannot be read is an error that names the key, and the path to it."""
    assert what == error_of(data)


def test_a_missing_key_with_a_near_miss() -> None:
    """A key that is missing, and one that may be meant, is named; else an example is given."""
    whole = {"type": "tool_result", "tool_use_idd": "1"}
    fixes = [caught_fix(data) for data in (whole, {"type": "code", "language": "py"})]
    assert [
        "'tool_use_idd' should be 'tool_use_id'",
        'write {"type": "code", "text": ...}',
    ] == fixes


def caught_fix(data: object) -> str:
    """Return what is advised about a block in dictionary form."""
    with pytest.raises(DataError) as caught:
        block_from_dict(data)
    return caught.value.fix


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, ()),
        ("", ()),
        ([], ()),
        (Liar("x"), (TextBlock("x"),)),
        (["x", TextBlock("y"), {"type": "text", "text": "z"}], tuple(map(TextBlock, "xyz"))),
    ],
)
def test_contents(value: object, expected: tuple[Block, ...]) -> None:
    """A content is nothing, a string, or a list of strings, blocks and dictionaries."""
    assert expected == contents(value)


def test_blocks_are_kept_as_they_are() -> None:
    """A tuple of blocks is the content itself, a block is what it is read as."""
    given = (TextBlock("x"),)
    assert (True, True) == (contents(given) is given, block_from_dict(given[0]) is given[0])
