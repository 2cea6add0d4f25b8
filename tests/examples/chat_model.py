"""A model that pays invoices back: what it says depends on the conversation alone."""

import json
import re
from collections.abc import Iterator
from itertools import chain
from typing import Any

from promptdsl import ToolResultBlock, Transcript

Call = tuple[str, str, int] | None
"""The id of a call, the tool and the invoice."""
Written = tuple[str, str, dict[str, Any]] | None
"""The same with all arguments."""

CHUNK = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "any"}
BEGUN = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "any",
    "content": [],
    "stop_reason": None,
    "usage": {"input_tokens": 1, "output_tokens": 1},
}


def last_of(body: dict[str, Any]) -> tuple[str, Call]:
    """Return what the model says to a request of either provider; calls must be in pairs."""
    read = Transcript.from_anthropic if "max_tokens" in body else Transcript.from_openai
    conversation = read(body["messages"]).messages
    invoices = [
        (index, int(number))
        for index, message in enumerate(conversation)
        if message.role == "user"
        for number in re.findall(r"invoice (\d+)", message.text)
    ]
    index, invoice = invoices[-1]
    results = [
        block
        for message in conversation[index:]
        for block in message.content
        if isinstance(block, ToolResultBlock)
    ]
    count = sum(len(message.calls) for message in conversation)
    text = "".join(getattr(block, "text", "") for block in results[-1].content) if results else ""
    if "paid back." not in text:
        # Nothing is known, or a refund was interrupted.
        return f"I look at invoice {invoice}. ", (f"call_{count}", "find_charges", invoice)
    if "; 0 paid back." in text:
        words = f"It was charged twice, so I pay one charge of {invoice} back. "
        return words, (f"call_{count}", "refund", invoice)
    return f"One charge of invoice {invoice} is paid back, and you need to do nothing more.", None


def events_of(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the events of the model's stream, in the form of the provider that is asked."""
    text, call = last_of(body)
    return _streamed(body, text, call and (*call[:2], {"invoice": call[2]}))


def _streamed(body: dict[str, Any], text: str, call: Written) -> Iterator[dict[str, Any]]:
    words = re.findall(r"\S+\s*", text)
    arguments = re.findall(r".{1,7}", json.dumps(call[2])) if call else []
    return (_anthropic if "max_tokens" in body else _openai)(words, call, arguments)


def _openai(words: list[str], call: Written, arguments: list[str]) -> Iterator[dict[str, Any]]:
    deltas: list[dict[str, Any]] = [{"content": word} for word in words]
    if call:
        function = {"name": call[1], "arguments": ""}
        deltas.append({"tool_calls": [{"index": 0, "id": call[0], "function": function}]})
    for part in arguments:
        deltas.append({"tool_calls": [{"index": 0, "function": {"arguments": part}}]})
    for delta in deltas:
        yield {**CHUNK, "choices": [{"index": 0, "delta": delta}]}
    reason = "tool_calls" if call else "stop"
    yield {**CHUNK, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}


def _anthropic(words: list[str], call: Written, arguments: list[str]) -> Iterator[dict[str, Any]]:
    def block(index: int, begun: dict[str, Any], deltas: list[dict[str, Any]]) -> Any:
        yield {"type": "content_block_start", "index": index, "content_block": begun}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}

    yield {"type": "message_start", "message": BEGUN}
    deltas = [{"type": "text_delta", "text": word} for word in words]
    yield from block(0, {"type": "text", "text": ""}, deltas)
    if call:
        begun = {"type": "tool_use", "id": call[0], "name": call[1], "input": {}}
        deltas = [{"type": "input_json_delta", "partial_json": part} for part in arguments]
        yield from block(1, begun, deltas)
    reason = "tool_use" if call else "end_turn"
    yield {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {}}
    yield {"type": "message_stop"}


def bytes_of(body: dict[str, Any]) -> Iterator[bytes]:
    """Yield the same as server-sent events."""
    return _sent(body, events_of(body))


def bytes_of_reply(body: dict[str, Any], text: str, call: Written) -> Iterator[bytes]:
    """Yield the server-sent events of a text and a call, in the form of the provider asked."""
    return _sent(body, _streamed(body, text, call))


def _sent(body: dict[str, Any], events: Iterator[dict[str, Any]]) -> Iterator[bytes]:
    lines = (
        f"event: {event.get('type', '')}\ndata: {json.dumps(event)}\n\n".encode()
        for event in events
    )
    return chain(lines, () if "max_tokens" in body else (b"data: [DONE]\n\n",))
