"""Read a recorded conversation of a chat template, or a response, as messages."""

from collections.abc import Mapping
from typing import cast

from promptdsl import messages as b
from promptdsl.foundation.errors import DataError, nearest
from promptdsl.foundation.json import JsonObject, write_json
from promptdsl.messages.details import NO_DETAILS, Details, Role
from promptdsl.messages.field_checks import optional_string
from promptdsl.messages.message import Message, message
from promptdsl.messages.prompt import Prompt
from promptdsl.messages.read_blocks import text_block
from promptdsl.providers.chat_template.parts import ORIGIN, read_media, read_tool
from promptdsl.providers.shared.reading import (
    ANSWER_KEYS,
    MESSAGE_KEYS,
    ReadKeys,
    Shape,
    call_keys,
    located,
    located_items,
    mapping,
    openai_usage,
    reply_message,
    required,
    shape,
)

_REASONING_KEYS = ("reasoning_content", "thinking", "reasoning")
"""The keys of reasoning in templates and at servers. Most use the first."""

_ROLES = ("system", "developer", "user", "assistant", "tool")
_OTHER_ROLES = {"ipython": "tool", "tool_results": "tool", "model": "assistant"}
"""By the name of a role in some templates, the role."""


def read(data: object) -> Prompt:
    """Return the prompt of a payload, or of a list of messages as templates take them.

    Calls and results without an id, or with an empty id, are paired in their order. Raises
    :class:`DataError` with the index of a message that cannot be read.
    """
    payload = cast("JsonObject", data) if isinstance(data, Mapping) else {"messages": data}
    reader = _Reader()
    messages = tuple(located_items("messages", reader.read, required(payload, "messages")))
    tools = tuple(located_items("tools", read_tool, payload.get("tools") or ()))
    return Prompt(messages, tools)


class _Reader:
    """A reader of one message after another. It remembers the calls without a result."""

    def __init__(self) -> None:
        self.calls_before = 0
        self.has_started = False
        self.open_calls: dict[str, None] = {}

    def read(self, data: object) -> Message:
        """Return the next message."""
        fields = mapping(data)
        name: str = required(fields, "role", str)
        role = _OTHER_ROLES.get(name, name)
        if role not in _ROLES:
            raise DataError(f"unknown role {role!r}", fix=nearest(role, _ROLES))
        speaker = optional_string(fields.get("name"), "name")
        if role == "tool":
            # A result without an id answers the first open call.
            id = optional_string(fields.get("tool_call_id"), "tool_call_id")
            if not id:
                id = next(iter(self.open_calls), f"call_{self.calls_before}")
            self.open_calls.pop(id, None)
            self.has_started = True
            result = b.ToolResultBlock(id, _read_content(fields.get("content")), speaker)
            return message("tool", (result,), kind="recorded")
        details = NO_DETAILS if speaker is None else Details(name=speaker)
        if role == "assistant":
            content = _read_reply(fields, self.calls_before)
            calls = [block.id for block in content if isinstance(block, b.ToolUseBlock)]
            self.calls_before += len(calls)
            self.open_calls = dict.fromkeys(calls)
            self.has_started = True
            return message("assistant", content, kind="recorded", details=details)
        content = _read_content(fields.get("content"))
        if role == "system" and self.has_started:
            return message("developer", content, kind="recorded_system", details=details)
        self.has_started = self.has_started or role == "user"
        return message(cast("Role", role), content, kind="recorded", details=details)


def _read_content(content: object) -> tuple[b.Block, ...]:
    if content is None or content == "":
        return ()
    if isinstance(content, str):
        return (text_block(content),)
    return tuple(located_items("content", _read_part, content))


def _read_part(data: object) -> b.Block:
    if isinstance(data, str):
        return text_block(data)
    part = mapping(data)
    if part.get("type", "text") == "text":
        return text_block(required(part, "text", str))
    return read_media(part) or b.UnknownBlock(part, ORIGIN)


def _read_reply(fields: JsonObject, calls_before: int) -> tuple[b.Block, ...]:
    """Return the blocks of a reply: reasoning, text, a refusal and calls.

    ``calls_before`` is the number of earlier calls, which makes the id of a call without one.
    """
    texts = filter(None, (optional_string(fields.get(key), key) for key in _REASONING_KEYS))
    # Some servers send the same reasoning under two keys.
    reasoning = [b.ReasoningBlock(text, origin=ORIGIN) for text in dict.fromkeys(texts)]
    refusal = optional_string(fields.get("refusal"), "refusal")
    refused = (b.TextBlock(refusal, extra={"refusal": True}),) if refusal else ()
    calls = [
        b.ToolUseBlock(id or f"call_{calls_before + index}", name, arguments)
        for index, (id, name, arguments) in enumerate(
            located_items("tool_calls", _read_call, fields.get("tool_calls") or ())
        )
    ]
    return (*reasoning, *_read_content(fields.get("content")), *refused, *calls)


def _read_call(data: object) -> tuple[str | None, str, str]:
    """Return the id, the name and the arguments of a call."""
    call = mapping(data)
    # Some templates take calls without the key "function". Some libraries name the id "call_id".
    function = mapping(call["function"]) if "function" in call else call
    arguments = function.get("arguments")
    text = arguments if isinstance(arguments, str) else write_json(arguments or {})
    id = optional_string(call.get("call_id") or call.get("id"), "id")
    return id, required(function, "name", str), text


def read_response(data: object) -> Message:
    """Return the message of a response that a server of open models or a tokenizer returned.

    A response is a Chat completion, a text completion, or a message. It reads the first of several
    choices.
    """
    response = mapping(data)
    if "choices" not in response:
        return _read_answer("response", response)
    choices = required(response, "choices", list)
    choice = mapping(choices[0] if choices else None)
    text = {} if "message" in choice else {"content": required(choice, "text", str)}
    answer = _read_answer("choices[0]", mapping(choice.get("message", text)))
    reason = optional_string(choice.get("finish_reason"), "finish_reason")
    token_usage = openai_usage(response.get("usage"))
    return reply_message(answer.content, reason, token_usage, name=answer.name)


def _read_answer(location: str, fields: JsonObject) -> Message:
    role = fields.get("role", "assistant")
    if _OTHER_ROLES.get(str(role), role) != "assistant":
        raise DataError(f"a response is a message of the model, not of the role {role!r}")
    answer: Message = located(location, _Reader().read, {**fields, "role": "assistant"})
    return answer


def _part_keys(part: Mapping[str, object]) -> Shape | None:
    return _TEXT if part.get("type", "text") == "text" else None


_TEXT = shape("type", "text")
_ANSWER = shape(
    *(*MESSAGE_KEYS, *ANSWER_KEYS, "thinking"), content=_part_keys, tool_calls=call_keys
)
_OTHER_MESSAGE = shape(*MESSAGE_KEYS, content=_part_keys)
_RESULT = _OTHER_MESSAGE.also("tool_call_id")


def _message_keys(fields: Mapping[str, object]) -> Shape:
    role = fields.get("role")
    if role in ("assistant", "model"):
        return _ANSWER
    return _RESULT if role in ("tool", "ipython", "tool_results") else _OTHER_MESSAGE


KEYS = ReadKeys({"messages": _message_keys})
