"""LangChain: ``ClearToolUsesEdit`` as its middleware applies it, to a copy for each request."""

import json
from collections.abc import Callable, Sequence
from copy import deepcopy

from langchain.agents.middleware.context_editing import ClearToolUsesEdit
from langchain_core.messages import (
    BaseMessage,
    convert_to_messages,
    convert_to_openai_messages,
)

from benchmarks.conversation import Chat, cost
from benchmarks.counting import O200K
from benchmarks.trimming import remembering

Send = Callable[[Sequence[Chat]], Sequence[Chat]]


def sender(budget: int, keep: int, at_least: int, cap: Callable[[Chat], Chat]) -> Send:
    """Return a function from the messages that were said to those that are sent."""
    count = remembering(O200K).of
    edit = ClearToolUsesEdit(trigger=budget, keep=keep, clear_at_least=at_least)

    def tokens(messages: Sequence[BaseMessage]) -> int:
        return 3 + sum(cost(message, count) for message in _as_chat(messages))

    def send(said: Sequence[Chat]) -> Sequence[Chat]:
        held = convert_to_messages([cap(message) for message in said])
        copied = deepcopy(held)
        edit.apply(copied, count_tokens=tokens)
        return _as_chat(copied)

    return send


def _as_chat(messages: Sequence[BaseMessage]) -> list[Chat]:
    chat: list[Chat] = convert_to_openai_messages(messages)
    for message in chat:
        message["content"] = message["content"] or None
        for call in message.get("tool_calls", ()):
            function = call["function"]
            function["arguments"] = json.dumps(json.loads(function["arguments"]))
    return chat
