"""Writing: messages become the arguments of a request."""

from typing import TYPE_CHECKING, NotRequired, TypedDict, cast

from promptdsl.adapters.openai_chat.keys import AUDIO
from promptdsl.adapters.openai_chat.marks import write_marks
from promptdsl.adapters.openai_chat.names import LONGEST_ID, is_speaker
from promptdsl.adapters.openai_chat.request import Chat
from promptdsl.adapters.openai_chat.tools import settings_of, tools_of
from promptdsl.adapters.openai_chat.writing_blocks import parts_of
from promptdsl.blocks import EMPTY, TextBlock, ToolResultBlock, ToolUseBlock
from promptdsl.encoding import is_whole
from promptdsl.losses import Loss
from promptdsl.messages import NO_DETAILS, Message
from promptdsl.models import ModelFacts
from promptdsl.prompts import Prompt
from promptdsl.wire.memory import Recall, write_messages
from promptdsl.wire.parts import joined

if TYPE_CHECKING:
    from openai.types.chat import (
        ChatCompletionMessageParam,
        ChatCompletionToolChoiceOptionParam,
        ChatCompletionToolUnionParam,
    )
    from openai.types.shared_params import ResponseFormatJSONSchema

_CALLS = frozenset({"function", "custom"})
_BESIDE = _CALLS | {AUDIO}
"""What of an assistant's message stands beside its content."""
_ROLES = frozenset({"system", "user", "assistant"})
"""The roles that have the same name on every wire."""


class Payload(TypedDict):
    """What ``client.chat.completions.create`` takes of a prompt; ``messages`` is always there."""

    messages: "list[ChatCompletionMessageParam]"
    tools: "NotRequired[list[ChatCompletionToolUnionParam]]"
    tool_choice: "NotRequired[ChatCompletionToolChoiceOptionParam]"
    response_format: "NotRequired[ResponseFormatJSONSchema]"


def write(
    prompt: Prompt, facts: ModelFacts, recall: Recall | None = None
) -> tuple[Payload, tuple[Loss, ...]]:
    """Return the payload of a prompt, whose roles are mapped, and what Chat cannot say of it.

    With a ``recall`` some of the payload is remembered, and must not be changed.
    """
    request = Chat(prompt, facts)
    tools = tools_of(request) if prompt.tools else []
    write_messages(request, _write_span, recall)
    if not request.entries:
        request.losses.append(Loss("hint", "messages", "there are none, a request needs one"))
    if request.marks:
        write_marks(request)
    payload = {"messages": request.entries, **({"tools": tools} if tools else {})}
    if prompt.tool_choice or prompt.output:
        payload |= settings_of(request)
    return cast("Payload", payload), request.told()


def _write_span(request: Chat, start: int, stop: int) -> None:
    facts = request.facts
    out, fitting = request.entries, request.legal_names
    roles = _ROLES if facts.system else _ROLES - {"system"}
    for index, said in enumerate(request.messages[start:stop], start):
        role, text = said.role, said.plain
        bare = said.details is NO_DETAILS
        # What conversations mostly consist of is written here, without a call.
        if text and bare and role in roles:
            out.append({"role": role, "content": text})
            continue
        content = said.content if bare and text is None else ()
        block = content[0] if len(content) == 1 else None
        if type(block) is ToolResultBlock and role == "tool" and len(block.content) == 1:
            inner, id = block.content[0], block.tool_use_id
            short = len(id) <= LONGEST_ID and id.isascii() and not block.is_error
            plain = short and block.extra is EMPTY and block.cache is None
            if plain and type(inner) is TextBlock and inner.cache is None and inner.extra is EMPTY:
                out.append({"role": "tool", "tool_call_id": id, "content": inner.text})
                continue
        elif type(block) is ToolUseBlock and role == "assistant" and block.name in fitting:
            id, arguments = block.id, block.arguments
            short = len(id) <= LONGEST_ID and id.isascii() and is_whole(arguments)
            if short and block.cache is None and block.extra is EMPTY:
                function = {"name": block.name, "arguments": arguments}
                call = {"id": id, "type": "function", "function": function}
                out.append({"role": "assistant", "content": None, "tool_calls": [call]})
                continue
        request.index, request.message = index, said
        _add(request)


def _add(request: Chat) -> None:
    said, parts = request.message, parts_of(request)
    if not parts:
        return
    texts = [part for part in parts if part["type"] not in _BESIDE]
    entry = {"role": _role(request, said), "content": joined(texts) if texts else None}
    if calls := [part for part in parts if part["type"] in _CALLS]:
        entry["tool_calls"] = calls
    for part in parts:
        if part["type"] == AUDIO:
            entry["audio"] = part["audio"]
    name = said.details.name
    if name and request.facts.names and is_speaker(name):
        entry["name"] = name
    elif name:
        request.lose("hint", f"the name {name!r}", "the target takes no such speaker's name")
    request.entries.append(entry)


def _role(request: Chat, said: Message) -> str:
    """Return the wire's role; what was recorded as a system message is one again, in its place."""
    if said.role in ("user", "assistant"):
        return said.role
    if not request.facts.system:
        why = "this model takes neither system nor developer messages: sent as a user's"
        request.lose("role", f"{said.role} message", why)
        return "user"
    system = said.role == "system" or said.kind == "recorded_system" or not request.facts.developer
    return "system" if system else "developer"
