"""haystack: ``ChatMessage`` values and their ``to_openai_dict_format``."""

import json
from typing import Any

from haystack.dataclasses import ChatMessage, ToolCall

from benchmarks import prompt
from benchmarks.peers import same_as_handwritten, system_text
from benchmarks.prompt import Data

NAME = "haystack"
PACKAGE = "haystack-ai"
NOTE = "arguments are parsed and written again; no image URLs: the address is sent as text"


def build(data: Data) -> list[dict[str, Any]]:
    """Return the messages of a Chat Completions request, the picture's address as text."""
    messages = [ChatMessage.from_system(system_text(data))]
    for exchange in data.exchanges:
        messages.append(ChatMessage.from_user(exchange.question))
        if exchange.call is not None:
            messages.extend(_called(exchange.call))
        messages.append(ChatMessage.from_assistant(exchange.answer))
    messages.append(ChatMessage.from_user(content_parts=[data.question, data.image_url]))
    return [message.to_openai_dict_format() for message in messages]


def check(data: Data) -> bool:
    """Return whether the result says the same as the hand-written one."""
    return same_as_handwritten(build(data), data)


def _called(call: prompt.ToolCall) -> tuple[ChatMessage, ChatMessage]:
    origin = ToolCall(call.name, json.loads(call.arguments), id=call.id)
    return (
        ChatMessage.from_assistant(tool_calls=[origin]),
        ChatMessage.from_tool(call.result, origin=origin),
    )
