"""Blocks on the wire: what each block of a message is there."""

from collections.abc import Collection, Iterable, Mapping
from functools import partial
from typing import Any, cast

import attrs

from promptdsl import messages as b
from promptdsl.foundation.json import read_json
from promptdsl.messages import TextBlock, ToolResultBlock, ToolUseBlock
from promptdsl.providers.bedrock.binary import put_bytes
from promptdsl.providers.bedrock.marks import POINT, read_mark
from promptdsl.providers.bedrock.media import media_param
from promptdsl.providers.bedrock.read import NOTHING, read_block
from promptdsl.providers.bedrock.reasoning import reasoning_param
from promptdsl.providers.bedrock.request import Converse, document_name
from promptdsl.providers.bedrock.tools import LONGEST_NAME
from promptdsl.providers.shared.blocks import ITEM, block_to_write, lose_mark
from promptdsl.providers.shared.clean import arguments_of, json_copy, utf8
from promptdsl.providers.shared.ids import call_id, result_id, tool_name
from promptdsl.providers.shared.request import Param, Place
from promptdsl.providers.shared.two_sided import OPENING

EXTRA: Mapping[str, tuple[str, ...]] = {
    "image": ("error",),
    "audio": ("error",),
    "document": ("context", "citations"),
}
"""By kind of block, the keys that it keeps as they came."""

_TAKEN = ("bucketOwner", "format")
_TAKEN_AS_TEXT = (*_TAKEN, "text", "content")
"""The keys of an attachment that are written in its source, and those of a document."""

_SAID = frozenset(
    {
        *("image", "document", "video", "audio", "toolResult"),
        *("guardContent", "searchResult", "toolAddition", "toolRemoval"),
    }
)
_ANSWERED = _SAID | {"toolUse", "citationsContent"}
_RESULTS = frozenset({"json", "image", "document", "video", "searchResult"})
_GUARDED = frozenset({"guardContent"})
"""By place, the blocks that are sent as they came (botocore's unions)."""


def params_of(request: Converse, place: Place) -> list[Param]:
    """Return the blocks of a message."""
    message = place.message
    name, text = message.details.name, message.plain
    if name is not None and message.role != "tool":
        request.lose(place, "hint", f"name {name!r}", "a message has no speaker's name")
    if text is None:
        inside = place.inside("leading") if place.number < 0 else place
        return _with_text(request, place, _blocks(request, inside, message.content))
    if text and not text.isspace():
        return [{"text": text}]
    if text:
        _lose_blank(request, place)
    return []


def _blocks(request: Converse, place: Place, content: Iterable[b.Block]) -> list[Param]:
    params: list[Param] = []
    writers = _WRITERS[place.role]
    for given in content:
        block: b.Block | None = given
        if given.type == "unknown" or given.type not in writers:
            block = block_to_write(
                request, place, given, kinds=writers, origin="bedrock", read=_read
            )
        param = writers[block.type](request, place, block) if block else None
        if param:
            params.append(param)
        elif block:
            lose_mark(request, place, block)
    return params


def _read(block: b.UnknownBlock) -> b.Block:
    return read_block(block.data) if len(block.data) == 1 else block


def _with_text(request: Converse, place: Place, params: list[Param]) -> list[Param]:
    """Return the params with a text where documents need one beside them (``Message`` of AWS)."""
    beside = [*params, *(request.content if request.role == "user" else [])]
    if any("document" in param for param in params) and not any("text" in p for p in beside):
        params.append({"text": OPENING})
        why = f"a text has to stand beside it: {OPENING!r} is sent"
        request.lose(place, "hint", "a document without a text", why)
    return params


def _finished(
    request: Converse, place: Place, param: Param, block: Any, *, used: Collection[str] = ()
) -> Param:
    """Return a block with those of its further keys that are known here, and note its mark."""
    ((kind, value),) = param.items()
    for key, given in block.extra.items():
        if key in EXTRA.get(kind, ()) and given is not None:
            value[key] = json_copy(given)
        elif key not in (*used, ITEM) and given is not None:
            request.lose(place, "hint", f"key {key!r}", f"a {kind} block has none here")
    if block.cache:
        request.mark(place, param, block.cache)
    return param


def _text(request: Converse, place: Place, block: TextBlock) -> Param | None:
    said = [] if not block.text or block.text.isspace() else [{"text": block.text}]
    answers = place.message.role == "assistant"
    cited = block.extra.get("citationsContent") if answers else None
    if block.text and not said:
        _lose_blank(request, place)
    if cited or (said and cited is not None):
        content = {"content": said} if said else {}
        param: Param = {"citationsContent": {**content, "citations": json_copy(cited)}}
        return _finished(request, place, param, block, used=("citationsContent",))
    return _finished(request, place, said[0], block) if said else None


def _text_of_result(request: Converse, place: Place, block: TextBlock) -> Param | None:
    if block.extra.get("json") is True:
        value = read_json(block.text)
        if isinstance(value, dict):
            param = {"json": json_copy(cast("object", value))}
            return _finished(request, place, param, block, used=("json",))
    return _text(request, place, block)


def _lose_blank(request: Converse, place: Place) -> None:
    request.lose(place, "hint", "text block", "only white space")


def _media(request: Converse, place: Place, block: b.MediaBlock) -> Param | None:
    value = media_param(request, block)
    if isinstance(value, str):
        what = f"{block.type} ({block.source.kind}, {block.source.media_type})"
        request.lose(place, "content", what, value)
        return None
    if block.is_document:
        value = {"name": document_name(request, place, block.title), **value}
    elif block.title:
        request.lose(place, "hint", "title", f"a {block.type} block has none")
    if block.detail:
        request.lose(place, "hint", "detail", f"a {block.type} block has none")
    taken = _TAKEN_AS_TEXT if block.is_document else _TAKEN
    return _finished(request, place, {block.type: value}, block, used=taken)


def _call(request: Converse, place: Place, block: ToolUseBlock) -> Param:
    name = block.name
    if name not in request.legal_names:
        name = tool_name(request, place, name, longest=LONGEST_NAME)
    id = call_id(request, block.id, name)
    request.calls_tools = True
    call = {"toolUseId": id, "name": name, "input": arguments_of(request, place, block)}
    return _finished(request, place, {"toolUse": call}, block)


def _result(request: Converse, place: Place, block: ToolResultBlock) -> Param:
    id, before = result_id(request, block.tool_use_id), len(request.marks)
    request.calls_tools = True
    inside = place.inside("error result" if block.is_error else "result")
    params = _blocks(request, inside, block.content)
    status = {"status": "error"} if block.is_error else {}
    if not params and block.is_error:
        params = [{"text": utf8((block.error_type or "").strip()) or "error"}]
    elif not params:
        params = [json_copy(dict(NOTHING))]
    param: Param = {"toolResult": {"toolUseId": id, "content": params, **status}}
    # A result holds no marks: they go behind it.
    marks = [mark.cache for mark in request.marks[before:]]
    del request.marks[before:]
    if marks:
        longest: Any = "1h" if "1h" in marks else block.cache or marks[0]
        block = attrs.evolve(block, cache=longest)
    return _finished(request, place, param, block)


def _unknown(
    request: Converse, place: Place, block: b.UnknownBlock, *, kinds: Collection[str]
) -> Param | None:
    param: Param = json_copy(dict(block.data))
    point = param.pop(POINT, None)
    kind, value = next(iter(param.items()), ("", cast("object", None)))
    if len(param) != 1 or not isinstance(value, dict) or kind not in kinds:
        why = "not a block that Converse has in this place"
        request.lose(place, "content", "unknown block", why)
        return None
    request.calls_tools = request.calls_tools or kind in ("toolUse", "toolResult")
    put_bytes(param)
    if point:
        request.mark(place, param, read_mark(point))
    return param


_TEXT: Mapping[str, Any] = {"text": _text, "reasoning": reasoning_param}
_MEDIA: Mapping[str, Any] = {"image": _media, "document": _media, "video": _media}
_USER: Mapping[str, Any] = {
    **_TEXT,
    **_MEDIA,
    "audio": _media,
    "unknown": partial(_unknown, kinds=_SAID),
    "tool_result": _result,
}
_ERROR: Mapping[str, Any] = {**_TEXT, "text": _text_of_result}
_WRITERS: Mapping[str, Mapping[str, Any]] = {
    "leading": {**_TEXT, "unknown": partial(_unknown, kinds=_GUARDED)},
    "system": _TEXT,
    "developer": _TEXT,
    "user": _USER,
    "tool": _USER,
    "assistant": {**_TEXT, "tool_use": _call, "unknown": partial(_unknown, kinds=_ANSWERED)},
    "result": {**_ERROR, **_MEDIA, "unknown": partial(_unknown, kinds=_RESULTS)},
    "error result": _ERROR,
}
"""By place, what writes each type of block that may stand there."""
