"""Reading: a recorded conversation, or what answered a request, becomes messages."""

from collections.abc import Mapping
from typing import Any, cast

from promptdsl import messages as b
from promptdsl.foundation.errors import DataError, nearest
from promptdsl.foundation.json import write_json
from promptdsl.messages import Block, ToolResultBlock, ToolUseBlock
from promptdsl.messages.details import NO_DETAILS, Details
from promptdsl.messages.fast_path import text_block
from promptdsl.messages.field_checks import optional
from promptdsl.messages.message import Message, message
from promptdsl.messages.prompt import Prompt
from promptdsl.messages.roles import Role
from promptdsl.providers.chat_template.media import read_media
from promptdsl.providers.chat_template.request import ORIGIN
from promptdsl.providers.chat_template.tools import read_tool
from promptdsl.providers.shared.checks import entry, located, located_items, mapping, usage

_THOUGHTS = ("reasoning_content", "thinking", "reasoning")
"""What templates and servers call what was thought; the first is the one they share."""


def read_content(content: object) -> tuple[Block, ...]:
    """Return the blocks of what stands under ``content``: nothing, a text, or parts."""
    if content is None or content == "":
        return ()
    if isinstance(content, str):
        return (text_block(content),)
    return tuple(located_items("content", _part, content))


def read_said(entries: Mapping[str, Any], before: int) -> tuple[Block, ...]:
    """Return the blocks of an answer: thoughts, text, calls; ``before`` is how many came before."""
    thoughts = filter(None, (optional(entries.get(key), key) for key in _THOUGHTS))
    calls = list(located_items("tool_calls", _call, entries.get("tool_calls") or ()))
    named = [
        ToolUseBlock(f"call_{before + number}" if id is None else id, name, arguments)
        for number, (id, name, arguments) in enumerate(calls)
    ]
    # The same is said under two names by those who ask for either.
    thinking = [b.ReasoningBlock(thought, origin=ORIGIN) for thought in dict.fromkeys(thoughts)]
    refusal = optional(entries.get("refusal"), "refusal")
    refused = (b.TextBlock(refusal, extra={"refusal": True}),) if refusal else ()
    return (*thinking, *read_content(entries.get("content")), *refused, *named)


def _call(data: object) -> tuple[str | None, str, str]:
    call = mapping(data)
    # Some templates take calls without the envelope.
    function = mapping(call["function"]) if "function" in call else call
    arguments = function.get("arguments")
    text = arguments if isinstance(arguments, str) else write_json(arguments or {})
    return optional(call.get("id"), "id"), entry(function, "name", str), text


def _part(data: object) -> Block:
    if isinstance(data, str):
        return text_block(data)
    part = mapping(data)
    if part.get("type", "text") == "text":
        return text_block(entry(part, "text", str))
    return read_media(part) or b.UnknownBlock(part, ORIGIN)


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
