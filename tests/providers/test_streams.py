"""Streams: each event passes unchanged, and they make the message of the reply."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from promptdsl import (
    DataError,
    History,
    Message,
    Timeline,
    Transcript,
    aread_stream,
    read_response,
    read_stream,
)
from promptdsl import render as rendered
from tests.any_data import anything
from tests.errors import raised
from tests.folding import failures
from tests.internals import TARGETS
from tests.providers.recorder import STREAMS, recording
from tests.searching import examples, outcomes

every_stream = pytest.mark.parametrize("provider", STREAMS)


def message_of(events: Any) -> Message:
    """Return the message that events make."""
    reading = read_stream(events)
    for _ in reading:
        pass
    return reading.message


def summary(message: Message) -> Any:
    """Return the types of a message's blocks, its text, its calls and its counts."""
    types = " ".join(block.type for block in message.content)
    calls = [(call.name, call.input) for call in message.calls]
    return types, message.text, calls, dict(message.token_usage or {})


COUNTS = {"input": 30, "output": 42, "cache_read": 10, "total": 72}
THOUGHT = {**COUNTS, "reasoning": 8}
CALLS = [("charges", {"month": "May"}), ("charges", {"month": "June"})]
SAID, TYPES = "I look it up.", "reasoning text tool_use tool_use"
SEARCHED = "reasoning reasoning unknown unknown text tool_use tool_use"
WHOLE: dict[str, Any] = {
    "anthropic": (SEARCHED, SAID, [CALLS[0], ("months", {})], {**COUNTS, "input": 40, "total": 82}),
    "bedrock": (TYPES, SAID, CALLS, COUNTS),
    "gemini": (f"{TYPES} text", SAID, CALLS, THOUGHT),
    "openai": (TYPES, SAID, CALLS, THOUGHT),
    "openai_responses": (TYPES, SAID, CALLS, {**THOUGHT, "cache_write": 0}),
}


@every_stream
def test_a_whole_stream(provider: str) -> None:
    """The events of a whole stream make the message of the reply."""
    message = message_of(STREAMS[provider])
    assert WHOLE[provider] == summary(message)
    assert "tool_use" == message.finish_reason


@every_stream
def test_events_pass(provider: str) -> None:
    """Each event passes as the same object, and is not changed."""
    before = repr(STREAMS[provider])
    assert [*map(id, STREAMS[provider])] == [*map(id, read_stream(STREAMS[provider]))]
    assert before == repr(STREAMS[provider])


def test_an_object_in_a_part_of_a_text() -> None:
    """The pieces of an object in a part are joined in the message, and not in its first event."""

    def event(text: str, detail: str) -> dict[str, Any]:
        part = {"type": "text", "text": text, "meta": {"detail": detail}}
        return {"choices": [{"index": 0, "delta": {"role": "assistant", "content": [part]}}]}

    events = [event("a", "1"), event("b", "2")]
    message = message_of(events)
    assert [event("a", "1"), event("b", "2")] == events
    assert ("ab", {"detail": "12"}) == (message.text, message.extra["content[0].meta"])


# What was cut off.


def unsendable(provider: str, targets: Any) -> list[str]:
    """Return the targets, each after a count of events, for which a cut stream cannot be sent."""
    events = STREAMS[provider]
    messages = {count: message_of(events[:count]) for count in range(1, len(events) + 1)}

    def send(name: str) -> None:
        count, target = name.split()
        message = messages[int(count)]
        results = [Message.tool_result(call.id, "49 EUR") for call in message.calls]
        turns = [Message("user", "Why?"), message, *results, Message("user", "Go on.")]
        rendered(Timeline(History(turns)), provider=target).payload()

    seen = [
        n
        for n, cut_message in messages.items()
        if cut_message not in [messages[m] for m in range(1, n)]
    ]
    return failures([f"{count} {target}" for count in seen for target in targets], send)


@pytest.mark.slow
@every_stream
def test_every_cut_is_sent_to_every_target(provider: str) -> None:
    """A stream that was cut off after any event gives a message that every target takes."""
    assert [] == unsendable(provider, TARGETS)


@every_stream
def test_every_cut_is_sent_back(provider: str) -> None:
    """A stream that was cut off after any event gives a message that its provider takes."""
    assert [] == unsendable(provider, [provider])


TWO = ["call of charges", "call of charges"]
CUTS: dict[str, tuple[str, int, Any]] = {
    "reasoning": ("anthropic", 5, ("", "", ["reasoning"])),
    "reasoning of Bedrock": ("bedrock", 3, ("", "", ["reasoning"])),
    "reasoning of Responses": ("openai_responses", 4, ("", "", ["reasoning"])),
    "a provider's tool": ("anthropic", 12, ("reasoning reasoning", "", ["server_tool_use"])),
    "a text": ("anthropic", 16, ("reasoning reasoning unknown unknown text", "I look ", None)),
    "a text of Responses": ("openai_responses", 8, ("reasoning text", "I look ", None)),
    "a text of Gemini": ("gemini", 3, ("reasoning text", "I look ", None)),
    "two calls": ("openai", 8, ("reasoning text", SAID, TWO)),
    "one call of two": ("openai_responses", 15, ("reasoning text tool_use", SAID, TWO[:1])),
    "before any content": ("bedrock", 1, ("", "", None)),
}


@pytest.mark.parametrize("what", CUTS)
def test_what_a_cut_leaves(what: str) -> None:
    """Texts and whole blocks stay; what is cut is left out, and named in the metadata."""
    provider, count, expected = CUTS[what]
    message = message_of(STREAMS[provider][:count])
    assert expected == (*summary(message)[:2], message.metadata.get("interrupted"))
    assert "interrupted" == message.finish_reason


def test_the_client_fails() -> None:
    """An exception of the client passes, and the message so far stays."""

    def events() -> Iterator[Any]:
        yield from STREAMS["gemini"][:3]
        raise ConnectionError("gone")

    reading = read_stream(events())
    assert "gone" == str(raised(ConnectionError, lambda: [*reading]))
    assert ("I look ", "interrupted") == (reading.message.text, reading.message.finish_reason)


# Events that are refused, or passed over.

CHUNK = {"choices": [{"delta": {"content": "Hi."}}]}
OVERLOADED = {"type": "overloaded_error", "message": "Overloaded"}
FLAT = {"type": "error", "message": "Overloaded"}
REFUSED: dict[str, tuple[Any, object]] = {
    "an error of Anthropic": ({"type": "error", "error": OVERLOADED}, OVERLOADED),
    "an error of Chat": ({"error": OVERLOADED, "choices": []}, OVERLOADED),
    "an error of Responses": (FLAT, FLAT),
    "a failure of Responses": (
        *({"type": "response.failed", "response": {"error": OVERLOADED}}, OVERLOADED),
    ),
    "an exception of Bedrock": ({"throttlingException": OVERLOADED}, OVERLOADED),
}


@pytest.mark.parametrize("what", REFUSED)
def test_an_error_in_a_stream(what: str) -> None:
    """An error event raises the error of the provider, and the message so far stays."""
    event, text = REFUSED[what]
    reading = read_stream([CHUNK, event])
    error = raised(DataError, lambda: [*reading])
    assert f"event 2 of the stream: the provider sent an error: {text}" == error.what
    assert error.at[0].startswith(__file__)
    assert "Hi." == reading.message.text


@pytest.mark.parametrize("key", ["choices", "candidates"])
def test_a_second_answer(key: str) -> None:
    """A stream with several answers is refused, with what to ask for."""
    error = raised(DataError, lambda: [*read_stream([CHUNK, {key: [{"index": 1}]}])])
    assert "event 2 of the stream: a second answer to one request" == error.what
    assert "ask for one answer: n=1, or for Gemini candidate_count=1" == error.fix


def test_unknown_events() -> None:
    """Events that no provider is known to send pass, and say nothing."""
    unknown_event = {"type": "news", "delta": "x"}
    reading = read_stream([unknown_event, CHUNK, {"type": "chunk", "chunk": CHUNK}, unknown_event])
    assert [unknown_event, CHUNK, {"type": "chunk", "chunk": CHUNK}, unknown_event] == [*reading]
    assert "Hi.Hi." == reading.message.text


def test_two_texts_of_one_item() -> None:
    """Texts that are streamed in turns into one item of Responses stay two, each in its order."""
    deltas = [(0, "One"), (1, "Two"), (0, " more."), (1, " again.")]
    kind = "response.output_text.delta"
    new_item = {"type": "message", "id": "m", "role": "assistant", "content": []}
    message = message_of(
        [
            {"type": "response.output_item.added", "output_index": 0, "item": new_item},
            *(
                {"type": kind, "output_index": 0, "content_index": index, "delta": text}
                for index, text in deltas
            ),
        ]
    )
    assert ["One more.", "Two again."] == [block.to_dict()["text"] for block in message.content]


def calls_of(*pieces: Any) -> list[tuple[str, str, str]]:
    """Return the calls in a stream of Chat with these pieces of calls, each in a chunk."""
    chunks = [{"choices": [{"delta": {"tool_calls": [piece]}}]} for piece in pieces]
    message = message_of([*chunks, {"choices": [{"finish_reason": "tool_calls"}]}])
    return [(call.id, call.name, call.arguments) for call in message.calls]


def test_calls_of_other_servers() -> None:
    """An empty id or name changes nothing, and another id begins a call, whatever its number is."""
    first = {"index": 0, "id": "a", "function": {"name": "charges", "arguments": ""}}
    rest = {"index": 0, "id": "", "function": {"name": "", "arguments": "{}"}}
    second = {"index": 0, "id": "b", "function": {"name": "months", "arguments": "{}"}}
    assert [("a", "charges", "{}"), ("b", "months", "{}")] == calls_of(first, rest, second)
    assert [("a", "charges", "{}")] == calls_of(first, {**rest, "id": "a"})
    first_delta = {**second, "function": {"name": "months", "arguments": ""}}
    assert [("a", "charges", "{}"), ("b", "months", "{}")] == calls_of(
        first, rest, first_delta, rest
    )


def test_two_calls_with_signatures_of_their_own() -> None:
    """What a server sends beside each of two calls stays with that call."""
    signs = [{"google": {"thought_signature": text}} for text in ("b25l", "dHdv")]
    calls = [
        {"index": n, "id": id, "function": {"name": "f", "arguments": "{}"}, "extra_content": sign}
        for n, (id, sign) in enumerate(zip("ab", signs, strict=True))
    ]
    chunks = [{"choices": [{"delta": {"tool_calls": [call]}}]} for call in calls]
    message = message_of([*chunks, {"choices": [{"finish_reason": "tool_calls"}]}])
    assert signs == [block.to_dict()["extra_content"] for block in message.content]


def test_a_number_that_no_call_had() -> None:
    """Of two calls without numbers, what comes with a new one goes on with the latest."""
    first, second = (
        {"id": id, "function": {"name": name, "arguments": text}}
        for id, name, text in (("a", "charges", "{}"), ("b", "months", ""))
    )
    rest = {"index": 0, "function": {"arguments": "{}"}}
    assert [("a", "charges", "{}"), ("b", "months", "{}")] == calls_of(first, second, rest)


@pytest.mark.parametrize(
    "chunk",
    [
        {"object": "chat.completion.chunk", "choices": [{"delta": {"content": "Rain."}}]},
        {"candidates": [{"content": {"parts": [{"text": "Rain."}]}}]},
    ],
)
def test_keys_like_the_types_of_others(chunk: dict[str, Any]) -> None:
    """A key that begins as the type of another provider's events does says nothing."""
    reading = read_stream([{"message_id": "1", "response.id": "2", "type": "key", **chunk}])
    assert 1 == len([*reading])
    assert "Rain." == reading.message.text


def test_a_response_with_keys_of_others() -> None:
    """A key that one provider alone has tells more than those that others may have."""
    choice = {"message": {"role": "assistant", "content": "Sun."}, "finish_reason": "stop"}
    foreign_keys = {"type": "message", "content": [], "stop_reason": "end_turn"}
    assert "Sun." == read_response({**foreign_keys, "choices": [choice]}).text


def test_no_event_of_a_provider() -> None:
    """Where events are of no known provider there is no message, and none before any was read."""
    for message in (lambda: message_of([{"type": "ping"}]), lambda: read_stream([CHUNK]).message):
        assert "no event of a provider was read so far" == raised(DataError, message).what


def failing() -> Iterator[Any]:
    """Yield the events of a stream whose client fails before the first one."""
    raise ConnectionError("gone")
    yield


@pytest.mark.parametrize("events", [[], [{"error": OVERLOADED}], failing()])
def test_a_stream_without_events(events: Any) -> None:
    """A stream that ended or failed without an event is an empty message."""
    reading = read_stream(events)
    with suppress(DataError, ConnectionError):
        for _ in reading:
            pass
    empty = Message("assistant", kind="recorded", finish_reason="interrupted")
    assert empty == reading.message


LATE = [("anthropic", "content_block_delta"), ("openai_responses", "response.output_text.delta")]


@pytest.mark.parametrize(("provider", "kind"), LATE)
def test_a_stream_without_its_beginning(provider: str, kind: str) -> None:
    """Of events whose first ones were left out, the error says what to give."""
    late = [event for event in STREAMS[provider] if event["type"] == kind]
    error = raised(DataError, lambda: message_of(late))
    assert "give read_stream all events of the stream, from the first on" == error.fix


def judged(events: Any) -> str:
    """Return whether the events of a stream are read, or refused."""
    try:
        message_of(events)
    except DataError:
        return "refused"
    return "read"


@pytest.mark.hypothesis
@every_stream
def test_anything_in_a_stream(provider: str) -> None:
    """Any events are read or refused, whatever value in them is another one."""
    good = STREAMS[provider]
    assert {"read", "refused"} == outcomes(judged, good, st.lists(anything))


GONE = {"anthropic": {7}, "bedrock": {9}, "openai_responses": {3, 6, 12, 17, 18}}
"""By provider, events without which one of what they make has no beginning, and is refused."""


@every_stream
def test_events_that_are_missing(provider: str) -> None:
    """Events of which any are missing are read, or refused where something has no beginning."""
    verdicts = set()

    @examples(100)
    @example(set())
    @example(GONE.get(provider, set()))
    @given(st.sets(st.integers(0, len(STREAMS[provider]) - 1)))
    def search(missing: set[int]) -> None:
        remaining = [event for n, event in enumerate(STREAMS[provider]) if n not in missing]
        verdicts.add(judged(remaining))

    search()
    assert (True, provider in GONE) == ("read" in verdicts, "refused" in verdicts)


# Clients.


async def aread(events: AsyncIterator[Any]) -> Message:
    """Return the message that the events of an asynchronous client make."""
    reading = aread_stream(events)
    async for _ in reading:
        pass
    return reading.message


@every_stream
def test_an_asynchronous_stream(provider: str) -> None:
    """A stream that is awaited gives the same message."""

    async def events() -> AsyncIterator[Any]:
        for event in STREAMS[provider]:
            yield event

    assert message_of(STREAMS[provider]) == asyncio.run(aread(events()))


def openai_streams(url: str) -> Iterator[tuple[str, Message]]:
    """Yield the messages of the streams of OpenAI's clients, and of their helpers."""
    from openai import AsyncOpenAI, OpenAI

    options: Any = {"model": "m", "messages": []}
    with OpenAI(base_url=url, api_key="test") as client:
        yield "openai", message_of(client.chat.completions.create(stream=True, **options))
        with client.chat.completions.stream(**options) as helper:
            yield "openai", message_of(helper)
            yield "openai", read_response(helper.get_final_completion())
        responses = client.responses.create(model="m", input="x", stream=True)
        yield "openai_responses", message_of(responses)
        with client.responses.stream(model="m", input="x") as helper:
            yield "openai_responses", message_of(helper)
            yield "openai_responses", read_response(helper.get_final_response())

    async def ask() -> Message:
        async with AsyncOpenAI(base_url=url, api_key="test") as client:
            return await aread(await client.chat.completions.create(stream=True, **options))

    yield "openai", asyncio.run(ask())


def anthropic_streams(url: str) -> Iterator[tuple[str, Message]]:
    """Yield the messages of the streams of Anthropic's clients, and of their helpers."""
    from anthropic import Anthropic, AsyncAnthropic

    options: Any = {"model": "m", "messages": [], "max_tokens": 1}
    with Anthropic(base_url=url, api_key="test") as client:
        yield "anthropic", message_of(client.messages.create(stream=True, **options))
        with client.messages.stream(**options) as helper:
            yield "anthropic", message_of(helper)
            yield "anthropic", read_response(helper.get_final_message())

    async def ask() -> Message:
        async with AsyncAnthropic(base_url=url, api_key="test") as client:
            return await aread(await client.messages.create(stream=True, **options))

    yield "anthropic", asyncio.run(ask())


def gemini_streams(url: str) -> Iterator[tuple[str, Message]]:
    """Yield the message of a stream of Google's client."""
    from google import genai

    options = genai.types.HttpOptions(base_url=url)
    with genai.Client(api_key="test", http_options=options) as client:
        yield "gemini", message_of(client.models.generate_content_stream(model="m", contents="x"))


@pytest.mark.sdk("openai", "anthropic", "google.genai")
@pytest.mark.parametrize("streams", [openai_streams, anthropic_streams, gemini_streams])
def test_real_clients(streams: Callable[[str], Iterator[tuple[str, Message]]]) -> None:
    """The streams of the real clients, and what their helpers collect, make the same message."""
    with recording() as server:
        messages = [*streams(server.url)]
    assert [(name, message_of(STREAMS[name])) for name, _ in messages] == messages


def test_the_message_of_a_stream_is_one_object() -> None:
    """A message that is appended twice is one object, so that a hint can tell of it."""
    reading = read_stream(STREAMS["openai"])
    assert [*reading] == STREAMS["openai"]
    assert reading.message is reading.message


async def _none() -> AsyncIterator[dict[str, object]]:
    for event in ():
        yield event


def test_a_loop_of_the_other_kind() -> None:
    """A stream is told to be read in a loop of its own kind."""

    async def wrong() -> None:
        events: list[Any] = []
        async for _ in read_stream(events):
            pass

    with pytest.raises(DataError, match="this stream is synchronous: write for event in reading"):
        asyncio.run(wrong())
    with pytest.raises(DataError, match="this stream is asynchronous: read it with aread_stream"):
        list(aread_stream(_none()))


START: Any = {
    "type": "message_start",
    "message": {"type": "message", "role": "assistant", "content": [], "usage": {}},
}
ERROR: Any = {"error": {"message": "overloaded"}}
FAILED_STREAMS: dict[str, list[Any]] = {
    "an error first": [ERROR],
    "an error of Anthropic": [{"type": "error", **ERROR}],
    "an error of Responses": [{"type": "response.failed", "response": ERROR}],
    "an error of Bedrock": [{"throttlingException": {"message": "overloaded"}}],
    "an error after a ping": [{"type": "ping"}, ERROR],
    "an error after a start": [START, ERROR],
    "an exception first": [OSError("overloaded")],
    "an exception after a ping": [{"type": "ping"}, OSError("overloaded")],
    "an exception after no event of a provider": [{"odd": 1}, OSError("overloaded")],
    "an exception after a start that is none": [
        {"type": "message_start", "message": {"type": "message"}},
        OSError("overloaded"),
    ],
    "Ctrl-C": [KeyboardInterrupt("overloaded")],
}


@pytest.mark.parametrize("name", FAILED_STREAMS)
@pytest.mark.parametrize("is_async", [False, True])
def test_the_message_of_a_stream_that_failed(name: str, is_async: bool) -> None:
    """The error of the stream is raised, and what is appended after it is an empty message."""

    def events() -> Iterator[Any]:
        for event in FAILED_STREAMS[name]:
            if isinstance(event, BaseException):
                raise event
            yield event

    async def aevents() -> AsyncIterator[Any]:
        for event in events():
            yield event

    async def aread(reading: Any) -> None:
        try:
            async for _ in reading:
                pass
        finally:
            history.append(reading.message)

    def read(reading: Any) -> None:
        try:
            for _ in reading:
                pass
        finally:
            history.append(reading.message)

    history = Transcript(["Why?"])
    with pytest.raises(BaseException, match="overloaded"):
        asyncio.run(aread(aread_stream(aevents()))) if is_async else read(read_stream(events()))
    assert (2, ()) == (len(history), history[-1].content)
    assert "interrupted" == history[-1].finish_reason


def test_the_message_of_a_stream_that_is_left() -> None:
    """What a program raises while it reads is not hidden by the message so far."""
    reading = read_stream([{"type": "ping"}, START])
    contents: list[Any] = []

    def read() -> None:
        try:
            for _ in reading:
                raise RuntimeError("mine")
        finally:
            contents.append(reading.message.content)

    with pytest.raises(RuntimeError, match="mine"):
        read()
    assert [()] == contents


@pytest.mark.parametrize("key", ["choices", "candidates"])
def test_the_key_that_is_no_list(key: str) -> None:
    """An error of an event names the key that is wrong."""
    with pytest.raises(DataError, match=f"'{key}' must be a list, not int"):
        [*read_stream([{key: -1}])]
