"""What chat templates take: the safe normal form, and a text that the template made."""

import json
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from promptdsl import ModelFacts
from tests.providers.templates import TEMPLATES

__all__ = ["TEMPLATES", "check_chat_template"]

KEYS = {
    "system": {"role", "content"},
    "user": {"role", "content"},
    "assistant": {"role", "content", "tool_calls", "reasoning_content"},
    "tool": {"role", "content", "name", "tool_call_id"},
}


def check_chat_template(payload: Mapping[str, Any], facts: ModelFacts) -> None:
    """Check the messages by the normal form, and that a known template made a text of them.

    Raises :class:`AssertionError`.
    """
    assert set(payload) <= {"messages", "tools", "prompt"}, f"unknown keys {set(payload)}"
    json.dumps(payload, ensure_ascii=False, allow_nan=False).encode()
    messages = payload["messages"]
    for index, message in enumerate(messages):
        _check_message(message, index)
    _check_pairing(messages)
    if facts.template is None:
        _check_alternation(messages)
    assert facts.template is not None or "prompt" not in payload, "a text of no template"
    assert facts.template is None or "prompt" in payload or not messages, "no text"


def _check_message(message: Mapping[str, Any], index: int) -> None:
    role = message["role"]
    assert set(message) <= KEYS[role], f"keys of a {role} message: {set(message)}"
    assert role != "system" or index == 0, "one system message, first"
    assert message["content"] is not None, "content is never null"
    assert message.get("tool_calls") != [], "no empty list of calls"
    for call in message.get("tool_calls", ()):
        assert set(call) == {"id", "type", "function"}, "a call has an id and a function"
        assert isinstance(call["function"]["arguments"], dict | str)


def _check_pairing(messages: list[Mapping[str, Any]]) -> None:
    open_ids: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            assert message["tool_call_id"] == open_ids.pop(0), "results directly after, in order"
            continue
        assert not open_ids, f"calls without results: {open_ids}"
        open_ids = [call["id"] for call in message.get("tool_calls", ())]
    assert not open_ids, f"calls without results: {open_ids}"


def _check_alternation(messages: list[Mapping[str, Any]]) -> None:
    """Check what the most careful templates ask for; a known one has been asked itself."""
    roles = [message["role"] for message in messages if message["role"] != "system"]
    assert not roles or roles[0] == "user", "a user speaks first"
    repeated = [role for role, next_role in pairwise(roles) if role == next_role != "tool"]
    assert not repeated, f"two of one role in a row: {repeated}"
