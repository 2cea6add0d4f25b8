"""Collect the chunks of a Gemini stream in the form of a response."""

from promptdsl.providers.gemini.spelling import entries_of, items_or_one
from promptdsl.providers.shared.checks import items
from promptdsl.providers.shared.request import Param
from promptdsl.providers.shared.streamed import StreamedReply, merge, several_answers


def add(reply: StreamedReply, event: Param) -> None:
    """Add a chunk to the reply so far."""
    chunk = entries_of(event)
    for candidate in map(entries_of, items(chunk.pop("candidates", ()), "candidates")):
        if candidate.get("index"):
            raise several_answers()
        content = entries_of(candidate.pop("content", {}))
        for part in map(entries_of, items_or_one(content.get("parts", ()), "parts")):
            last = reply.parts.get(len(reply.parts) - 1, {})
            # Texts of one kind are one text. A part with a signature stays as it is.
            is_text = part.keys() <= {"text", "thought"}
            if not is_text or part.keys() != last.keys():
                last = reply.part(len(reply.parts))
            merge(last, part)
        merge(reply.response, {"candidate": candidate})
        reply.ended = reply.ended or "finish_reason" in candidate
    merge(reply.response, chunk)
    reply.ended = reply.ended or "block_reason" in entries_of(chunk.get("prompt_feedback", {}))


def response(reply: StreamedReply) -> tuple[Param, list[str]]:
    """Return the response so far; its parts always come whole."""
    candidate = reply.response.get("candidate")
    content = {"role": "model", "parts": [*reply.parts.values()]}
    candidates = [] if candidate is None else [{**candidate, "content": content}]
    return {**reply.response, "candidates": candidates}, []
