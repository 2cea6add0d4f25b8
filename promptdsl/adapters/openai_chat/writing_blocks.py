"""Blocks as parts: what each block of a message is on the wire."""

from collections.abc import Callable, Sequence
from typing import Any, cast

from promptdsl import blocks as b
from promptdsl.adapters.openai_chat.marks import joined, marked
from promptdsl.adapters.openai_chat.media import media_part
from promptdsl.adapters.openai_chat.names import fitting_id
from promptdsl.adapters.openai_chat.request import Chat
from promptdsl.adapters.openai_chat.tools import LONGEST_NAME
from promptdsl.blocks import Block, TextBlock, ToolResultBlock, ToolUseBlock
from promptdsl.losses import LossKind
from promptdsl.wire.names import tool_name
from promptdsl.wire.request import Param


def parts_of(request: Chat) -> list[Param]:
    """Return the parts and calls of the message at hand; its results become messages at once."""
    said = request.message
    if said.plain is None:
        return _parts(request, said.role, said.content)
    return [{"type": "text", "text": said.plain}] if said.plain else []


def _parts(request: Chat, role: str, blocks: Sequence[Block]) -> list[Param]:
    written = [_WRITERS.get(type(block), _unsaid)(request, role, block) for block in blocks]
    return [part for part in written if part is not None]


def _unsaid(request: Chat, role: str, block: Block) -> None:
    kind: LossKind = "hint" if type(block) is b.ReasoningBlock else "content"
    what = block.data.get("type", "unknown") if isinstance(block, b.UnknownBlock) else block.type
    request.lose(kind, f"a block of type {what!r}", f"a Chat {role} message has no word for it")


def _text(request: Chat, role: str, block: TextBlock) -> Param | None:
    key = "refusal" if role == "assistant" and block.extra.get("refusal") is True else "text"
    return marked(request, role, block, {"type": key, key: block.text} if block.text else None)


def _call(request: Chat, role: str, block: ToolUseBlock) -> Param | None:
    if role != "assistant":
        _unsaid(request, role, block)
        return None
    name = tool_name(request, block.name, longest=LONGEST_NAME)
    custom = block.extra.get("custom") is True
    kind, key = ("custom", "input") if custom else ("function", "arguments")
    made = {"name": name, key: request.clean(block.arguments, key)}
    call = {"id": fitting_id(block.id), "type": kind, kind: made}
    return marked(request, role, block, call)


def _result(request: Chat, role: str, block: ToolResultBlock) -> None:
    if role not in ("tool", "user"):
        _unsaid(request, role, block)
        return
    parts = _parts(request, "result", block.content)
    if block.is_error:
        request.lose("hint", "the error flag of a result", "Chat has none: the text says it")
        parts = parts or [{"type": "text", "text": block.error_type or "unknown"}]
        told = parts[0]["text"].lower().startswith("error:")
        parts[0]["text"] = parts[0]["text"] if told else f"Error: {parts[0]['text']}"
    marked(request, role, block, parts[-1] if parts else None)
    id = fitting_id(block.tool_use_id)
    request.sent.append({"role": "tool", "tool_call_id": id, "content": joined(parts)})


def _media(request: Chat, role: str, block: b.MediaBlock) -> Param | None:
    part = media_part(block) if role == "user" else None
    if part is None:
        _unsaid(request, role, block)
        return None
    said = cast("dict[str, str]", part[part["type"]])
    for key, value in said.items():
        said[key] = request.clean(value, key)
    why = f"Chat has no word for it on a part of type {part['type']!r}"
    if block.title is not None and "filename" not in said:
        request.lose("hint", f"the title {block.title!r}", why)
    if block.detail is not None and "detail" not in said:
        request.lose("hint", f"the detail {block.detail!r}", why)
    return marked(request, role, block, part)


_WRITERS: dict[type, Callable[[Chat, str, Any], Param | None]] = {
    TextBlock: _text,
    ToolUseBlock: _call,
    ToolResultBlock: _result,
    **dict.fromkeys((b.ImageBlock, b.AudioBlock, b.DocumentBlock), _media),
}
