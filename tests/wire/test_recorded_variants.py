"""Variants of recorded requests and replies: each stands beside one that was once read wrongly."""

import json
from typing import Any

import pytest

from promptdsl import *
from tests.renders import reported

ASK = {"role": "user", "content": "q"}
SCHEMA = {"type": "object", "properties": {}}
FUNCTION = {"type": "function", "function": {"name": "a.b", "parameters": SCHEMA}}
CALL = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}


def chat(**message: Any) -> dict[str, Any]:
    """Return a reply of Chat."""
    answer = {"role": "assistant", "content": None, **message}
    return {"choices": [{"index": 0, "finish_reason": "stop", "message": answer}]}


def calling(*calls: Any) -> dict[str, Any]:
    """Return a reply of Chat with calls."""
    return chat(tool_calls=[*calls])


def generated(*parts: Any, **candidate: Any) -> dict[str, Any]:
    """Return a reply of Gemini, which is an event of a stream, too."""
    return {"candidates": [{"content": {"role": "model", "parts": [*parts]}, **candidate}]}


def partial_call(*arguments: Any) -> list[Any]:
    """Return the events of a call of Gemini whose arguments come in pieces."""
    head = {"functionCall": {"name": "f", "id": "c", "willContinue": True}}
    pieces = [
        {"functionCall": {"partialArgs": [piece], "willContinue": True}} for piece in arguments
    ]
    events = [generated(part) for part in (head, *pieces, {"functionCall": {}})]
    return [*events, generated(finishReason="STOP")]


def message_of(events: list[Any]) -> Message:
    """Return the message of a stream."""
    reading = read_stream(events)
    assert len([*reading]) == len(events)
    return reading.message


# Requests that go back as they came.

EQUAL: dict[str, tuple[str, dict[str, Any]]] = {
    "a file at an address of Google's store": (
        "openai_compatible",
        {
            "messages": [
                {
                    "role": "user",
                    "content": [{"type": "file", "file": {"file_id": "gs://bucket/a.pdf"}}],
                }
            ]
        },
    ),
    "a tool of an older form": (
        "openai_compatible",
        {"messages": [ASK], "tools": [{"function": {"name": "f", "parameters": SCHEMA}}]},
    ),
    "a reference to an item without a type": (
        "openai_responses",
        {"input": [{"id": "msg_1"}, {"role": "user", "content": "q"}]},
    ),
    "a reference whose type is null": (
        "openai_responses",
        {"input": [{"id": "msg_1", "type": None}, {"role": "user", "content": "q"}]},
    ),
    "a function without strict": (
        "openai_responses",
        {
            "input": [ASK],
            "tools": [{"type": "function", "name": "f", "parameters": SCHEMA, "strict": None}],
        },
    ),
    "a call and its result": (
        "bedrock",
        {
            "messages": [
                {"role": "user", "content": [{"text": "q"}]},
                {
                    "role": "assistant",
                    "content": [{"toolUse": {"toolUseId": "c", "name": "f", "input": {}}}],
                },
                {
                    "role": "user",
                    "content": [{"toolResult": {"toolUseId": "c", "content": [{"text": "r"}]}}],
                },
            ],
            "toolConfig": {
                "tools": [{"toolSpec": {"name": "f", "inputSchema": {"json": SCHEMA}}}],
                "toolChoice": {"auto": {}},
            },
        },
    ),
}


@pytest.mark.parametrize("what", EQUAL)
def test_it_is_written_as_it_was_read(what: str) -> None:
    """The request is equal, and its provider is told no loss."""
    provider, payload = EQUAL[what]
    rendered = render(read_payload(payload, provider), provider=provider)
    assert rendered.payload() == payload
    assert not [loss for loss in rendered.losses if loss.kind == "content"]


EMPTY_SCHEMAS: dict[str, tuple[str, dict[str, Any]]] = {
    "Chat": (
        "openai",
        {
            "messages": [ASK],
            "tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}],
        },
    ),
    "Responses": (
        "openai_responses",
        {
            "input": [ASK],
            "tools": [{"type": "function", "name": "f", "parameters": {}, "strict": False}],
        },
    ),
}


@pytest.mark.parametrize("target", ["openai", "openai_responses", "gemini"])
@pytest.mark.parametrize("what", EMPTY_SCHEMAS)
def test_an_empty_schema(what: str, target: str) -> None:
    """A schema without keys goes back as it came, and is no loss elsewhere."""
    provider, payload = EMPTY_SCHEMAS[what]
    rendered = render(read_payload(payload, provider), provider=target)
    assert reported(rendered) == ()
    assert target != provider or rendered.payload() == payload


def test_the_address_of_a_picture_alone() -> None:
    """The address in the place of an object, as Mistral takes it, is that of the picture."""
    url = "https://example.com/a.png"
    message = {"role": "user", "content": [{"type": "image_url", "image_url": url, "hm": 1}]}
    rendered = render(read_payload([message], "openai_compatible"), provider="openai_compatible")
    assert rendered.to_openai()["messages"][0]["content"] == [
        {"type": "image_url", "image_url": {"url": url}}
    ]
    assert [hint.name for hint in rendered.hints] == ["unread_key"]


SEARCH: dict[str, Any] = {"google_search": {}}
F, G = ({"function_declarations": [{"name": name}]} for name in "fg")


@pytest.mark.parametrize(
    "tools",
    [
        *([F, SEARCH, G], [F, G], [F, SEARCH], [SEARCH, F], [{**SEARCH, **F}]),
        *([{**SEARCH, **F}, G], [SEARCH, F, SEARCH]),
        [{"file_search": {"stores": ["a"]}}, {"file_search": {"stores": ["b"]}}],
        [{"function_declarations": [{"name": "f", "parameters_json_schema": {}}]}],
    ],
)
def test_the_objects_of_tools(tools: list[Any]) -> None:
    """Tools of Gemini are sent in the objects that they were recorded in."""
    contents = [{"role": "user", "parts": [{"text": "q"}]}]
    payload = {"contents": contents, "config": {"tools": tools}}
    assert render(read_payload(payload, "gemini"), provider="gemini").payload() == payload
    chat = render(read_payload(payload, "gemini"), provider="openai")
    assert "item" not in str(chat.losses)


def test_annotations_without_a_text() -> None:
    """The annotations of an answer that has no text are kept on its message."""
    message = read_response(chat(annotations=[{"a": 1}], tool_calls=[FUNCTION_CALL]))
    assert [*message.extra] == ["annotations"]
    thinking_part = {"type": "thinking", "thinking": "t"}
    parts = [{"type": "text", "text": "a"}, thinking_part]
    text, *_ = read_response(chat(annotations=[{"a": 1}], content=parts)).content
    assert text.type == "text"
    assert "annotations" in text.extra
    without_text = read_response(chat(annotations=[{"a": 1}], content=[thinking_part]))
    assert [*without_text.extra] == ["annotations"]


def test_a_choice_beside_a_tool_without_a_type() -> None:
    """A tool that has neither a type nor a name does not hide the choice of another one."""
    function = {"type": "function", "name": "a", "parameters": SCHEMA, "strict": False}
    choice = {"type": "function", "name": "a"}
    payload = {"input": [ASK], "tools": [function, {"hm": 1}], "tool_choice": choice}
    prompt = read_payload(payload, "openai_responses")
    assert render(prompt, provider="openai_responses").payload() == payload


@pytest.mark.parametrize("target", ["anthropic", "gemini", "bedrock"])
def test_strict_that_nobody_wrote(target: str) -> None:
    """A tool of Responses without ``strict`` has none elsewhere, and no hint."""
    function = {"type": "function", "name": "a", "parameters": SCHEMA}
    rendered = render(
        read_payload({"input": [ASK], "tools": [function]}, "openai_responses"), provider=target
    )
    assert "strict" not in str(rendered.payload())
    assert reported(rendered) == ()


def test_three_answers_side_by_side() -> None:
    """All answers are sent, each as a turn."""
    turns = [
        {"role": "assistant", "content": [{"type": "text", "text": letter}]} for letter in "abc"
    ]
    payload = {"messages": [{"role": "user", "content": [{"type": "text", "text": "q"}]}, *turns]}
    rendered = render(read_payload(payload, "anthropic"), provider="anthropic")
    assert (payload, ()) == (rendered.to_anthropic(), reported(rendered))


def test_a_choice_of_a_renamed_tool() -> None:
    """A choice that names a tool whose name the target refuses names it as the tool is sent."""
    choice = {"type": "function", "function": {"name": "a.b"}}
    payload = {"messages": [ASK], "tools": [FUNCTION], "tool_choice": choice}
    rendered_payload = render(
        read_payload(payload, "openai_compatible"), provider="openai"
    ).payload()
    assert (
        rendered_payload["tools"][0]["function"]["name"]
        == rendered_payload["tool_choice"]["function"]["name"]
        == "a_b"
    )


def test_a_choice_of_a_missing_tool() -> None:
    """A choice of the author that names no tool is an error, also for a request that was read."""
    prompt = read_payload({"messages": [ASK]}, "openai")
    with pytest.raises(OptionError, match="missing"):
        render(prompt, provider="openai", tool_choice="missing")


def test_a_choice_in_the_words_of_another_server() -> None:
    """Mistral's ``any`` is ``required`` for OpenAI."""
    payload = {"messages": [ASK], "tools": [FUNCTION], "tool_choice": "any"}
    rendered_payload = render(
        read_payload(payload, "openai_compatible"), provider="openai"
    ).payload()
    assert rendered_payload["tool_choice"] == "required"


@pytest.mark.parametrize("kind", ["function", "", None])
def test_a_call_of_bedrock_for_the_client(kind: str | None) -> None:
    """A call that is typed as a function is one that the client runs."""
    use = {"toolUseId": "c", "name": "f", "input": {}, "type": kind}
    reply = {"output": {"message": {"role": "assistant", "content": [{"toolUse": use}]}}}
    assert [call.name for call in read_response(reply).calls] == ["f"]


def test_a_long_history_with_joined_texts_and_without() -> None:
    """What is remembered of a long history depends on the setting."""
    turn = User(Text("a"), Text("b"))
    history = [Message("user", "q"), Message("assistant", "r")] * 120

    def payload_content(*, join_texts: bool) -> object:
        settings = {"join_texts": join_texts}
        prompt = Timeline(History(history), turn)
        return render(prompt, provider="openai", transformation=settings).payload()["messages"][-1]

    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    for _ in range(2):
        assert payload_content(join_texts=True) == {"role": "user", "content": "a\n\nb"}
        assert payload_content(join_texts=False) == {"role": "user", "content": parts}


# Replies.

FUNCTION_CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}

READ: dict[str, tuple[dict[str, Any], list[Any], str]] = {
    "calls without a name": (
        calling({"id": "", "function": {"name": "", "arguments": ""}}, FUNCTION_CALL),
        [("f", {})],
        "",
    ),
    "no arguments on Responses": (
        {
            "object": "response",
            "status": "completed",
            "output": [{key: CALL[key] for key in CALL if key != "arguments"}],
        },
        [("f", {})],
        "",
    ),
    "no input on Anthropic": (
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "c", "name": "f"}],
        },
        [("f", {})],
        "",
    ),
    "the same reasoning twice": (
        chat(content="a", reasoning="r", reasoning_content="r"),
        [],
        "a",
    ),
}


@pytest.mark.parametrize("what", READ)
def test_replies(what: str) -> None:
    """The calls and the text of a reply."""
    reply, calls, text = READ[what]
    message = read_response(reply)
    assert [(call.name, dict(call.input or {})) for call in message.calls] == calls
    assert message.text == text
    assert len([block for block in message.content if block.type == "reasoning"]) <= 1


def nested(depth: int) -> Any:
    """Return a list in a list, so many times."""
    value: Any = "x"
    for _ in range(depth):
        value = {"a": [value]}
    return value


def answer_of_claude(*content: Any, **keys: Any) -> dict[str, Any]:
    """Return a reply of Anthropic."""
    return {"type": "message", "role": "assistant", "content": [*content], **keys}


WRONG: dict[str, dict[str, Any]] = {
    "a number in the place of iterations": answer_of_claude(usage={"iterations": 3}),
    "a number in a list of iterations": answer_of_claude(usage={"iterations": [3]}),
    "an id that is a list": {"object": "response", "output": [{**CALL, "call_id": ["c"]}]},
    "an id that is an object": calling({**FUNCTION_CALL, "id": {}}),
    "a list as a function": calling({**FUNCTION_CALL, "function": []}),
    "a deep citation": answer_of_claude({"type": "text", "text": "a", "citations": nested(2000)}),
    "a deep unknown block": answer_of_claude({"type": "hologram", "data": nested(2000)}),
    "a deep unknown item": {"object": "response", "output": [{"type": "h", "a": nested(2000)}]},
}


@pytest.mark.parametrize("what", WRONG)
def test_wrong_values(what: str) -> None:
    """A value of the wrong type, or one that is too deep, is a data error."""
    with pytest.raises(DataError):
        read_response(WRONG[what])


def test_unknown_keys_of_pictures() -> None:
    """An unknown key in the picture of an answer is kept by its place."""
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,QQ=="}, "hm": 1}
    assert dict(read_response(chat(content="a", images=[picture])).extra) == {"images[0].hm": 1}


def test_metadata_of_a_client_is_no_content() -> None:
    """What the client of Bedrock adds to a reply is not kept."""
    message = {"role": "assistant", "content": [{"text": "a"}]}
    reply = {"output": {"message": message}, "ResponseMetadata": {"RequestId": "r"}}
    assert not read_response(reply).extra


# Streams.

PARTIAL: dict[str, tuple[list[Any], object]] = {
    "a text in pieces": (
        [{"jsonPath": "$.a", "stringValue": "x"}, {"jsonPath": "$.a", "stringValue": "y"}],
        {"a": "xy"},
    ),
    "items of a list": (
        [{"jsonPath": "$.a[0]", "numberValue": 1}, {"jsonPath": "$.a[1]", "boolValue": True}],
        {"a": [1, True]},
    ),
    "items out of order": (
        [{"jsonPath": "$.a[1]", "numberValue": 2}, {"jsonPath": "$.a[0]", "numberValue": 1}],
        {"a": [1, 2]},
    ),
    "a dump of the SDK, whose last piece has no value": (
        [
            {"json_path": "$.a", "string_value": "x", "null_value": None},
            {"json_path": "$.a", "string_value": None, "null_value": None, "number_value": None},
        ],
        {"a": "x"},
    ),
    "an object in a list": (
        [{"jsonPath": "$.a[0].b", "nullValue": None}],
        {"a": [{"b": None}]},
    ),
}


@pytest.mark.parametrize("what", PARTIAL)
def test_arguments_in_pieces(what: str) -> None:
    """The pieces of an argument are put at their places."""
    pieces, expected = PARTIAL[what]
    (call,) = message_of(partial_call(*pieces)).calls
    assert json.loads(call.arguments) == expected


MISPLACED: dict[str, list[Any]] = {
    "a list at the root": [{"jsonPath": "$[0]", "stringValue": "x"}],
    "too large a number": [{"jsonPath": "$.a[" + "9" * 5000 + "]", "stringValue": "x"}],
    "a number and a name in one value": [
        {"jsonPath": "$.a[0]", "stringValue": "x"},
        {"jsonPath": "$.a.b", "stringValue": "x"},
    ],
    "an object that was a text": [
        {"jsonPath": "$.a", "stringValue": "x"},
        {"jsonPath": "$.a.b", "stringValue": "x"},
    ],
    "two numbers at one place": [
        {"jsonPath": "$.a", "numberValue": 1},
        {"jsonPath": "$.a", "numberValue": 2},
    ],
    "a text where a null is": [
        {"jsonPath": "$.a", "nullValue": None},
        {"jsonPath": "$.a", "stringValue": "x"},
    ],
    "a value where an object is": [
        {"jsonPath": "$.a.b", "stringValue": "x"},
        {"jsonPath": "$.a", "stringValue": "x"},
    ],
    "too deep a place": [{"jsonPath": "$" + ".a" * 5000, "stringValue": "x"}],
}


@pytest.mark.parametrize("what", MISPLACED)
def test_places_that_cannot_be(what: str) -> None:
    """A call with a place that no argument can have is kept as it came: nobody can run it."""
    message = message_of(partial_call(*MISPLACED[what]))
    assert [block.type for block in message.content] == ["unknown"]
    assert not message.calls


def chunk(finish: str | None = None, delta: Any = None, **keys: Any) -> dict[str, Any]:
    """Return an event of a stream of Chat."""
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish}
    return {"object": "chat.completion.chunk", "choices": [choice], **keys}


def test_unknown_keys_of_events() -> None:
    """The last value of an unknown key stays: texts of events are not joined."""
    message = message_of([chunk(None, {"content": "a"}, hm="x"), chunk("stop", hm="y")])
    assert dict(message.extra) == {"hm": "y"}


def test_a_finish_reason_before_the_last_piece() -> None:
    """Text that comes after the finish reason belongs to the answer."""
    events = [chunk("stop", {"content": "a"}), chunk(None, {"content": "b"})]
    message = message_of(events)
    assert (message.text, message.finish_reason) == ("ab", "stop")


def test_unknown_keys_of_earlier_events_of_gemini() -> None:
    """An unknown key of a content that came before the last one is kept."""
    first: dict[str, Any] = generated({"text": "a"})
    first["candidates"][0]["content"]["hm"] = 1
    extra = message_of([first, generated({"text": "b"}, finishReason="STOP")]).extra
    assert [key.rpartition(".")[2] for key in extra] == ["hm"]


def test_tokens_of_a_compaction_in_a_stream() -> None:
    """Tokens of a compaction are counted once, as in the reply without a stream."""
    usage = {
        "input_tokens": 10,
        "output_tokens": 5,
        "iterations": [
            {"type": "compaction", "input_tokens": 100, "output_tokens": 20},
            {"type": "message", "input_tokens": 10, "output_tokens": 5},
        ],
    }
    begin = {"type": "text", "text": "a"}
    events = [
        {"type": "message_start", "message": answer_of_claude(usage={"input_tokens": 10})},
        {"type": "content_block_start", "index": 0, "content_block": begin},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage},
        {"type": "message_stop"},
    ]
    complete = read_response(answer_of_claude(begin, stop_reason="end_turn", usage=usage))
    assert complete.token_usage == message_of(events).token_usage
    assert complete.token_usage is not None
    assert (complete.token_usage["input"], complete.token_usage["output"]) == (110, 25)


def test_an_output_that_comes_empty_at_the_end() -> None:
    """The items of a stream stand where the last event has none."""
    item = {
        "type": "message",
        "id": "m",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "Hi", "annotations": []}],
    }
    response = {"object": "response", "status": "completed", "output": []}
    events = [
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": []}},
        {
            "type": "response.output_text.delta",
            "output_index": 0,
            "content_index": 0,
            "delta": "Hi",
        },
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": response},
    ]
    message = message_of(events)
    assert message.text == "Hi"
    assert not message.extra


def test_a_stream_without_events() -> None:
    """A stream without an event is a message without content."""
    assert message_of([]).content == ()
