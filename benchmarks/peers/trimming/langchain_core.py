"""langchain-core: ``trim_messages`` over message objects, counted by a function of a list."""

import json
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import (
    BaseMessage,
    convert_to_messages,
    convert_to_openai_messages,
    trim_messages,
)

from benchmarks.conversation import Chat
from benchmarks.counting import Counter
from benchmarks.trimming import Trimmer

ROLES = {"human": "user", "ai": "assistant"}


def hold(messages: Sequence[Chat]) -> list[BaseMessage]:
    """Return message objects."""
    return convert_to_messages(list(messages))


def trim(held: list[BaseMessage], budget: int, counter: Counter, **options: Any) -> list[Any]:
    """Return the newest messages that fit."""

    def count(messages: list[BaseMessage]) -> int:
        return 3 + sum(_cost(message, counter) for message in messages)

    return trim_messages(
        held,
        max_tokens=budget,
        token_counter=count,
        strategy="last",
        include_system=True,
        **options,
    )


def trim_to_a_user_turn(held: list[BaseMessage], budget: int, counter: Counter) -> list[Any]:
    """Return the newest messages that fit, beginning at a user turn."""
    return trim(held, budget, counter, start_on="human")


def chat(trimmed: list[BaseMessage]) -> list[Chat]:
    """Return Chat messages."""
    return convert_to_openai_messages(trimmed)


def _cost(message: BaseMessage, counter: Counter) -> int:
    count = counter.of
    tokens = 3 + count(ROLES.get(message.type, message.type)) + count(message.text)
    for call in getattr(message, "tool_calls", ()):
        tokens += count(call["name"]) + count(json.dumps(call["args"], ensure_ascii=False))
    return tokens


TRIMMERS = (
    Trimmer("langchain-core", hold, trim, chat, "langchain-core", "strategy last, nothing else"),
    Trimmer(
        "langchain-core, start_on",
        hold,
        trim_to_a_user_turn,
        chat,
        "langchain-core",
        'strategy last, start_on="human"',
    ),
)
