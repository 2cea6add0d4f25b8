"""The ids of replies: the provider's, and those that an author gives."""

import json
from pathlib import Path
from typing import Any

import pytest

from promptdsl import *
from tests.errors import lines_of, raised
from tests.providers.recorder import CHAT_REPLY, MESSAGES_REPLY, RESPONSES_REPLY, STREAMS
from tests.renders import comes_to

GEMINI_REPLY: dict[str, Any] = {
    "candidates": [{"content": {"role": "model", "parts": [{"text": "ok"}]}}],
    "responseId": "gen_1",
}
BEDROCK_REPLY: dict[str, Any] = {"output": {"message": {"content": [{"text": "ok"}]}}}


@pytest.mark.parametrize(
    ("reply", "id"),
    [
        (CHAT_REPLY, "chatcmpl-1"),
        (MESSAGES_REPLY, "msg_1"),
        (RESPONSES_REPLY, "resp_1"),
        (GEMINI_REPLY, "gen_1"),
        ({**GEMINI_REPLY, "responseId": None, "response_id": "gen_2"}, "gen_2"),
        ({**CHAT_REPLY, "id": ""}, None),
        (BEDROCK_REPLY, None),
    ],
)
def test_the_id_of_a_reply(reply: Any, id: str | None) -> None:
    """The provider's id is in the metadata, and the message has no id of its own."""
    message = read_response(reply)
    assert (None, id) == (message.id, message.metadata.get("response_id"))
    assert message == Message.from_dict(json.loads(json.dumps(message.to_dict())))


IDS = {
    "anthropic": "msg_1",
    "bedrock": None,
    "gemini": None,
    "openai": "chatcmpl-1",
    "openai_responses": "resp_1",
}


def ids_of(provider: str) -> list[str | None]:
    """Return the ids of a stream that is cut after each event, without those that repeat."""
    events, ids = STREAMS[provider], dict[str | None, None]()
    for count in range(1, len(events) + 1):
        reading = read_stream(events[:count])
        assert "".join(reading.texts) == reading.message.text
        ids[reading.message.metadata.get("response_id")] = None
    return [*ids]


@pytest.mark.parametrize("provider", STREAMS)
def test_the_id_of_a_stream(provider: str) -> None:
    """A stream has the id from its first event on, also where it is cut."""
    assert [IDS[provider]] == ids_of(provider)


def test_the_id_of_a_stream_of_gemini() -> None:
    """The id of Gemini's chunks is that of the reply, in the spelling of SDK and service."""
    chunks = [
        {"candidates": [{"content": {"parts": [{"text": "Ra"}]}}], "response_id": "gen_1"},
        {"candidates": [{"content": {"parts": [{"text": "in."}]}}], "responseId": "gen_1"},
    ]
    reading = read_stream(chunks)
    assert "Ra" == next(reading.texts)
    assert "gen_1" == reading.message.metadata["response_id"]
    assert ["in."] == [*reading.texts]
    assert "gen_1" == reading.message.metadata["response_id"]


def test_an_interrupted_stream_keeps_both_notes() -> None:
    """The metadata of a stream that was cut has its id and what is left out."""
    call = {"index": 0, "id": "c", "function": {"name": "f", "arguments": "{"}}
    chunk = {"id": "chatcmpl-1", "choices": [{"delta": {"tool_calls": [call]}}]}
    reading = read_stream([chunk])
    assert [] == [*reading.texts]
    assert {"interrupted": ["call of f"], "response_id": "chatcmpl-1"} == reading.message.metadata


def test_an_id_of_the_author() -> None:
    """The id that an author gives is the message's, by which a history pins it."""
    plan = read_response(MESSAGES_REPLY, id="plan")
    assert ("plan", "msg_1") == (plan.id, plan.metadata["response_id"])
    assert [("assistant", "ok")] == comes_to(History([plan], pin=["plan"]))


@pytest.mark.parametrize("id", ["", 7, b"plan"])
def test_an_id_that_is_none(id: Any) -> None:
    """An id is a text that is not empty."""

    def read() -> None:
        read_response(MESSAGES_REPLY, id=id)

    error = raised(OptionError, read)
    assert (lines_of(read, 1), f"id={id!r}") == (error.at, error.what)


def test_ids_in_a_transcript(tmp_path: Path) -> None:
    """A reply in a transcript has the provider's id, also when it is loaded."""
    with Transcript.open(tmp_path / "a.jsonl") as transcript:
        transcript.append("Hi.")
        transcript.append(MESSAGES_REPLY)
        transcript.append(read_response(CHAT_REPLY, id="second"))
    with Transcript.open(tmp_path / "a.jsonl") as transcript:
        assert [(None, None), (None, "msg_1"), ("second", "chatcmpl-1")] == [
            (message.id, message.metadata.get("response_id")) for message in transcript
        ]
