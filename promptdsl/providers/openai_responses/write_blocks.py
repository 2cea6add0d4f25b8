"""Blocks on the wire: what each block of a message is there, an item or a part of one."""

from collections.abc import Mapping
from typing import Any

from promptdsl import messages as b
from promptdsl.foundation.frozen import EMPTY
from promptdsl.messages import Block, TextBlock, ToolResultBlock, ToolUseBlock
from promptdsl.messages.loss import LossKind
from promptdsl.providers.openai_responses.media import media_part
from promptdsl.providers.openai_responses.reasoning import forget, produce, reasoning_param
from promptdsl.providers.openai_responses.request import (
    Draft,
    Items,
    fitting_id,
    identity,
    origin_of,
)
from promptdsl.providers.openai_responses.rules import (
    KNOWN_ITEMS,
    ORIGIN,
    is_own_item,
    is_own_part,
    lose_keys,
)
from promptdsl.providers.openai_responses.tools import LONGEST_NAME
from promptdsl.providers.shared.blocks import lose_mark
from promptdsl.providers.shared.clean import json_copy
from promptdsl.providers.shared.ids import tool_name
from promptdsl.providers.shared.openai_parts import MARK, joined, marked, tell_error
from promptdsl.providers.shared.request import Param, Place


def write_message(request: Items, place: Place) -> None:
    """Write a message: its results and calls are items, its parts are one."""
    said = place.message
    if said.details.name is not None and said.role != "tool":
        why = "a message has no speaker's name"
        request.lose(place, "hint", f"name {said.details.name!r}", why)
    draft = Draft(place)
    for block in said.content:
        _write(request, draft, block)
    _say(request, draft)
    forget(request, draft)


def _write(request: Items, draft: Draft, block: Block) -> None:
    writer = _WRITERS[draft.place.role].get(block.type)
    if writer is None:
        _unsaid(request, draft, block)
    else:
        writer(request, draft, block)


def _unsaid(request: Items, draft: Draft, block: Block, why: str = "") -> None:
    place = draft.place
    kind: LossKind = "hint" if block.type == "reasoning" else "content"
    what = block.data.get("type", "unknown") if isinstance(block, b.UnknownBlock) else block.type
    request.lose(place, kind, f"{what} block", why or f"there is none in {place.role} content")
    lose_mark(request, place, block)


# Messages.


def _say(request: Items, draft: Draft) -> None:
    """Send the parts that wait as one message."""
    place = draft.place
    parts, draft.parts = draft.parts, []
    if parts and place.message.role == "assistant":
        produce(request, draft)
        request.entries.append(_answer(request, draft, parts))
    elif parts:
        request.entries.append({"role": _role(request, place), "content": joined(parts)})


def _answer(request: Items, draft: Draft, parts: list[Param]) -> Param:
    place = draft.place
    own = identity(request, "message", draft.origin)
    if "id" in own:
        item = {"type": "message", "status": "completed", **own}
        return {**item, "role": "assistant", "content": parts}
    for part in parts:
        if part.get("annotations"):
            request.lose(place, "hint", "annotations", "they belong to the message they came in")
            part["annotations"] = []
    return {"role": "assistant", "content": joined(parts), **own}


def _role(request: Items, place: Place) -> str:
    """Return the wire's role; what was recorded as a system message is one again, in its place."""
    said, facts = place.message, request.facts
    if said.role == "user":
        return "user"
    if not facts.system:
        why = "this model takes neither system nor developer messages: sent as a user's"
        request.lose(place, "role", f"{said.role} message", why)
        return "user"
    system = said.role == "system" or said.kind == "recorded_system" or not facts.developer
    return "system" if system else "developer"


def _text(request: Items, draft: Draft, block: TextBlock) -> None:
    lose_keys(request, draft.place, block, _REFUSAL)
    part = {"type": "input_text", "text": block.text} if block.text else None
    part = marked(request, draft.place, block.cache, part)
    draft.parts += [part] if part else []


_REFUSAL = ("refusal",)


def _spoken(request: Items, draft: Draft, block: TextBlock) -> None:
    """Add a text of the model, which is sent in the message it came in."""
    place = draft.place
    lose_keys(request, place, block, _SPOKEN)
    if marked(request, place, block.cache, {} if block.text else None) is None:
        return
    origin = origin_of(block)
    if origin != draft.origin:
        _say(request, draft)
    draft.origin = origin
    noted = json_copy(block.extra.get("annotations") or [])
    part: Param = {"type": "output_text", "text": block.text, "annotations": noted}
    if block.extra.get("refusal") is True:
        part = {"type": "refusal", "refusal": block.text}
    draft.parts.append(part)


_SPOKEN = ("refusal", "annotations")


def _media(request: Items, draft: Draft, block: b.MediaBlock) -> None:
    part = _media_part(request, draft, block)
    draft.parts += [part] if part else []


def _result_media(request: Items, draft: Draft, block: b.MediaBlock) -> None:
    if request.facts.result_media:
        _media(request, draft, block)
    else:
        _unsaid(request, draft, block, "the result of a tool holds none for this model")


def _media_part(request: Items, draft: Draft, block: b.MediaBlock) -> Param | None:
    place = draft.place
    if block.type not in request.facts.media:
        _unsaid(request, draft, block, "this model takes none")
        return None
    part = media_part(block)
    if part is None:
        what = f"{block.type} ({block.source.kind}, {block.source.media_type})"
        request.lose(place, "content", what, "not a source or a media type that is taken")
        lose_mark(request, place, block)
        return None
    lose_keys(request, place, block)
    if block.title and "filename" not in part:
        request.lose(place, "hint", "title", f"a part of type {part['type']} has none here")
    if block.detail not in (None, "auto", part.get("detail")):
        request.lose(place, "hint", "detail", f"{block.detail!r} is none of a part {part['type']}")
    cleaned = {key: request.clean(place, said, key) for key, said in part.items()}
    return marked(request, place, block.cache, cleaned)


# Items.


def _call(request: Items, draft: Draft, block: ToolUseBlock) -> None:
    place = draft.place
    custom = block.extra.get("custom") is True
    kind, key = ("custom_tool_call", "input") if custom else ("function_call", "arguments")
    name = block.name
    if name not in request.legal_names:
        name = tool_name(request, place, name, longest=LONGEST_NAME)
    if custom:
        request.customs.add(block.id)
    else:
        request.customs.discard(block.id)
    marked(request, place, block.cache, {})
    lose_keys(request, place, block, ("custom",))
    _say(request, draft)
    produce(request, draft)
    made = {"name": name, key: request.clean(place, block.arguments, key)}
    own = identity(request, kind, origin_of(block)) if block.extra is not EMPTY else {}
    request.entries.append({"type": kind, "call_id": fitting_id(block.id), **made, **own})


def _result(request: Items, draft: Draft, block: ToolResultBlock) -> None:
    place = draft.place
    custom = block.tool_use_id in request.customs
    kind = "custom_tool_call_output" if custom else "function_call_output"
    own = identity(request, kind, origin_of(block)) if block.extra is not EMPTY else {}
    request.entries.append(
        {
            "type": kind,
            "call_id": fitting_id(block.tool_use_id),
            "output": _output(request, place, block),
            **own,
        }
    )


def _output(request: Items, place: Place, block: ToolResultBlock) -> str | list[Param]:
    """Return what a result says: a text, as most are, or parts."""
    only = block.content[0] if len(block.content) == 1 and not block.is_error else None
    bare = block.cache is None and block.extra is EMPTY
    if type(only) is TextBlock and bare and only.cache is None and only.extra is EMPTY:
        return only.text
    inside = Draft(place.inside("result"))
    for inner in block.content:
        _write(request, inside, inner)
    parts = inside.parts
    if block.is_error:
        request.lose(place, "hint", "error flag", "there is none: the text says it")
        tell_error(parts, block.error_type or "unknown", kind="input_text")
    marked(request, place, block.cache, parts[-1] if parts else None)
    lose_keys(request, place, block)
    return joined(parts)


def _unknown_part(request: Items, draft: Draft, block: b.UnknownBlock) -> None:
    """Add what was a part of a message, or was written for one."""
    if KNOWN_ITEMS.fullmatch(str(block.data.get("type"))):
        _unknown(request, draft, block)
    elif _is_mine(request, draft, block, is_own_part(block.data)):
        _add_part(request, draft, block)


def _add_part(request: Items, draft: Draft, block: b.UnknownBlock) -> None:
    part = json_copy(dict(block.data))
    marked(request, draft.place, "default" if part.pop(MARK, None) else None, part)
    draft.parts.append(part)


def _unknown_in_result(request: Items, draft: Draft, block: b.UnknownBlock) -> None:
    item = KNOWN_ITEMS.fullmatch(str(block.data.get("type")))
    if _is_mine(request, draft, block, not item and is_own_part(block.data)):
        _add_part(request, draft, block)


def _unknown(request: Items, draft: Draft, block: b.UnknownBlock) -> None:
    """Send what was an item; one that was sent before would be refused."""
    place = draft.place
    if not _is_mine(request, draft, block, is_own_item(block.data)):
        return
    item = json_copy(dict(block.data))
    if isinstance(id := item.get("id"), str) and id in request.ids:
        request.lose(place, "hint", f"{item['type']} block", "an item of its id is sent before")
        return
    _say(request, draft)
    produce(request, draft)
    request.ids |= {id} if isinstance(id, str) else set()
    request.entries.append(item)


def _is_mine(request: Items, draft: Draft, block: b.UnknownBlock, own: bool) -> bool:
    """Return whether an unknown block is sent as it came; a loss where it is not."""
    foreign = block.origin not in (None, ORIGIN)
    if foreign or not own:
        none = f"there is none in {draft.place.message.role} content"
        _unsaid(request, draft, block, f"only {block.origin} knows it" if foreign else none)
    return own and not foreign


def _reasoning(request: Items, draft: Draft, block: b.ReasoningBlock) -> None:
    param = reasoning_param(request, draft, block)
    if param is not None:
        _say(request, draft)
        draft.thoughts.append(param)


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
