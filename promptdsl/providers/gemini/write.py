"""Write a prompt as the arguments of ``client.models.generate_content``.

Read ``write`` first. ``shared/two_sided.py`` puts messages into turns, and ``_finish_turns`` makes
Gemini's contents of the finished turns. The functions after it write the parts of a content: texts,
reasoning, attachments, calls and results.
"""

from collections.abc import Container, Mapping
from functools import partial
from typing import TYPE_CHECKING, TypedDict, cast

import attrs

from promptdsl import messages as b
from promptdsl.config.model_facts import ModelFacts
from promptdsl.config.records import GEMINI
from promptdsl.foundation.frozen import new_dict, text_or_empty
from promptdsl.foundation.json import ABSENT, JsonValue, read_json
from promptdsl.foundation.unicode import is_valid_unicode
from promptdsl.messages.prompt import Loss, Prompt, hint
from promptdsl.providers.gemini.parts import (
    NO_MARKS,
    RESULT_TYPES,
    is_base64,
    name_to_send,
    needs_bytes,
    settings_of,
    source_param,
    tools_of,
    type_to_send,
)
from promptdsl.providers.gemini.read import (
    AFTER_MEDIA,
    EMPTY_RESPONSE,
    OPAQUE,
    SUBSTITUTES,
    UNSIGNED,
    read_part,
)
from promptdsl.providers.shared.blocks import (
    CONTAINERS,
    ITEM,
    JSON,
    ORIGIN_KEY,
    SIGNATURE,
    BlockRules,
    arguments_of,
    block_params,
    further_keys,
    holds_file,
    json_copy,
    left_out_as_blank,
    lose_reasoning,
    lose_source,
    signature_of,
    utf8,
    with_bytes,
)
from promptdsl.providers.shared.memory import CachedWrite
from promptdsl.providers.shared.request import (
    Carrier,
    Location,
    Param,
    Request,
    about,
    joined_texts,
)
from promptdsl.providers.shared.two_sided import (
    Dialect,
    Turns,
    call_id,
    message_params,
    result_id,
    write_turns,
)

if TYPE_CHECKING:
    from google.genai.types import ContentDict, GenerateContentConfigDict


class GeminiPayload(TypedDict):
    """The arguments of ``generate_content`` for a prompt; ``config`` may be empty."""

    contents: "list[ContentDict]"
    config: "GenerateContentConfigDict"


_DIALECT = Dialect(
    "function_response",
    text_keys={},
    separate_results=GEMINI.results_apart,
    signed_keys=frozenset({"thought", SIGNATURE}),
)
_ROLES = {"user": "user", "assistant": "model"}

_PART_KEYS = ("part_metadata",)
"""The keys in ``extra`` of any block that are keys of its part."""
_TEXT_KEYS = (*_PART_KEYS, "speech_metadata")
_MEDIA_KEYS = (
    *(*_PART_KEYS, "media_resolution", "media_processing", "video_metadata", "audio_metadata"),
    *("document_metadata", "spreadsheet_metadata", "audio_transcription"),
)
_RESULT_KEYS = ("will_continue", "scheduling")
"""The keys in the ``extra`` of a result that belong into its ``function_response``."""

_OPAQUE_KEYS = {*OPAQUE, *_PART_KEYS, "thought", SIGNATURE}
"""The keys of an unknown part that is sent unchanged."""

_PLAIN_TEXT: Mapping[str, tuple[str, ...]] = {"text": (), "reasoning": ()}
_MEDIA = ("image", "audio", "video", "document")
_USER_BLOCKS: Mapping[str, tuple[str, ...]] = {
    **{
        "text": _TEXT_KEYS,
        "reasoning": (),
        "tool_result": (*_PART_KEYS, *_RESULT_KEYS),
        "unknown": (),
    },
    **dict.fromkeys(_MEDIA, _MEDIA_KEYS),
}
_KEYS_BY_ROLE: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "system": _PLAIN_TEXT,
    "developer": _PLAIN_TEXT,
    "user": _USER_BLOCKS,
    "tool": _USER_BLOCKS,
    # Some models answer with pictures and speech, which stay in the conversation.
    "assistant": {
        "text": (*_TEXT_KEYS, SIGNATURE),
        "reasoning": (),
        "tool_use": (*_PART_KEYS, SIGNATURE),
        "unknown": (),
        **dict.fromkeys(_MEDIA[:2], (*_MEDIA_KEYS, SIGNATURE, "thought")),
    },
    "result": {**_PLAIN_TEXT, "text": (JSON,), **dict.fromkeys(_MEDIA, ())},
}
"""By the role of a location, the types of blocks to send, and the keys of ``extra`` to send."""


@attrs.define(eq=False)
class Contents(Turns):
    """The turns of a request to Gemini, and the calls in them that have no signature."""

    unsigned: dict[str, tuple[Location, tuple[int, ...]]] = attrs.field(factory=new_dict)
    """By the id in the payload, the message and the block of a call without a signature."""


def write(
    prompt: Prompt, facts: ModelFacts, cached_write: CachedWrite | None = None
) -> tuple[GeminiPayload, tuple[Loss, ...]]:
    """Return the payload of a prompt and its losses.

    Passes have given each message a role that the target takes.
    """
    request = Contents(prompt, facts, dialect=_DIALECT)
    tools = tools_of(request) if prompt.tools else []
    write_turns(request, cached_write, partial(message_params, rules=_RULES), _finish_turns)
    config: Param = {}
    if request.system:
        config["system_instruction"] = {"parts": request.system}
    if tools:
        config["tools"] = tools
    if prompt.has_choice_or_output:
        config |= settings_of(request, tools)
    payload = {"contents": request.payload_messages, "config": config}
    return cast("GeminiPayload", payload), request.final_losses()


def _finish_turns(request: Contents, stop: int) -> None:
    """Replace the turns before the index ``stop`` by Gemini's contents.

    The first call of an answer gets a signature, and results come in the order of their calls.
    """
    turns = request.payload_messages
    for index in range(request.finished, stop):
        turn = turns[index]
        parts: list[Param] = turn["content"]
        if turn["role"] == "assistant":
            parts = _signed(request, parts)
        elif index and _DIALECT.is_result(parts[0]):
            parts = _in_order_of_calls(parts, turns[index - 1]["parts"])
        turns[index] = {"role": _ROLES[turn["role"]], "parts": parts}
    request.finished = max(request.finished, stop)


def _in_order_of_calls(results: list[Param], call_parts: list[Param]) -> list[Param]:
    """Return results in the order of their calls. ``call_parts`` is the turn with the calls."""
    calls = [part["function_call"]["id"] for part in call_parts if "function_call" in part]
    positions = {id: position for position, id in enumerate(calls)}
    return sorted(results, key=lambda part: positions.get(part["function_response"]["id"], -1))


def _signed(request: Contents, parts: list[Param]) -> list[Param]:
    """Return the parts of one answer of the model. Its first call gets a substitute signature.

    It gets one only if the model needs one and the call has none. The model needs signatures in the
    current turn. Answers in earlier turns get one, too, so that their bytes stay the same in later
    requests. The other calls of an answer get none: there, a substitute would do harm.
    """
    first = next((index for index, part in enumerate(parts) if "function_call" in part), None)
    if first is None:
        return parts
    call = parts[first]
    location, at = request.unsigned.get(call["function_call"]["id"], (None, ()))
    if location is None:
        return parts
    why = "this model needs one on the first call of a step, so a substitute is sent"
    unsigned_hint = hint("unsigned_call", "a call without a signature", why)
    request.turn_losses.append(about(location, unsigned_hint, at=at))
    signed = {**call, SIGNATURE: UNSIGNED}
    request.note_change(call, signed)
    return [*parts[:first], signed, *parts[first + 1 :]]


def _text_part(request: Turns, location: Location, block: b.TextBlock) -> Param | None:
    """Return the part of a text, ``None`` for a blank text without a signature."""
    may_sign = SIGNATURE in _KEYS_BY_ROLE[location.role]["text"]
    signature = _valid_signature(block.extra.get(SIGNATURE)) if may_sign else None
    if not signature and left_out_as_blank(request, location, block):
        return None
    return _with_extra(request, location, {"text": block.text}, block)


def _with_extra(request: Turns, location: Location, param: Param, block: Carrier) -> Param:
    """Return a part with the keys in ``extra`` that its type may have. A cache mark is a hint."""
    if block.extra:
        allowed = _KEYS_BY_ROLE[location.role][block.type]
        if SIGNATURE in block.extra and not _valid_signature(block.extra[SIGNATURE]):
            allowed = tuple(key for key in allowed if key != SIGNATURE)
        param |= further_keys(request, location, block, allowed)
    if block.cache:
        request.hint(location, "cache_mark", "cache mark", NO_MARKS)
    return param


def _valid_signature(value: JsonValue) -> str | None:
    """Return a recorded signature.

    Returns ``None`` for a substitute, and for a signature that the SDK would refuse.
    """
    text = text_or_empty(value)
    if text and text not in SUBSTITUTES and is_base64(text):
        return text
    return None


def _reasoning_part(request: Turns, location: Location, block: b.ReasoningBlock) -> Param | None:
    """Return the part of reasoning, with its signature.

    Returns ``None`` if it cannot be sent unchanged, which is a hint, and for empty reasoning.
    """
    signature = block.signature or ""
    if signature in SUBSTITUTES:
        signature = ""
    is_native = location.message.role == "assistant" and block.origin in request.facts.origins
    if not (is_native and is_valid_unicode(block.text) and is_base64(signature)):
        reason = "it comes from another provider, or cannot be sent unchanged"
        lose_reasoning(request, location, block, reason)
        return None
    if not (block.text or signature):
        return None
    part: Param = {"text": block.text, "thought": True}
    if signature:
        part[SIGNATURE] = signature
    return part


def _attachment_part(request: Turns, location: Location, block: b.MediaBlock) -> Param | None:
    """Return the part of an attachment, ``None`` (a loss) if its source is refused."""
    param = source_param(block.type, block.source)
    if param is None:
        _lose_attachment(request, location, block, _REFUSED_SOURCE)
        return None
    if "file_data" in param and location.message.role == "assistant":
        _lose_attachment(request, location, block, _REFUSED_ADDRESS)
        return None
    (source,) = param.values()
    if block.title and location.role == "result":
        source["display_name"] = utf8(block.title)
    elif block.title:
        request.hint(location, "media_field", "title", f"{block.type} parts have no title")
    if block.detail:
        request.hint(location, "media_field", "detail", f"{block.type} parts have no detail")
    return _with_extra(request, location, param, block)


_REFUSED_SOURCE = "its source or its media type is not taken; an address must show its type"
_REFUSED_ADDRESS = "Gemini takes a file that a model made as bytes only, not as an address"


def _lose_attachment(request: Turns, location: Location, block: b.MediaBlock, reason: str) -> None:
    """Record the loss of an attachment. If its bytes may be taken, it advises to load them."""
    loadable = needs_bytes(block, location.message.role)
    lose_source(request, location, block, reason, loadable=loadable)


def _holds_file(request: Request, location: Location, block: b.MediaBlock) -> bool:
    """Return whether an attachment may stay in a result, by its media type in the payload."""
    if not holds_file(request, location, block):
        return False
    return type_to_send(block.type, with_bytes(block.source)) in RESULT_TYPES


def _tool_call_part(request: Contents, location: Location, block: b.ToolUseBlock) -> Param:
    name = name_to_send(request, location, block.name)
    id = call_id(request, block.id, name)
    call = {"id": id, "name": name, "args": arguments_of(request, location, block)}
    if signature := _valid_signature(signature_of(block.extra)):
        # Google's servers with the Chat format put the signature under another key.
        signature_keys = (*CONTAINERS, ORIGIN_KEY)
        further = {key: value for key, value in block.extra.items() if key not in signature_keys}
        block = attrs.evolve(block, extra={**further, SIGNATURE: signature})
    param = _with_extra(request, location, {"function_call": call}, block)
    if request.facts.signatures and SIGNATURE not in param:
        request.unsigned[id] = location, request.at
    return param


def _tool_result_part(request: Turns, location: Location, block: b.ToolResultBlock) -> Param:
    """Return the part of a result: its ``response`` has the texts, its ``parts`` the files."""
    id = result_id(request, block.tool_use_id)
    name = request.called_tools.get(id) or name_to_send(request, location, block.name or "_")
    parts = block_params(request, location.with_role("result", id), block.content, _RULES)
    texts = [part for part in parts if "text" in part]
    media = [part for part in parts if "text" not in part]
    result: Param = {"id": id, "name": name}
    result["response"] = _response(request, location, block, texts=texts, media=media)
    if media:
        result["parts"] = media
    param = _with_extra(request, location, {"function_response": result}, block)
    result |= {key: param.pop(key) for key in _RESULT_KEYS if key in param}
    return param


def _response(
    request: Turns,
    location: Location,
    block: b.ToolResultBlock,
    *,
    texts: list[Param],
    media: list[Param],
) -> Param:
    """Return the response of a result: its texts as one text, or the JSON that was recorded.

    Recorded JSON is sent unchanged, unless a key ``$ref`` in it would name a missing attachment.
    """
    recorded = _recorded_response(texts, is_error=block.is_error)
    names = [source.get("display_name") for part in media for source in part.values()]
    if recorded and not _refers_elsewhere(recorded, names):
        request.note_change(texts[0], recorded)
        return recorded
    if recorded:
        request.hint(location, "result_as_text", "a result as an object", _WHY_TEXT)
    text = joined_texts("\n\n", texts, request.notes)
    if block.is_error and not text.strip():
        text = utf8((block.error_type or "").strip()) or "error"
    if not text and block.extra.get(ITEM) == EMPTY_RESPONSE:
        return {}
    return {_RESPONSE_KEYS[block.is_error]: text}


_WHY_TEXT = "Gemini would take its key '$ref' for the name of an attachment, so it is sent as text"

_RESPONSE_KEYS = {False: "output", True: "error"}
"""The key of a response, by whether the call failed."""


def _recorded_response(texts: list[Param], *, is_error: bool) -> dict[str, JsonValue] | None:
    """Return the response that a result was recorded with, ``None`` for a text or several texts."""
    if len(texts) != 1 or texts[0].get(JSON) is not True:
        return None
    recorded = read_json(texts[0]["text"])
    if recorded is ABSENT or isinstance(recorded, str) or (is_error and not recorded):
        return None
    response = json_copy(recorded)
    # An object is the response itself if its key ``error`` agrees with the flag.
    if isinstance(response, dict) and response and bool(response.get("error")) == is_error:
        return response
    return {_RESPONSE_KEYS[is_error]: response}


def _refers_elsewhere(response: dict[str, JsonValue], names: Container[object]) -> bool:
    """Return whether a key ``$ref``, at any depth, has a value that is no attachment's name."""
    unvisited: list[JsonValue] = [response]
    while unvisited:
        value = unvisited.pop()
        if isinstance(value, dict):
            if "$ref" in value and value["$ref"] not in names:
                return True
            unvisited += value.values()
        elif isinstance(value, list):
            unvisited += value
    return False


def _unknown_part(request: Turns, location: Location, block: b.UnknownBlock) -> Param | None:
    """Return an unknown part unchanged, ``None`` (a loss) if it has an unknown kind or key."""
    allowed_kinds = OPAQUE if location.role == "assistant" else AFTER_MEDIA
    kinds = [key for key in block.data if key in allowed_kinds]
    if len(kinds) == 1 and block.data.keys() <= {*allowed_kinds, *_OPAQUE_KEYS}:
        return json_copy(dict(block.data))
    request.lose(location, "content", f"{block.kind} block", "this type of part is unknown")
    return None


_RULES = BlockRules(
    "gemini",
    read=read_part,
    types=_KEYS_BY_ROLE,
    writers={
        "text": _text_part,
        "reasoning": _reasoning_part,
        "tool_use": _tool_call_part,
        "tool_result": _tool_result_part,
        "unknown": _unknown_part,
        **dict.fromkeys(_MEDIA, _attachment_part),
    },
    holds=_holds_file,
)
