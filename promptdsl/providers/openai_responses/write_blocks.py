"""Blocks on the wire: what each block of a message is there, an item or a part of one."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from promptdsl import messages as b
from promptdsl.foundation.frozen import EMPTY
from promptdsl.messages import Block, TextBlock, ToolResultBlock, ToolUseBlock
from promptdsl.providers.openai_responses.media import media_part
from promptdsl.providers.openai_responses.reasoning import forget, produce, reasoning_param
from promptdsl.providers.openai_responses.rules import (
    KNOWN_ITEMS,
    ORIGIN,
    Items,
    fitting_id,
    identity,
    is_own_item,
    is_own_part,
    lose_keys,
    origin_of,
)
from promptdsl.providers.openai_responses.tools import LONGEST_NAME
from promptdsl.providers.shared.openai_parts import MARK, joined, marked, tell_error
from promptdsl.providers.shared.request import Param
from promptdsl.providers.shared.text import json_copy, tool_name


def write_message(request: Items) -> None:
    """Write the message at hand: its results and calls are items, its parts are one."""
    said = request.message
    if said.details.name is not None and said.role != "tool":
        request.lose("hint", f"name {said.details.name!r}", "a message has no speaker's name")
    for block in said.content:
        _write(request, said.role, block)
    _say(request)
    forget(request)


def _write(request: Items, role: str, block: Block) -> None:
    writer = _WRITERS[role].get(block.type)
    if writer is None:
        _unsaid(request, role, block)
    else:
        writer(request, block)


def _unsaid(request: Items, place: str, block: Block, why: str = "") -> None:
    what = block.data.get("type", "unknown") if isinstance(block, b.UnknownBlock) else block.type
    kind = "hint" if block.type == "reasoning" else "content"
    request.lose(kind, f"{what} block", why or f"there is none in {place} content")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    _unmark(request, block)


def _unmark(request: Items, block: Block) -> None:
    if getattr(block, "cache", None):
        request.lose("hint", "cache mark", "what it stands behind is not sent")


# Messages.


def _say(request: Items) -> None:
    """Send the parts that wait as one message."""
    parts, request.parts = request.parts, []
    if parts and request.message.role == "assistant":
        produce(request)
        request.entries.append(_answer(request, parts))
    elif parts:
        request.entries.append({"role": _role(request), "content": joined(parts)})


def _answer(request: Items, parts: list[Param]) -> Param:
    own = identity(request, "message", request.origin)
    if "id" in own:
        item = {"type": "message", "status": "completed", **own}
        return {**item, "role": "assistant", "content": parts}
    for part in parts:
        if part.get("annotations"):
            request.lose("hint", "annotations", "they belong to the message they came in")
            part["annotations"] = []
    return {"role": "assistant", "content": joined(parts), **own}


def _role(request: Items) -> str:
    """Return the wire's role; what was recorded as a system message is one again, in its place."""
    said, facts = request.message, request.facts
    if said.role == "user":
        return "user"
    if not facts.system:
        why = "this model takes neither system nor developer messages: sent as a user's"
        request.lose("role", f"{said.role} message", why)
        return "user"
    system = said.role == "system" or said.kind == "recorded_system" or not facts.developer
    return "system" if system else "developer"


def _text(request: Items, block: TextBlock) -> None:
    lose_keys(request, block, _REFUSAL)
    part = {"type": "input_text", "text": block.text} if block.text else None
    part = marked(request, block.cache, part)
    request.parts += [part] if part else []


_REFUSAL = ("refusal",)


def _spoken(request: Items, block: TextBlock) -> None:
    """Add a text of the model, which is sent in the message it came in."""
    lose_keys(request, block, _SPOKEN)
    if marked(request, block.cache, {} if block.text else None) is None:
        return
    origin = origin_of(block)
    if origin != request.origin:
        _say(request)
    request.origin = origin
    noted = json_copy(block.extra.get("annotations") or [])
    part: Param = {"type": "output_text", "text": block.text, "annotations": noted}
    if block.extra.get("refusal") is True:
        part = {"type": "refusal", "refusal": block.text}
    request.parts.append(part)


_SPOKEN = ("refusal", "annotations")


def _media(request: Items, block: b.MediaBlock) -> None:
    part = _media_part(request, block)
    request.parts += [part] if part else []


def _result_media(request: Items, block: b.MediaBlock) -> None:
    if request.facts.result_media:
        _media(request, block)
    else:
        _unsaid(request, "result", block, "the result of a tool holds none for this model")


def _media_part(request: Items, block: b.MediaBlock) -> Param | None:
    if block.type not in request.facts.media:
        _unsaid(request, request.message.role, block, "this model takes none")
        return None
    part = media_part(block)
    if part is None:
        what = f"{block.type} ({block.source.kind}, {block.source.media_type})"
        request.lose("content", what, "not a source or a media type that is taken")
        _unmark(request, block)
        return None
    lose_keys(request, block)
    if block.title and "filename" not in part:
        request.lose("hint", "title", f"a part of type {part['type']} has none here")
    if block.detail not in (None, "auto", part.get("detail")):
        request.lose("hint", "detail", f"{block.detail!r} is none of a part {part['type']}")
    cleaned = {key: request.clean(said, key) for key, said in part.items()}
    return marked(request, block.cache, cleaned)


# Items.


def _call(request: Items, block: ToolUseBlock) -> None:
    custom = block.extra.get("custom") is True
    kind, key = ("custom_tool_call", "input") if custom else ("function_call", "arguments")
    name = block.name
    if name not in request.legal_names:
        name = tool_name(request, name, longest=LONGEST_NAME)
    if custom:
        request.customs.add(block.id)
    else:
        request.customs.discard(block.id)
    marked(request, block.cache, {})
    lose_keys(request, block, ("custom",))
    _say(request)
    produce(request)
    made = {"name": name, key: request.clean(block.arguments, key)}
    own = identity(request, kind, origin_of(block)) if block.extra is not EMPTY else {}
    request.entries.append({"type": kind, "call_id": fitting_id(block.id), **made, **own})


def _result(request: Items, block: ToolResultBlock) -> None:
    custom = block.tool_use_id in request.customs
    kind = "custom_tool_call_output" if custom else "function_call_output"
    parts = _result_parts(request, block.content)
    if block.is_error:
        request.lose("hint", "error flag", "there is none: the text says it")
        tell_error(parts, block.error_type or "unknown", kind="input_text")
    marked(request, block.cache, parts[-1] if parts else None)
    lose_keys(request, block)
    own = identity(request, kind, origin_of(block)) if block.extra is not EMPTY else {}
    id, output = fitting_id(block.tool_use_id), joined(parts)
    request.entries.append({"type": kind, "call_id": id, "output": output, **own})


def _result_parts(request: Items, content: Sequence[Block]) -> list[Param]:
    waiting, request.parts = request.parts, []
    for block in content:
        _write(request, "result", block)
    parts, request.parts = request.parts, waiting
    return parts


def _unknown_part(request: Items, block: b.UnknownBlock) -> None:
    """Add what was a part of a message, or was written for one."""
    if KNOWN_ITEMS.fullmatch(str(block.data.get("type"))):
        _unknown(request, block)
    elif _is_mine(request, block, is_own_part(block.data)):
        _add_part(request, block)


def _add_part(request: Items, block: b.UnknownBlock) -> None:
    part = json_copy(dict(block.data))
    marked(request, "default" if part.pop(MARK, None) else None, part)
    request.parts.append(part)


def _unknown_in_result(request: Items, block: b.UnknownBlock) -> None:
    item = KNOWN_ITEMS.fullmatch(str(block.data.get("type")))
    if _is_mine(request, block, not item and is_own_part(block.data)):
        _add_part(request, block)


def _unknown(request: Items, block: b.UnknownBlock) -> None:
    """Send what was an item; one that was sent before would be refused."""
    if not _is_mine(request, block, is_own_item(block.data)):
        return
    item = cast("Param", json_copy(dict(block.data)))
    if isinstance(id := item.get("id"), str) and id in request.ids:
        request.lose("hint", f"{item['type']} block", "an item of its id is sent before")
        return
    _say(request)
    produce(request)
    request.ids |= {id} if isinstance(id, str) else set()
    request.entries.append(item)


def _is_mine(request: Items, block: b.UnknownBlock, own: bool) -> bool:
    """Return whether an unknown block is sent as it came; a loss where it is not."""
    foreign = block.origin not in (None, ORIGIN)
    if foreign or not own:
        why = f"only {block.origin} knows it" if foreign else ""
        _unsaid(request, request.message.role, block, why)
    return own and not foreign


def _reasoning(request: Items, block: b.ReasoningBlock) -> None:
    param = reasoning_param(request, block)
    if param is not None:
        _say(request)
        request.thoughts.append(param)


_ITEMS: Mapping[str, Any] = {"reasoning": _reasoning, "unknown": _unknown}
_PARTS: Mapping[str, Any] = {"text": _text, "unknown": _unknown_part}
_MEDIA: Mapping[str, Any] = {"image": _media, "document": _media}
_WRITERS: Mapping[str, Mapping[str, Any]] = {
    "system": _PARTS,
    "developer": {"reasoning": _reasoning, **_PARTS},
    "user": {"tool_result": _result, "reasoning": _reasoning, **_MEDIA, **_PARTS},
    "tool": {"tool_result": _result, **_ITEMS},
    "assistant": {"text": _spoken, "tool_use": _call, **_ITEMS},
    "result": {
        "text": _text,
        "unknown": _unknown_in_result,
        **dict.fromkeys(_MEDIA, _result_media),
    },
}
"""By place, what writes each type of block that may stand there."""
