"""What a good engineer writes without a library: a list of dictionaries for OpenAI Chat."""

from typing import Any

from benchmarks.prompt import Data, ToolCall

NAME = "hand-written"


def build(data: Data) -> list[dict[str, Any]]:
    """Return the messages of a Chat Completions request."""
    system = "\n\n".join(f"## {section.title}\n{section.text}" for section in data.sections)
    messages: list[dict[str, Any]] = [{"role": "system", "content": system}]
    for exchange in data.exchanges:
        messages.append({"role": "user", "content": exchange.question})
        if exchange.call is not None:
            messages.extend(_called(exchange.call))
        messages.append({"role": "assistant", "content": exchange.answer})
    text = {"type": "text", "text": data.question}
    image = {"type": "image_url", "image_url": {"url": data.image_url}}
    messages.append({"role": "user", "content": [text, image]})
    return messages


def _called(call: ToolCall) -> tuple[dict[str, Any], dict[str, Any]]:
    function = {"name": call.name, "arguments": call.arguments}
    tool_calls = [{"id": call.id, "type": "function", "function": function}]
    return (
        {"role": "assistant", "content": None, "tool_calls": tool_calls},
        {"role": "tool", "tool_call_id": call.id, "content": call.result},
    )
