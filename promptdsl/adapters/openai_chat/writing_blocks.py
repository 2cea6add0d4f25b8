"""Blocks as parts: what each block of a message is on the wire."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from promptdsl import blocks as b
from promptdsl.adapters.openai_chat.keys import AUDIO, ORIGIN, is_own_part, lose_keys
from promptdsl.adapters.openai_chat.media import media_part
from promptdsl.adapters.openai_chat.names import fitting_id
from promptdsl.adapters.openai_chat.request import Chat
from promptdsl.adapters.openai_chat.tools import LONGEST_NAME
from promptdsl.blocks import Block, TextBlock, ToolResultBlock, ToolUseBlock
from promptdsl.losses import LossKind
from promptdsl.wire.names import tool_name
from promptdsl.wire.parts import MARK, joined, marked, tell_error
from promptdsl.wire.request import Param
from promptdsl.wire.text import json_copy


def parts_of(request: Chat) -> list[Param]:
    """Return the parts and calls of the message at hand; its results become messages at once."""
    said = request.message
    if said.plain is None:
        return _parts(request, said.role, said.content)
    return [{"type": "text", "text": said.plain}] if said.plain else []


def _parts(request: Chat, role: str, blocks: Sequence[Block]) -> list[Param]:
    written = [_WRITERS.get(type(block), _unsaid)(request, role, block) for block in blocks]
    return [part for part in written if part is not None]


def _unsaid(request: Chat, role: str, block: Block, why: str = "") -> None:
    kind: LossKind = "hint" if type(block) is b.ReasoningBlock else "content"
    what = block.data.get("type", "unknown") if isinstance(block, b.UnknownBlock) else block.type
    why = why or f"a Chat {role} message has no word for it"
    request.lose(kind, f"a block of type {what!r}", why)
    if getattr(block, "cache", None):
        request.lose("hint", "cache mark", "what it stands behind is not sent")


def _text(request: Chat, role: str, block: TextBlock) -> Param | None:
    spoken = block.extra.get("audio")
    part = _audio(request, role, spoken) if spoken else None
    if part is None:
        key = "refusal" if role == "assistant" and block.extra.get("refusal") is True else "text"
        part = {"type": key, key: block.text} if block.text else None
    lose_keys(request, block, ("refusal", "audio") if part and part["type"] == AUDIO else _REFUSAL)
    return marked(request, block.cache, part)


_REFUSAL = ("refusal",)


def _audio(request: Chat, role: str, said: object) -> Param | None:
    """Return a spoken answer as the id of its recording, one in a message and only where it is."""
    facts = request.facts
    able = "audio" in facts.media and facts.provider != "openai_compatible" and role == "assistant"
    id = cast("Mapping[str, Any]", said).get("id") if isinstance(said, Mapping) else None
    if not able or not isinstance(id, str) or request.spoken == request.index:
        return None
    request.spoken = request.index
    return {"type": AUDIO, "audio": {"id": request.clean(id, "an id")}}


def _unknown(request: Chat, role: str, block: b.UnknownBlock) -> Param | None:
    if block.origin not in (None, ORIGIN):
        _unsaid(request, role, block, f"only {block.origin} knows it")
        return None
    if block.data.get("type") == AUDIO:
        part = _audio(request, role, block.data.get("audio"))
    else:
        part = json_copy(dict(block.data)) if is_own_part(block.data) else None
    if part is None:
        _unsaid(request, role, block)
        return None
    return marked(request, "default" if part.pop(MARK, None) else None, part)


def _call(request: Chat, role: str, block: ToolUseBlock) -> Param | None:
    if role != "assistant":
        _unsaid(request, role, block)
        return None
    name = tool_name(request, block.name, longest=LONGEST_NAME)
    custom = block.extra.get("custom") is True
    kind, key = ("custom", "input") if custom else ("function", "arguments")
    made = {"name": name, key: request.clean(block.arguments, key)}
    call = {"id": fitting_id(block.id), "type": kind, kind: made}
    lose_keys(request, block, ("custom",))
    return marked(request, block.cache, call)


def _result(request: Chat, role: str, block: ToolResultBlock) -> None:
    if role not in ("tool", "user"):
        _unsaid(request, role, block)
        return
    parts = _parts(request, "result", block.content)
    if block.is_error:
        request.lose("hint", "the error flag of a result", "Chat has none: the text says it")
        tell_error(parts, block.error_type or "unknown", kind="text")
    marked(request, block.cache, parts[-1] if parts else None)
    lose_keys(request, block)
    id = fitting_id(block.tool_use_id)
    request.entries.append({"role": "tool", "tool_call_id": id, "content": joined(parts)})


def _media(request: Chat, role: str, block: b.MediaBlock) -> Param | None:
    able = block.type in request.facts.media
    part = media_part(block) if able and role == "user" else None
    if part is None:
        why = "" if able or role != "user" else "this model takes none"
        _unsaid(request, role, block, why)
        return None
    lose_keys(request, block)
    said = cast("dict[str, str]", part[part["type"]])
    for key, value in said.items():
        said[key] = request.clean(value, key)
    why = f"Chat has no word for it on a part of type {part['type']!r}"
    if block.title is not None and "filename" not in said:
        request.lose("hint", f"the title {block.title!r}", why)
    if block.detail is not None and "detail" not in said:
        request.lose("hint", f"the detail {block.detail!r}", why)
    return marked(request, block.cache, part)


_WRITERS: dict[type, Callable[[Chat, str, Any], Param | None]] = {
    TextBlock: _text,
    ToolUseBlock: _call,
    ToolResultBlock: _result,
    b.UnknownBlock: _unknown,
    **dict.fromkeys((b.ImageBlock, b.AudioBlock, b.DocumentBlock), _media),
}
