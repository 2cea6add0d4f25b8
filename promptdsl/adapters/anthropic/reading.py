"""Reading: a recorded conversation becomes messages."""

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import cast

from promptdsl.adapters.anthropic.entries import entry, located, mapping
from promptdsl.adapters.anthropic.reading_blocks import read_content
from promptdsl.errors import DataError
from promptdsl.messages import Message, message


def read(data: object) -> tuple[Message, ...]:
    """Return the messages of a payload, or of its list of messages, as recorded ones.

    Raises :class:`DataError` that names the index and the key of what cannot be read.
    """
    system: object = None
    if isinstance(data, Mapping):
        payload = cast("Mapping[str, object]", data)
        system, data = payload.get("system"), entry(payload, "messages")
    if not isinstance(data, list | tuple):
        raise DataError(f"'messages' is a list, not {type(data).__name__}")
    leading = located("system", read_content, system)
    found = [message("system", leading, kind="recorded")] if leading else []
    for index, item in enumerate(cast("Sequence[object]", data)):
        found += located(f"messages[{index}]", _said, item)
    return tuple(found)


def _said(data: object) -> list[Message]:
    entries = mapping(data)
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
