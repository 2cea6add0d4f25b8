"""Reading: a recorded conversation becomes messages."""

from collections.abc import Mapping
from typing import Any, cast

import attrs

from promptdsl import messages as b
from promptdsl.foundation.errors import DataError
from promptdsl.foundation.unicode import exact
from promptdsl.messages.details import Details
from promptdsl.messages.message import Message, message
from promptdsl.messages.prompt import Prompt
from promptdsl.providers.gemini.contents import named, paired, read_contents, read_system
from promptdsl.providers.gemini.spelling import entries_of
from promptdsl.providers.gemini.tools import read_settings
from promptdsl.providers.shared.checks import entry, items, located, total, usage


def read(data: object) -> Prompt:
    """Return the prompt of a payload or of a list of contents, which are recorded ones.

    A payload is the arguments of ``generate_content`` or the body that the service takes; contents
    are all that the SDK takes for them. Raises :class:`DataError` that names the index and the key
    of what cannot be read.
    """
    payload: dict[str, Any] = {"contents": data}
    if isinstance(data, Mapping):
        payload = entries_of(cast("Mapping[str, Any]", data))
    configs = [entries_of(payload.get(key) or {}) for key in ("generation_config", "config")]
    settings = {**payload, **configs[0], **configs[1]}
    leading = located("system_instruction", read_system, settings.get("system_instruction"))
    found = [message("system", leading, kind="recorded")] if leading else []
    found += paired(read_contents(entry(payload, "contents")))
    return attrs.evolve(read_settings(settings), messages=tuple(found))


def read_response(data: object) -> Message:
    """Return the message of a response: what the model said, why it stopped, what was counted.

    It is the first candidate's. Raises :class:`DataError` for what is no response of Gemini.
    """
    entries = entries_of(data)
    if not entries.keys() & _TOLD:
        raise DataError("'candidates' is needed", fix="give the object the client returned")
    candidates = items(entries.get("candidates", ()), "candidates")
    # A prompt may have been blocked, for whatever reason; some parts of a stream only count.
    blocked = entries_of(entries.get("prompt_feedback") or {}).get("block_reason")
    candidate = entries_of(candidates[0] if candidates else {})
    content = named(read_system(candidate.get("content")))
    reason = _finished(candidate.get("finish_reason"), content)
    details = Details(
        finish_reason="filtered" if blocked and not candidates else reason,
        token_usage=_counted(entries_of(entries.get("usage_metadata") or {})),
    )
    return message("assistant", content, kind="recorded", details=details)


_TOLD = {"candidates", "prompt_feedback", "usage_metadata", "model_version", "response_id"}
"""The keys of a response."""


def _counted(counts: Mapping[str, Any]) -> Mapping[str, int] | None:
    asked, used, written, thought = (
        counts.get(f"{key}_token_count")
        for key in ("prompt", "tool_use_prompt", "candidates", "thoughts")
    )
    return usage(
        input=total(asked, used),
        output=total(written, thought),
        cache_read=counts.get("cached_content_token_count"),
        reasoning=thought,
    )


def _finished(reason: object, content: tuple[b.Block, ...]) -> str | None:
    if not isinstance(reason, str):
        return None
    word = str(exact(reason))
    if word == "STOP" and any(block.type == "tool_use" for block in content):
        return "tool_use"
    return _FINISHED.get(word, word)


_FINISHED = {
    **{"STOP": "stop", "MAX_TOKENS": "length", "CONTINUATION": "paused"},
    **dict.fromkeys(
        (
            *("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE"),
            *("IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "MODEL_ARMOR"),
            *("ESCALATION", "JAILBREAK"),
        ),
        "filtered",
    ),
}
