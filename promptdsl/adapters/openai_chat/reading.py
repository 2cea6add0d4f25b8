"""Reading: a recorded conversation becomes messages."""

from collections.abc import Mapping
from typing import Any, cast

from promptdsl.adapters.openai_chat.entries import items, mapping, optional, string
from promptdsl.adapters.openai_chat.reading_blocks import read_answer, read_content
from promptdsl.blocks import (
    ToolResultBlock,
    ToolUseBlock,
    text_block,
    tool_result_block,
    tool_use_block,
)
from promptdsl.errors import DataError, nearest
from promptdsl.messages import NO_DETAILS, Details, Message, Role, message, spoken

_ROLES = ("system", "developer", "user", "assistant", "tool", "function")


def read(data: object) -> tuple[Message, ...]:
    """Return the messages of a recorded conversation: a list of Chat messages, or what holds one.

    A system message behind the leading run becomes a developer's that remembers what it was, and is
    written as a system message again. Raises :class:`DataError` with the message's index and the
    key that is wrong.
    """
    given = cast("Mapping[str, Any]", data).get("messages") if isinstance(data, Mapping) else data
    messages: list[Message] = []
    for index, item in enumerate(items(given, "messages")):
        found = _plain(item)
        if found is None:
            where = f"messages[{index}]"
            found = _message(where, mapping(item, where), messages)
        messages.append(found)
    return tuple(messages)


def _plain(entries: dict[str, Any]) -> Message | None:
    """Return the message of what most are: a role with one text, a tool's answer in one text."""
    if type(entries) is not dict:
        return None
    role, text = entries.get("role"), entries.get("content")
    if text is None and role == "assistant" and len(entries) == 3:
        return _plain_call(entries.get("tool_calls"))
    if type(text) is not str or not text:
        return None
    if len(entries) == 2 and role in ("user", "assistant"):
        return spoken(role, text, kind="recorded")
    id = entries.get("tool_call_id")
    if len(entries) == 3 and role == "tool" and type(id) is str:
        return message("tool", (tool_result_block(id, (text_block(text),)),), kind="recorded")
    return None


def _plain_call(calls: list[Any] | None) -> Message | None:
    """Return the message of one call of a function and nothing else."""
    call: dict[str, Any] | None = calls[0] if type(calls) is list and len(calls) == 1 else None
    if type(call) is not dict or len(call) != 3 or call.get("type") != "function":
        return None
    function: dict[str, Any] | None = call.get("function")
    if type(function) is not dict or len(function) != 2:
        return None
    id, name, arguments = call.get("id"), function.get("name"), function.get("arguments")
    if type(id) is str and type(name) is str and type(arguments) is str:
        return message("assistant", (tool_use_block(id, name, arguments),), kind="recorded")
    return None


def _message(where: str, entries: Mapping[str, Any], before: list[Message]) -> Message:
    role, name = entries.get("role"), optional(entries, "name", where)
    if role not in _ROLES:
        raise DataError(f"{where}: unknown role {role!r}", fix=nearest(str(role), _ROLES))
    content = read_content(where, entries)
    if role in ("tool", "function"):
        id = _legacy_id(before) if role == "function" else string(entries, "tool_call_id", where)
        return message("tool", (ToolResultBlock(id, content, name),), kind="recorded")
    if role == "assistant":
        content += read_answer(where, entries, len(before))
    details = NO_DETAILS if name is None else Details(name=name)
    if role == "system" and before and before[-1].role != "system":
        return message("developer", content, kind="recorded_system", details=details)
    return message(cast("Role", role), content, kind="recorded", details=details)


def _legacy_id(before: list[Message]) -> str:
    """Return the id of the call just made; results of the function role name none."""
    block = before[-1].content[-1] if before and before[-1].content else None
    return block.id if isinstance(block, ToolUseBlock) else "function_call"
