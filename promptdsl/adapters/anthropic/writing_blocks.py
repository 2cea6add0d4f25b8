"""Blocks on the wire: what each block of a message is there."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, cast

from promptdsl import blocks as b
from promptdsl.adapters.anthropic.marks import read_mark
from promptdsl.adapters.anthropic.media import source_param
from promptdsl.adapters.anthropic.names import call_id, result_id, tool_name
from promptdsl.adapters.anthropic.reading_blocks import EXTRA, read_block
from promptdsl.adapters.anthropic.reasoning import reasoning_param
from promptdsl.adapters.anthropic.request import Mark, Param, Request
from promptdsl.adapters.anthropic.text import json_copy, utf8
from promptdsl.blocks import EMPTY, TextBlock, ToolResultBlock, ToolUseBlock
from promptdsl.json_text import read_json

_ESCAPED = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")


def params_of(request: Request) -> list[Param]:
    """Return the blocks of the message at hand."""
    said = request.message
    name, text = said.details.name, said.plain
    if name is not None and said.role != "tool":
        request.lose("hint", f"name {name!r}", "a message has no speaker's name")
    if text is None:
        return _params(request, said.content, said.role)
    if text and not text.isspace():
        return [{"type": "text", "text": text}]
    if text:
        _lose_blank(request)
    return []


def _params(request: Request, content: Iterable[Any], place: str) -> list[Param]:
    writers, params = _WRITERS[place], list[Param]()
    for block in content:
        known = read_block(block.data) if block.type == "unknown" else block
        if known.type in writers:
            param = writers[known.type](request, known)
            params += [param] if param else []
        else:
            request.lose("content", f"{known.type} block", f"there is none in {place} content")
    return params


def _finished(request: Request, param: Param, extra: Mapping[str, Any], cache: str | None) -> Param:
    """Return a block with those of its further keys that are known here, and note its mark."""
    kind = param["type"]
    for key, value in extra.items():
        cited = kind == "text" and request.message.role != "assistant"
        if value is not None and key in EXTRA[kind] and not cited:
            param[key] = json_copy(value)
        elif value is not None:
            request.lose("hint", f"key {key!r}", f"a {kind} block has none here")
    if cache:
        request.marks.append(Mark(param, cache, request.index, request.message))
    return param


def _text(request: Request, block: TextBlock) -> Param | None:
    if block.text and not block.text.isspace():
        return _finished(request, {"type": "text", "text": block.text}, block.extra, block.cache)
    if block.text or block.cache:
        _lose_blank(request)
    return None


def _lose_blank(request: Request) -> None:
    request.lose("hint", "text block", "only white space, or empty under a cache mark")


def _media(request: Request, block: b.ImageBlock | b.DocumentBlock) -> Param | None:
    source = source_param(block.type, block.source)
    if source is None:
        what = f"{block.type} ({block.source.kind}, {block.source.media_type})"
        request.lose("content", what, "not a source or a media type that is taken")
        return None
    param: Param = {"type": block.type, "source": source}
    for key, value in (("title", block.title), ("detail", block.detail)):
        if value and block.is_document and key == "title":
            param["title"] = utf8(value)
        elif value:
            request.lose("hint", key, f"a {block.type} block has none")
    return _finished(request, param, block.extra, block.cache)


def call_param(request: Request, block: ToolUseBlock) -> Param:
    """Return a call; its arguments are an object, or text in one where they are none."""
    id, name, text = call_id(request, block.id), block.name, block.arguments
    if name not in request.tool_names:
        name = tool_name(request, name)
    value = read_json(text)
    if not isinstance(value, dict):
        value = {"arguments": utf8(text)}
        request.lose("hint", f"arguments of {name}", "not a JSON object: sent as text in one")
    elif ("\\u" in text or not text.isascii()) and _ESCAPED.search(text):
        value = json_copy(cast("object", value))
    param: Param = {"type": "tool_use", "id": id, "name": name, "input": value}
    plain = block.cache is None and block.extra is EMPTY
    return param if plain else _finished(request, param, block.extra, block.cache)


def result_param(request: Request, block: ToolResultBlock) -> Param:
    """Return a result; an error has text and nothing else."""
    id, content = result_id(request, block.tool_use_id), block.content
    inner = content[0] if len(content) == 1 and not block.is_error else None
    if type(inner) is TextBlock and inner.cache is block.cache is None:
        text, plain = inner.text, inner.extra is block.extra is EMPTY
        if plain and text and not text.isspace():
            said = [{"type": "text", "text": text}]
            return {"type": "tool_result", "tool_use_id": id, "content": said}
    param: Param = {"type": "tool_result", "tool_use_id": id}
    before = len(request.marks)
    params = _params(request, content, "error result" if block.is_error else "result")
    if block.is_error and not params:
        error = utf8((block.error_type or "").strip())
        params = [{"type": "text", "text": error or "error"}]
    param |= {"content": params} if params else {}
    param |= {"is_error": True} if block.is_error else {}
    # A nested mark counts as one of four, and gateways refuse it: it goes on the result.
    marks = [block.cache, *(mark.cache for mark in request.marks[before:])]
    del request.marks[before:]
    cache = "1h" if "1h" in marks else next(filter(None, marks), None)
    return _finished(request, param, block.extra, cache)


def _unknown(request: Request, block: b.UnknownBlock) -> Param:
    param = json_copy(dict(block.data))
    return _finished(request, param, {}, read_mark(param.pop("cache_control", None)))


_TEXT: Mapping[str, Any] = {"text": _text, "reasoning": reasoning_param}
_MEDIA: Mapping[str, Any] = {"image": _media, "document": _media, "unknown": _unknown}
_USER: Mapping[str, Any] = {**_TEXT, **_MEDIA, "tool_result": result_param}
_WRITERS: Mapping[str, Mapping[str, Any]] = {
    "system": _TEXT,
    "developer": _TEXT,
    "user": _USER,
    "tool": _USER,
    "assistant": {**_TEXT, "tool_use": call_param, "unknown": _unknown},
    "result": {**_TEXT, **_MEDIA},
    "error result": _TEXT,
}
"""By place, what writes each type of block that may stand there."""
