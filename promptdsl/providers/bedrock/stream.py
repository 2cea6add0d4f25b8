"""Collect the events of a Converse stream in the form of a response."""

from promptdsl.providers.shared.checks import mapping
from promptdsl.providers.shared.request import Param
from promptdsl.providers.shared.streamed import StreamedReply, merge


def add(reply: StreamedReply, event: Param) -> None:
    """Add an event to the reply so far."""
    for kind, data in event.items():
        if kind == "contentBlockStart":
            entries = mapping(data)
            merge(reply.part(entries.get("contentBlockIndex")), mapping(entries.get("start")))
        elif kind == "contentBlockDelta":
            entries = mapping(data)
            delta = mapping(entries.get("delta"))
            if "citation" in delta:
                delta = {"citations": [delta["citation"]]}
            elif "toolResult" in delta:
                delta = {"toolResult": {"content": delta["toolResult"]}}
            merge(reply.part(entries.get("contentBlockIndex")), delta)
        elif kind == "contentBlockStop":
            number = mapping(data).get("contentBlockIndex")
            reply.part(number)
            reply.open.discard(number)
        elif kind in ("messageStop", "metadata"):
            merge(reply.response, mapping(data))
            reply.ended = "stopReason" in reply.response


def response(reply: StreamedReply) -> tuple[Param, list[str]]:
    """Return the response so far, and the kinds of the blocks that are left out of it."""
    blocks: list[Param] = []
    left_out: list[str] = []
    for number, block in reply.parts.items():
        if "toolUse" in block:
            call = mapping(block["toolUse"])
            input = reply.call_input(number, call.get("input", ""))
            block = {"toolUse": {**call, "input": input}}
        elif "reasoningContent" in block and "redactedContent" not in block["reasoningContent"]:
            block = {"reasoningContent": {"reasoningText": block["reasoningContent"]}}
        elif "citations" in block:
            content = [{"text": block.get("text", "")}]
            block = {"citationsContent": {"content": content, "citations": block["citations"]}}
        elif number in reply.open and "text" not in block and not reply.ended:
            left_out += block
            continue
        blocks.append(block)
    return {**reply.response, "output": {"message": {"content": blocks}}}, left_out
