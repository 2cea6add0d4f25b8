"""Collect the events of an Anthropic stream in the form of a response."""

from promptdsl.providers.shared.checks import mapping
from promptdsl.providers.shared.request import Param
from promptdsl.providers.shared.streamed import StreamedReply, merge

_PIECES = ("text_delta", "thinking_delta", "signature_delta", "compaction_delta")
"""The deltas whose keys are those of their block."""


def add(reply: StreamedReply, event: Param) -> None:
    """Add an event to the reply so far."""
    kind, number = event.get("type"), event.get("index")
    if kind == "message_start":
        merge(reply.response, mapping(event.get("message")))
    elif kind == "message_delta":
        merge(reply.response, mapping(event.get("delta")))
        merge(reply.response, {"usage": event.get("usage")})
        reply.ended = reply.response.get("stop_reason") is not None
    elif kind == "content_block_start":
        block = mapping(event.get("content_block"))
        # The input of a call is the empty object here; its JSON text follows.
        merge(reply.part(number), {**block, "input": block.get("input") or None})
    elif kind == "content_block_stop":
        reply.part(number)
        reply.open.discard(number)
    elif kind == "content_block_delta":
        delta = mapping(event.get("delta"))
        name = delta.pop("type", None)
        if name == "input_json_delta":
            delta = {"input": delta.get("partial_json")}
        elif name == "citations_delta":
            delta = {"citations": [delta.get("citation")]}
        elif name not in _PIECES:
            return
        merge(reply.part(number), delta)


def response(reply: StreamedReply) -> tuple[Param, list[str]]:
    """Return the response so far, and the types of the blocks that are left out of it.

    These are blocks without their end, and calls of the provider's own tools without their result,
    which the service refuses.
    """
    blocks: list[Param] = []
    left_out: list[str] = []
    answered = [block.get("tool_use_id") for block in reply.parts.values()]
    for number, block in reply.parts.items():
        kind = str(block.get("type"))
        is_whole = number not in reply.open or kind in ("text", "thinking", "tool_use")
        if kind.endswith("_tool_use") and block.get("id") not in answered:
            is_whole = False
        if not is_whole and not reply.ended:
            left_out.append(kind)
        elif kind.endswith("tool_use"):
            input = reply.call_input(number, block.get("input", ""))
            blocks.append({**block, "input": input})
        else:
            blocks.append(block)
    return {**reply.response, "content": blocks}, left_out
