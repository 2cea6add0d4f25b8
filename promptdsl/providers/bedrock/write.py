"""Write a prompt as the arguments of ``client.converse``.

Read ``write`` first. ``shared/two_sided.py`` puts messages into turns. Then ``_separate_results``
moves content that the model refuses next to results into a separate turn. The functions after it
write the blocks.
"""

import re
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, NotRequired, TypedDict, cast

import attrs

from promptdsl import messages as b
from promptdsl.config.model_facts import ModelFacts
from promptdsl.foundation.json import JsonObject, JsonValue, read_json
from promptdsl.messages.prompt import Loss, Prompt, hint
from promptdsl.providers.bedrock.parts import (
    POINT,
    Converse,
    base64_bytes,
    document_name,
    media_param,
    needs_bytes,
    settings_of,
    tools_of,
    write_point_marks,
)
from promptdsl.providers.bedrock.read import EMPTY_RESULT, read_block
from promptdsl.providers.shared.blocks import (
    JSON,
    BlockRules,
    arguments_of,
    block_params,
    further_keys,
    holds_file,
    is_sendable,
    json_copy,
    left_out_as_blank,
    lose_reasoning,
    lose_source,
    utf8,
)
from promptdsl.providers.shared.cache_marks import take_longest_mark
from promptdsl.providers.shared.memory import CachedWrite
from promptdsl.providers.shared.reading import read_mark
from promptdsl.providers.shared.request import OPENING, Carrier, Location, Param
from promptdsl.providers.shared.two_sided import (
    Dialect,
    call_id,
    message_params,
    result_id,
    tool_name,
    valid_reasoning_from,
    write_turns,
)

if TYPE_CHECKING:
    from types_boto3_bedrock_runtime import type_defs as t


class BedrockPayload(TypedDict):
    """The arguments of ``client.converse`` for a prompt; only ``messages`` is always set."""

    system: "NotRequired[list[t.SystemContentBlockTypeDef]]"
    messages: "list[t.MessageUnionTypeDef]"
    toolConfig: "NotRequired[t.ToolConfigurationTypeDef]"
    outputConfig: "NotRequired[t.OutputConfigTypeDef]"


_DIALECT = Dialect("toolResult", text_keys={}, refused=re.compile(r"[^a-zA-Z0-9_.:-]"))

_USER_KINDS = frozenset(
    {
        *("image", "document", "video", "audio", "toolResult"),
        *("guardContent", "searchResult", "toolAddition", "toolRemoval"),
    }
)
_UNKNOWN_KINDS: Mapping[str, frozenset[str]] = {
    "leading": frozenset({"guardContent"}),
    "user": _USER_KINDS,
    "tool": _USER_KINDS,
    "assistant": _USER_KINDS | {"toolUse", "citationsContent"},
    "result": frozenset({"json", "image", "document", "video", "searchResult"}),
}
"""By the role of a location, the kinds of unknown blocks that are sent (botocore's unions)."""

_EXTRA_KEYS: Mapping[str, tuple[str, ...]] = {
    "image": ("error",),
    "audio": ("error",),
    "document": ("context", "citations"),
}
"""By kind of block, the keys in ``extra`` that are sent unchanged."""

_SOURCE_KEYS = ("bucketOwner", "format")
"""The keys in ``extra`` of an attachment that are part of its source."""


def write(
    prompt: Prompt, facts: ModelFacts, cached_write: CachedWrite | None = None
) -> tuple[BedrockPayload, tuple[Loss, ...]]:
    """Return the payload of a prompt and its losses.

    Passes have given each message a role that the target takes.
    """
    # The service refuses the role "system", although its service model has it and Claude takes it.
    if facts.instructions:
        facts = attrs.evolve(facts, instructions=False)
    first_valid_reasoning = valid_reasoning_from(prompt) if facts.binds_reasoning else 0
    request = Converse(prompt, facts, dialect=_DIALECT, first_valid_reasoning=first_valid_reasoning)
    tools = tools_of(request) if prompt.tools else []
    write_turns(request, cached_write, _message_params, _separate_results)
    settings = settings_of(request, tools)
    if request.marks:
        write_point_marks(request, tools)
    payload: Param = {"messages": request.payload_messages, **settings}
    if request.system:
        payload = {"system": request.system, **payload}
    return cast("BedrockPayload", payload), request.final_losses()


def _separate_results(request: Converse, stop: int) -> None:
    """Move content that the model refuses next to results into a separate turn.

    The service joins two user turns, so an answer is put between them (pydantic-ai#6081). ``stop``
    is the index of the first turn that is not finished.
    """
    allowed, turns = request.facts.beside_results, list[Param]()
    if allowed is None:
        return
    for turn in request.payload_messages[request.finished : stop]:
        turns.append(turn)
        content: list[Param] = turn["content"]
        if "toolResult" not in content[0] or "toolResult" in content[-1]:
            continue
        start = results = sum("toolResult" in param for param in content)
        refused: set[str] = set()
        for index, param in enumerate(content[results:], results):
            # Begin the separate turn at a message, so that no message is divided.
            start = index if id(param) in request.starts and not refused else start
            refused |= param.keys() - {*allowed}
        if refused:
            answer = {"role": "assistant", "content": [{"text": OPENING}]}
            with_results, separate_turn = (
                {**turn, "content": content[:start]},
                {**turn, "content": content[start:]},
            )
            message_index, _ = request.starts.get(id(content[start]), (None, None))
            if _lacks_text(separate_turn["content"]):
                # The text of the document stays with the results, so the document needs another.
                separate_turn["content"].append({"text": OPENING})
                inserted_hint = hint("inserted_text", _LONE_DOCUMENT, _WHY_TEXT)
                request.turn_losses.append(_with_message(request, inserted_hint, message_index))
            turns[-1:] = [with_results, answer, separate_turn]
            what = f"{', '.join(sorted(refused))} next to a tool result"
            refused_hint = hint("beside_tool_result", what, _WHY_SEPARATE)
            request.turn_losses.append(_with_message(request, refused_hint, message_index))
    if turns:
        request.counted += len(turns) - (stop - request.finished)
        request.payload_messages[request.finished : stop] = turns
        request.finished += len(turns)


def _with_message(request: Converse, loss: Loss, message_index: int | None) -> Loss:
    """Return a loss with the message at an index, or unchanged without an index."""
    if message_index is None:
        return loss
    return attrs.evolve(loss, message=request.messages[message_index], at=(message_index,))


_WHY_SEPARATE = (
    f"this model refuses it there, so it is sent in a separate turn, after an answer {OPENING!r}"
)
_LONE_DOCUMENT = "a document without a text"
_WHY_TEXT = f"it needs a text in the same message: {OPENING!r} is sent"


def _lacks_text(params: list[Param]) -> bool:
    """Return whether there is a document without the text that it needs (``Message`` of AWS)."""
    return any("document" in param for param in params) and not any("text" in p for p in params)


def _message_params(request: Converse, location: Location) -> list[Param]:
    """Return the params of a message. A document without a text gets a text."""
    leading_location = location.with_role("leading") if location.leads else location
    params = message_params(request, leading_location, _RULES)
    content = [*params]
    if request.role == "user":
        content += request.content
    if any("document" in param for param in params) and _lacks_text(content):
        params.append({"text": OPENING})
        request.hint(location, "inserted_text", _LONE_DOCUMENT, _WHY_TEXT)
    if params and request.facts.beside_results is not None:
        request.starts[id(params[0])] = location.message_index, params[0]
    return params


def _with_extra(
    request: Converse,
    location: Location,
    param: Param,
    block: Carrier,
    *,
    used: Collection[str] = (),
    cache: str | None = None,
) -> Param:
    """Return a param with the keys in ``extra`` that its kind may have, and note its cache mark.

    ``used`` are keys that the param has already. ``cache`` replaces the mark of the block.
    """
    if block.extra:
        ((kind, value),) = param.items()
        allowed = _EXTRA_KEYS.get(kind, ())
        if keys := further_keys(request, location, block, allowed, used=used):
            value |= keys
    if mark := cache or block.cache:
        request.mark(location, param, mark)
    return param


def _text_param(request: Converse, location: Location, block: b.TextBlock) -> Param | None:
    """Return a text, the JSON in a result, or a text with citations; ``None`` for a blank text."""
    is_in_result = location.role in ("result", "error result")
    if is_in_result and block.extra.get(JSON) is True:
        value = read_json(block.text)
        if isinstance(value, dict):
            return _with_extra(request, location, {"json": json_copy(value)}, block, used=(JSON,))
    content: Param = {}
    if not left_out_as_blank(request, location, block):
        content = {"content": [{"text": block.text}]}
    # An answer is sent with its citations. The citations of Nova's searches have no text.
    citations = block.extra.get("citationsContent")
    has_citations = citations or (content and citations is not None)
    if has_citations and location.message.role == "assistant":
        param = {"citationsContent": {**content, "citations": json_copy(citations)}}
        return _with_extra(request, location, param, block, used=("citationsContent",))
    if not content:
        return None
    return _with_extra(request, location, content["content"][0], block)


def _attachment_param(request: Converse, location: Location, block: b.MediaBlock) -> Param | None:
    """Return an attachment, ``None`` (a loss) if the model or the service refuses it."""
    value = media_param(request, block)
    if isinstance(value, str):
        in_s3 = block.source.kind == "s3" and not request.facts.s3_media
        is_needed = in_s3 or needs_bytes(block, location.message.role)
        loadable = is_needed and block.type in request.facts.media
        lose_source(request, location, block, value, loadable=loadable)
        return None
    if request.facts.guesses_media:
        request.hint(location, "unproven_media", f"{block.type} block", _UNPROVEN)
    if block.is_document:
        name = document_name(request, location, block.title, value["format"])
        value = {"name": name, **value}
    elif block.title:
        request.hint(location, "media_field", "title", f"{block.type} blocks have no title")
    if block.detail:
        request.hint(location, "media_field", "detail", f"{block.type} blocks have no detail")
    used = (*_SOURCE_KEYS, "text", "content") if block.is_document else _SOURCE_KEYS
    return _with_extra(request, location, {block.type: value}, block, used=used)


_UNPROVEN = "this model is unknown and may refuse it; register_model() adds its facts"


def _reasoning_param(
    request: Converse, location: Location, block: b.ReasoningBlock
) -> Param | None:
    """Return reasoning unchanged.

    If the service would refuse it, it returns ``None`` and records a hint.
    """
    value = _reasoning_value(request, location, block)
    if value is None:
        reason = "not signed by this provider, or the content before it has changed"
        if not request.facts.signed_reasoning:
            reason = "this model takes no signed reasoning"
        lose_reasoning(request, location, block, reason)
        return None
    if not is_sendable(request, location, block.text, block.signature):
        return None
    return {"reasoningContent": value}


def _reasoning_value(
    request: Converse, location: Location, block: b.ReasoningBlock
) -> Param | None:
    """Return the text and the signature of valid reasoning, or its encrypted data.

    Returns ``None`` for any other reasoning.
    """
    is_native = location.message.role == "assistant" and block.origin in request.facts.origins
    is_valid = location.message_index >= request.first_valid_reasoning
    if not (is_native and is_valid and request.facts.signed_reasoning):
        return None
    if block.encrypted:
        redacted = base64_bytes(block.encrypted)
        return {"redactedContent": redacted} if redacted else None
    if block.signature:
        return {"reasoningText": {"text": block.text, "signature": block.signature}}
    return None


def _tool_call_param(request: Converse, location: Location, block: b.ToolUseBlock) -> Param:
    name = tool_name(request, location, block.name)
    id = call_id(request, block.id, name)
    request.calls_tools = True
    call = {"toolUseId": id, "name": name, "input": arguments_of(request, location, block)}
    return _with_extra(request, location, {"toolUse": call}, block)


def _tool_result_param(request: Converse, location: Location, block: b.ToolResultBlock) -> Param:
    """Return a result. Its cache mark and the marks in it become one mark after the result."""
    id, marks_before = result_id(request, block.tool_use_id), len(request.marks)
    request.calls_tools = True
    role, status = "result", dict[str, str]()
    if block.is_error:
        role, status = "error result", {"status": "error"}
    params = block_params(request, location.with_role(role, id), block.content, _RULES)
    content = params or [_missing_content(block)]
    param: Param = {"toolResult": {"toolUseId": id, "content": content, **status}}
    cache = take_longest_mark(request, marks_before, block.cache)
    return _with_extra(request, location, param, block, cache=cache)


def _missing_content(block: b.ToolResultBlock) -> Param:
    """Return the content of a result that has none, because the service refuses such a result."""
    if block.is_error:
        return {"text": utf8((block.error_type or "").strip()) or "error"}
    return json_copy(dict(EMPTY_RESULT))


def _unknown_param(request: Converse, location: Location, block: b.UnknownBlock) -> Param | None:
    """Return an unknown block unchanged, ``None`` (a loss) if Converse has no such block here."""
    param: Param = json_copy(dict(block.data))
    mark_data = param.pop(POINT, None)
    kind, value = next(iter(param.items()), ("", None))
    if len(param) != 1 or not isinstance(value, dict) or kind not in _UNKNOWN_KINDS[location.role]:
        reason = "Converse has no block of this kind here"
        request.lose(location, "content", f"{block.kind} block", reason)
        return None
    request.calls_tools |= kind in ("toolUse", "toolResult")
    _put_bytes(param)
    if cache := read_mark(mark_data):
        request.mark(location, param, cache)
    return param


def _read_unknown(data: JsonObject) -> b.Block:
    """Return the block of the data of an unknown block."""
    # An unknown block with a cache mark has a second key, so it stays unknown.
    return read_block(data) if len(data) == 1 else b.UnknownBlock(data, "bedrock")


_ANY_JSON = ("input", "json")
"""The keys whose value may be any JSON data. In such data, ``bytes`` has no special meaning."""


def _put_bytes(param: Param) -> None:
    """Replace the base64 text in each ``source`` of a block by bytes, in place and at any depth."""
    unvisited: list[JsonValue] = [param]
    while unvisited:
        value = unvisited.pop()
        if isinstance(value, dict):
            source = value.get("source")
            if isinstance(source, dict) and isinstance(text := source.get("bytes"), str):
                source["bytes"] = base64_bytes(text) or text
            unvisited += [inner for key, inner in value.items() if key not in _ANY_JSON]
        elif isinstance(value, list):
            unvisited += value


_TEXT = frozenset({"text", "reasoning"})
_MEDIA = frozenset({"image", "document", "video"})
_USER = _TEXT | _MEDIA | {"audio", "tool_result", "unknown"}
_RULES = BlockRules(
    "bedrock",
    read=_read_unknown,
    types={
        "leading": _TEXT | {"unknown"},
        "system": _TEXT,
        "developer": _TEXT,
        "user": _USER,
        "tool": _USER,
        "assistant": _TEXT | {"tool_use", "unknown"},
        "result": _TEXT | _MEDIA | {"unknown"},
        "error result": _TEXT,
    },
    writers={
        "text": _text_param,
        "reasoning": _reasoning_param,
        "tool_use": _tool_call_param,
        "tool_result": _tool_result_param,
        "unknown": _unknown_param,
        **dict.fromkeys(("image", "audio", "document", "video"), _attachment_param),
    },
    holds=holds_file,
)
