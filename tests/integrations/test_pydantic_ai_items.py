"""Items of OpenAI Responses and Pydantic AI: their ids, and what its own models send."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

pytest.importorskip("pydantic_ai", reason="needs pydantic-ai")

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from promptdsl import *
from promptdsl.integrations.pydantic_ai import from_pydantic_ai, to_pydantic_ai
from tests.integrations.crossings import rendered
from tests.providers.conversations import answer, say
from tests.renders import named_losses, reported

pytestmark = pytest.mark.sdk("pydantic_ai")

TIME: Any = {"timestamp": datetime(1970, 1, 1, tzinfo=UTC)}
OPENAI: Any = {"provider_name": "openai"}
THOUGHT = ReasoningBlock("Hm.", encrypted="ZW5j", origin="openai_responses", extra={"id": "rs_1"})
PROMPT = ModelRequest([UserPromptPart("Hi.", **TIME)])
REPLY = ModelResponse(
    [
        ThinkingPart("Hm.", id="rs_1", signature="ZW5j", **OPENAI),
        TextPart("Wait.", id="msg_1", provider_details={"phase": "commentary"}, **OPENAI),
        ToolCallPart("f", "{}", "a", id="fc_1", provider_details={"namespace": "n"}, **OPENAI),
    ],
    **TIME,
)
RETURN = ModelRequest([ToolReturnPart("f", "x", "a", **TIME)])
SENT = [
    {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "Hm."}],
        "encrypted_content": "ZW5j",
    },
    {
        "type": "message",
        "id": "msg_1",
        "status": "completed",
        "role": "assistant",
        "phase": "commentary",
        "content": [{"type": "output_text", "text": "Wait.", "annotations": []}],
    },
    {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "a",
        "name": "f",
        "namespace": "n",
        "arguments": "{}",
    },
]


def items(messages: Any) -> list[Any]:
    """Return the items of the model that promptdsl sends."""
    payload = render(Timeline(History(messages)), provider="openai_responses").payload()
    return [item for item in payload["input"] if item.get("role") != "user"]


def captured(history: Sequence[ModelMessage], *, chat: bool = False) -> dict[str, Any]:
    """Return the request of Pydantic AI's own model of Responses, or of Chat."""
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    class Captured(Exception):
        pass

    request: dict[str, Any] = {}

    async def create(**arguments: Any) -> None:
        request.update(arguments)
        raise Captured

    kind = OpenAIChatModel if chat else OpenAIResponsesModel
    model = kind("gpt-5", provider=OpenAIProvider(api_key="x"))
    client: Any = model.client
    client.responses.create = client.chat.completions.create = create
    parameters = ModelRequestParameters()
    prepared = model.prepare_messages([*history], parameters)
    with pytest.raises(Captured):
        asyncio.run(model.request(prepared, None, parameters))
    return request


def test_ids() -> None:
    """The ids of a text and of a call stay with their reasoning, there and back."""
    bridged = from_pydantic_ai([PROMPT, REPLY, RETURN])
    assert (SENT, ()) == (items(bridged.messages)[:3], reported(bridged))
    again = to_pydantic_ai(rendered(bridged.messages))
    assert ((PROMPT, REPLY, RETURN), ()) == (again.messages, reported(again))


def test_ids_of_a_response() -> None:
    """A response of the service keeps its ids on the way to Pydantic AI."""
    reply = read_response({"object": "response", "status": "completed", "output": SENT})
    bridged = to_pydantic_ai(rendered([say("user", "Hi."), reply]))
    assert (REPLY.parts, ()) == (bridged.messages[1].parts, reported(bridged))


@pytest.mark.slow
def test_ids_are_sent() -> None:
    """Pydantic AI's own model sends the reasoning and the items with their ids."""
    reply = read_response({"object": "response", "status": "completed", "output": SENT})
    result = answer("a", "x")
    history = to_pydantic_ai(rendered([say("user", "Hi."), reply, result])).messages
    sent = captured(history)["input"]
    assert [(item["type"], item["id"]) for item in SENT] == [
        (item.get("type"), item.get("id")) for item in sent[1:4]
    ]


@pytest.mark.parametrize(
    ("blocks", "ids"),
    [
        ([THOUGHT, TextBlock("Wait.")], [None]),
        ([THOUGHT], []),
        ([THOUGHT, ToolUseBlock("a", "f", "{}")], ["rs_1", None]),
        ([TextBlock("Wait.", extra={"item": {"id": "msg_1", "reasoning": "rs_1"}})], [None]),
        ([TextBlock("Wait.", extra={"item": {"id": "msg_1"}})], ["msg_1"]),
    ],
)
def test_neither(blocks: Any, ids: Any) -> None:
    """Reasoning without the id of its text is left out with a hint, an id without reasoning is."""
    bridged = to_pydantic_ai(rendered([say("user", "Hi."), say("assistant", *blocks)]))
    parts = [part for message in bridged.messages[1:] for part in message.parts]
    lost = [] if THOUGHT not in blocks or "rs_1" in ids else [("hint", "reasoning")]
    assert (ids, lost) == ([part.id for part in parts], named_losses(reported(bridged)))


def test_old_histories() -> None:
    """A history of a text without its id is sent without the reasoning, and a hint says so."""
    reply = ModelResponse([REPLY.parts[0], TextPart("Rain.")])
    tree = Timeline(History(from_pydantic_ai([PROMPT, reply]).messages))
    sent = render(tree, provider="openai_responses")
    assert {"role": "assistant", "content": "Rain."} == sent.payload()["input"][1]
    assert ("hint", "reasoning") in named_losses(sent.hints)


def test_further_keys() -> None:
    """Other fields of an item are hints, and a call with free text has no call id."""
    text = TextBlock("x", extra={"item": {"id": "msg_1", "status": "completed", "own": 1}})
    free = ToolUseBlock("a", "f", "x", extra={"custom": True, "item": {"id": "ctc_1"}})
    for block, id in ((text, "msg_1"), (free, None)):
        bridged = to_pydantic_ai(rendered([say("assistant", block)]))
        assert id == bridged.messages[0].parts[0].id
        assert [("hint", "further keys of a block")] == named_losses(bridged.hints)


@pytest.mark.slow
def test_what_the_model_sees() -> None:
    """A list is one text, and a system prompt is an item, as in Pydantic AI's own request."""
    values = ToolReturnPart("f", [{"id": 1}, {"id": 2}], "a", outcome="denied")
    call = ModelResponse([ToolCallPart("f", "{}", "a")])
    first = ModelRequest([SystemPromptPart("S"), UserPromptPart("Hi.")])
    history = [first, call, ModelRequest([values])]
    tree = Timeline(History(from_pydantic_ai(history).messages))
    our_request = render(tree, provider="openai_responses").payload()["input"]
    assert captured(history)["input"] == our_request


@pytest.mark.slow
@pytest.mark.parametrize("provider", ["openai", "openai_responses"])
def test_the_order_of_instructions(provider: str) -> None:
    """Instructions and system prompts have the order of Pydantic AI's own request."""
    first = ModelRequest([SystemPromptPart("S"), UserPromptPart("Hi.")], instructions="I")
    history = [first, ModelResponse([]), ModelRequest([UserPromptPart("So?")], instructions="I")]
    messages = from_pydantic_ai(history, provider=provider).messages
    sent = captured(history, chat=provider == "openai")
    standing = [{"role": "system", "content": sent.get("instructions")}]
    items = sent.get("messages") or [*standing, *sent["input"]]
    assert [(item["role"], item["content"]) for item in items] == [
        (message.role, message.text) for message in messages if message.content
    ]


def test_an_unknown_provider() -> None:
    """A provider that is misspelt is an error, not the usual order."""
    with pytest.raises(TargetError, match="did you mean 'openai_responses'"):
        from_pydantic_ai([], provider="openai-responses")
