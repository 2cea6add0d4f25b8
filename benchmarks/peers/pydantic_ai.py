"""pydantic-ai: ``ModelMessage`` values and the mapping its OpenAI model runs before it sends."""

from collections.abc import Coroutine
from typing import Any

from pydantic_ai.messages import (
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from benchmarks.peers import same_as_handwritten, system_text
from benchmarks.prompt import Data, ToolCall

NAME = "pydantic-ai"
PACKAGE = "pydantic-ai-slim"
NOTE = "its mapping is internal; prepare_messages included; arguments are written again"

MODEL = OpenAIChatModel("gpt-4o", provider=OpenAIProvider(api_key="unused"))
PARAMETERS = ModelRequestParameters()


def build(data: Data) -> list[Any]:
    """Return the messages of a Chat Completions request."""
    messages: list[ModelMessage] = [ModelRequest([SystemPromptPart(system_text(data))])]
    for exchange in data.exchanges:
        messages.append(ModelRequest([UserPromptPart(exchange.question)]))
        if exchange.call is not None:
            messages.extend(_called(exchange.call))
        messages.append(ModelResponse([TextPart(exchange.answer)]))
    content = [data.question, ImageUrl(data.image_url)]
    messages.append(ModelRequest([UserPromptPart(content)]))
    # Every request runs prepare_messages first, so its users pay for it too.
    return _result(MODEL._map_messages(MODEL.prepare_messages(messages), PARAMETERS))


def check(data: Data) -> bool:
    """Return whether the result says the same as the hand-written one."""
    return same_as_handwritten(build(data), data)


def _called(call: ToolCall) -> tuple[ModelMessage, ModelMessage]:
    return (
        ModelResponse([ToolCallPart(call.name, call.arguments, call.id)]),
        ModelRequest([ToolReturnPart(call.name, call.result, call.id)]),
    )


def _result(coroutine: Coroutine[Any, Any, list[Any]]) -> list[Any]:
    # The mapping never waits, so one step finishes it; an event loop would only add its own cost.
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value
    raise RuntimeError("the mapping waited for something")
