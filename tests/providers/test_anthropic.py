"""Anthropic Messages, written and read."""

import json
from functools import partial
from typing import Any

import attrs
import pytest
from hypothesis import given

from promptdsl import *
from tests.errors import raised
from tests.internals import read_anthropic as read
from tests.internals import write_anthropic as write
from tests.providers.conversations import (
    ASK,
    PNG,
    answer,
    call,
    heard,
    marked,
    media,
    say,
    unopened,
    whole,
)
from tests.providers.every_target import MADE_FACTS, lost_of
from tests.providers.strategies import conversations_of

ABLE = MADE_FACTS["anthropic instructed"]
BINDING = MADE_FACTS["anthropic binding"]
OLDER = MADE_FACTS["anthropic prefilled"]
UNWRITTEN = MADE_FACTS["anthropic bare"]

typed = pytest.mark.sdk("anthropic")
NO_TOOLS = "there are no tools"
MARK = {"cache_control": {"type": "ephemeral"}}
HOUR = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
PICTURE = ImageBlock(media("base64", PNG, "image/png"))
OPENED = ("user", [{"type": "text", "text": "."}])
"""The user's turn before a model that speaks first."""


def payload_turns(*messages: Message, facts: ModelFacts = ABLE) -> list[Any]:
    """Return the turns as (role, blocks), losses and what opens a conversation aside."""
    turns = write(whole(messages), facts)[0]["messages"]
    return unopened(((turn["role"], turn["content"]) for turn in turns), OPENED)


lost = partial(lost_of, facts=ABLE)


def text(part: str, **keys: Any) -> dict[str, Any]:
    """Return a text block on the wire."""
    return {"type": "text", "text": part, **keys}


def use(id: str, name: str = "look_up", **input: Any) -> dict[str, Any]:
    """Return a call on the wire."""
    return {"type": "tool_use", "id": id, "name": name, "input": input or {"q": "x"}}


def result(id: str, *parts: str, **keys: Any) -> dict[str, Any]:
    """Return a result on the wire."""
    return {
        "type": "tool_result",
        "tool_use_id": id,
        "content": [text(part) for part in parts],
        **keys,
    }


# Turns.


EVENT = say("developer", "<event>\nx\n</event>", kind="event")
REQUEST = say("developer", "<context>\nx\n</context>", kind="request")
RULE = say("developer", "Use feet.")
HELLO = say("user", "Hello.")


# Tools.


def test_marks_before_a_result() -> None:
    """A result has the marks inside it, and leaves those before it where they are."""
    results = say("tool", ToolResultBlock("b", (marked("x", "5m"),)), ToolResultBlock("c", "y"))
    wire = payload_turns(
        say("user", marked("q", "1h")), say("assistant", call("b"), call("c")), results
    )
    five = {"cache_control": {"type": "ephemeral", "ttl": "5m"}}
    assert [
        ("user", [text("q", **HOUR)]),
        ("assistant", [use("b"), use("c")]),
        ("user", [result("b", "x", **five), result("c", "y")]),
    ] == wire


# Media and reasoning.


def source(**keys: str) -> dict[str, Any]:
    """Return an image on the wire."""
    return {"type": "image", "source": keys}


def document(title: str | None = None, **keys: str) -> dict[str, Any]:
    """Return a document on the wire."""
    return {"type": "document", "source": keys, **({"title": title} if title else {})}


SIGNED = ReasoningBlock("Hm.", signature="c2ln", origin="anthropic")
THINKING = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
REDACTED = ReasoningBlock("", encrypted="ZW5j", origin="anthropic")


@pytest.mark.parametrize(
    ("index", "extra", "are_sent"),
    [
        pytest.param(0, (), [True, True], id="nothing request-only"),
        pytest.param(0, (REQUEST,), [False, True], id="at the start"),
        pytest.param(2, (REQUEST,), [False, True], id="before the last user turn"),
        pytest.param(3, (REQUEST,), [False, False], id="behind the last user turn"),
        pytest.param(5, (REQUEST,), [False, False], id="behind the open loop"),
        pytest.param(5, (EVENT,), [True, True], id="an event is part of the conversation"),
    ],
)
def test_bound_reasoning(index: int, extra: tuple[Message, ...], are_sent: list[bool]) -> None:
    """Request-only content drops the reasoning that is bound to bytes it changes."""
    turns = [HELLO, say("assistant", SIGNED, "Rain."), HELLO]
    turns += [say("assistant", SIGNED, call("a")), answer("a", "x")]
    wire = payload_turns(*turns[:index], *extra, *turns[index:], facts=BINDING)
    assert are_sent == [THINKING in blocks for role, blocks in wire if role == "assistant"]


def test_bound_redacted_reasoning() -> None:
    """Reasoning that the service encrypted is bound to the bytes before it, too."""
    answer_message = say("assistant", REDACTED, "Rain.")
    wire = [
        payload_turns(HELLO, answer_message, REQUEST, HELLO, facts=facts)[1][1]
        for facts in (ABLE, BINDING)
    ]
    encrypted = {"type": "redacted_thinking", "data": "ZW5j"}
    assert [[encrypted, text("Rain.")], [text("Rain.")]] == wire


def test_reasoning_without_a_question() -> None:
    """Without a user turn, request-only content drops all reasoning of a model that binds it."""
    wire = payload_turns(say("assistant", SIGNED, "Rain."), REQUEST, facts=BINDING)
    assert ("assistant", [text("Rain.")]) == wire[0]


# What is lost.

MENDED = UnknownBlock({"type": "hologram", "data": [1]}, "anthropic")


BLANK = "hint: text block: it is only white space, so it is left out"
UNSIGNED = "hint: reasoning: not signed by this provider"
REPLACED = "UTF-8 cannot encode it, so U+FFFD is sent"
UNTAKEN = "its source or its media type is not taken"


@pytest.mark.parametrize(
    ("messages", "facts", "losses"),
    [
        pytest.param(
            [say("user", "x", name="Ada")],
            ABLE,
            ["hint: name of a speaker: the target takes no speaker's name"],
            id="a name",
        ),
        pytest.param([say("user", " "), HELLO], ABLE, [BLANK], id="white space alone"),
        pytest.param([say("user", " ", "x")], ABLE, [BLANK], id="white space beside a text"),
        pytest.param(
            [say("user", marked(""), "x")],
            ABLE,
            ["hint: cache mark: the block before it is not sent"],
            id="an empty text with a mark",
        ),
        pytest.param(
            [say("user", TextBlock("x", extra={"own": 1, "citations": []}))],
            ABLE,
            [
                "hint: key 'own': the target takes no such key on a block of type text",
                "hint: key 'citations': the target takes no such key on a block of type text",
            ],
            id="keys",
        ),
        pytest.param(
            [say("user", PICTURE, "x")],
            ModelFacts(provider="anthropic"),
            ["content: image block: this model takes no image"],
            id="a picture a model does not take",
        ),
        pytest.param(
            [
                say(
                    "user",
                    AudioBlock(media("base64", "", "audio/wav")),
                    ImageBlock(media("url", "ftp://e.org/a.png")),
                    DocumentBlock(media("base64", "e30=")),
                    DocumentBlock(media("base64", "iVA=", "image/png")),
                    DocumentBlock(media("s3", "SGVsbG8=", "text/plain")),
                    "x",
                )
            ],
            ABLE,
            [
                "content: audio block: the target takes no such block in a user message",
                f"content: image (url): {UNTAKEN}",
                f"content: document (base64): {UNTAKEN}",
                f"content: document (base64, image/png): {UNTAKEN}",
                f"content: document (s3, text/plain): {UNTAKEN}",
            ],
            id="media that are not taken",
        ),
        pytest.param(
            [say("user", ImageBlock(media("file_id", "f"), title="Dot", detail="low"))],
            ABLE,
            [
                "hint: title: image blocks have no title",
                "hint: detail: image blocks have no detail",
            ],
            id="the title and the detail of a picture",
        ),
        pytest.param(
            [
                say(
                    "user",
                    DocumentBlock(media("url", "https://\ud800"), title="\udc00", detail="low"),
                )
            ],
            ABLE,
            [
                f"hint: a lone surrogate in the url of the document: {REPLACED}",
                f"hint: a lone surrogate in a title: {REPLACED}",
                "hint: detail: document blocks have no detail",
            ],
            id="lone surrogates, and the detail of a document",
        ),
        pytest.param(
            [
                HELLO,
                say(
                    "assistant",
                    ReasoningBlock("x"),
                    ReasoningBlock("\ud800", "s", origin="gemini"),
                    ReasoningBlock("x", "", "", origin="anthropic"),
                    *("y", PICTURE, ToolResultBlock("a")),
                ),
                HELLO,
            ],
            ABLE,
            [
                *[UNSIGNED] * 3,
                "content: image block: the target takes no such block in an assistant message",
                "content: tool_result block: the target takes no such block in an assistant "
                "message",
            ],
            id="what a model did not say",
        ),
        pytest.param(
            [
                HELLO,
                say(
                    "assistant",
                    ReasoningBlock("\ud800", "s", origin="anthropic"),
                    ReasoningBlock("x", "\ud800", origin="anthropic"),
                    ReasoningBlock("", encrypted="\ud800", origin="anthropic"),
                    "y",
                ),
                HELLO,
            ],
            ABLE,
            ["hint: reasoning: it has a lone surrogate, which cannot be sent"] * 3,
            id="reasoning with a lone surrogate",
        ),
        pytest.param(
            [
                HELLO,
                say("assistant", SIGNED, REDACTED, ReasoningBlock("x"), "y"),
                say("user", "Now.", kind="request"),
            ],
            BINDING,
            [
                *["hint: reasoning: grounding changed the content before it"] * 2,
                UNSIGNED,
            ],
            id="bound reasoning",
        ),
        pytest.param(
            [HELLO, say("assistant", call("a")), answer("a", PICTURE, is_error=True)],
            ABLE,
            [
                "hint: image in a tool result: the target takes none there, so it is sent in the "
                "next user message",
                "hint: there are no tools: a conversation with calls needs its tools: "
                "add them with Tool(...)",
            ],
            id="a picture in an error, and no tools",
        ),
    ],
)
def test_words_of_losses(messages: list[Message], facts: ModelFacts, losses: list[str]) -> None:
    """A loss says what is lost, and why."""
    assert losses == [str(loss) for loss in write(whole(messages), facts)[1]]


def test_reasoning_behind_what_a_budget_took() -> None:
    """Reasoning that is bound to what a budget took says so."""
    prompt = Prompt((HELLO, say("assistant", SIGNED, "Rain."), HELLO), untrimmed_from=3)
    assert ["hint: reasoning: a budget changed the content before it"] == [
        str(loss) for loss in write(prompt, BINDING)[1]
    ]


NONE = "this model takes no instructions here, so the text is sent in a user message"


@given(turns=conversations_of("anthropic"))
def test_no_able_model_takes_none(turns: tuple[Message, ...]) -> None:
    """For any conversation, a model with native instructions is never said to take none."""
    assert NONE not in {loss.why for loss in write(whole(turns), ABLE)[1]}


# Reading.


@pytest.mark.parametrize(
    ("data", "messages"),
    [
        ([], ()),
        ({"messages": [], "system": ""}, ()),
        (
            {"system": "One.", "messages": [{"role": "user", "content": "Two."}]},
            (heard("system", "One."), heard("user", "Two.")),
        ),
        (
            {"system": [text("One.", **HOUR)], "messages": []},
            (heard("system", marked("One.", "1h")),),
        ),
        (
            [{"role": "system", "content": [text("Use feet.", **MARK)]}],
            (say("developer", marked("Use feet."), kind="recorded_system"),),
        ),
        ([{"role": "user", "content": []}], (heard("user"),)),
        (
            [{"role": "user", "content": [result("a", "x"), result("b"), text("And?")]}],
            (
                heard("tool", ToolResultBlock("a", (TextBlock("x"),))),
                heard("tool", ToolResultBlock("b")),
                heard("user", "And?"),
            ),
        ),
        (
            [{"role": "user", "content": [{**result("a"), "content": "x", "is_error": True}]}],
            (heard("tool", ToolResultBlock("a", (TextBlock("x"),), is_error=True)),),
        ),
        (
            [{"role": "user", "content": [text("x"), result("a")]}],
            (heard("user", "x", ToolResultBlock("a")),),
        ),
        (
            [{"role": "assistant", "content": [THINKING, use("a", q="é")]}],
            (heard("assistant", SIGNED, call("a", arguments='{"q": "é"}')),),
        ),
        (
            [{"role": "assistant", "content": [{"type": "redacted_thinking", "data": "ZW5j"}]}],
            (heard("assistant", REDACTED),),
        ),
        (
            [
                {
                    "role": "user",
                    "content": [document(type="text", data="é", media_type="text/plain")],
                }
            ],
            (heard("user", DocumentBlock(MediaSource("base64", "w6k=", "text/plain"))),),
        ),
        (
            [{"role": "user", "content": [{"type": "hologram", "data": [1]}]}],
            (heard("user", attrs.evolve(MENDED, origin="anthropic")),),
        ),
        (
            [{"role": "assistant", "content": [{"type": "audio", "url": "x"}]}],
            (heard("assistant", UnknownBlock({"type": "audio", "url": "x"}, "anthropic")),),
        ),
    ],
)
def test_read(data: object, messages: tuple[Message, ...]) -> None:
    """A payload is read as recorded messages, results as tool messages of their own."""
    assert messages == read(data).messages


@typed
def test_read_an_object_of_the_sdk() -> None:
    """A block of a response is read as it came."""
    from anthropic.types import TextBlock

    turn = {"role": "assistant", "content": [TextBlock(type="text", text="Rain.")]}
    assert (heard("assistant", "Rain."),) == read([turn]).messages


CITED = {"type": "char_location", "cited_text": "x", "document_index": 0, "document_title": None}


@pytest.mark.parametrize(
    "content",
    [
        pytest.param([THINKING, {"type": "redacted_thinking", "data": "ZW5j"}], id="thinking"),
        pytest.param([text("x", citations=[CITED])], id="citations"),
        pytest.param(
            [
                {
                    "type": "server_tool_use",
                    "id": "s",
                    "name": "web_search",
                    "input": {"query": "x"},
                },
                {"type": "web_search_tool_result", "tool_use_id": "s", "content": []},
            ],
            id="a server tool",
        ),
        pytest.param([{**use("a"), "caller": {"type": "direct"}, **MARK}], id="a caller"),
        pytest.param([{**use("a"), "toolset_name": "files"}], id="a tool of a set"),
    ],
)
def test_answers_come_back(content: list[Any]) -> None:
    """What the model said is read and written as it was."""
    question = {"role": "user", "content": [text("x")]}
    messages = [question, {"role": "assistant", "content": content}, question]
    assert messages == write(read(messages), ABLE)[0]["messages"]


@pytest.mark.parametrize(
    "block",
    [
        {"type": "document", "source": {"type": "content", "content": [text("x")]}, **MARK},
        {**document("T", type="url", url="https://e.org/a.pdf"), "context": "c"},
        {**source(type="url", url="https://e.org/a.png"), "transformations": {}},
        {"type": "search_result", "source": "s", "title": "t", "content": [text("x")]},
        {"type": "container_upload", "file_id": "file-1"},
        {"type": "image", "source": {"type": "url"}},
    ],
)
def test_user_blocks_come_back(block: dict[str, Any]) -> None:
    """Blocks this version only partly knows are read and written as they were."""
    messages = [{"role": "user", "content": [block]}]
    assert messages == write(read(messages), ABLE)[0]["messages"]


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (
            {"system": 7, "messages": []},
            "system: a content must be a string or a list of blocks, not int",
        ),
        ([{"role": "user", "content": [{}]}], "messages[0]: content[0]: 'type' is needed"),
        (
            [{"role": "user", "content": [text("x"), {"type": "text"}]}],
            "messages[0]: content[1]: 'text' is needed",
        ),
        (
            [{"role": "user", "content": [{**result("a"), "content": [{"type": "text"}]}]}],
            "messages[0]: content[0]: content[0]: 'text' is needed",
        ),
        (
            [{"role": "user", "content": [text("x", cache_control={"ttl": "2h"})]}],
            "messages[0]: content[0]: unknown 'ttl' '2h'",
        ),
        ({"messages": [], "tools": 7}, "'tools' must be a list, not int"),
        ({"messages": [], "tools": [7]}, "tools[0]: a dictionary is needed, not int"),
        (
            {"messages": [], "tools": [{"name": "f", "description": 7, "input_schema": {}}]},
            "tools[0]: 'description' must be a string, not int",
        ),
        ({"messages": [], "tool_choice": 7}, "a dictionary is needed, not int"),
        ({"messages": [], "tool_choice": {"type": 7}}, "'type' must be a string, not int"),
        (
            {"messages": [], "tool_choice": {"type": "tool", "name": 7}},
            "'name' must be a string, not int",
        ),
        ({"messages": [], "output_config": 7}, "a dictionary is needed, not int"),
        ({"messages": [], "output_config": {"format": 7}}, "a dictionary is needed, not int"),
        ({"messages": [], "output_config": {"format": {}}}, "'schema' is needed"),
        (
            {"messages": [], "output_config": {"format": {"schema": 7}}},
            "'schema' must be a dictionary, not int",
        ),
    ],
)
def test_read_error(data: object, what: str) -> None:
    """What cannot be read is an error that names the index and the key."""
    assert what == raised(DataError, lambda: read(data)).what


@pytest.mark.parametrize(
    ("block", "what"),
    [
        ({"type": 7}, "'type' must be a string, not int"),
        ({"type": "text", "text": 7}, "'text' must be a string, not int"),
        ({"type": "tool_use", "name": "f", "input": {}}, "'id' is needed"),
        ({"type": "tool_use", "id": 7, "name": "f", "input": {}}, "'id' must be a string, not int"),
        ({"type": "tool_use", "id": "a", "input": {}}, "'name' is needed"),
        (
            {"type": "tool_use", "id": "a", "name": 7, "input": {}},
            "'name' must be a string, not int",
        ),
        ({"type": "tool_result"}, "'tool_use_id' is needed"),
        ({"type": "tool_result", "tool_use_id": 7}, "'tool_use_id' must be a string, not int"),
        ({"type": "thinking", "thinking": 7}, "'thinking' must be a string, not int"),
        (
            {"type": "thinking", "thinking": "x", "signature": 7},
            "'signature' must be a string, not int",
        ),
        ({"type": "redacted_thinking", "data": 7}, "'data' must be a string, not int"),
        ({"type": "text", "text": "x", "cache_control": 7}, "a dictionary is needed, not int"),
    ],
)
def test_read_error_of_a_block(block: Any, what: str) -> None:
    """A block without what it needs is an error that names the key."""
    with pytest.raises(DataError) as caught:
        read([{"role": "user", "content": [block]}])
    assert f"messages[0]: content[0]: {what}" == caught.value.what


@pytest.mark.parametrize(
    ("data", "fix"),
    [
        (
            [{"role": "user", "content": [text("x", cache_control={"ttl": "2h"})]}],
            "'5m' or '1h'",
        ),
        ([{"role": "tool", "content": "x"}], "one of user, assistant, system"),
        (
            [{"role": "user", "content": [{"type": "text", "txet": "x"}]}],
            "'txet' should be 'text'",
        ),
    ],
)
def test_fix_of_a_read_error(data: object, fix: str) -> None:
    """What cannot be read is an error that says what can."""
    with pytest.raises(DataError) as caught:
        read(data)
    assert fix == caught.value.fix


@pytest.mark.parametrize(
    "source",
    [
        *(None, 7, {}, {"type": "url"}, {"type": "url", "url": 7}, {"type": "file", "file_id": 7}),
        *({"type": "text", "data": 7}, {"type": "base64", "data": "AAAA"}),
        {"type": "base64", "data": 7, "media_type": "image/png"},
        {"type": "base64", "data": "AAAA", "media_type": 7},
    ],
)
@pytest.mark.parametrize("kind", ["image", "document"])
def test_a_source_that_nobody_knows(kind: str, source: Any) -> None:
    """A picture or a document from where nobody knows is read as it came."""
    block = {"type": kind, "source": source}
    (message,) = read([{"role": "user", "content": [block]}]).messages
    assert (UnknownBlock(block, "anthropic"),) == message.content


@pytest.mark.parametrize(
    ("control", "cache"),
    [
        (None, None),
        ({"type": "ephemeral"}, "default"),
        ({"type": "ephemeral", "ttl": None}, None),
        ({"type": "ephemeral", "ttl": "5m"}, "5m"),
        ({"type": "ephemeral", "ttl": "1h"}, "1h"),
    ],
)
def test_read_marks(control: Any, cache: Any) -> None:
    """A mark is read with the time it asks for."""
    (message,) = read([{"role": "user", "content": [text("x", cache_control=control)]}]).messages
    assert (TextBlock("x", cache),) == message.content


RESPONSE: dict[str, Any] = {
    "type": "message",
    "role": "assistant",
    "content": [text("Yes")],
    "stop_reason": "end_turn",
}


@pytest.mark.parametrize(
    ("keys", "what"),
    [
        ({"content": "Yes"}, "'content' must be a list, not str"),
        ({"stop_reason": 7}, "'stop_reason' must be a string, not int"),
        ({"usage": 7}, "a dictionary is needed, not int"),
        ({"usage": {"output_tokens_details": 7}}, "a dictionary is needed, not int"),
        ({"content": [{"type": "text"}]}, "content[0]: 'text' is needed"),
    ],
)
def test_response_error(keys: dict[str, Any], what: str) -> None:
    """What is no response is an error that names the key."""
    with pytest.raises(DataError) as caught:
        read_response({**RESPONSE, **keys})
    assert what == caught.value.what


def test_unknown_block_that_is_no_json() -> None:
    """An unknown block that is no JSON value is an error when it is written."""
    with pytest.raises(DataError, match="not a JSON value"):
        write(
            whole([say("user", UnknownBlock({"type": "hologram", "data": {1}}, "anthropic"))]), ABLE
        )


def test_a_recorded_result_holds_no_result() -> None:
    """A result in a result is refused, and the error names where it stands."""
    inner = {"type": "tool_result", "tool_use_id": "2", "content": []}
    result = {"type": "tool_result", "tool_use_id": "1", "content": [inner]}
    with pytest.raises(DataError) as caught:
        read([{"role": "user", "content": [result]}])
    where = "messages[0]: content[0]: content[0]"
    assert f"{where}: a 'tool_result' block may not contain another one" == caught.value.what


# Tools and the form of an answer.


CHANGED = "sent as other keywords, or in a description"
FORMS = ModelFacts(
    provider="anthropic", schema_output=True, strict_schemas="claude_strict", known=True
)


@pytest.mark.parametrize(
    ("schema", "expected", "keys"),
    [
        (
            {"type": "object", "properties": {}, "additionalProperties": False},
            {"type": "object", "properties": {}, "additionalProperties": False},
            [],
        ),
        (
            {"type": "object", "properties": {"n": {"type": "integer", "minimum": 0}}},
            {
                "type": "object",
                "properties": {"n": {"type": "integer", "description": "{minimum: 0}"}},
                "additionalProperties": False,
            },
            ["additionalProperties", "minimum"],
        ),
        (
            {"type": "array", "items": {"type": "string", "description": "d", "maxLength": 3}},
            {"type": "array", "items": {"type": "string", "description": "d\n\n{maxLength: 3}"}},
            ["maxLength"],
        ),
        (
            {"type": "array", "minItems": 2, "items": {"type": "string"}},
            {"type": "array", "items": {"type": "string"}, "description": "{minItems: 2}"},
            ["minItems"],
        ),
        ({"type": "array", "minItems": 1}, {"type": "array", "minItems": 1}, []),
        (
            {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/A"}], "$defs": {"A": {"multipleOf": 2}}},
            {
                "anyOf": [{"type": "null"}, {"$ref": "#/$defs/A"}],
                "$defs": {"A": {"description": "{multipleOf: 2}"}},
            },
            ["multipleOf"],
        ),
    ],
)
def test_an_output_schema(schema: Any, expected: Any, keys: list[str]) -> None:
    """Bounds that structured outputs refuse are said in the description, and objects are closed."""
    payload, losses = write(Prompt((ASK,), output=OutputSchema(schema)), FORMS)
    words = ", ".join(map(repr, keys))
    why = f"the target refuses {words}, so they are {CHANGED}"
    assert (expected, [why] if keys else []) == (
        payload["output_config"]["format"]["schema"],  # type: ignore[index]
        [loss.why for loss in losses],
    )
    assert payload == write(read(payload), FORMS)[0]


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"oneOf": [{"type": "null"}]}, {"anyOf": [{"type": "null"}]}),
        (
            {"type": ["object", "null"], "properties": {}},
            {"type": ["object", "null"], "properties": {}, "additionalProperties": False},
        ),
        (
            {"type": "string", "pattern": "a", "default": "b", "description": 5},
            {"type": "string", "description": "5\n\n{default: b, pattern: a}"},
        ),
        ({"type": "string", "format": "date"}, {"type": "string", "format": "date"}),
        (
            {"type": "string", "format": "hex"},
            {"type": "string", "description": "{format: hex}"},
        ),
        (
            {"not": {"type": "null"}, "type": "string"},
            {"type": "string", "description": '{not: {"type": "null"}}'},
        ),
        ({"type": "string", "default": "é"}, {"type": "string", "description": "{default: é}"}),
        (
            {"type": "array", "examples": [["é"]], "description": ""},
            {"type": "array", "description": '{examples: [["é"]]}'},
        ),
        ({"type": "array", "minItems": 0}, {"type": "array", "minItems": 0}),
        (
            {"anyOf": [{"type": "null"}], "oneOf": [{"type": "string"}]},
            {"anyOf": [{"type": "null"}], "description": '{oneOf: [{"type": "string"}]}'},
        ),
        (
            {"type": "object", "additionalProperties": {"type": "string"}},
            {"type": "object", "additionalProperties": False},
        ),
        (
            {"type": "object", "properties": {"type": {"enum": ["a"]}, "minimum": {"const": 1}}},
            {
                "type": "object",
                "properties": {"type": {"enum": ["a"]}, "minimum": {"const": 1}},
                "additionalProperties": False,
            },
        ),
        (
            {"properties": [], "anyOf": {}, "items": [], "$defs": {"A": True}},
            {"properties": [], "anyOf": {}, "items": [], "$defs": {"A": True}},
        ),
    ],
)
def test_keys_of_an_output_schema(schema: Any, expected: Any) -> None:
    """Of a schema the keys stay that structured outputs take, as the SDK keeps them."""
    payload: Any = write(Prompt((ASK,), output=OutputSchema(schema)), FORMS)[0]
    assert expected == payload["output_config"]["format"]["schema"]


KEPT: list[dict[str, Any]] = [
    {"$ref": "#/$defs/A", "$defs": {"A": {"type": "null"}}},
    {"$ref": "#/definitions/A", "definitions": {"A": {"type": "null"}}},
    {"type": "string", "title": "T", "description": "D"},
    {"enum": ["a", 1]},
    {"const": "a"},
    {"anyOf": [{"type": "string"}, {"type": "null"}]},
    {"allOf": [{"type": "string"}]},
    {"type": "array", "items": {"type": "string"}},
    {
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "required": ["a"],
        "additionalProperties": False,
    },
    *(
        {"type": "string", "format": form}
        for form in (
            *("date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4"),
            *("ipv6", "uuid"),
        )
    ),
]
"""Schemas that structured outputs take as they are."""


@pytest.mark.parametrize("schema", KEPT, ids=json.dumps)
def test_an_output_schema_that_is_kept(schema: Any) -> None:
    """What structured outputs take is sent as it is, and nothing of it is lost."""
    payload, losses = write(Prompt((ASK,), output=OutputSchema(schema)), FORMS)
    output_format = {"type": "json_schema", "schema": schema}
    assert ({"format": output_format}, ()) == (payload["output_config"], losses)


@pytest.mark.parametrize(
    "outer_schema",
    [
        lambda inner: {"type": "array", "items": inner},
        lambda inner: {"$ref": "#/$defs/A", "$defs": {"A": inner}},
        lambda inner: {"$ref": "#/definitions/A", "definitions": {"A": inner}},
        lambda inner: {"anyOf": [{"type": "null"}, inner]},
        lambda inner: {"allOf": [{"type": "null"}, inner]},
        lambda inner: {
            "type": "object",
            "properties": {"a": {"type": "null"}, "b": inner},
            "additionalProperties": False,
        },
    ],
)
def test_a_schema_in_an_output_schema(outer_schema: Any) -> None:
    """A schema inside another is changed like the outer one, wherever it may stand."""
    inner = {"type": "object", "properties": {}, "minProperties": 1}
    payload, losses = write(Prompt((ASK,), output=OutputSchema(outer_schema(inner))), FORMS)
    changed = {
        "type": "object",
        "properties": {},
        "description": "{minProperties: 1}",
        "additionalProperties": False,
    }
    assert {"type": "json_schema", "schema": outer_schema(changed)} == payload["output_config"][
        "format"
    ]
    why = f"the target refuses 'minProperties', 'additionalProperties', so they are {CHANGED}"
    assert [why] == [loss.why for loss in losses]


def test_what_an_output_schema_loses_twice() -> None:
    """One hint names the words that are in descriptions, each once, in document order."""
    schema = {
        "anyOf": [
            {"type": "string", "maxLength": 1, "pattern": "a"},
            {"type": "string", "minLength": 1, "maxLength": 1},
        ],
        "default": "a",
    }
    losses = write(Prompt((ASK,), output=OutputSchema(schema)), FORMS)[1]
    words = "'default', 'maxLength', 'pattern', 'minLength'"
    assert [
        f"hint: the output schema (output): the target refuses {words}, so they are {CHANGED}"
    ] == [str(loss) for loss in losses]


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        (ModelFacts(provider="anthropic"), "name a model that takes one"),
        (ModelFacts(provider="anthropic", known=True), "this model takes no output schema"),
    ],
)
def test_a_model_without_structured_outputs(facts: ModelFacts, why: str) -> None:
    """The form of an answer is a loss where a model takes none, and nothing else is said of it."""
    output = OutputSchema({"type": "array", "minItems": 2}, "city")
    payload, losses = write(Prompt((ASK,), output=output), facts)
    assert ({"messages"}, [f"content: output schema (output): {why}"]) == (
        {*payload},
        [str(loss) for loss in losses],
    )


@pytest.mark.parametrize(
    ("turn", "fix"),
    [
        ({"content": "x", "tool_calls": [{"id": "a"}]}, "from_openai"),
        ({"content": "x", "parts": [{"text": "y"}]}, "from_gemini"),
        ({"content": [{"type": "image_url", "image_url": {"url": "x"}}]}, "from_openai"),
        ({"content": [{"type": "input_text", "text": "x"}]}, "from_openai_responses"),
    ],
)
def test_the_form_of_another_provider(turn: Any, fix: str) -> None:
    """What another provider has is refused, with the reader that takes it."""
    with pytest.raises(DataError) as caught:
        read([{"role": "assistant", **turn}])
    assert caught.value.fix.endswith(fix)


_KEYS: dict[str, Any] = {
    **{"citations": [CITED], "transformations": {}, "context": "a\ud800", "caller": {"type": "x"}},
    **{"toolset_name": "files", "own": 1, "item": {"id": "msg_1"}, "none": None},
}


@pytest.mark.parametrize(
    ("role", "block", "sent_keys"),
    [
        ("assistant", TextBlock("x", extra=_KEYS), ["citations"]),
        ("user", TextBlock("x", extra=_KEYS), []),
        ("user", ImageBlock(media("file_id", "f"), extra=_KEYS), ["transformations"]),
        ("user", DocumentBlock(media("file_id", "f"), extra=_KEYS), ["citations", "context"]),
        (
            "assistant",
            ToolUseBlock("a", "f", "{}", extra=_KEYS),
            ["caller", "toolset_name"],
        ),
        ("user", ToolResultBlock("a", "x", extra=_KEYS), ["toolset_name"]),
    ],
)
def test_keys(role: Any, block: Block, sent_keys: list[str]) -> None:
    """Of its further keys a block is sent with those it has here, each other one is a hint."""
    before = (say("assistant", call("a", "f")),) if isinstance(block, ToolResultBlock) else ()
    messages = (*before, say(role, block), ASK)
    wire, losses = payload_turns(*messages)[len(before)][1][0], lost(*messages)
    keys = {**_KEYS, "context": "a\ufffd"}
    assert {key: keys[key] for key in sent_keys} == {key: wire[key] for key in wire if key in keys}
    hinted_keys = [key for key in keys if key not in (*sent_keys, "item", "none")]
    assert [("hint", f"key {key!r}") for key in hinted_keys] == losses


def test_keys_without_a_value() -> None:
    """A key without a value is not sent, and nothing of it is lost."""
    message = say("assistant", TextBlock("x", extra={"citations": None, "own": None}))
    assert ([("assistant", [text("x")]), ("user", [text("Hello.")])], []) == (
        payload_turns(message, HELLO),
        lost(message, HELLO),
    )


def test_keys_in_a_result() -> None:
    """A key of a text in a result, and one of the result, are hints."""
    plain, keyed = TextBlock("x"), TextBlock("x", extra={"one": 1})
    blocks = [
        ToolResultBlock("a", (keyed,)),
        ToolResultBlock("a", (plain,), extra={"two": 2}),
        ToolResultBlock("a", (keyed,), extra={"two": 2}),
    ]
    first_hint, second_hint = ("hint", "key 'one'"), ("hint", "key 'two'")
    assert [[first_hint], [second_hint], [first_hint, second_hint]] == [
        lost(say("assistant", call("a")), say("tool", block)) for block in blocks
    ]


def test_a_deep_output_schema() -> None:
    """A schema of 90 objects in each other is closed at every one."""
    deep: Any = {"type": "string", "maxLength": 1}
    for _ in range(90):
        deep = {"type": "object", "properties": {"a": deep}}
    payload: Any = write(Prompt((ASK,), output=OutputSchema(deep)), FORMS)[0]
    assert 90 == json.dumps(payload).count('"additionalProperties": false')


def test_what_an_output_cannot_say() -> None:
    """The name, the description and the strictness of a form have no place here: hints."""
    output = OutputSchema({"type": "string"}, "city", "Where.", strict=False)
    losses = write(Prompt((ASK,), output=output), FORMS)[1]
    assert [
        "hint: output name 'city' (output): the target has no field for it",
        "hint: output description 'Where.' (output): the target has no field for it",
        "hint: output strict False (output): the target has no field for it",
    ] == [str(loss) for loss in losses]


# What a place does not take.


@pytest.mark.parametrize(
    ("role", "block"),
    [
        ("assistant", {"type": "document", "source": {"type": "content", "content": "x"}}),
        ("assistant", {"type": "image", "source": {"type": "content"}}),
        ("assistant", {"type": "search_result", "title": "t"}),
        ("assistant", {"type": "container_upload", "file_id": "file-1"}),
        ("user", {"type": "server_tool_use", "id": "s", "name": "n", "input": {}}),
        ("user", {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}),
    ],
)
def test_an_unknown_block_in_the_wrong_place(role: Any, block: Any) -> None:
    """What only one side may say is a loss in the turn of the other."""
    losses = write(whole([HELLO, say(role, UnknownBlock(block, "anthropic"), "x")]), OLDER)[1]
    where = {"user": "a user message", "assistant": "an assistant message"}[role]
    why = f"the target takes no such block in {where}"
    assert [f"content: {block['type']} block: {why}"] == [str(loss) for loss in losses]


def test_an_unknown_block_on_either_side() -> None:
    """A block that nobody knows is sent as it came, whoever said it, with its mark."""
    block = {"type": "hologram", **MARK}
    messages = [
        say("user", UnknownBlock(block, "anthropic")),
        say("assistant", UnknownBlock(block, "anthropic"), "x"),
    ]
    assert [("user", [block]), ("assistant", [block, text("x")])] == payload_turns(*messages)


ADDED = {"type": "tool_addition", "tool": {"type": "tool_reference", "name": "f"}}
REMOVED = {"type": "tool_removal", "tool": {"type": "tool_reference", "name": "g"}, **MARK}


def test_changes_of_the_tools() -> None:
    """System messages that offer tools and take them away come back as they were."""
    recorded = [
        {"role": "user", "content": [text("Hello.")]},
        {"role": "system", "content": [text("Use feet."), ADDED, REMOVED]},
        {"role": "assistant", "content": [use("a")]},
        {"role": "user", "content": [result("a", "rain")]},
        {"role": "system", "content": [ADDED]},
    ]
    facts = attrs.evolve(ABLE, result_instructions=False)
    payload, losses = write(read({"messages": recorded}), facts)
    assert (recorded, [NO_TOOLS]) == (payload["messages"], [loss.what for loss in losses])


CHANGE = say("developer", "Use feet.", UnknownBlock(ADDED, "anthropic"))
OTHER = say("developer", "Use feet.", UnknownBlock({"type": "hologram"}, "anthropic"))


@pytest.mark.parametrize("messages", [[HELLO, CHANGE, HELLO], [CHANGE, HELLO], [HELLO, OTHER]])
@pytest.mark.parametrize("facts", [ABLE, OLDER])
def test_changes_of_the_tools_elsewhere(messages: list[Message], facts: ModelFacts) -> None:
    """A change of the tools that is not taken is a loss of content; the text beside it is sent."""
    plain = [message if message is HELLO else RULE for message in messages]
    kinds = [kind for kind, _ in lost(*messages, facts=facts)]
    assert payload_turns(*plain, facts=facts) == payload_turns(*messages, facts=facts)
    assert 1 == kinds.count("content")


def test_the_mark_of_an_unknown_block() -> None:
    """The mark of a block that nobody knows is lost where a model takes none."""
    message = say("user", UnknownBlock({"type": "hologram", **MARK}, "anthropic"))
    assert ([("user", [{"type": "hologram"}])], [("hint", "cache mark")]) == (
        payload_turns(message, facts=UNWRITTEN),
        lost(message, facts=UNWRITTEN),
    )


def test_a_recorded_block_that_is_none() -> None:
    """A block of this provider that lacks what it needs is a loss, not an error."""
    assert [("content", "tool_use block")] == lost(
        say("user", UnknownBlock({"type": "tool_use"}, "anthropic"), "x")
    )


STORED: dict[str, tuple[dict[str, Any], Any]] = {
    "a thought without a text": ({"type": "thinking", "signature": "s"}, "s"),
    "a thought whose text is null": ({"type": "thinking", "thinking": None, "signature": "s"}, "s"),
    "a thought without anything": ({"type": "thinking"}, None),
    "redacted, without data": ({"type": "redacted_thinking"}, None),
}


@pytest.mark.parametrize("what", STORED)
def test_thoughts_that_others_stored(what: str) -> None:
    """A signed thought needs no text; one without a signature is a hint, and stops nothing."""
    block, signature = STORED[what]
    answer = {"role": "assistant", "content": [block, {"type": "text", "text": "a"}]}
    history = History.from_anthropic([{"role": "user", "content": "q"}, answer])
    rendered = render(Timeline(history, User("z")), model="claude-opus-5-5")
    content = rendered.to_anthropic()["messages"][1]["content"]
    expected = [{"type": "thinking", "thinking": "", "signature": signature}] if signature else []
    hints = [] if signature else ["unsent_reasoning"]
    assert ([*expected, text("a")], hints) == (content, [hint.name for hint in rendered.hints])


@pytest.mark.parametrize(
    "media_type",
    ["application/json", "application/ld+json", "application/x-yaml", "text/csv", "text/html"],
)
def test_texts_are_documents(media_type: str) -> None:
    """Whatever is text is sent as a text document."""
    block = DocumentBlock(media("base64", "e30=", media_type))
    ((_, content),) = payload_turns(say("user", block))
    assert {"type": "text", "media_type": "text/plain", "data": "{}"} == content[0]["source"]


@pytest.mark.parametrize(("takes_it", "role"), [(True, "system"), (False, "user")])
def test_an_instruction_behind_a_result(takes_it: bool, role: str) -> None:
    """A model that takes an instruction for a tool's output gets it as text of the user."""
    facts = ModelFacts(provider="anthropic", instructions=True, result_instructions=takes_it)
    messages = (ASK, say("assistant", call("a")), answer("a", "rain"), say("developer", "Go on."))
    assert role == payload_turns(*messages, facts=facts)[-1][0]


def test_reasoning_with_request_only_content_in_its_turn() -> None:
    """Request-only content that stands behind what the user said unbinds the answer to it."""
    said = say("assistant", SIGNED, call("a"))
    kinds: list[Any] = ["mixed", "trailed"]
    found = [
        len(payload_turns(say("user", "q", kind=kind), said, answer("a", "r"), facts=BINDING)[1][1])
        for kind in kinds
    ]
    assert [2, 1] == found


def test_three_calls_of_one_id() -> None:
    """Each result goes to the first call of its id that has none yet, in order."""
    calls = Message("assistant", [ToolUseBlock("a", "f", "{}")] * 3)
    results = Message("tool", [ToolResultBlock("a", (TextBlock(text),)) for text in "xyz"])
    history = History([Message("user", "q"), calls, results])
    prompt = render(Timeline(history), transformation={"tool_pairing": "fill"})
    _, answer_turn, result_turn = prompt.to_anthropic()["messages"]
    ids = [block["id"] for block in answer_turn["content"]]
    assert ["a", "a_2", "a_3"] == ids
    assert [*zip(ids, "xyz", strict=True)] == [
        (block["tool_use_id"], block["content"][0]["text"]) for block in result_turn["content"]
    ]


def test_two_blocks_of_a_developer() -> None:
    """Where an instruction is sent in a user's turn, each of its blocks has a fence of its own."""
    prompt = Timeline(User("q"), Developer("a", CacheBreakpoint(), "b"))
    (message,) = render(prompt, model="claude-sonnet-4-5").to_anthropic()["messages"]
    fenced = [f"<developer>\n{text}\n</developer>" for text in "ab"]
    assert ["q", *fenced] == [block["text"] for block in message["content"]]


def test_the_tokens_of_two_compactions() -> None:
    """What the service spent on each compaction of a reply is added to its tokens."""
    steps = [
        {"type": type, "input_tokens": count, "output_tokens": 2 * count}
        for type, count in (("compaction", 10), ("message", 1), ("compaction", 100))
    ]
    counts = {"input_tokens": 1, "output_tokens": 2, "iterations": steps}
    content = [{"type": "text", "text": "Yes."}]
    message = read_response({"content": content, "stop_reason": "end_turn", "usage": counts})
    assert {"input": 111, "output": 222, "total": 333} == message.token_usage


def test_instructions_in_a_row_where_turns_stay_apart() -> None:
    """Later instructions in a row are one message, also where no neighbours are merged."""
    turns = (User("Hi"), Developer("One"), Developer("Two"), Assistant("Yes"), User("a"), User("b"))
    rendered = render(Timeline(*turns), model="claude-opus-5", transformation=AS_WRITTEN)
    payload = rendered.to_anthropic()
    assert [("user", 1), ("system", 2), ("assistant", 1), ("user", 1), ("user", 1)] == [
        (message["role"], len([*message["content"]])) for message in payload["messages"]
    ]


@pytest.mark.parametrize(
    ("kind", "fresh", "expected"),
    [
        ("recorded", None, []),
        ("recorded", 4, ["Four"]),
        ("recorded", 1, ["One", "Four"]),
        ("recorded", 6, []),
        ("request", None, []),
        ("request", 4, ["Four"]),
        ("request", 0, ["One", "Four"]),
    ],
)
def test_reasoning_after_a_budget(kind: Any, fresh: int | None, expected: list[str]) -> None:
    """Of what a budget cut, only reasoning that was written since goes back."""
    prompt = Prompt(
        (
            Message("user", "Noon.", kind=kind),
            say("user", "Hi"),
            say("assistant", ReasoningBlock("One", "b25l", origin="anthropic"), call("a")),
            answer("a", "A"),
            say("assistant", ReasoningBlock("Four", "Zm91cg==", origin="anthropic"), call("b")),
            answer("b", "B"),
        ),
        untrimmed_from=6 if fresh is None else fresh,
    )
    payload, _ = write(prompt, BINDING)
    blocks = [block for message in payload["messages"] for block in message["content"]]
    assert expected == [block["thinking"] for block in blocks if block["type"] == "thinking"]
