"""Writing: a prompt becomes the arguments of a request."""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict, cast

import attrs

from promptdsl import messages as b
from promptdsl.config.model_facts import ModelFacts
from promptdsl.foundation.json import ABSENT
from promptdsl.messages.loss import Loss
from promptdsl.messages.prompt import Prompt
from promptdsl.providers.gemini.media import RESULT_TYPES, source_param
from promptdsl.providers.gemini.read_parts import (
    MARK,
    OPAQUE,
    marked_value,
    misnames,
    read_part,
    response_param,
)
from promptdsl.providers.gemini.reasoning import (
    SIGNATURE,
    ask_signature,
    kept_signature,
    signed,
    thought_param,
)
from promptdsl.providers.gemini.tools import NO_MARKS, sent_name, settings_of, tools_of
from promptdsl.providers.shared.blocks import ITEM, block_to_write, lose_mark
from promptdsl.providers.shared.clean import arguments_of, json_copy, utf8
from promptdsl.providers.shared.ids import call_id, result_id
from promptdsl.providers.shared.memory import Recall
from promptdsl.providers.shared.request import Param, Place
from promptdsl.providers.shared.two_sided import Dialect, Turns, add, finish, unwritten

if TYPE_CHECKING:
    from google.genai.types import ContentDict, GenerateContentConfigDict


_ANY = ("part_metadata",)
_TEXTUAL = (*_ANY, "speech_metadata")
_MEDIAL = (
    *(*_ANY, "media_resolution", "media_processing", "video_metadata", "audio_metadata"),
    *("document_metadata", "spreadsheet_metadata", "audio_transcription"),
)
_RESULT = ("will_continue", "scheduling")


def _params(request: Turns, place: Place) -> list[Param]:
    """Return the parts of a message."""
    message = place.message
    name = message.details.name
    if name is not None and message.role != "tool":
        request.lose(place, "hint", f"name {name!r}", "a content has no speaker's name")
    if message.plain is not None:
        return [{"text": message.plain}] if message.plain else []
    return _parts(request, place, message.content)


def _parts(request: Turns, place: Place, content: Iterable[b.Block]) -> list[Param]:
    params: list[Param] = []
    writers = _WRITERS[place.role]
    for given in content:
        block: b.Block | None = given
        if given.type == "unknown" or given.type not in writers:
            block = block_to_write(
                request, place, given, kinds=writers, origin="gemini", read=_read
            )
        param = writers[block.type](request, place, block) if block else None
        if param:
            params.append(param)
        elif block:
            lose_mark(request, place, block)
    return params


def _read(block: b.UnknownBlock) -> b.Block:
    return read_part(block.data)


def _finished(
    request: Turns, place: Place, param: Param, block: Any, *, keys: tuple[str, ...]
) -> Param:
    """Return a part with those of its block's further keys that it may have; a mark is lost."""
    for key, given in block.extra.items():
        value = kept_signature(given) if key == SIGNATURE else given
        if value is not None and key in keys:
            param[key] = json_copy(value)
        elif given is not None and key != ITEM:
            request.lose(place, "hint", f"key {key!r}", f"there is none in {block.type} parts here")
    if block.cache:
        request.lose(place, "hint", "cache mark", NO_MARKS)
    return param


def _text(
    request: Turns, place: Place, block: b.TextBlock, *, keys: tuple[str, ...]
) -> Param | None:
    # An empty text is taken only to carry a signature.
    signed = SIGNATURE in keys and kept_signature(block.extra.get(SIGNATURE))
    if not (block.text or signed):
        return None
    return _finished(request, place, {"text": block.text}, block, keys=keys)


def _media(
    request: Turns, place: Place, block: b.MediaBlock, *, keys: tuple[str, ...]
) -> Param | None:
    source = source_param(block.type, block.source)
    # What a model made it sent as bytes, never as an address.
    if source is None or ("file_data" in source and place.message.role == "assistant"):
        what = f"{block.type} ({block.source.kind}, {block.source.media_type})"
        why = "not a source or a media type that is taken; an address has to tell its type"
        request.lose(place, "content", what, why)
        return None
    for key, value in (("title", block.title), ("detail", block.detail)):
        if value:
            request.lose(place, "hint", key, f"there is none in {block.type} parts")
    return _finished(request, place, source, block, keys=keys)


def _call(request: Turns, place: Place, block: b.ToolUseBlock) -> Param:
    name = block.name
    if name not in request.legal_names:
        name = sent_name(request, place, name)
    id = call_id(request, block.id, name)
    call = {"id": id, "name": name, "args": arguments_of(request, place, block)}
    param = _finished(request, place, {"function_call": call}, block, keys=(*_ANY, SIGNATURE))
    ask_signature(request, place, param)
    return param


def _result(request: Turns, place: Place, block: b.ToolResultBlock) -> Param:
    id = result_id(request, block.tool_use_id)
    name = request.called.get(id) or sent_name(request, place, block.name or "_")
    role = "media result" if request.facts.result_media else "result"
    params = _parts(request, place.inside(role), block.content)
    media = [param for param in params if "text" not in param]
    answer: Param = {"id": id, "name": name, "response": _response(request, place, block, params)}
    answer |= {"parts": media} if media else {}
    param = _finished(request, place, {"function_response": answer}, block, keys=(*_ANY, *_RESULT))
    answer |= {key: param.pop(key) for key in _RESULT if key in param}
    return param


def _response(request: Turns, place: Place, block: b.ToolResultBlock, params: list[Param]) -> Param:
    """Return what a result says: an object that was recorded as one, otherwise one text."""
    texts = [param for param in params if "text" in param]
    named = [source.get("display_name") for param in params for source in _sources(param)]
    value = marked_value(texts, is_error=block.is_error)
    if value is not ABSENT and not misnames(value, named):
        return response_param(value, is_error=block.is_error)
    if value is not ABSENT:
        why = "its key '$ref' would be taken for the name of an attachment: sent as text"
        request.lose(place, "hint", "a result as an object", why)
    text = "\n\n".join(param["text"] for param in texts)
    if not block.is_error:
        return {"output": text}
    return {"error": text if text.strip() else utf8((block.error_type or "").strip()) or "error"}


def _sources(param: Param) -> list[Param]:
    return [param[key] for key in ("inline_data", "file_data") if key in param]


def _result_media(request: Turns, place: Place, block: b.MediaBlock) -> Param | None:
    param = _media(request, place, attrs.evolve(block, title=None, cache=None), keys=())
    sources = _sources(param or {})
    if any(source.get("mime_type") not in RESULT_TYPES for source in sources):
        what = f"{block.type} ({block.source.kind}, {block.source.media_type})"
        request.lose(place, "content", what, "not a media type that a result may hold")
        return None
    if block.cache and param:
        request.lose(place, "hint", "cache mark", NO_MARKS)
    for source in sources if block.title else ():
        source["display_name"] = utf8(block.title or "")
    return param


def _unknown(request: Turns, place: Place, block: b.UnknownBlock) -> Param | None:
    kinds = [key for key in block.data if key in OPAQUE]
    if len(kinds) == 1 and set(block.data) <= {*OPAQUE, *_ANY, "thought", SIGNATURE}:
        return json_copy(dict(block.data))
    request.lose(place, "content", "unknown block", "no part that is known here")
    return None


_PLAIN: Mapping[str, Any] = {"text": partial(_text, keys=()), "reasoning": thought_param}
_RESULT_TEXT = {**_PLAIN, "text": partial(_text, keys=(MARK,))}
_KINDS = ("image", "audio", "video", "document")
_USER: Mapping[str, Any] = {
    "text": partial(_text, keys=_TEXTUAL),
    "reasoning": thought_param,
    "tool_result": _result,
    **dict.fromkeys(_KINDS, partial(_media, keys=_MEDIAL)),
}
_WRITERS: Mapping[str, Mapping[str, Any]] = {
    "system": _PLAIN,
    "developer": _PLAIN,
    "user": _USER,
    "tool": _USER,
    # Some models answer with pictures and speech, which stand in the conversation from then on.
    "assistant": {
        "text": partial(_text, keys=(*_TEXTUAL, SIGNATURE)),
        "reasoning": thought_param,
        "tool_use": _call,
        "unknown": _unknown,
        **dict.fromkeys(_KINDS[:2], partial(_media, keys=(*_MEDIAL, SIGNATURE, "thought"))),
    },
    "result": _RESULT_TEXT,
    "media result": {**_RESULT_TEXT, **dict.fromkeys(_KINDS, _result_media)},
}
"""By place, what writes each type of block that may stand there."""


class Payload(TypedDict):
    """What ``client.models.generate_content`` takes of a prompt; ``config`` may be empty."""

    contents: "list[ContentDict]"
    config: "GenerateContentConfigDict"


_DIALECT = Dialect("function_response", text={}, apart=True, opens=True, trims=False)


def write(
    prompt: Prompt, facts: ModelFacts, recall: Recall | None = None
) -> tuple[Payload, tuple[Loss, ...]]:
    """Return the payload of a prompt, whose roles are mapped, and what it could not say.

    With a ``recall`` some of the payload is remembered, and must not be changed. Raises
    :class:`DataError` for an unknown block that cannot be read, or written as JSON.
    """
    request = Turns(prompt, facts, dialect=_DIALECT)
    tools = tools_of(request) if prompt.tools else []
    for start, stop in recall.spans(request) if recall else [(0, len(prompt.messages))]:
        for place in unwritten(request, start, stop):
            add(request, place, _params(request, place))
        _settle(request, request.lasting())
    finish(request)
    _settle(request, len(request.entries))
    request.losses += request.late
    system = {"system_instruction": {"parts": request.system}} if request.system else {}
    settings = settings_of(request, tools) if prompt.tool_choice or prompt.output else {}
    config = {**system, **({"tools": tools} if tools else {}), **settings}
    payload = {"contents": request.entries, "config": config}
    return cast("Payload", payload), request.final_losses()


_CALL = "function_call"
_ROLES = {"user": "user", "assistant": "model"}


def _settle(request: Turns, stop: int) -> None:
    """Make contents of turns: calls are signed, and results in the order of the calls.

    ``stop`` is the index up to which nothing more is added to the turns.
    """
    entries = request.entries
    for index in range(request.settled, stop):
        turn = entries[index]
        parts: list[Param] = turn["content"]
        if turn["role"] == "assistant":
            parts = signed(request, parts)
        elif len(parts) > 1 and index and _DIALECT.is_result(parts[0]):
            calls = [part[_CALL]["id"] for part in entries[index - 1]["parts"] if _CALL in part]
            parts = sorted(parts, key=partial(_order, {id: n for n, id in enumerate(calls)}))
        entries[index] = {"role": _ROLES[turn["role"]], "parts": parts}
    request.settled = max(request.settled, stop)


def _order(order: Mapping[str, int], param: Param) -> int:
    """Return where the call of a result stands in its batch."""
    return order.get(param["function_response"]["id"], -1)
