"""Blocks as params: what each block of a message is before it is folded into one."""

from collections.abc import Callable, Mapping
from typing import Any

from promptdsl import blocks as b
from promptdsl.adapters.chat_template.fences import NO_FORM, fenced
from promptdsl.adapters.chat_template.keys import mended_keys, mended_name
from promptdsl.adapters.chat_template.media import CLASSES, OWN, address_of, media_part
from promptdsl.adapters.chat_template.request import ORIGIN, Templated
from promptdsl.blocks import TextBlock, ToolResultBlock, ToolUseBlock
from promptdsl.encoding import title
from promptdsl.losses import LossKind
from promptdsl.wire.foreign import lose_keys
from promptdsl.wire.names import call_id, result_id
from promptdsl.wire.request import Param
from promptdsl.wire.text import arguments_of, utf8

_SPEAKERS = ("user", "assistant")


def params_of(request: Templated) -> list[Param]:
    """Return the params of the message at hand."""
    said = request.message
    params = [
        param
        for block in said.content
        if (param := _WRITERS.get(type(block), _unsaid)(request, block)) is not None
    ]
    name = said.details.name
    if name is not None and said.role != "tool":
        _say_name(request, utf8(name), params)
    return params


def _say_name(request: Templated, name: str, params: list[Param]) -> None:
    """Put the speaker's name before the first text."""
    spoken = [param for param in params if param["type"] == "text"]
    if request.message.role in _SPEAKERS and spoken:
        spoken[0]["text"] = f"{title(name)}: {spoken[0]['text']}"
        request.lose("hint", f"name {name!r}", "templates drop it: the text begins with it")
    else:
        request.lose(
            "hint", f"name {name!r}", "there is no text of a speaker that it could stand in"
        )


def _unsaid(request: Templated, block: Any) -> None:
    kind: LossKind = "hint" if type(block) is b.ReasoningBlock else "content"
    what = block.data.get("type", "unknown") if isinstance(block, b.UnknownBlock) else block.type
    request.lose(
        kind, f"{what} block", f"the template has no form for it in a {request.message.role} turn"
    )


def _text(request: Templated, block: TextBlock) -> Param | None:
    _lose_hints(request, block)
    return {"type": "text", "text": utf8(block.text)} if block.text else None


def _lose_mark(request: Templated, block: Any) -> None:
    if block.cache is not None:
        request.lose("hint", "cache mark", "a template has none")


def _lose_hints(request: Templated, block: Any) -> None:
    _lose_mark(request, block)
    lose_keys(request, block, "a template")


def _media(request: Templated, block: b.MediaBlock) -> Param | None:
    _lose_mark(request, block)
    role = request.message.role
    part = media_part(block, request.abilities.media) if role == "user" else None
    if part is None:
        _unsaid(request, block)
        return None
    if request.tokens.search(address_of(part)):
        request.lose("content", f"{block.type} block", "its address holds a token of the template")
        return None
    lose_keys(request, block, "a template", set(part) - OWN)
    for key, value in (("title", block.title), ("detail", block.detail)):
        if value is not None:
            request.lose("hint", f"{key} {value!r}", "a part has none")
    return part


def _unknown(request: Templated, block: b.UnknownBlock) -> Param | None:
    # A place for what the program holds; whatever else it says could be a file of the machine.
    kind, mine = block.data.get("type"), block.origin in (None, ORIGIN)
    user = request.message.role == "user" and isinstance(kind, str)
    shown = user and kind in request.abilities.media
    if shown and mine and len(block.data) == 1 and kind in CLASSES:
        return {"type": kind}
    _unsaid(request, block)
    return None


def _reasoning(request: Templated, block: b.ReasoningBlock) -> Param | None:
    mine = request.message.role == "assistant" and block.origin in (None, ORIGIN)
    if not mine or not block.text or not request.abilities.reasoning:
        why = "of another provider, or the template shows none"
        request.lose("hint", "reasoning", why)
        return None
    return {"type": "reasoning", "thought": utf8(block.text)}


def _call(request: Templated, block: ToolUseBlock) -> Param | None:
    if request.message.role != "assistant":
        _unsaid(request, block)
        return None
    _lose_hints(request, block)
    name = mended_name(request, utf8(block.name))
    if not request.abilities.calls:
        return _fenced(request, "tool_use", name, utf8(block.arguments))
    mapping = request.abilities.mapping
    arguments = arguments_of(request, block) if mapping else utf8(block.arguments)
    if request.abilities.tag_keys and not isinstance(arguments, str):
        arguments = mended_keys(request, arguments)
    id = call_id(request, block.id, name)
    request.given[id] = utf8(block.id)
    return {"type": "call", "id": id, "name": name, "arguments": arguments}


def _result(request: Templated, block: ToolResultBlock) -> Param | None:
    if request.message.role not in ("tool", "user"):
        _unsaid(request, block)
        return None
    _lose_hints(request, block)
    text = _result_text(request, block)
    if not request.abilities.calls or block.tool_use_id not in request.calls:
        return _fenced(request, "tool_result", utf8(block.name or ""), text)
    id = result_id(request, block.tool_use_id)
    return {"type": "result", "id": id, "name": request.called[id], "text": text}


def _result_text(request: Templated, block: ToolResultBlock) -> str:
    texts: list[str] = []
    for inner in block.content:
        if type(inner) is TextBlock:
            _lose_hints(request, inner)
            texts += [utf8(inner.text)] if inner.text else []
        else:
            request.lose("content", f"{inner.type} block", "a template's result is text alone")
            _lose_mark(request, inner)
    if not block.is_error:
        return "\n\n".join(texts)
    request.lose("hint", "the error flag of a result", "a template has none: the text says it")
    text = "\n\n".join(texts) or utf8(block.error_type or "unknown")
    return text if text.lower().startswith("error:") else f"Error: {text}"


def _fenced(request: Templated, tag: str, name: str, text: str) -> Param:
    request.lose("role", f"{tag} block", NO_FORM)
    return fenced(tag, name, text)


_WRITERS: Mapping[type, Callable[[Templated, Any], Param | None]] = {
    TextBlock: _text,
    ToolUseBlock: _call,
    ToolResultBlock: _result,
    b.ReasoningBlock: _reasoning,
    b.UnknownBlock: _unknown,
    **dict.fromkeys((b.ImageBlock, b.AudioBlock, b.VideoBlock, b.DocumentBlock), _media),
}
