"""What a response counts and why it ended, and how the files of a request are named."""

from itertools import chain
from typing import Any, get_args

import pytest

from promptdsl import DocumentBlock, ImageBlock, read_response, read_stream
from tests.internals import FINISH_REASONS
from tests.providers.conversations import PDF, PNG, media, say
from tests.wire.sent import sent

# What a response counts.


def counted(usage: Any) -> Any:
    """Return what a response of Anthropic Messages counted."""
    response = {"type": "message", "role": "assistant", "content": [], "usage": usage}
    return read_response({**response, "stop_reason": "end_turn"}).token_usage


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, None),
        ({}, None),
        ({"service_tier": "standard"}, None),
        ({"input_tokens": 3, "output_tokens": 0}, {"input": 3, "output": 0, "total": 3}),
        (
            {
                "input_tokens": 3,
                "cache_read_input_tokens": 20,
                "cache_creation_input_tokens": 100,
                "output_tokens": 7,
                "output_tokens_details": {"thinking_tokens": 5},
            },
            {"input": 123, "cache_read": 20, "cache_write": 100, "output": 7, "reasoning": 5}
            | {"total": 130},
        ),
        (
            {"input_tokens": 3, "cache_read_input_tokens": None, "cache_creation_input_tokens": 0},
            {"input": 3, "cache_write": 0},
        ),
        ({"input_tokens": "3", "cache_read_input_tokens": 20}, {"input": 20, "cache_read": 20}),
        ({"input_tokens": True, "output_tokens": 1.5}, None),
        ({"cache_read_input_tokens": 20}, {"cache_read": 20}),
    ],
)
def test_counts(usage: Any, expected: object) -> None:
    """What was read is counted with what came from a cache and what went into one."""
    assert expected == counted(usage)


# Why it ended.

WORDS = {None, "stop", "length", "tool_use", "filtered", "refused", "paused", "error"}
CALL = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
MADE = {"tool_calls": [CALL]}


def chat(reason: str | None, **said: Any) -> dict[str, Any]:
    """Return a response of Chat that ended for a reason."""
    message = {"role": "assistant", "content": "Hi.", **said}
    return {"choices": [{"message": message, "finish_reason": reason}]}


def ended(reply: object) -> tuple[str | None, str | None]:
    """Return why a reply ended, in our word and in the provider's."""
    message = read_response(reply)
    return message.finish_reason, message.raw_finish_reason


def test_words() -> None:
    """The words of all providers are told in eight."""
    assert WORDS == {*FINISH_REASONS.values()}


@pytest.mark.sdk("anthropic", "boto3", "google.genai", "openai")
def test_words_of_the_sdks() -> None:
    """Each word that the types of an SDK list has one of ours."""
    chat = pytest.importorskip("openai.types.chat.chat_completion")
    responses = pytest.importorskip("openai.types.responses.response")
    beta = pytest.importorskip("anthropic.types.beta")
    gemini = pytest.importorskip("google.genai.types")
    bedrock = pytest.importorskip("botocore.session").get_session()
    types = (
        chat.Choice.model_fields["finish_reason"].annotation,
        responses.IncompleteDetails.model_fields["reason"].annotation,
        responses.ResponseStatus,
        beta.BetaStopReason,
    )
    words = {word for kind in types for word in listed(kind)}
    words |= {reason.value for reason in gemini.FinishReason}
    words |= {*bedrock.get_service_model("bedrock-runtime").shape_for("StopReason").enum}
    assert set() == words - {*FINISH_REASONS}
    assert {"length", "content_filter", "failed", "refusal", "SAFETY", "tool_use"} <= words


def listed(kind: Any) -> list[str]:
    """Return the strings that a type allows."""
    return [kind] if isinstance(kind, str) else [*chain(*map(listed, get_args(kind)))]


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (chat("stop"), ("stop", None)),
        (chat("length"), ("length", None)),
        (chat("tool_calls", **MADE), ("tool_use", "tool_calls")),
        (chat("stop", **MADE), ("tool_use", "stop")),
        (chat("length", **MADE), ("length", None)),
        (chat("stop", refusal="No."), ("refused", "stop")),
        (chat("length", refusal="No"), ("refused", "length")),
        (chat("bored"), ("bored", None)),
        (chat(None, **MADE), (None, None)),
        ({"type": "message", "content": [], "stop_reason": "compaction"}, ("paused", "compaction")),
        ({"candidates": [{"finishReason": "OTHER"}]}, ("error", "OTHER")),
        ({"promptFeedback": {"blockReason": "OTHER"}}, ("filtered", "OTHER")),
        ({"object": "response", "output": [], "status": "queued"}, (None, "queued")),
    ],
)
def test_why_it_ended(reply: object, expected: object) -> None:
    """Why it ended is told in one word for all providers, and beside it in the provider's own."""
    assert expected == ended(reply)


def test_why_a_stream_ended() -> None:
    """So is why a stream ended."""
    end = {"messageStop": {"stopReason": "malformed_tool_use"}}
    reading = read_stream([{"messageStart": {"role": "assistant"}}, end])
    assert 2 == len([*reading])
    assert ("error", "malformed_tool_use") == (
        reading.message.finish_reason,
        reading.message.raw_finish_reason,
    )


# Files.

OFFICE = "application/vnd.openxmlformats-officedocument."
NAMES = {
    "text/plain": "document.txt",
    "text/markdown": "document.md",
    "text/csv": "document.csv",
    "text/html": "document.html",
    "application/json": "document.json",
    "application/rtf": "document.rtf",
    "application/msword": "document.doc",
    "application/vnd.ms-excel": "document.xls",
    f"{OFFICE}wordprocessingml.document": "document.docx",
    f"{OFFICE}spreadsheetml.sheet": "document.xlsx",
    f"{OFFICE}presentationml.presentation": "document.pptx",
    "application/pdf": "document.pdf",
    "text/x-odd": "document.pdf",
}


def file_of(target: str, block: DocumentBlock) -> Any:
    """Return the name and the data of a file as it is sent."""
    payload = sent(target, say("user", block))
    (part,) = (payload.get("messages") or payload["input"])[0]["content"]
    held = part.get("file", part)
    return held["filename"], held["file_data"]


@pytest.mark.parametrize(
    ("target", "type", "name"),
    [
        ("openai", "application/pdf", "document.pdf"),
        *(("openai_responses", *row) for row in NAMES.items()),
    ],
)
def test_the_name_of_a_file(target: str, type: str, name: str) -> None:
    """A document without a title has a name with the ending of its type."""
    held, data = media("base64", "SGVsbG8=", type), f"data:{type};base64,SGVsbG8="
    assert (name, data) == file_of(target, DocumentBlock(held))
    assert (name, data) == file_of(target, DocumentBlock(held, title=""))
    assert ("Plan", data) == file_of(target, DocumentBlock(held, title="Plan"))


@pytest.mark.parametrize("target", ["openai", "openai_responses"])
def test_bytes_in_an_address(target: str) -> None:
    """The bytes in an address are sent as such."""
    data = f"data:application/pdf;base64,{PDF}"
    assert ("document.pdf", data) == file_of(target, DocumentBlock(media("url", data)))
    image = ImageBlock(media("url", f"data:image/png;base64,{PNG}"))
    held = ImageBlock(media("base64", PNG, "image/png"))
    assert sent(target, say("user", held)) == sent(target, say("user", image))
