"""Reasoning, both ways: replayed to the byte, and only before the item it produced."""

import json
from collections.abc import Mapping
from typing import Any

from promptdsl.messages import ReasoningBlock
from promptdsl.messages.field_checks import optional
from promptdsl.providers.openai_responses.request import Draft, Items, is_new_id
from promptdsl.providers.openai_responses.rules import ORIGIN, lose_keys
from promptdsl.providers.shared.checks import entry, located_items, mapping
from promptdsl.providers.shared.clean import json_copy
from promptdsl.providers.shared.reasoning import is_sendable
from promptdsl.providers.shared.request import Param

KEPT = ("id", "summary", "content", "status")
"""What an item of reasoning has beside what has a field of ours."""


def reasoning_param(request: Items, draft: Draft, block: ReasoningBlock) -> Param | None:
    """Return reasoning as an item, ``None`` (a hint) where it cannot be replayed."""
    place = draft.place
    waiting = [thought["id"] for thought in draft.thoughts]
    id = block.extra.get("id")
    mine = place.message.role == "assistant" and block.origin == ORIGIN
    if not mine or not is_new_id(request, "reasoning", id) or id in waiting:
        request.lose(place, "hint", "reasoning", "not an item of this service, or sent before")
        return None
    said = [{"type": "summary_text", "text": block.text}] if block.text else []
    encrypted = {} if block.encrypted is None else {"encrypted_content": block.encrypted}
    kept = {key: block.extra[key] for key in KEPT if key in block.extra}
    param = {"type": "reasoning", "id": id, "summary": said, **encrypted, **kept}
    sent = json_copy(param)
    lose_keys(request, place, block, KEPT)
    return sent if is_sendable(request, place, json.dumps(param, ensure_ascii=False)) else None


def produce(request: Items, draft: Draft) -> None:
    """Send the reasoning that waits: the item it produced comes next."""
    request.entries += draft.thoughts
    request.ids.update(thought["id"] for thought in draft.thoughts)
    draft.thoughts = []


def forget(request: Items, draft: Draft) -> None:
    """Lose the reasoning that nothing followed: the service refuses it without its item."""
    for _ in draft.thoughts:
        request.lose(draft.place, "hint", "reasoning", "nothing that it produced follows")
    draft.thoughts = []


def read_reasoning(entries: dict[str, Any]) -> ReasoningBlock:
    """Return the block of reasoning that was recorded; its text is the summary's."""
    texts = [*located_items("summary", _text, entries.get("summary") or ())]
    encrypted = optional(entries.pop("encrypted_content", None), "encrypted_content")
    extra = {key: value for key, value in entries.items() if key in KEPT and value is not None}
    return ReasoningBlock("\n\n".join(texts), None, encrypted, ORIGIN, extra)


def _text(data: object) -> str:
    summary: Mapping[str, Any] = mapping(data)
    return entry(summary, "text", str)
