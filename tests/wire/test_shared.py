"""What adapters share: names, marks, tools, and what is read."""

import json
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from promptdsl import *
from tests.errors import raised
from tests.internals import TARGETS, facts_for, fresh, json_copy, located, mapping, required

SIDES = ["anthropic", "gemini", "bedrock"]
STRICT = [*SIDES, "openai", "openai_responses"]
MODELS = {"anthropic": "claude-opus-5", "openai": "gpt-5.6-sol"}
ASK = Message("user", "Hi.")
SCHEMA = {"type": "object", "properties": {}}


def write(provider: str, *messages: Message, tools: tuple[ToolDefinition, ...] = ()) -> Any:
    """Return payload and losses of a prompt."""
    facts = facts_for(MODELS.get(provider), provider)
    return TARGETS[provider].write(Prompt(messages, tools), facts)


def why(provider: str, *messages: Message, tools: tuple[ToolDefinition, ...] = ()) -> list[str]:
    """Return why marks are lost."""
    losses = write(provider, *messages, tools=tools)[1]
    return [loss.why for loss in losses if loss.what == "cache mark"]


# Trailing answers.


@pytest.mark.parametrize(
    ("provider", "model"),
    [("anthropic", "claude-opus-4-5"), ("bedrock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0")],
)
def test_a_marked_answer_that_is_trimmed(provider: str, model: str) -> None:
    """A cache mark stays behind an answer whose trailing white space goes."""
    messages = (ASK, Message("assistant", (TextBlock("It is ", "default"),)))
    payload, losses = TARGETS[provider].write(Prompt(messages), facts_for(model, provider))
    content = str(payload["messages"][-1]["content"])
    assert (True, True) == (
        "'It is'" in content,
        "'ephemeral'" in content or "cachePoint" in content,
    )
    assert ["trailing white space"] == [loss.what for loss in losses]


# Names.


def tool(name: str) -> ToolDefinition:
    """Return a tool that takes nothing."""
    return ToolDefinition(name, input_schema=SCHEMA)


def names(*tool_names: str) -> list[str]:
    """Return the names that tools are sent with to Anthropic."""
    payload, _ = write("anthropic", ASK, tools=tuple(map(tool, tool_names)))
    return [param["name"] for param in payload["tools"]]


@pytest.mark.parametrize(
    ("defined", "expected"),
    [
        (("a",), ["a"]),
        (("a.b", "a_b"), ["a_b_2", "a_b"]),
        (("a b", "a.b", "a_b"), ["a_b_2", "a_b_3", "a_b"]),
        (("x" * 200, "x" * 128), ["x" * 126 + "_2", "x" * 128]),
        (("",), ["_"]),
    ],
)
def test_names(defined: tuple[str, ...], expected: list[str]) -> None:
    """A name that may be sent is kept; what others are mended to is taken by nobody else."""
    assert expected == names(*defined)


@given(st.lists(st.text("a.b_ é", min_size=1, max_size=4), unique=True, min_size=1, max_size=8))
def test_no_two_tools_have_one_name(defined: list[str]) -> None:
    """Whatever tools are called, their names stay apart."""
    assert len(defined) == len({*names(*defined)})


@pytest.mark.parametrize("provider", STRICT)
def test_calls_have_the_name_of_their_tool(provider: str) -> None:
    """A name is mended in the definition and in every call alike."""
    call = Message("assistant", [ToolUseBlock("i", "a b", "{}")])
    result = Message("tool", [ToolResultBlock("i", (TextBlock("r"),))])
    payload, _ = write(provider, ASK, call, result, tools=(tool("a b"),))
    assert 2 <= str(payload).count("'a_b'")
    assert "a b" not in str(payload)


def ids(count: int) -> list[Message]:
    """Return calls whose ids have one beginning, longer than any provider takes."""
    return [
        message
        for n in range(count)
        for message in (
            Message("assistant", [ToolUseBlock("x" * 99 + str(n), "t", "{}")]),
            Message("tool", [ToolResultBlock("x" * 99 + str(n), (TextBlock("r"),))]),
        )
    ]


@pytest.mark.parametrize("provider", SIDES)
def test_ids_that_begin_alike(provider: str) -> None:
    """Many ids that are cut to the same text all get one of their own."""
    payload, _ = write(provider, ASK, *ids(300))
    payload_ids = {text for text in map(str, _strings(payload)) if text.startswith("xxx")}
    assert 300 == len(payload_ids)


def _strings(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [text for inner in value.values() for text in _strings(inner)]
    if isinstance(value, list):
        return [text for inner in value for text in _strings(inner)]
    return [value]


# Marks.


def text(content: str, cache: Any = "default") -> Message:
    """Return a user's message with a mark behind it."""
    return Message("user", [TextBlock(content, cache)])


HOUR, FIVE = "1h", "5m"


@pytest.mark.parametrize(
    ("messages", "reasons"),
    [
        ([text(n) for n in "abcd"], []),
        ([text(n) for n in "abcde"], ["a request carries 4"]),
        (
            [text("a", FIVE), text("b", HOUR)],
            ["it lives for an hour, since five minutes may not come before an hour"],
        ),
        ([text("a", HOUR), text("b", FIVE)], []),
        (
            [Message("user", "x", kind="request"), text("a")],
            ["it is after grounding, which the next request does not have"],
        ),
        ([Message("user", [TextBlock(" ", "5m")])], ["the block before it is not sent"]),
    ],
)
def test_why_a_mark_is_lost(messages: list[Message], reasons: list[str]) -> None:
    """A hint says which rule a mark breaks."""
    assert reasons == why("anthropic", *messages)


def test_no_hour_at_openai() -> None:
    """Where a mark has no length, those that cover most are kept, whatever they ask for."""
    messages = [text("a", HOUR), *(text(n) for n in "bcde")]
    payload, _ = write("openai", *messages)
    assert [False, True, True, True, True] == [
        isinstance(message["content"], list) for message in payload["messages"]
    ]


# Tools.


@pytest.mark.parametrize("provider", STRICT)
def test_a_lone_surrogate_in_a_tool(provider: str) -> None:
    """What has no UTF-8 form in a tool is a hint, with its line."""
    source_line = Source("prompt.py", 7)
    odd = ToolDefinition("t", "\ud800", SCHEMA, at=source_line)
    (loss,) = write(provider, ASK, tools=(odd,))[1]
    assert ("hint", "a lone surrogate in tool 't'", source_line) == (
        loss.kind,
        loss.what,
        loss.source,
    )


def test_a_tool_too_deep_to_be_sent() -> None:
    """A schema of more than 200 levels is refused by name as a tool is made."""
    error = raised(DataError, lambda: ToolDefinition("t", input_schema=deep_schema(100)))
    assert error.what.endswith("is nested deeper than 200 levels")


@pytest.mark.parametrize("provider", ["anthropic", "bedrock"])
def test_a_tool_at_the_limit_of_levels(provider: str) -> None:
    """The levels that a payload adds around a schema do not count."""
    tool = ToolDefinition("t", input_schema=deep_schema(99), at=Source("prompt.py", 7))
    assert () == write(provider, ASK, tools=(tool,))[1]


@pytest.mark.parametrize(
    ("provider", "model"),
    [
        ("openai", "gpt-5"),
        ("openai_responses", "gpt-5"),
        ("anthropic", "claude-opus-5"),
        ("gemini", "gemini-2.5-pro"),
        ("bedrock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0"),
    ],
)
def test_a_deep_output_is_sent(provider: Any, model: str) -> None:
    """A deep schema of an answer is sent; one of more than 200 levels is refused by name."""
    prompt = Prompt((ASK,), output=OutputSchema(deep_schema(90)))
    payload = json.dumps(render(prompt, provider=provider, model=model).payload())
    assert 90 == payload.replace("\\", "").count('"a": ')
    error = raised(DataError, lambda: OutputSchema(deep_schema(100)))
    assert error.what.endswith("is nested deeper than 200 levels")


def deep_schema(depth: int) -> dict[str, Any]:
    """Return the schema of an object in an object, so many levels deep."""
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(depth):
        deep = {"type": "object", "properties": {"a": deep}}
    return deep


# Unknown blocks.

UNKNOWN = {
    "anthropic": {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
    "gemini": {"executable_code": {"code": "1", "language": "PYTHON"}},
    "bedrock": {"guardContent": {"text": {"text": "x"}}},
    "openai_responses": {"type": "web_search_call", "id": "ws_1", "status": "completed"},
    "openai": {"type": "chat_audio", "audio": {"id": "audio_1"}},
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("origin", UNKNOWN)
def test_a_block_of_another_provider(origin: str, target: str) -> None:
    """A block that only its provider knows goes back there, and is a loss everywhere else."""
    answer = Message("assistant", [UnknownBlock(UNKNOWN[origin], origin), TextBlock("a")])
    prompt = Prompt((ASK, answer, Message("user", "b")))
    payload, losses = TARGETS[target].write(prompt, facts_for(None, target))
    lost = ["content"] == [loss.kind for loss in losses if loss.message is answer]
    assert lost == (origin != target)
    assert str(UNKNOWN[origin]) not in str(payload) or origin == target


# Reading.


class Answer(BaseModel):
    """An object that can say itself as data."""

    said: str = "x"


def test_an_object_is_a_mapping() -> None:
    """The objects of SDKs are read as what they say of themselves."""
    assert {"said": "x"} == mapping(Answer())


@pytest.mark.parametrize("value", [None, "x", 1, [1], object(), Answer])
def test_no_mapping(value: object) -> None:
    """What is no mapping, a class of one among it, is refused by its type."""
    with pytest.raises(DataError, match="a dictionary is needed, not"):
        mapping(value)


@pytest.mark.parametrize(
    ("entries", "types", "what"),
    [
        ({}, str, "'a' is needed"),
        ({"a": 1}, str, "'a' must be a string, not int"),
        ({"a": None}, list, "'a' must be a list, not NoneType"),
    ],
)
def test_an_entry_that_is_none(entries: Any, types: type, what: str) -> None:
    """An entry that is missing, or of another type, is named."""
    with pytest.raises(DataError) as caught:
        required(entries, "a", types)
    assert what == caught.value.what


def test_an_error_names_its_place() -> None:
    """What is wrong inside names where it stands."""
    with pytest.raises(DataError, match=r"messages\[0\]: a dictionary is needed"):
        located("messages[0]", mapping, 1)


def test_a_copy_is_a_copy() -> None:
    """A copy shares nothing with what it was made of."""
    data = {"a": [1]}
    copy = json_copy(data)
    copy["a"].append(2)
    assert {"a": [1]} == data


# Fast paths.

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def containers(value: Any) -> list[Any]:
    """Return all lists and dictionaries of data."""
    inner = [*value.values()] if isinstance(value, dict) else value
    below = [
        container
        for item in inner
        if isinstance(item, dict | list)
        for container in containers(item)
    ]
    return [value, *below]


@given(st.dictionaries(st.text(), JSON))
def test_a_fast_copy_is_a_deep_copy(payload: dict[str, Any]) -> None:
    """The fast copy is the copy of ``copy.deepcopy``: equal, and no container is shared."""
    copied = fresh(payload)
    shared = {id(part) for part in containers(copied)} & {id(part) for part in containers(payload)}
    assert (deepcopy(payload), set()) == (copied, shared)


CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
USUAL = [
    {"role": "user", "content": "Hi."},
    {"role": "assistant", "content": "Hello."},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "assistant", "content": "I look.", "tool_calls": [CALL, {**CALL, "id": "d"}]},
    {"role": "tool", "tool_call_id": "c", "content": "ok"},
    {"role": "tool", "tool_call_id": "c", "content": "ok", "name": "f"},
]


@pytest.mark.parametrize("message", USUAL, ids=lambda message: str([*message]))
def test_usual_messages_are_read_fast(message: dict[str, Any]) -> None:
    """A message with a further key is read the long way, and says the same beside this key."""
    read = TARGETS["openai"].read
    (further,), (usual,) = read([{**message, "further": 1}]).messages, read([message]).messages
    assert further == usual.replace(extra={"further": 1})


@pytest.mark.parametrize("message", USUAL, ids=lambda message: str([*message]))
def test_usual_messages_are_written_fast(message: dict[str, Any]) -> None:
    """A message whose id is noted is written the long way, as the same bytes."""
    (usual,) = TARGETS["openai"].read([message]).messages
    tools = (ToolDefinition("f"),)
    noted = usual.replace(id="noted")
    payloads = [write("openai", conversation, tools=tools)[0] for conversation in (usual, noted)]
    assert payloads[0] == payloads[1]
