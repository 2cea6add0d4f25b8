"""mirascope: ``llm.messages`` and the encoder its OpenAI provider calls before it sends."""

from collections.abc import Sequence
from typing import Any

from mirascope import llm
from mirascope.llm.providers.openai.completions._utils import (
    CompletionsModelFeatureInfo,
    encode_request,
)

from benchmarks.peers import same_as_handwritten, system_text
from benchmarks.prompt import Data, ToolCall

NAME = "mirascope"
PACKAGE = "mirascope"
NOTE = "its encoder is internal"

MODEL = "openai/gpt-4o:completions"
PROVIDER = "openai:completions"


def build(data: Data) -> list[dict[str, Any]]:
    """Return the messages of a Chat Completions request."""
    messages: list[Any] = [llm.messages.system(system_text(data))]
    for exchange in data.exchanges:
        messages.append(llm.messages.user(exchange.question))
        if exchange.call is not None:
            messages.extend(_called(exchange.call))
        messages.append(_assistant(exchange.answer))
    messages.append(llm.messages.user([data.question, llm.Image.from_url(data.image_url)]))
    return encoded(messages)


def encoded(messages: Sequence[Any]) -> list[dict[str, Any]]:
    """Return messages of mirascope as those of a Chat Completions request."""
    _, _, request = encode_request(
        model_id=MODEL,
        messages=messages,
        tools=llm.Toolkit([]),
        format=None,
        params={},
        feature_info=CompletionsModelFeatureInfo(),
        provider_id=PROVIDER,
    )
    return list(request["messages"])


def message(said: dict[str, Any]) -> Any:
    """Return a message of mirascope from one of a Chat request."""
    if said["role"] == "system":
        return llm.messages.system(said["content"])
    if said["role"] == "tool":
        id, text = said["tool_call_id"], said["content"]
        return llm.messages.user(llm.ToolOutput(id=id, name="tool", result=text))
    if said["role"] == "user":
        return llm.messages.user(said["content"])
    calls = [
        llm.ToolCall(
            id=call["id"], name=call["function"]["name"], args=call["function"]["arguments"]
        )
        for call in said.get("tool_calls", ())
    ]
    return _assistant(calls or said["content"])


def _tool_call(id: str, *, name: str, arguments: str) -> Any:
    return llm.ToolCall(id=id, name=name, args=arguments)


def check(data: Data) -> bool:
    """Return whether the result says the same as the hand-written one."""
    return same_as_handwritten(build(data), data)


def _assistant(content: Any) -> Any:
    return llm.messages.assistant(content, model_id=MODEL, provider_id=PROVIDER)


def _called(call: ToolCall) -> tuple[Any, Any]:
    return (
        _assistant(llm.ToolCall(id=call.id, name=call.name, args=call.arguments)),
        llm.messages.user(llm.ToolOutput(id=call.id, name=call.name, result=call.result)),
    )
