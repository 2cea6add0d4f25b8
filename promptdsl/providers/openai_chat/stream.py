"""Collect the chunks of a Chat stream in the form of a response."""

from promptdsl.foundation.frozen import is_mapping
from promptdsl.providers.shared.checks import items, mapping
from promptdsl.providers.shared.request import Param
from promptdsl.providers.shared.streamed import StreamedReply, merge, several_answers


def add(reply: StreamedReply, event: Param) -> None:
    """Add a chunk to the reply so far."""
    merge(reply.response, {"usage": event.get("usage")})
    for choice in map(mapping, items(event.get("choices") or (), "choices")):
        if choice.get("index"):
            raise several_answers()
        reply.ended = reply.ended or bool(choice.get("finish_reason"))
        delta = mapping(choice.get("delta") or {})
        for call in map(mapping, items(delta.pop("tool_calls", None) or (), "tool_calls")):
            number = call.pop("index", None)
            if number is None:
                # Some servers do not number the calls, and send each with its id.
                number = len(reply.parts) - (0 if call.get("id") else 1)
            merge(reply.part(number), call)
        answer = {"message": delta, "finish_reason": choice.get("finish_reason")}
        merge(reply.response, answer)


def response(reply: StreamedReply) -> tuple[Param, list[str]]:
    """Return the response so far; calls whose name did not come yet are left out of it."""
    calls: list[Param] = []
    left_out: list[str] = []
    for call in reply.parts.values():
        function = call.get("function")
        if is_mapping(function):
            call = {**call, "function": {"arguments": "", **function}}
        if reply.ended or (call.get("id") and is_mapping(function) and function.get("name")):
            calls.append(call)
        else:
            left_out.append("call")
    message = {**reply.response.get("message", {}), "role": "assistant", "tool_calls": calls}
    return {**reply.response, "choices": [{**reply.response, "message": message}]}, left_out
