"""langchain-core: message objects and ``convert_to_openai_messages``."""

import json
from typing import Any

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    convert_to_openai_messages,
)

from benchmarks.peers import same_as_handwritten, system_text
from benchmarks.prompt import Data, ToolCall

NAME = "langchain-core"
PACKAGE = "langchain-core"
NOTE = "arguments are parsed and written again"


def build(data: Data) -> list[dict[str, Any]]:
    """Return the messages of a Chat Completions request."""
    messages: list[BaseMessage] = [SystemMessage(system_text(data))]
    for exchange in data.exchanges:
        messages.append(HumanMessage(exchange.question))
        if exchange.call is not None:
            messages.extend(_called(exchange.call))
        messages.append(AIMessage(exchange.answer))
    text = {"type": "text", "text": data.question}
    image = {"type": "image_url", "image_url": {"url": data.image_url}}
    messages.append(HumanMessage([text, image]))
    return convert_to_openai_messages(messages)


def check(data: Data) -> bool:
    """Return whether the result says the same as the hand-written one."""
    return same_as_handwritten(build(data), data)


def _called(call: ToolCall) -> tuple[BaseMessage, BaseMessage]:
    tool_call = {"id": call.id, "name": call.name, "args": json.loads(call.arguments)}
    return AIMessage("", tool_calls=[tool_call]), ToolMessage(call.result, tool_call_id=call.id)
