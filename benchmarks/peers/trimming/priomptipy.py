"""priomptipy: every message in a scope of its own, newer ones with a higher priority.

A ``FunctionMessage`` raises inside its search, which takes that for a prompt too long and drops
nearly all. So results are user messages here.
"""

import asyncio
import logging
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

from priomptipy import AssistantMessage, Scope, SystemMessage, UserMessage, lib
from priomptipy import render as render_elements

from benchmarks.conversation import Chat
from benchmarks.counting import O200K, Counter, encoding
from benchmarks.trimming import Trimmer

# A run that is stopped leaves tasks behind, and asyncio says so.
logging.getLogger("asyncio").setLevel(logging.CRITICAL)


def trim(messages: Sequence[Chat], budget: int, counter: Counter) -> tuple[Sequence[Chat], Any]:
    """Return the messages, and the ones it rendered."""
    system, *rest, last = messages
    elements = [_element(system)]
    elements += [Scope([_element(m)], absolute_priority=n) for n, m in enumerate(rest)]
    elements.append(_element(last))
    with counted_by(counter):
        options = {"token_limit": budget, "tokenizer": "o200k_base"}
        return messages, asyncio.run(render_elements(elements, options))["prompt"]["messages"]


@contextmanager
def counted_by(counter: Counter) -> Generator[None]:
    """Put a counter in the place of its own, in the block: it takes none as an argument."""
    encoding()  # It asks tiktoken for o200k_base by name.

    async def count(text: str, **_options: Any) -> int:
        return counter.of(text)

    own = lib.num_tokens
    lib.num_tokens = own if counter is O200K else count
    try:
        yield
    finally:
        lib.num_tokens = own


def chat(trimmed: tuple[Sequence[Chat], Any]) -> list[Chat]:
    """Return the Chat messages that are left: the newest ones, as many as were rendered."""
    messages, rendered = trimmed
    return [messages[0], *messages[len(messages) - len(rendered) + 1 :]]


def _element(message: Chat) -> Any:
    match message["role"]:
        case "system":
            return SystemMessage([message["content"]])
        case "user" | "tool":
            return UserMessage([message["content"]])
    calls = message.get("tool_calls") or ()
    function = calls[0]["function"] if calls else None
    return AssistantMessage([message["content"] or ""], function_call=function)


TRIMMERS = (Trimmer("priomptipy", list, trim, chat, "priomptipy", "results as user messages"),)
