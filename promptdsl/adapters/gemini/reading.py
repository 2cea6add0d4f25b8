"""Reading: a recorded conversation becomes messages."""

from collections.abc import Mapping
from itertools import takewhile
from typing import Any, cast

import attrs

from promptdsl import blocks as b
from promptdsl.adapters.gemini.reading_blocks import read_parts
from promptdsl.adapters.gemini.spelling import entries_of
from promptdsl.adapters.gemini.tools import read_settings
from promptdsl.errors import DataError
from promptdsl.json_text import exact
from promptdsl.messages import Details, Message, message
from promptdsl.prompts import Prompt
from promptdsl.wire.entries import entry, items, located
from promptdsl.wire.replies import usage


def read(data: object) -> Prompt:
    """Return the prompt of a payload or of a list of contents, which are recorded ones.

    A payload is the arguments of ``generate_content`` or the body that the service takes. Raises
    :class:`DataError` that names the index and the key of what cannot be read.
    """
    payload: dict[str, Any] = {"contents": data}
    if isinstance(data, Mapping):
        payload = entries_of(cast("Mapping[str, Any]", data))
    config = entries_of(payload.get("config") or payload.get("generation_config") or {})
    settings = {**payload, **config}
    leading = located("system_instruction", _parts_of, settings.get("system_instruction"))
    found = [message("system", leading, kind="recorded")] if leading else []
    waiting: list[b.Block] = []
    for index, content in enumerate(items(entry(payload, "contents"), "contents")):
        said = located(f"contents[{index}]", _said, content)
        found += [_paired(item, waiting) for item in said]
        waiting = _calls(said) or waiting
    return attrs.evolve(read_settings(settings), messages=tuple(found))


def read_response(data: object) -> Message:
    """Return the message of a response: what the model said, why it stopped, what was counted.

    It is the first candidate's. Raises :class:`DataError` for what is no response of Gemini.
    """
    entries = entries_of(data)
    candidates = items(entries.get("candidates", ()), "candidates")
    blocked = entries_of(entries.get("prompt_feedback") or {})
    if not candidates:
        candidates = [{"finish_reason": entry(blocked, "block_reason", str)}]
    candidate = entries_of(candidates[0])
    content = _parts_of(candidate.get("content"))
    details = Details(
        finish_reason=_finished(candidate.get("finish_reason"), content),
        token_usage=_counted(entries_of(entries.get("usage_metadata") or {})),
    )
    return message("assistant", content, kind="recorded", details=details)


def _counted(counts: Mapping[str, Any]) -> Mapping[str, int] | None:
    asked, used, written, thought = (
        counts.get(f"{key}_token_count")
        for key in ("prompt", "tool_use_prompt", "candidates", "thoughts")
    )
    return usage(
        input=_sum(asked, used),
        output=_sum(written, thought),
        cache_read=counts.get("cached_content_token_count"),
        reasoning=thought,
    )


def _sum(*counts: object) -> int | None:
    told = [count for count in counts if type(count) is int]
    return sum(told) if told else None


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


def _said(data: object) -> list[Message]:
    if isinstance(data, str):
        return [message("user", b.contents(data), kind="recorded")]
    entries = entries_of(data)
    role, content = entries.get("role", "user"), read_parts(entries.get("parts"))
    if role == "model":
        return [message("assistant", content, kind="recorded")]
    # Older ones have results in contents of a role of their own.
    if role not in ("user", "function"):
        raise DataError(f"unknown 'role' {role!r}", fix="one of user, model")
    heads = list(takewhile(lambda block: block.type == "tool_result", content))
    said = [message("tool", (block,), kind="recorded") for block in heads]
    rest = content[len(heads) :]
    return [*said, message("user", rest, kind="recorded")] if rest or not heads else said


def _parts_of(data: object) -> tuple[b.Block, ...]:
    """Return the blocks of a content, or of its parts alone."""
    if data is None or isinstance(data, str | list | tuple):
        return read_parts(cast("object", data))
    return read_parts(entries_of(data).get("parts"))


def _calls(said: list[Message]) -> list[b.Block]:
    return [block for item in said for block in item.content if block.type == "tool_use"]


def _paired(said: Message, waiting: list[b.Block]) -> Message:
    """Return a tool message whose result has the id of its call, found by name where it had none.

    Before Gemini 3 neither calls nor results had to have ids.
    """
    result = said.content[0] if said.role == "tool" else None
    if not isinstance(result, b.ToolResultBlock):
        return said
    calls = [block for block in waiting if isinstance(block, b.ToolUseBlock)]
    known = [call for call in calls if call.id == result.tool_use_id]
    named = [call for call in calls if not result.tool_use_id and call.name == result.name]
    for call in [*known, *named][:1]:
        waiting.remove(call)
        answer = attrs.evolve(result, tool_use_id=call.id)
        return message("tool", (answer,), kind="recorded")
    return said
