"""Reading: a recorded conversation, or what answered a request, becomes messages."""

from collections.abc import Mapping
from typing import Any, cast

from promptdsl.adapters.chat_template.reading_blocks import read_content, read_said
from promptdsl.adapters.chat_template.tools import read_tool
from promptdsl.blocks import ToolResultBlock, ToolUseBlock, optional
from promptdsl.errors import DataError, nearest
from promptdsl.messages import NO_DETAILS, Details, Message, Role, message
from promptdsl.prompts import Prompt
from promptdsl.wire.entries import entry, located, located_items, mapping
from promptdsl.wire.replies import usage

_ROLES = ("system", "developer", "user", "assistant", "tool")
_NAMES = {"ipython": "tool", "tool_results": "tool", "model": "assistant"}
"""What some templates call a role."""

_FINISHED = {
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "content_filter": "filtered",
    "eos_token": "stop",
    "stop_sequence": "stop",
}


def read(data: object) -> Prompt:
    """Return the prompt of a payload, or of a list of messages as templates take them.

    A call or a result without an id is paired by its place. Raises :class:`DataError` with the
    message's index and the key that is wrong.
    """
    payload = cast("Mapping[str, Any]", data) if isinstance(data, Mapping) else {"messages": data}
    reader = _Reader()
    messages = tuple(located_items("messages", reader.read, entry(payload, "messages")))
    tools = tuple(located_items("tools", read_tool, payload.get("tools") or ()))
    return Prompt(messages, tools)


class _Reader:
    """Reads one message after another, and remembers the calls that are not answered yet."""

    def __init__(self) -> None:
        self.count = 0
        self.begun = False
        self.open: dict[str, None] = {}

    def read(self, data: object) -> Message:
        entries = mapping(data)
        given: str = entry(entries, "role", str)
        role = _NAMES.get(given, given)
        if role not in _ROLES:
            raise DataError(f"unknown role {role!r}", fix=nearest(role, _ROLES))
        if role == "tool":
            return self._result(entries)
        if role == "assistant":
            return self._said(entries)
        name = optional(entries.get("name"), "name")
        details = NO_DETAILS if name is None else Details(name=name)
        later, self.begun = self.begun, self.begun or role == "user"
        content = read_content(entries.get("content"))
        if role == "system" and later:
            return message("developer", content, kind="recorded_system", details=details)
        return message(cast("Role", role), content, kind="recorded", details=details)

    def _said(self, entries: Mapping[str, Any]) -> Message:
        content = read_said(entries, self.count)
        calls = [block.id for block in content if isinstance(block, ToolUseBlock)]
        self.count += len(calls)
        self.open, self.begun = dict.fromkeys(calls), True
        name = optional(entries.get("name"), "name")
        details = NO_DETAILS if name is None else Details(name=name)
        return message("assistant", content, kind="recorded", details=details)

    def _result(self, entries: Mapping[str, Any]) -> Message:
        id = optional(entries.get("tool_call_id"), "tool_call_id")
        if id is None:
            id = next(iter(self.open), f"call_{self.count}")
        self.open.pop(id, None)
        self.begun = True
        content = read_content(entries.get("content"))
        name = optional(entries.get("name"), "name")
        return message("tool", (ToolResultBlock(id, content, name),), kind="recorded")


def read_response(data: object) -> Message:
    """Return the message that answered: of a server of open models, or as a tokenizer parses it.

    That is a Chat completion, a completion of text, or the message alone. Of several choices it is
    the first. Raises :class:`DataError` for anything else.
    """
    response = mapping(data)
    if "choices" not in response:
        return _answer("response", response)
    choices = entry(response, "choices", list)
    choice = mapping(choices[0] if choices else None)
    text = {} if "message" in choice else {"content": entry(choice, "text", str)}
    found = _answer("choices[0]", mapping(choice.get("message", text)))
    counts = mapping(response.get("usage") or {})
    cached = mapping(counts.get("prompt_tokens_details") or {}).get("cached_tokens")
    thought = mapping(counts.get("completion_tokens_details") or {}).get("reasoning_tokens")
    stopped = choice.get("finish_reason")
    return found.replace(
        finish_reason=_FINISHED.get(str(stopped), stopped),
        token_usage=usage(
            input=counts.get("prompt_tokens"),
            output=counts.get("completion_tokens"),
            cache_read=cached,
            reasoning=thought,
        ),
    )


def _answer(place: str, entries: Mapping[str, Any]) -> Message:
    role = entries.get("role", "assistant")
    if _NAMES.get(role, role) != "assistant":
        raise DataError(f"a response is the model's, not of the role {role!r}")
    return cast("Message", located(place, _Reader().read, {**entries, "role": "assistant"}))
