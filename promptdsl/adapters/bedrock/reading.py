"""Reading: a recorded conversation becomes messages."""

from collections.abc import Mapping
from typing import Any, cast

import attrs

from promptdsl.adapters.bedrock.reading_blocks import read_content
from promptdsl.adapters.bedrock.tools import read_settings
from promptdsl.blocks import optional
from promptdsl.messages import Details, Message, message
from promptdsl.prompts import Prompt
from promptdsl.wire.entries import entry, located, located_items, mapping
from promptdsl.wire.recorded import read_turn
from promptdsl.wire.replies import usage


def read(data: object) -> Prompt:
    """Return the prompt of a payload or of a list of messages, which are recorded ones.

    Bytes may be base64 text, as in the body of a request. Raises :class:`DataError` that names the
    index and the key of what cannot be read.
    """
    payload: Mapping[str, Any] = {"messages": data}
    if isinstance(data, Mapping):
        payload = cast("Mapping[str, Any]", data)
    leading = located("system", read_content, payload.get("system") or ())
    found = [message("system", leading, kind="recorded")] if leading else []
    for said in located_items("messages", _said, entry(payload, "messages")):
        found += said
    return attrs.evolve(read_settings(payload), messages=tuple(found))


def read_response(data: object) -> Message:
    """Return the message of a response: what the model said, why it stopped, what was counted.

    Raises :class:`DataError` for what is no response of Converse.
    """
    entries = mapping(data)
    said = mapping(entry(mapping(entry(entries, "output")), "message"))
    counts = mapping(entries.get("usage") or {})
    reason = optional(entries.get("stopReason"), "stopReason")
    read, written = (counts.get(f"cache{key}InputTokens") for key in ("Read", "Write"))
    cached = [count for count in (read, written) if type(count) is int]
    fresh = counts.get("inputTokens")
    details = Details(
        finish_reason=_FINISHED.get(reason or "", reason),
        token_usage=usage(
            input=fresh + sum(cached) if type(fresh) is int else None,
            output=counts.get("outputTokens"),
            cache_read=read,
            cache_write=written,
        ),
    )
    content = read_content(entry(said, "content"))
    return message("assistant", content, kind="recorded", details=details)


_FINISHED = {
    **dict.fromkeys(("end_turn", "stop_sequence"), "stop"),
    **dict.fromkeys(("max_tokens", "model_context_window_exceeded"), "length"),
    **dict.fromkeys(("guardrail_intervened", "content_filtered"), "filtered"),
}


def _said(data: object) -> list[Message]:
    return read_turn(data, read_content)
