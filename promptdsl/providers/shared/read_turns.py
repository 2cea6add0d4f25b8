"""Read payloads and their turns: each result at the beginning of a user's turn is a message."""

from collections.abc import Callable, Mapping
from itertools import takewhile

import attrs

from promptdsl.foundation.errors import DataError
from promptdsl.foundation.frozen import is_mapping
from promptdsl.messages import Block
from promptdsl.messages.message import Message, message
from promptdsl.messages.prompt import Prompt
from promptdsl.providers.shared.checks import entry, located, located_items, mapping
from promptdsl.providers.shared.other_providers import looks_like, owner_of_message


def payload_of(data: object) -> Mapping[str, object]:
    """Return a payload as it is, and a list of messages as a payload."""
    return data if is_mapping(data) else {"messages": data}


def read_turns(
    data: object,
    read_content: Callable[[object], tuple[Block, ...]],
    read_settings: Callable[[Mapping[str, object]], Prompt],
) -> Prompt:
    """Return the prompt of a payload with system text apart, or of a list of messages."""
    payload = payload_of(data)
    given = payload.get("system")
    system = located("system", read_content, () if given is None else given)
    messages = [message("system", system, kind="recorded")] if system else []

    def read_turn(data: object) -> list[Message]:
        entries = mapping(data)
        if owned := owner_of_message(entries):
            raise DataError(f"a message has no key {owned[0]!r} here", fix=looks_like(owned[1]))
        role = entry(entries, "role", str)
        content = read_content(entry(entries, "content"))
        if role == "system":
            return [message("developer", content, kind="recorded_system")]
        if role == "assistant":
            return [message("assistant", content, kind="recorded")]
        if role != "user":
            raise DataError(f"unknown 'role' {role!r}", fix="one of user, assistant, system")
        return user_messages(content)

    for turn in located_items("messages", read_turn, entry(payload, "messages")):
        messages += turn
    return attrs.evolve(read_settings(payload), messages=tuple(messages))


def user_messages(content: tuple[Block, ...]) -> list[Message]:
    """Return the messages of a user's turn: one for each result at its beginning, and the rest."""
    results = list(takewhile(lambda block: block.type == "tool_result", content))
    rest = content[len(results) :]
    messages = [message("tool", (block,), kind="recorded") for block in results]
    return [*messages, message("user", rest, kind="recorded")] if rest or not results else messages
