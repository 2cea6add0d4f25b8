"""What recorded replies had and readers did not take: the reply, its stream, its recorded form.

Each case has a neighbour, a reply that looks much like it and has to be read as before.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from promptdsl import *


def chat(**message: Any) -> dict[str, Any]:
    """Return a reply of Chat."""
    answer = {"role": "assistant", "content": None, **message}
    return {"choices": [{"index": 0, "finish_reason": "stop", "message": answer}]}


def chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    """Return an event of a stream of Chat."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"object": "chat.completion.chunk", "choices": [choice]}


def converse(*content: Any) -> dict[str, Any]:
    """Return a reply of Converse."""
    message = {"role": "assistant", "content": [*content]}
    return {"output": {"message": message}, "stopReason": "end_turn"}


def generated(*parts: Any, **candidate: Any) -> dict[str, Any]:
    """Return a reply of Gemini, which is an event of a stream, too."""
    content = {"role": "model", "parts": [*parts]}
    return {"candidates": [{"content": content, "finishReason": "STOP", **candidate}]}


def claude(*content: Any, **keys: Any) -> dict[str, Any]:
    """Return a reply of Anthropic."""
    return {"type": "message", "role": "assistant", "content": [*content], **keys}


def items(*output: Any, **keys: Any) -> dict[str, Any]:
    """Return a reply of Responses."""
    return {"object": "response", "status": "completed", "output": [*output], **keys}


def message_of(events: list[Any]) -> Message:
    """Return the message that a stream makes, the same for both kinds of streams."""

    async def stream() -> AsyncIterator[Any]:
        for event in events:
            yield event

    async def message() -> Message:
        reading = aread_stream(stream())
        async for _ in reading:
            pass
        return reading.message

    reading = read_stream(events)
    for _ in reading:
        pass
    assert reading.message == asyncio.run(message())
    return reading.message


USE = {"toolUseId": "t1", "name": "f", "input": {}}
FUNCTION = {"name": "find", "arguments": '{"q": 1}'}
CALL = {"id": "c1", "type": "function", "function": FUNCTION}
THOUGHT = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
TEXT = {"type": "text", "text": "Hi"}
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
SAID = {
    **{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"},
    "content": [{"type": "output_text", "text": "Hi", "annotations": []}],
}
SOURCES = {"groundingChunks": [{"web": {"uri": "https://x.org/a", "title": "A page"}}]}
UNWRITTEN = {"id": "c1", "type": "function", "function": {"name": "find"}}

Kind = tuple[str, dict[str, Any], list[Any], list[Any], tuple[list[str], str, str, list[str]]]


def started(use: dict[str, Any]) -> list[Any]:
    """Return the events of a call of Converse."""
    start = {key: value for key, value in use.items() if key != "input"}
    return [
        {"messageStart": {"role": "assistant"}},
        {"contentBlockStart": {"contentBlockIndex": 0, "start": {"toolUse": start}}},
        {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"toolUse": {"input": "{}"}}}},
        {"contentBlockStop": {"contentBlockIndex": 0}},
        {"messageStop": {"stopReason": "end_turn"}},
    ]


def told_by_claude(block: Any, **keys: Any) -> list[Any]:
    """Return the events of a text of Anthropic."""
    return [
        {"type": "message_start", "message": {**claude(), **keys}},
        {"type": "content_block_start", "index": 0, "content_block": {**block, "text": ""}},
        {
            **{"type": "content_block_delta", "index": 0},
            "delta": {"type": "text_delta", "text": block["text"]},
        },
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
    ]


# By name: the provider, the reply, its stream, its recorded form, and what is read of them:
# the calls, the text, the types of blocks, the places of unread keys.
KINDS: dict[str, Kind] = {
    "a call that names its type": (
        "bedrock",
        converse({"toolUse": {**USE, "type": "tool_use"}}),
        started({**USE, "type": "tool_use"}),
        [{"role": "assistant", "content": [{"toolUse": {**USE, "type": "tool_use"}}]}],
        (["t1 f {}"], "", "tool_use", []),
    ),
    "its neighbour: a call that the server runs": (
        "bedrock",
        converse({"toolUse": {**USE, "type": "server_tool_use"}}),
        started({**USE, "type": "server_tool_use"}),
        [{"role": "assistant", "content": [{"toolUse": {**USE, "type": "server_tool_use"}}]}],
        ([], "", "unknown", []),
    ),
    "a call without arguments": (
        "openai",
        chat(tool_calls=[UNWRITTEN]),
        [chunk(tool_calls=[{"index": 0, **UNWRITTEN}]), chunk("stop")],
        [{"role": "assistant", "content": None, "tool_calls": [UNWRITTEN]}],
        (["c1 find {}"], "", "tool_use", []),
    ),
    "its neighbour: arguments that are an object": (
        "openai",
        chat(tool_calls=[{**CALL, "function": {"name": "find", "arguments": {"q": 1}}}]),
        [chunk(tool_calls=[{"index": 0, **CALL}]), chunk("stop")],
        [{"role": "assistant", "content": None, "tool_calls": [CALL]}],
        (['c1 find {"q": 1}'], "", "tool_use", []),
    ),
    "empty keys beside an answer": (
        "openai",
        chat(
            content="Hi", function_call={"name": "", "arguments": ""}, audio={"id": "", "data": ""}
        ),
        [chunk(content="Hi", function_call={"name": "", "arguments": ""}), chunk("stop")],
        [{"role": "assistant", "content": "Hi", "function_call": {"name": "", "arguments": ""}}],
        ([], "Hi", "text", []),
    ),
    "its neighbour: an older call": (
        "openai",
        chat(function_call=FUNCTION),
        [chunk(function_call=FUNCTION), chunk("stop")],
        [{"role": "assistant", "content": None, "function_call": FUNCTION}],
        (['function_call_0 find {"q": 1}'], "", "tool_use", []),
    ),
    "a thought before a text": (
        "openai",
        chat(content=[THOUGHT, TEXT]),
        [chunk(content=""), chunk(content=[THOUGHT]), chunk(content="Hi"), chunk("stop")],
        [{"role": "assistant", "content": [THOUGHT, TEXT]}],
        ([], "Hi", "unknown text", []),
    ),
    "reasoning beside a call, without a content": (
        "openai",
        {"choices": [{"message": {"role": "assistant", "reasoning": "hm", "tool_calls": [CALL]}}]},
        [chunk(reasoning="hm"), chunk(tool_calls=[{"index": 0, **CALL}]), chunk("stop")],
        [{"role": "assistant", "reasoning": "hm", "tool_calls": [CALL]}],
        (['c1 find {"q": 1}'], "", "reasoning tool_use", []),
    ),
    "a picture of the model": (
        "openai",
        chat(content="Hi", images=[PICTURE]),
        [chunk(content="Hi", images=[PICTURE]), chunk("stop")],
        [{"role": "assistant", "content": "Hi", "images": [PICTURE]}],
        ([], "Hi", "text image", []),
    ),
    "keys that nobody knows": (
        "openai",
        chat(content="Hi", mood=["calm"], tool_calls=[{**CALL, "weight": 2}]),
        [
            chunk(content="Hi", mood=["calm"]),
            chunk(tool_calls=[{"index": 0, **CALL, "weight": 2}]),
            chunk("stop"),
        ],
        [
            {
                "role": "assistant",
                "content": "Hi",
                "mood": ["calm"],
                "tool_calls": [{**CALL, "weight": 2}],
            }
        ],
        (['c1 find {"q": 1}'], "Hi", "text tool_use", ["mood", "tool_calls[0].weight"]),
    ),
    "its neighbour: keys without content": (
        "openai",
        {**chat(content="Hi"), "created": 1, "system_fingerprint": "fp", "service_tier": "x"},
        [{**chunk(content="Hi"), "created": 1, "obfuscation": "z"}, chunk("stop")],
        [{"role": "assistant", "content": "Hi"}],
        ([], "Hi", "text", []),
    ),
    "an unknown key of a part of Gemini's content": (
        "gemini",
        generated({"text": "Hi"}),
        [generated({"text": "H"}), generated({"text": "i"})],
        [{"role": "model", "parts": [{"text": "Hi"}]}],
        ([], "Hi", "text", []),
    ),
    "an unknown key of an answer of Anthropic": (
        "anthropic",
        {**claude(TEXT), "mood": "calm"},
        told_by_claude(TEXT, mood="calm"),
        [{"role": "assistant", "content": [TEXT], "mood": "calm"}],
        ([], "Hi", "text", ["mood"]),
    ),
    "an unknown key of an item": (
        "openai_responses",
        items({**SAID, "mood": "calm"}),
        [{"type": "response.completed", "response": items({**SAID, "mood": "calm"})}],
        [{**SAID, "mood": "calm"}],
        ([], "Hi", "text", ["[0].mood"]),
    ),
}


def summary(message: Message) -> tuple[list[str], str, str, list[str]]:
    """Return the calls, the text, the types of blocks and the places of unread keys."""
    calls = [f"{call.id} {call.name} {call.arguments}" for call in message.calls]
    types = " ".join(block.type for block in message.content)
    return calls, message.text, types, [*message.extra]


@pytest.mark.parametrize("what", KINDS)
def test_every_reader(what: str) -> None:
    """A reply, its stream and its recorded form are read alike."""
    provider, reply, events, recorded, expected = KINDS[what]
    entries = {"gemini": "contents", "openai_responses": "input"}.get(provider, "messages")
    (message,) = read_payload({entries: recorded}, provider).messages
    read = [read_response(reply), message_of(events), message]
    assert [expected] * 3 == [summary(reading) for reading in read]


@pytest.mark.parametrize("what", KINDS)
def test_it_goes_back(what: str) -> None:
    """What was read is sent back in a tool loop; a hint names each key that is not."""
    provider, reply, _, _, (_, _, _, places) = KINDS[what]
    message = read_response(reply)
    results = [ToolMessage(call.id, "done") for call in message.calls]
    rendered = render(
        Timeline(User("q"), History([message]), *results, User("z")), provider=provider
    )
    assert rendered.payload()
    hinted_keys = [hint.what for hint in rendered.hints if hint.name == "unread_key"]
    assert [f"key {path.rpartition('.')[2]!r}" for path in places] == hinted_keys


@pytest.mark.parametrize("what", KINDS)
def test_it_is_stored(what: str) -> None:
    """A message with unread keys is stored and compared with them."""
    message = read_response(KINDS[what][1])
    again = Message.from_dict(message.to_dict())
    assert (message, message.extra) == (again, again.extra)
    if message.extra:
        assert message != message.replace(extra={})


# Around the message.


def test_keys_around_the_message() -> None:
    """Keys of a response around its message are kept by their place, and may be told of."""
    reply = {
        **chat(content="Hi"),
        "citations": ["https://x.org"],
        "usage": {"prompt_tokens": 1, "lines": 2},
    }
    message = read_response(reply)
    assert {"citations": ("https://x.org",), "usage.lines": 2} == {
        key: tuple(value) if isinstance(value, list) else value  # type: ignore[arg-type]
        for key, value in message.to_dict()["extra"].items()
    }


def test_sources_of_gemini() -> None:
    """The sources of a grounded answer are kept, and a hint tells that they are not sent."""
    message = read_response(generated({"text": "Rain."}, groundingMetadata=SOURCES))
    streamed = message_of(
        [generated({"text": "Ra"}), generated({"text": "in."}, groundingMetadata=SOURCES)]
    )
    assert {"candidates[0].grounding_metadata": SOURCES} == message.to_dict()["extra"]
    assert message == streamed
    rendered = render(Timeline(User("q"), History([message]), User("z")), provider="gemini")
    assert ["key 'grounding_metadata'"] == [hint.what for hint in rendered.hints]


def test_a_value_that_is_no_json() -> None:
    """A key whose value JSON cannot express is kept as the name of its type."""
    prompt = read_payload(
        {"messages": [{"role": "user", "content": "Hi", "x": object()}]}, "openai"
    )
    assert {"x": "<object>"} == prompt.messages[0].extra


# Deltas of a call of Chat: which call each goes on with.


def head(id: str = "c1", name: str = "find", **keys: Any) -> dict[str, Any]:
    """Return the first delta of a call."""
    function = {"name": name, "arguments": '{"q":'}
    return {"id": id, "type": "function", "function": function, **keys}


def tail(text: str = "1}", **keys: Any) -> dict[str, Any]:
    """Return a later delta of a call."""
    return {"function": {"arguments": text}, **keys}


ONE, TWO = ['c1 find {"q":1}'], ['c1 find {"q":1}', 'c2 get {"q":2}']
DELTAS: dict[str, tuple[list[Any], list[str]]] = {
    "numbered": ([head(index=0), tail(index=0)], ONE),
    "the first numbered, the others named": ([head(index=0), tail(id="c1")], ONE),
    "the first numbered, the others not": ([head(index=0), tail()], ONE),
    "the first not, the others numbered": ([head(), tail(index=0)], ONE),
    "one id with two numbers": ([head(index=0), tail(index=1, id="c1")], ONE),
    "an empty id later": ([head(index=0), tail(index=0, id="")], ONE),
    "numbers that are null": ([head(index=None), tail(index=None)], ONE),
    "an id that comes late": ([head("", index=0), tail(index=0, id="c1")], ONE),
    "two by turns, numbered": (
        [head(index=0), head("c2", "get", index=1), tail(index=0), tail("2}", index=1)],
        TWO,
    ),
    "two by turns, named": (
        [head(), head("c2", "get"), tail(id="c1"), tail("2}", id="c2")],
        TWO,
    ),
    "two after each other, not numbered": ([head(), tail(), head("c2", "get"), tail("2}")], TWO),
    "two of one number": (
        [head(index=0), tail(index=0), head("c2", "get", index=0), tail("2}", index=0)],
        TWO,
    ),
    "two without ids and numbers": (
        [head(""), tail(), head("", "get"), tail("2}")],
        ['call_0 find {"q":1}', 'call_1 get {"q":2}'],
    ),
    "a name that is repeated": (
        [head(index=0), {"index": 0, "function": {"name": "find", "arguments": "1}"}}],
        ONE,
    ),
    "a name that is repeated at the end": (
        [head(index=0), tail(index=0), {"index": 0, "function": {"name": "find", "arguments": ""}}],
        ONE,
    ),
    "an object": (
        [{"index": 0, "id": "c1", "function": {"name": "find", "arguments": {"q": 1}}}],
        ['c1 find {"q": 1}'],
    ),
}


@pytest.mark.parametrize("what", DELTAS)
def test_deltas_of_calls(what: str) -> None:
    """A delta goes on with the open call of its id, else of its number, else with the last one."""
    deltas, expected = DELTAS[what]
    events = [chunk(tool_calls=[delta]) for delta in deltas]
    assert expected == summary(message_of([*events, chunk("tool_calls")]))[0]
    assert expected == summary(message_of([chunk("tool_calls", tool_calls=deltas)]))[0]


PIECES: dict[str, tuple[list[Any], Any]] = {
    "texts": (["a", "b"], [("text", "ab")]),
    "a list, then texts": ([[THOUGHT], "a", "b"], [("unknown", "hm"), ("text", "ab")]),
    "texts between lists": (
        ["a", [THOUGHT], "b"],
        [("text", "a"), ("unknown", "hm"), ("text", "b")],
    ),
    "a thought in pieces": ([[THOUGHT], [THOUGHT], "a"], [("unknown", "hmhm"), ("text", "a")]),
    "a text in pieces": ([[TEXT], [TEXT]], [("text", "HiHi")]),
    "two texts, the first with its signature": (
        [[{**TEXT, "signature": "s1"}], [TEXT], "a"],
        [("text", "Hi"), ("text", "Hia")],
    ),
    "nothing": (["", None, []], []),
}


@pytest.mark.parametrize("what", PIECES)
def test_pieces_of_content(what: str) -> None:
    """A content may change between a text and a list: what was there stays."""
    pieces, expected = PIECES[what]
    message = message_of([*(chunk(content=piece) for piece in pieces), chunk("stop")])
    assert expected == [*_texts(message)]


def test_pieces_of_a_thought_with_a_reference() -> None:
    """Texts of a thought go on each other, not over a reference between them."""
    reference = {"type": "reference", "reference_ids": [1]}
    pieces = ([TEXT], [TEXT, reference], [TEXT], [TEXT])
    events = [chunk(content=[{"type": "thinking", "thinking": piece}]) for piece in pieces]
    long = {"type": "text", "text": "HiHi"}
    thinking_part = {"type": "thinking", "thinking": [long, reference, long]}
    assert (UnknownBlock(thinking_part, origin="openai"),) == message_of(
        [*events, chunk("stop")]
    ).content


def _texts(message: Message) -> Iterator[tuple[str, str]]:
    for block in message.content:
        data: Any = block.to_dict()
        if block.type == "unknown":
            data = data["data"]["thinking"][0]
        yield block.type, data["text"]


# Nulls of the SDK's objects.


@pytest.mark.sdk("openai")
def test_nulls_that_a_request_needs() -> None:
    """Keys that a request has to have stay where the object of the SDK has no value."""
    from openai.types.responses import Response

    item = {
        **{"id": "ci_1", "type": "code_interpreter_call", "code": None, "container_id": "c"},
        **{"status": "completed", "outputs": None},
    }
    keys = {"id": "r", "created_at": 0, "model": "gpt-5", "tools": [], "tool_choice": "auto"}
    reply = {**items(item), **keys, "parallel_tool_calls": True}
    for recording in (reply, Response.model_validate(reply)):
        prompt = Timeline(User("q"), History([read_response(recording)]), User("z"))
        assert item == render(prompt, provider="openai_responses").payload()["input"][1]


@pytest.mark.sdk("anthropic")
def test_nulls_of_citations() -> None:
    """A citation keeps its title without one; a key that requests do not have goes."""
    from anthropic.types import Message as Reply

    cited = {
        **{"type": "char_location", "cited_text": "a", "document_index": 0},
        **{"document_title": None, "start_char_index": 0, "end_char_index": 1},
    }
    block = {**TEXT, "citations": [{**cited, "file_id": None}]}
    reply = claude(
        block, id="m", model="claude-opus-4-5", stop_reason="end_turn", stop_sequence=None
    )
    reply["usage"] = {"input_tokens": 1, "output_tokens": 1}
    message = read_response(Reply.model_validate(reply))
    prompt = Timeline(User("q"), History([message]), User("z"))
    content = render(prompt, provider="anthropic").payload()["messages"][1]["content"]
    assert [{**TEXT, "citations": [cited]}] == content


def test_addresses_of_files() -> None:
    """The address of a file is never taken for its bytes; where none is taken it is a loss."""
    file = {"filename": "d.pdf", "file_data": "https://example.org/d.pdf"}
    chat_turn = {"role": "user", "content": [{"type": "file", "file": file}, TEXT]}
    item = {"role": "user", "content": [{"type": "input_file", **file}]}
    for read, turn in (("openai", chat_turn), ("openai_responses", item)):
        prompt = read_payload({"input" if "res" in read else "messages": [turn]}, read)
        source: Any = prompt.messages[0].content[0]
        assert ("url", file["file_data"]) == (source.source.kind, source.source.value)
    rendered = render(read_payload({"messages": [chat_turn]}, "openai"), provider="openai")
    assert [("content", "document block")] == [(loss.kind, loss.what) for loss in rendered.losses]
    assert "base64" not in str(rendered.payload())
    elsewhere = render(read_payload({"messages": [chat_turn]}, "openai"), provider="anthropic")
    assert "https://example.org/d.pdf" in str(elsewhere.payload())
