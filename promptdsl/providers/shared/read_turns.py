"""Turns of a recording: the results at the head of a user's turn are messages of their own."""

from collections.abc import Callable
from itertools import takewhile

from promptdsl.foundation.errors import DataError
from promptdsl.messages import Block
from promptdsl.messages.message import Message, message
from promptdsl.providers.shared.checks import entry, mapping
from promptdsl.providers.shared.other_providers import refuse_keys


def read_turn(data: object, read_content: Callable[[object], tuple[Block, ...]]) -> list[Message]:
    """Return the messages of a turn, which ``read_content`` reads the content of.

    Raises :class:`DataError` for a role that is none.
    """
    entries = mapping(data)
    refuse_keys(entries)
    role = entry(entries, "role", str)
    content = read_content(entry(entries, "content"))
    if role == "system":
        return [message("developer", content, kind="recorded_system")]
    if role == "assistant":
        return [message("assistant", content, kind="recorded")]
    if role != "user":
        raise DataError(f"unknown 'role' {role!r}", fix="one of user, assistant, system")
    return user_messages(content)


def user_messages(content: tuple[Block, ...]) -> list[Message]:
    """Return the messages of a user's turn: each result at its head is one, and the rest."""
    results = list(takewhile(lambda block: block.type == "tool_result", content))
    rest = content[len(results) :]
    found = [message("tool", (block,), kind="recorded") for block in results]
    return [*found, message("user", rest, kind="recorded")] if rest or not results else found
