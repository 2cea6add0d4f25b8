"""Tests of the tokens of a message."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from tests.internals import (
    ROLES,
    Role,
    block_tokens,
    facts_for,
    has_media,
    message_tokens,
    output_tokens,
    tool_tokens,
    tools_frame,
)
from tests.providers.conversations import CONVERSATIONS, FORM, LOOK_UP, PNG, SEARCH, media, say
from tests.tokens.oracle import FREE, NO_MODEL

TEXTS = st.text(max_size=20)


@given(st.sampled_from(ROLES), TEXTS)
def test_a_message_of_one_text(role: Role, text: str) -> None:
    """It is its role and text, and 3."""
    message = Message(role, [{"type": "tool_result", "tool_use_id": "a", "content": text}])
    plain = message if role == "tool" else Message(role, text)
    assert 3 + len(role) + len(text) == message_tokens(plain, FREE, NO_MODEL)


def test_a_name_counts_with_one_beside_it() -> None:
    """The frame of a speaker's name is 1."""
    message = say("user", "Hello.", name="ada")
    assert 3 + 4 + 1 + 3 + 6 == message_tokens(message, FREE, NO_MODEL)


@pytest.mark.parametrize(
    ("block", "tokens"),
    [
        (TextBlock("Hello.", "default", {"citations": [1]}), 6),
        (ToolUseBlock("call_1", "look_up", '{"q": 1}'), 7 + 8),
        (ToolResultBlock("call_1", (TextBlock("rain"),), "look_up"), 4 + 7),
        (ToolResultBlock("call_1", (TextBlock("no"),), None, True, "timeout_error"), 2 + 7 + 13),
        (ToolResultBlock("call_1", (ImageBlock(media("base64", PNG)),)), 1),
        (ReasoningBlock("Hm.", "c2ln", "ZW5j", "anthropic"), 3),
        (JsonBlock({"a": [1, "<"]}), len(r'{"a": [1, "\u003c"]}')),
        (CodeBlock("x = 1", "python"), len("```python\nx = 1\n```")),
        (UnknownBlock({"type": "hologram", "data": [1]}), len('{"data":[1]}')),
        (UnknownBlock({"type": "hologram", "id": "x"}), 0),
        (UserActionBlock("left", "page"), len('{"action":"left","target":"page"}')),
        (SystemEventBlock("woke"), len('{"event":"woke"}')),
        (ImageBlock(media("base64", PNG)), 1),
        (ImageBlock(media("url", f"data:image/png;base64,{PNG}"), "A dot"), 5 + 1),
        (ImageBlock(media("url", "https://example.org/a.png")), 4761),
        (ImageBlock(media("file_id", "file-1")), 4761),
        (DocumentBlock(media("base64", "SGVsbG8=", "text/plain"), "Greeting"), 8 + 5),
    ],
)
def test_blocks(block: Block, tokens: int) -> None:
    """Each block counts what it says; ids, marks, signatures and encrypted text say nothing."""
    assert tokens == block_tokens(block, FREE, NO_MODEL)


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_a_message_is_its_frame_and_its_blocks(name: str) -> None:
    """What many blocks cost is what each costs."""
    expected = [
        3
        + len(said.role)
        + (1 + len(said.name) if said.name else 0)
        + sum(block_tokens(block, FREE, NO_MODEL) for block in said.content)
        for said in CONVERSATIONS[name]
    ]
    assert expected == [message_tokens(said, FREE, NO_MODEL) for said in CONVERSATIONS[name]]


def test_details_that_are_no_name_count_nothing() -> None:
    """Ids and metadata are never sent."""
    said = Message("user", "Hello.", id="one", metadata={"a": 1})
    assert 3 + 4 + 6 == message_tokens(said, FREE, NO_MODEL)


def test_detail_is_what_the_model_is_asked_for() -> None:
    """A picture at low detail is one of low detail."""
    block = ImageBlock(media("base64", PNG), detail="low")
    assert 85 == block_tokens(block, FREE, facts_for("gpt-4o", None))


@pytest.mark.parametrize(
    ("name", "has"),
    [
        ("one question", [False]),
        ("media", [True]),
        ("media in other roles", [True, False, True, True, True]),
    ],
)
def test_whether_anything_is_attached(name: str, has: list[bool]) -> None:
    """An attachment in a result is one too."""
    assert has == [has_media(said) for said in CONVERSATIONS[name]]


def deep(depth: int) -> dict[str, Any]:
    """Return data that is nested so deep."""
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"a": value}
    return value


def test_deep_unknown_blocks() -> None:
    """The text of deep data is the JSON that would be written."""
    block = UnknownBlock({"type": "x", **deep(199)})
    assert block_tokens(block, FREE, NO_MODEL) >= 199 * len('{"a":}')


def test_bytes_in_an_unknown_block_are_a_picture() -> None:
    """They are never counted letter by letter."""
    block = UnknownBlock({"type": "screenshot", "image": f"data:image/png;base64,{PNG}"})
    assert 1 + len('{"image":""}') == block_tokens(block, FREE, NO_MODEL)


def test_two_pictures_in_an_unknown_block() -> None:
    """Each of them counts."""
    image = f"data:image/png;base64,{PNG}"
    block = UnknownBlock({"type": "screenshot", "a": image, "b": image})
    assert 2 + len('{"a":"","b":""}') == block_tokens(block, FREE, NO_MODEL)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(-1e9, 1e9) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["a", "b", "name", "text"]), JSON, max_size=4))
def test_any_unknown_block_counts(data: dict[str, Any]) -> None:
    """Never more than its whole JSON, never an error."""
    block = UnknownBlock({"type": "hologram", **data})
    assert block_tokens(block, FREE, NO_MODEL) <= len(json.dumps(data, ensure_ascii=False))


def test_a_tool_is_its_name_description_and_schema() -> None:
    """And 7 around it, as OpenAI's own example has it."""
    schema = json.dumps(dict(LOOK_UP.input_schema), separators=(",", ":"))
    expected = 7 + len("look_up") + len("Look something up.") + len(schema)
    assert expected == tool_tokens(LOOK_UP, FREE)


@pytest.mark.parametrize(
    ("tool", "tokens"),
    [
        (ToolDefinition("go"), 7 + 2 + 2),
        (SEARCH, 7),
        (
            ToolDefinition("s", raw={"type": "web_search", "filters": {"a": 1}}, origin="x"),
            7 + len('{"filters":{"a":1}}'),
        ),
    ],
)
def test_tools_of_every_shape(tool: ToolDefinition, tokens: int) -> None:
    """A tool of the provider counts what is said of it; what it says itself nobody knows."""
    assert tokens == tool_tokens(tool, FREE)


def test_the_form_of_an_answer_is_its_schema() -> None:
    """With its name and description, and 12 around it."""
    schema = json.dumps(dict(FORM.schema), separators=(",", ":"))
    expected = 12 + len("city") + len("Where it is.") + len(schema)
    assert (expected, 12 + 6 + 2) == (
        output_tokens(FORM, FREE),
        output_tokens(OutputSchema({}), FREE),
    )


@pytest.mark.parametrize(
    ("model", "provider", "tokens"),
    [
        ("gpt-5", None, 12),
        (None, None, 12),
        ("gemini-3.1-pro", None, 12),
        ("claude-3-opus-20240229", None, 530),
        ("claude-sonnet-4-20250514", None, 346),
        ("claude-opus-4-1", None, 346),
        ("us.anthropic.claude-haiku-4-5-20251001-v1:0", "bedrock", 589),
        ("claude-opus-4-6", None, 589),
        ("claude-opus-4-7", None, 804),
        ("claude-opus-4-8", None, 410),
        ("claude-sonnet-5", None, 474),
        ("claude-sonnet-5-5", None, 804),
        (None, "anthropic", 804),
        ("amazon.nova-lite-v1:0", None, 12),
    ],
)
def test_what_stands_around_tools(model: str | None, provider: str | None, tokens: int) -> None:
    """Claude is told how to use tools, in as many tokens as Anthropic's documentation has."""
    assert tokens == tools_frame(facts_for(model, provider))
