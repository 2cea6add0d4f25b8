"""Reading: a recorded conversation becomes messages."""

from collections.abc import Mapping
from typing import Any, cast

import attrs

from promptdsl.adapters.anthropic.reading_blocks import read_content
from promptdsl.adapters.anthropic.tools import read_settings
from promptdsl.blocks import optional
from promptdsl.messages import Details, Message, message
from promptdsl.prompts import Prompt
from promptdsl.wire.entries import entry, located, located_items, mapping
from promptdsl.wire.recorded import read_turn
from promptdsl.wire.replies import total, usage


def read(data: object) -> Prompt:
    """Return the prompt of a payload or of a list of messages, which are recorded ones.

    Raises :class:`DataError` that names the index and the key of what cannot be read.
    """
    payload: Mapping[str, Any] = {"messages": data}
    if isinstance(data, Mapping):
        payload = cast("Mapping[str, Any]", data)
    leading = located("system", read_content, payload.get("system"))
    found = [message("system", leading, kind="recorded")] if leading else []
    for said in located_items("messages", _said, entry(payload, "messages")):
        found += said
    return attrs.evolve(read_settings(payload), messages=tuple(found))


def read_response(data: object) -> Message:
    """Return the message of a response: what the model said, why it stopped, what was counted.

    Raises :class:`DataError` for what is no response of Anthropic Messages.
    """
    entries = mapping(data)
    content = read_content(entry(entries, "content", list))
    stopped = optional(entries.get("stop_reason"), "stop_reason")
    counts = mapping(entries.get("usage") or {})
    read, written = (counts.get(f"cache_{key}_input_tokens") for key in ("read", "creation"))
    fresh = counts.get("input_tokens")
    details = Details(
        finish_reason=_FINISHED.get(str(stopped), stopped),
        token_usage=usage(
            input=None if fresh is None else total(fresh, read, written),
            output=counts.get("output_tokens"),
            cache_read=read,
            cache_write=written,
            reasoning=mapping(counts.get("output_tokens_details") or {}).get("thinking_tokens"),
        ),
    )
    return message("assistant", content, kind="recorded", details=details)


_FINISHED = {
    **dict.fromkeys(("end_turn", "stop_sequence"), "stop"),
    **dict.fromkeys(("max_tokens", "model_context_window_exceeded"), "length"),
    **{"tool_use": "tool_use", "refusal": "refused", "pause_turn": "paused"},
}


def _said(data: object) -> list[Message]:
    return read_turn(data, read_content)
