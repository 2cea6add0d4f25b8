"""Collect the events of a Responses stream in the form of a response."""

from promptdsl.providers.shared.checks import entry, mapping
from promptdsl.providers.shared.request import Param
from promptdsl.providers.shared.streamed import StreamedReply, merge


def add(reply: StreamedReply, event: Param) -> None:
    """Add an event to the reply so far."""
    kind = str(event.get("type")).removeprefix("response.")
    number, delta = event.get("output_index"), event.get("delta")
    if kind in ("completed", "incomplete"):
        merge(reply.response, mapping(event.get("response")))
        reply.ended = True
    elif kind in ("output_item.added", "output_item.done"):
        item = reply.part(number)
        item.clear()
        merge(item, mapping(event.get("item")))
        if kind == "output_item.done":
            reply.open.discard(number)
    elif kind == "function_call_arguments.delta":
        merge(reply.part(number), {"arguments": delta})
    elif kind == "output_text.delta":
        _add_text(reply, event, {"type": "output_text", "text": delta})
    elif kind == "refusal.delta":
        _add_text(reply, event, {"type": "refusal", "refusal": delta})
    elif kind == "output_text.annotation.added":
        _add_text(reply, event, {"annotations": [event.get("annotation")]})


def _add_text(reply: StreamedReply, event: Param, part: Param) -> None:
    """Add a piece to the text with the number ``content_index`` of an item."""
    texts = {str(event.get("content_index")): part}
    merge(reply.part(event.get("output_index")), {"texts": texts})


def response(reply: StreamedReply) -> tuple[Param, list[str]]:
    """Return the response so far, and the types of the items that are left out of it.

    The last event has the whole response. Without it, an item that did not end has no id: the
    service takes it for a new one, and never looks for it.
    """
    output: list[Param] = []
    left_out: list[str] = []
    for number, item in reply.parts.items():
        kind = entry(item, "type", str)
        if number not in reply.open:
            output.append(item)
        elif kind in ("message", "function_call"):
            own = {key: item[key] for key in item if key not in ("id", "status", "texts")}
            if kind == "message":
                own["content"] = [*item.get("texts", {}).values()]
            output.append(own)
        else:
            left_out.append(kind)
    return {**reply.response, "output": reply.response.get("output") or output}, left_out
