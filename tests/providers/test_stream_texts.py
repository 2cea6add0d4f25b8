"""The texts of a stream as they come: ``reading.texts``."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from itertools import islice
from typing import Any

import pytest
from hypothesis import strategies as st

from promptdsl import *
from tests.any_data import anything
from tests.errors import raised
from tests.folding import failures
from tests.providers.recorder import STREAMS, recording, text_blocks
from tests.searching import outcomes

every_stream = pytest.mark.parametrize("provider", STREAMS)


def chunk(**delta: Any) -> Any:
    """Return an event of Chat."""
    return {"choices": [{"delta": delta}]}


def chunks(*texts: str) -> list[Any]:
    """Return events of Chat with a text each."""
    return [chunk(content=text) for text in texts]


@every_stream
def test_the_texts_of_a_stream(provider: str) -> None:
    """The texts are those of the answer, without its reasoning and calls, as they come."""
    assert ["I look ", "it up."] == [*read_stream(STREAMS[provider]).texts]


@pytest.mark.parametrize(
    "delta",
    [
        {"content": ""},
        {"content": None},
        {"reasoning_content": "Hm."},
        {"refusal": "No."},
        {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}]},
        {"tool_calls": [{"index": 0, "id": "1", "function": {"name": "f", "arguments": "{}"}}]},
    ],
)
def test_what_is_no_text(delta: Any) -> None:
    """An empty piece, reasoning, a call and a refusal are no text."""
    assert [] == [*read_stream([chunk(**delta)]).texts]


def test_refusals_of_responses() -> None:
    """A refusal of Responses is no text, and the text beside it is."""
    name = "response.refusal.delta"
    events = [
        {"type": "response.output_item.added", "output_index": 0, "item": {"type": "message"}},
        {"type": name, "output_index": 0, "content_index": 1, "delta": "No."},
        {"type": name.replace("refusal", "output_text"), "output_index": 0, "delta": "Yes."},
    ]
    assert ["Yes."] == [*read_stream(events).texts]


def test_texts_in_parts() -> None:
    """A text among parts, and what was spoken, are texts."""
    part = {"type": "text", "text": "a"}
    events = [chunk(content=[part]), chunk(content=[part]), chunk(audio={"transcript": "b"})]
    assert ["a", "a", "b"] == [*read_stream(events).texts]


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["<th", "ink>H", "m.</thi", "nk>\n", "\nRa", "in."], ["Ra", "in."]),
        (["<think>Hm.</think>Rain."], ["Rain."]),
        (["<", "b>Rain."], ["<b>Rain."]),
        (["<th"], ["<th"]),
        (["<think>Hm."], []),
        (["Rain <think>"], ["Rain <think>"]),
    ],
)
def test_reasoning_between_tags(texts: list[str], expected: list[str]) -> None:
    """Of a server that writes reasoning between tags, the texts begin behind it."""
    reading = read_stream(chunks(*texts), provider="groq")
    assert (expected, "".join(expected)) == ([*reading.texts], text_blocks(reading.message))


def test_reasoning_that_is_cut() -> None:
    """Reasoning between tags that was cut is left out of the message, and is no text of it."""
    reading = read_stream(chunks("<think>Hm."), provider="groq")
    assert not [*reading.texts]
    assert ((), ["reasoning"]) == (reading.message.content, reading.message.metadata["interrupted"])


# The laws.


def unlike_texts(provider: str) -> list[str]:
    """Return the counts of events after which the texts are not those of the message."""
    events = STREAMS[provider]

    def wrong(count: str) -> bool:
        reading = read_stream(events[: int(count)])
        texts = [*reading.texts]
        return "" in texts or "".join(texts) != text_blocks(reading.message)

    return failures([str(count) for count in range(1, len(events) + 1)], wrong)


@every_stream
def test_the_texts_of_every_cut(provider: str) -> None:
    """After any event the texts so far are those of the message so far; none is empty."""
    assert [] == unlike_texts(provider)


def unlike_changes(provider: str) -> list[str]:
    """Return the counts of events after which something comes twice, or is lost."""
    events = STREAMS[provider]

    def wrong(count: str) -> bool:
        reading = read_stream(events)
        passed = [*islice(reading, int(count))]
        first = [*islice(reading.texts, 1)]
        rest = [*reading]
        again = [*reading.texts]
        cut = read_stream([*passed])
        pieces = "".join(cut.texts) + "".join(first)
        complete = read_stream(events)
        return (
            not "".join(complete.texts).startswith(pieces)
            or bool(again)
            or len({*map(id, passed)} & {*map(id, rest)}) > 0
            or reading.message != complete.message
        )

    return failures([str(count) for count in range(len(events) + 1)], wrong)


@every_stream
def test_texts_and_events_are_one_stream(provider: str) -> None:
    """Who has begun with events may go on with texts, and back: nothing comes twice."""
    assert [] == unlike_changes(provider)


def test_texts_that_are_left_early() -> None:
    """Who leaves the texts has the message so far, and may go on."""
    reading = read_stream(chunks("Ra", "in", "."))
    assert "Ra" == next(reading.texts)
    assert ("Ra", "interrupted") == (reading.message.text, reading.message.finish_reason)
    assert "in" == next(reading.texts)
    assert ["."] == [*reading.texts]
    assert [] == [*reading]


def test_texts_of_a_client_that_fails() -> None:
    """An exception of the client passes, and the message so far stays."""

    def events() -> Iterator[Any]:
        yield from chunks("Ra", "in")
        raise ConnectionError("gone")

    reading, pieces = read_stream(events()), list[str]()
    assert "gone" == str(raised(ConnectionError, lambda: pieces.extend(reading.texts)))
    assert ("Rain", "interrupted") == (reading.message.text, reading.message.finish_reason)
    assert ["Ra", "in"] == pieces


def test_texts_of_what_is_no_answer() -> None:
    """Events that are no answer have no texts; that they are none is told by the message."""
    reading = read_stream([{"odd": 1}])
    assert [] == [*reading.texts]
    assert "no event of a provider" in raised(DataError, lambda: reading.message).what


def test_texts_of_the_other_kind() -> None:
    """The texts of a stream are iterated as the stream is."""

    async def wrong() -> None:
        async for _ in read_stream([]).texts:
            pass

    async def none() -> AsyncIterator[Any]:
        for event in ():
            yield event

    assert (
        "synchronous: write for text in reading.texts"
        in raised(DataError, lambda: asyncio.run(wrong())).what
    )
    assert "asynchronous" in raised(DataError, lambda: next(aread_stream(none()).texts)).what


@every_stream
def test_texts_of_an_asynchronous_stream(provider: str) -> None:
    """A stream that is awaited has the same texts, and makes the same message."""

    async def events() -> AsyncIterator[Any]:
        for event in STREAMS[provider]:
            yield event

    async def read() -> tuple[str, list[str], Message]:
        reading = aread_stream(events())
        first = await anext(reading.texts)
        return first, [text async for text in reading.texts], reading.message

    reading = read_stream(STREAMS[provider])
    first, *rest = reading.texts
    assert (first, rest, reading.message) == asyncio.run(read())


def judged(events: Any) -> str:
    """Return whether the texts of a stream are texts, or what its error begins with."""
    reading, texts = read_stream(events), list[str]()
    try:
        texts.extend(reading.texts)
    except DataError as error:
        return error.what.partition(" ")[0]
    return "texts" if all(type(text) is str and text for text in texts) else "others"


@every_stream
def test_texts_of_any_events(provider: str) -> None:
    """Whatever the events are, the texts are texts, and an error names its event."""
    verdicts = outcomes(judged, STREAMS[provider], st.lists(anything, max_size=3))
    assert {"texts"} == verdicts - {"event"}


# Clients.


def openai_texts(url: str) -> Iterator[tuple[str, Any]]:
    """Yield the streams of OpenAI's clients, and of their helpers."""
    from openai import OpenAI

    options: Any = {"model": "m", "messages": []}
    with OpenAI(base_url=url, api_key="test") as client:
        yield "openai", client.chat.completions.create(stream=True, **options)
        with client.chat.completions.stream(**options) as helper:
            yield "openai", helper
        yield "openai_responses", client.responses.create(model="m", input="x", stream=True)
        with client.responses.stream(model="m", input="x") as helper:
            yield "openai_responses", helper


def anthropic_texts(url: str) -> Iterator[tuple[str, Any]]:
    """Yield the streams of Anthropic's client, and of its helper."""
    from anthropic import Anthropic

    options: Any = {"model": "m", "messages": [], "max_tokens": 1}
    with Anthropic(base_url=url, api_key="test") as client:
        yield "anthropic", client.messages.create(stream=True, **options)
        with client.messages.stream(**options) as helper:
            yield "anthropic", helper


def gemini_texts(url: str) -> Iterator[tuple[str, Any]]:
    """Yield the stream of Google's client."""
    from google import genai

    options = genai.types.HttpOptions(base_url=url)
    with genai.Client(api_key="test", http_options=options) as client:
        yield "gemini", client.models.generate_content_stream(model="m", contents="x")


@pytest.mark.sdk("openai", "anthropic", "google.genai")
@pytest.mark.parametrize("streams", [openai_texts, anthropic_texts, gemini_texts])
def test_texts_of_real_clients(streams: Callable[[str], Iterator[tuple[str, Any]]]) -> None:
    """The streams of the real clients, and of their helpers, have the texts of the answer."""
    with recording() as server:
        texts = [(name, [*read_stream(stream).texts]) for name, stream in streams(server.url)]
    assert [(name, ["I look ", "it up."]) for name, _ in texts] == texts
