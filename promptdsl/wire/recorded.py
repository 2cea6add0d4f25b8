"""Recorded turns of a wire of two sides, as messages."""

from collections.abc import Callable
from itertools import takewhile

from promptdsl.blocks import Block
from promptdsl.errors import DataError
from promptdsl.messages import Message, message
from promptdsl.wire.entries import entry, mapping
from promptdsl.wire.foreign import refuse_keys


def read_turn(data: object, read_content: Callable[[object], tuple[Block, ...]]) -> list[Message]:
    """Return the messages of a turn: a user's has the results at its head as messages of their own.

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
    heads = list(takewhile(lambda block: block.type == "tool_result", content))
    said = [message("tool", (block,), kind="recorded") for block in heads]
    rest = content[len(heads) :]
    return [*said, message("user", rest, kind="recorded")] if rest or not heads else said
