"""Token counts, finish reasons and empty responses of Pydantic AI, there and back."""

from datetime import UTC, datetime
from typing import Any, get_args

import pytest

pytest.importorskip("pydantic_ai", reason="needs pydantic-ai")

from pydantic_ai.messages import (
    FinishReason,
    ModelRequest,
    ModelResponse,
    TextPart,
    UserPromptPart,
)
from pydantic_ai.usage import RequestUsage

from promptdsl import Message, TextBlock
from promptdsl.integrations.pydantic_ai import from_pydantic_ai, to_pydantic_ai
from tests.integrations.crossings import rendered
from tests.renders import named_losses, reported

pytestmark = pytest.mark.sdk("pydantic_ai")

TIME: Any = {"timestamp": datetime(1970, 1, 1, tzinfo=UTC)}
COUNTS = {"input": 9, "output": 8, "cache_read": 3, "cache_write": 2, "reasoning": 5, "total": 17}


def test_usage() -> None:
    """What a model counted has the names of both sides, and crosses both ways."""
    bridged = to_pydantic_ai(rendered([Message("assistant", "Hi.", token_usage=COUNTS)]))
    (reply,) = bridged.messages
    assert reply.usage == RequestUsage(
        input_tokens=9,
        output_tokens=8,
        cache_read_tokens=3,
        cache_write_tokens=2,
        output_reasoning_tokens=5,
    )
    (message,) = from_pydantic_ai([reply]).messages
    assert (COUNTS, ()) == (message.token_usage, reported(bridged))


def test_further_usage() -> None:
    """A count that has no name here is a hint, and an older one of reasoning is found."""
    usage = RequestUsage(output_tokens=2, input_audio_tokens=1, details={"reasoning_tokens": 1})
    bridged = from_pydantic_ai([ModelResponse([TextPart("Hi.")], usage=usage)])
    counts = {"input": 0, "output": 2, "reasoning": 1, "total": 2}
    assert counts == bridged.messages[0].token_usage
    assert [("hint", "the token count 'input_audio_tokens'")] == named_losses(bridged.hints)


def test_lost_counts() -> None:
    """A count that Pydantic AI has no name for is a hint, as is a total that is no sum."""
    counts = {"input": 1, "output": 2, "total": 4, "images": 2, "cache_read": "x"}
    losses = reported(to_pydantic_ai(rendered([Message("assistant", "Hi.", token_usage=counts)])))
    assert [
        ("hint", f"the token count {name!r}") for name in ("images", "cache_read", "total")
    ] == named_losses(losses)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("stop", "stop"),
        ("length", "length"),
        ("tool_use", "tool_call"),
        ("filtered", "content_filter"),
        ("refused", "content_filter"),
        ("paused", None),
        ("error", "error"),
        ("ELSEWHERE", None),
        (None, None),
    ],
)
def test_finish_reasons(ours: Any, theirs: Any) -> None:
    """Why a model stopped has the word of both sides; ours is kept where theirs says less."""
    (reply,) = to_pydantic_ai(rendered([Message("assistant", "Hi.", finish_reason=ours)])).messages
    (message,) = from_pydantic_ai([reply]).messages
    assert (theirs, ours) == (reply.finish_reason, message.finish_reason)


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        (ModelResponse([], provider_details={"finish_reason": "pause_turn"}), "paused"),
        (ModelResponse([TextPart("x")], state="suspended"), "paused"),
        (
            ModelResponse(
                [], finish_reason="content_filter", provider_details={"finish_reason": "refusal"}
            ),
            "refused",
        ),
        (
            ModelResponse([], finish_reason="error", provider_details={"finish_reason": "OTHER"}),
            "error",
        ),
    ],
)
def test_raw_finish_reasons(response: Any, reason: str) -> None:
    """A raw reason that says more than Pydantic AI's is read."""
    assert reason == from_pydantic_ai([response]).messages[0].finish_reason


@pytest.mark.parametrize(
    ("reasons", "detail", "hints"),
    [
        (("stop", "end_turn"), "end_turn", 0),
        (("error", "OTHER"), "OTHER", 0),
        (("refused", "refusal"), "refusal", 0),
        (("paused", "pause_turn"), "pause_turn", 0),
        (("paused", "compaction"), "paused", 1),
        (("refused", "stop"), "refused", 1),
        ((None, "queued"), None, 1),
        (("stop", "refusal"), None, 1),
    ],
)
def test_finish_reasons_of_providers(reasons: Any, detail: object, hints: int) -> None:
    """The provider's reason is where Pydantic AI has it; next to promptdsl's, it is a hint."""
    message = Message("assistant", "Hi.", finish_reason=reasons[0], raw_finish_reason=reasons[1])
    there = to_pydantic_ai(rendered([message]))
    (back,) = from_pydantic_ai(there.messages).messages
    assert (detail, reasons[0], None if hints else reasons[1], hints) == (
        (there.messages[0].provider_details or {}).get("finish_reason"),
        *(back.finish_reason, back.raw_finish_reason),
        len([hint for hint in there.hints if hint.name == "unsent_key"]),
    )


def test_finish_reasons_of_pydantic_ai() -> None:
    """Each finish reason of Pydantic AI has one of ours."""
    replies = [ModelResponse([], finish_reason=name) for name in get_args(FinishReason)]
    read = {message.finish_reason for message in from_pydantic_ai(replies).messages}
    assert {"stop", "length", "tool_use", "filtered", "error"} == read


def test_an_empty_response() -> None:
    """A response without parts is an empty message, which keeps what was counted."""
    history = [
        ModelRequest([UserPromptPart("Hi.", **TIME)]),
        ModelResponse([], usage=RequestUsage(input_tokens=5), **TIME),
        ModelRequest([UserPromptPart("Hello?", **TIME)]),
    ]
    messages = from_pydantic_ai(history).messages
    assert [True, False, True] == [bool(message.content) for message in messages]
    assert tuple(history) == to_pydantic_ai(rendered(messages)).messages


def test_a_refusal() -> None:
    """A refusal, which Pydantic AI has without parts, is the text of the message."""
    details = {"refusal": "I will not."}
    reply = ModelResponse([], finish_reason="content_filter", provider_details=details)
    (message,) = from_pydantic_ai([reply]).messages
    refusal = TextBlock("I will not.", extra={"refusal": True})
    assert ((refusal,), "refused") == (message.content, message.finish_reason)
