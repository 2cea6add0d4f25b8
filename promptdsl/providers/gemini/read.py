"""Read recorded Gemini contents, a payload or a response, as messages.

Read ``read`` and ``read_response`` first. Before them come the arguments of calls that were
streamed in pieces, and the parts of a content. After them come contents, and the pairing of calls
and results.
"""

import base64
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import count, islice
from typing import Any, NamedTuple, TypeAlias, cast

import attrs

from promptdsl import messages as b
from promptdsl.foundation.errors import DataError, is_one_of, shown
from promptdsl.foundation.frozen import EMPTY, is_mapping
from promptdsl.foundation.json import LEVELS, JsonObject, JsonValue, depth_error, write_json
from promptdsl.messages.details import NO_DETAILS, Details
from promptdsl.messages.field_checks import optional_string
from promptdsl.messages.message import Message, message
from promptdsl.messages.pairing import answers_before_assistant
from promptdsl.messages.prompt import Prompt
from promptdsl.messages.read_blocks import contents
from promptdsl.providers.gemini.parts import (
    base64_text,
    camel,
    fields_of,
    items_or_single,
    read_media,
    read_settings,
)
from promptdsl.providers.shared.blocks import ITEM, JSON, SIGNATURE
from promptdsl.providers.shared.reading import (
    Inner,
    ReadKeys,
    Shape,
    items,
    joined_answers,
    located,
    located_items,
    mapping,
    reply_message,
    required,
    shape,
    total,
    usage,
    user_messages,
)
from promptdsl.providers.shared.request import Param
from promptdsl.providers.shared.streamed import StreamedReply, merge, replace, texts_in

# Read the arguments of a call that were streamed in pieces (``PartialArg`` of the SDK).

_STEP = re.compile(r"""\.(\w+)|\[(\d{1,9})\]|\[["']([^"']*)["']\]""")
"""A step of a JSON path: ``.name``, ``[0]`` or ``["name"]``."""
_PATH = re.compile(rf"\$(?:{_STEP.pattern})+")
_VALUES = ("string_value", "number_value", "bool_value", "null_value")
"""The keys of a piece for its value; a piece has one of them."""
_SPELLED = {key.replace("_", "") for key in _VALUES}
"""The same keys in lower case and without underscores, to compare them in any spelling."""


Steps: TypeAlias = tuple[str | int, ...]
Tree: TypeAlias = dict[str | int, Any]  # Any: JSON
"""JSON data in which each list is a dictionary by index."""


def joined_args(pieces: Iterable[object]) -> dict[str, Any]:  # Any: JSON
    """Return the arguments that pieces make. Each piece has a value and its JSON path.

    Texts with the same path are joined. Raises :class:`DataError` for a path that is not supported,
    for two values with the same path, and for arguments that are a list.
    """
    values: dict[Steps, Any] = {}  # Any: JSON
    for piece in map(fields_of, map(_with_null, pieces)):
        kind = next((key for key in _VALUES if key in piece), None)
        if kind is None:
            continue
        steps = _steps(piece.get("json_path"))
        value: Any = None if kind == "null_value" else piece[kind]
        if steps not in values:
            values[steps] = value
        elif isinstance(values[steps], str) and isinstance(value, str):
            values[steps] += value
        else:
            raise DataError("'json_path': only a text may come in several pieces")
    tree: Tree = {}
    for (*parents, last_step), value in values.items():
        fields = tree
        for step in parents:
            inner: object = fields.setdefault(step, {})
            if not isinstance(inner, dict):
                raise DataError(f"'json_path': a value has no {last_step!r}")
            fields = cast("Tree", inner)
        if last_step in fields:
            raise DataError(f"'json_path': {last_step!r} has a value already")
        fields[last_step] = value
    arguments: object = _with_lists(tree)
    if not isinstance(arguments, dict):
        raise DataError("'json_path': arguments are an object, not a list")
    return cast("dict[str, Any]", arguments)


def _with_null(piece: object) -> object:
    """Return a piece in which the name ``NULL_VALUE`` of Google's SDK replaces a null of JSON."""
    fields = mapping(piece)
    # A dump of the SDK has the keys of all values, most of them with null.
    values = {key for key in fields if str(key).lower().replace("_", "") in _SPELLED}
    if values and values <= {"nullValue", "null_value"}:
        return {**fields, "null_value": "NULL_VALUE"}
    return fields


def _steps(path: object) -> Steps:
    """Return the keys and indices of a JSON path; raises :class:`DataError` for another path."""
    if not isinstance(path, str) or not _PATH.fullmatch(path):
        raise DataError(f"'json_path' must be a path such as '$.city', not {str(path)[:60]!r}")
    steps = _STEP.findall(path)
    if len(steps) > LEVELS:
        raise depth_error("partial_args")
    return tuple(int(index) if index else name or quoted for name, index, quoted in steps)


def _with_lists(tree: Tree) -> Any:
    """Return data in which lists replace the dictionaries by index."""
    inner: Tree = {}
    for key, value in tree.items():
        inner[key] = _with_lists(cast("Tree", value)) if isinstance(value, dict) else value
    indices = [key for key in inner if isinstance(key, int)]
    if not indices:
        return inner
    if len(indices) < len(inner):
        raise DataError("'json_path': one value has both numbers and names as keys")
    return [inner[index] for index in sorted(indices)]


# Read the parts of a Gemini content as blocks.

_WORDS = ("skip_thought_signature_validator", "context_engineering_is_the_way_to_go")
_ENCODED_WORDS = tuple(base64.b64encode(word.encode()).decode() for word in _WORDS)
UNSIGNED = _ENCODED_WORDS[0]
"""The substitute for a missing signature (Google's documentation of signatures)."""

SUBSTITUTES = frozenset({*_WORDS, *_ENCODED_WORDS})
"""All documented substitutes for a signature, as text and as base64 text."""

EMPTY_RESPONSE: JsonObject = {"response": {}}
"""The note in ``extra`` of a result that was recorded with files and an empty response."""

UNNAMED = "\0"
"""The id of a call or a result that was recorded without an id, until calls get their ids."""

_BLOCK_KEYS = ("text", "function_call", "function_response", "inline_data", "file_data")
"""The kinds of parts for which promptdsl has a block."""

OPAQUE = ("executable_code", "code_execution_result", "tool_call", "tool_response")
"""The kinds of parts that stay unchanged, because promptdsl has no block for them."""

AFTER_MEDIA = ("video_metadata",)
"""The kinds of parts that follow an attachment of a user in a request that no SDK wrote."""

PARTS = frozenset({*_BLOCK_KEYS, *OPAQUE, SIGNATURE})
"""The keys by which a part outside of a content is recognised."""


def read_parts(value: object) -> tuple[b.Block, ...]:
    """Return the blocks of the parts of a content, which are a list, a single part or a string."""
    if value is None or isinstance(value, str):
        return contents(value)
    return tuple(located_items("parts", read_part, items_or_single(value, "parts")))


def read_part(data: object) -> b.Block:
    """Return the block of a part. An unknown part stays unchanged."""
    part = fields_of({"text": data} if isinstance(data, str) else data)
    if SIGNATURE in part:
        part[SIGNATURE] = base64_text(part[SIGNATURE])
        if part.keys() <= {"thought", SIGNATURE}:
            part["text"] = ""
        # The writer adds a new substitute if the model needs one.
        if is_one_of(part[SIGNATURE], SUBSTITUTES):
            del part[SIGNATURE]
    if part.get("thought") is False:
        del part["thought"]
    kinds = [key for key in _BLOCK_KEYS if key in part]
    if len(kinds) != 1 or "type" in part:
        return b.UnknownBlock(part, "gemini")
    kind = kinds[0]
    if kind == "text" and part.get("thought"):
        text = required(part, "text", str)
        signature = optional_string(part.get(SIGNATURE), SIGNATURE)
        return b.ReasoningBlock(text, signature, origin="gemini")
    if kind == "text":
        text = required(part, "text", str)
        return b.TextBlock(text, extra={key: part[key] for key in part if key != "text"})
    if kind == "function_call":
        return _read_tool_call(part)
    if kind == "function_response":
        return _read_tool_result(part)
    rest = {key: value for key, value in part.items() if key != kind}
    return read_media(kind, part[kind], rest) or b.UnknownBlock(part, "gemini")


def _read_tool_call(part: dict[str, JsonValue]) -> b.Block:
    call = fields_of(part["function_call"])
    # An interrupted stream may have only some arguments of a call.
    if call.pop("will_continue", None):
        return b.UnknownBlock(part, "gemini")
    name = required(call, "name", str)
    id = optional_string(call.pop("id", None), "id")
    args: object = call.pop("args", None) or {}
    pieces = items(call.pop("partial_args", None) or (), "partial_args")
    if pieces and is_mapping(args):
        try:
            args = {**args, **joined_args(pieces)}
        except DataError:
            return b.UnknownBlock(part, "gemini")
    # Arguments that were recorded as text stay unchanged, even if the text is not JSON.
    arguments = args if isinstance(args, str) else write_json(mapping(args))
    further = {key: value for key, value in part.items() if key != "function_call"}
    del call["name"]
    return b.ToolUseBlock(id or UNNAMED, name, arguments, extra={**call, **further})


def _read_tool_result(part: dict[str, JsonValue]) -> b.Block:
    """Return a result. A response that is not one string becomes JSON text, noted in ``extra``."""
    result = fields_of(part.pop("function_response"))
    id = optional_string(result.pop("id", None), "id")
    name = optional_string(result.pop("name", None), "name")
    response = mapping(result.pop("response", None) or {})
    # Many responses have the key ``error`` with an empty value.
    keys, is_error = [*response], bool(response.get("error"))
    # A response with the only key ``output`` or ``error`` consists of the value. If the value is an
    # object, the response keeps its key.
    is_single = keys in (["output"], ["error"])
    content_value: JsonValue = response[keys[0]] if is_single else response
    content: tuple[b.Block, ...] = ()
    if isinstance(content_value, str):
        is_error = keys == ["error"]
        content = contents(content_value)
    elif response:
        is_plain_value = not isinstance(content_value, dict) and (is_error or keys == ["output"])
        text = write_json(content_value if is_plain_value else response)
        content = (b.TextBlock(text, extra={JSON: True}),)
    content += tuple(located_items("parts", _read_result_part, result.pop("parts", ())))
    extra = {**result, **part}
    if not response and content:
        extra[ITEM] = EMPTY_RESPONSE
    return b.ToolResultBlock(id or UNNAMED, content, name=name, is_error=is_error, extra=extra)


def _read_result_part(data: object) -> b.Block:
    """Return an attachment in a result. Any other part there is an unknown block."""
    block = read_part(data)
    is_media = block.type in ("image", "audio", "video", "document")
    return block if is_media else b.UnknownBlock(fields_of(data), "gemini")


# Read recorded Gemini contents, a payload or a response, as messages.


def read(data: object) -> Prompt:
    """Return the prompt of a payload, or of contents in any format that the SDK takes.

    A payload is the arguments of ``generate_content``, or the body of a request to the service.
    Raises :class:`DataError` for data that cannot be read.
    """
    is_payload = isinstance(data, Mapping)
    payload = fields_of(cast("JsonObject", data if is_payload else {"contents": data}))
    configs = [fields_of(payload.get(key) or {}) for key in ("generation_config", "config")]
    settings = {**payload, **configs[0], **configs[1]}
    instruction = settings.get("system_instruction")
    leading = located("system_instruction", _read_blocks, instruction)
    details = KEYS.details_of(instruction, _system_keys)
    messages = [message("system", leading, kind="recorded", details=details)] if leading else []
    messages += _paired(_read_contents(required(payload, "contents")))
    return attrs.evolve(read_settings(settings), messages=tuple(messages))


def read_response(data: object) -> Message:
    """Return the message of the first candidate, with its finish reason and token counts."""
    response = fields_of(data)
    if not response.keys() & _RESPONSE_KEYS:
        raise DataError("'candidates' is needed", fix="give the object the client returned")
    candidates = items(response.get("candidates", ()), "candidates")
    candidate = fields_of(candidates[0] if candidates else {})
    blocks = _with_ids(_read_blocks(candidate.get("content")))
    # Without a candidate, the service may have blocked the prompt. Some chunks have counts only.
    blocked = fields_of(response.get("prompt_feedback") or {}).get("block_reason")
    is_blocked = bool(blocked) and not candidates
    word = blocked if is_blocked else candidate.get("finish_reason")
    counts = fields_of(response.get("usage_metadata") or {})
    token_usage = usage(
        total=counts.get("total_token_count"),
        input=total(counts.get("prompt_token_count"), counts.get("tool_use_prompt_token_count")),
        output=total(counts.get("candidates_token_count"), counts.get("thoughts_token_count")),
        cache_read=counts.get("cached_content_token_count"),
        reasoning=counts.get("thoughts_token_count"),
    )
    raw = word if isinstance(word, str) else None
    answer = KEYS.unread(candidate.get("content"), _content_keys)
    extra = KEYS.unread_of_response(response, answer)
    ending = "filtered" if is_blocked else None
    return reply_message(blocks, raw, token_usage, finish_reason=ending, extra=extra)


_RESPONSE_KEYS = {
    *("candidates", "prompt_feedback", "usage_metadata", "model_version", "response_id"),
}


def add_event(reply: StreamedReply, event: Param) -> None:
    """Add a chunk of a stream to the reply so far."""
    chunk = fields_of(event)
    for candidate in map(fields_of, items(chunk.pop("candidates", ()), "candidates")):
        content = fields_of(candidate.pop("content", {}))
        for part in map(fields_of, items_or_single(content.pop("parts", ()), "parts")):
            _add_part(reply, part)
        (candidate_so_far,) = reply.response.setdefault("candidates", [{}])
        content_so_far = fields_of(candidate_so_far.get("content") or {})
        replace(candidate_so_far, candidate)
        parts = [*reply.parts.values()]
        candidate_so_far["content"] = {**content_so_far, **content, "role": "model", "parts": parts}
        reply.ended |= "finish_reason" in candidate
    # The counts of a chunk include the earlier chunks, so they replace the earlier counts.
    replace(reply.response, chunk)
    reply.ended |= "block_reason" in fields_of(chunk.get("prompt_feedback", {}))


def texts_so_far(reply: StreamedReply) -> list[str]:
    """Return the texts of a reply so far, in order, without reasoning."""
    return texts_in((part for part in reply.parts.values() if not part.get("thought")), None)


def _add_part(reply: StreamedReply, part: dict[str, JsonValue]) -> None:
    """Add a part to a reply, or join it with the last part.

    Neighbouring texts are joined, and neighbouring reasoning is joined. A part with a signature
    stays unchanged. A call whose arguments come in pieces becomes one part: each piece but the last
    has the key ``will_continue``.
    """
    last = reply.part(len(reply.parts) - 1) if reply.parts else {}
    call = fields_of(part.get("function_call") or {})
    open_call = fields_of(last.get("function_call") or {})
    if open_call.get("will_continue") and "function_call" in part and "name" not in call:
        pieces: list[object] = []
        for call_piece in (open_call, call):
            pieces += items(call_piece.pop("partial_args", None) or (), "partial_args")
        del open_call["will_continue"]
        last |= {**part, "function_call": {**open_call, **call, "partial_args": pieces}}
        return
    if part.keys() != last.keys() or not part.keys() <= {"text", "thought"}:
        last = reply.part(len(reply.parts))
    merge(last, part)


_MESSAGE = "a message of another provider: History.from_openai, from_anthropic, from_bedrock"
_LOOKS = {
    "candidates": "it looks like a response: read_response(it)",
    "contents": "it looks like a payload: give it without the list",
    **dict.fromkeys(("content", "tool_calls"), f"it looks like {_MESSAGE}"),
    "type": "it looks like a block or an item of another provider: History.from_openai_responses",
}
"""By a key of data that is not a content, the advice about such data."""


class _Content(NamedTuple):
    """The role and the blocks of a content, or of a part outside of a content (``loose``).

    ``extra`` are the values of its unread keys.
    """

    role: str
    blocks: tuple[b.Block, ...]
    loose: bool = False
    extra: JsonObject = EMPTY


def _read_contents(data: object) -> Iterator[Message]:
    """Yield the messages of contents. Neighbouring parts outside of contents are one content.

    The SDK joins such parts, too.
    """
    joined: list[_Content] = []
    for content in located_items("contents", _read_content, items_or_single(data, "contents")):
        last = joined[-1] if joined else None
        if last and content.loose and last.loose and last.role == content.role:
            joined[-1] = last._replace(blocks=last.blocks + content.blocks)
        else:
            joined.append(content)
    for content in joined:
        details = Details(extra=content.extra) if content.extra else NO_DETAILS
        if content.role == "model":
            yield message("assistant", content.blocks, kind="recorded", details=details)
        else:
            yield from user_messages(content.blocks, details)


def _read_blocks(data: JsonValue) -> tuple[b.Block, ...]:
    """Return the blocks of a system instruction: a content, a list of parts, or a part."""
    if data is None or isinstance(data, str | list | tuple):
        return read_parts(data)
    return _read_content(data).blocks


def _read_content(data: object) -> _Content:
    """Return a content, or a part, a list of parts, a text or a file outside of a content."""
    if isinstance(data, str):
        return _Content("user", contents(data), loose=True)
    if isinstance(data, list | tuple):
        return _Content("user", read_parts(cast("object", data)))
    content = fields_of(data)
    if "parts" in content or content.keys() <= {"role"}:
        role = content.get("role", "user")
        # Older recordings have results in contents with the role "function".
        if role not in ("user", "model", "function"):
            raise DataError(f"unknown 'role' {shown(role)}", fix="one of user, model")
        blocks = read_parts(content.get("parts"))
        extra = KEYS.unread(content, _content_keys)
        return _Content("model" if role == "model" else "user", blocks, extra=extra)
    # A part or an uploaded file outside of a content.
    uri = content.get("uri", content.get("file_uri"))
    if uri is not None:
        file = {"file_uri": uri, "mime_type": content.get("mime_type")}
        block = read_part({"file_data": file})
    elif content.keys() & PARTS and not content.keys() & {"role", "type"}:
        block = read_part(content)
    else:
        looks = next((fix for key, fix in _LOOKS.items() if key in content), "")
        raise DataError("'parts' is needed", fix=looks or "give {'role': 'user', 'parts': [...]}")
    return _Content("model" if block.type == "tool_use" else "user", (block,), loose=True)


def _paired(messages: Iterable[Message]) -> Iterator[Message]:
    """Yield messages in which each call has an id, and each result has the id of its call.

    A result without an id answers the first open call with its name.
    """
    # A message of the model directly after its calls is joined with the calls.
    turns = joined_answers([*messages], always=True)
    open_calls: list[b.ToolUseBlock] = []
    answered_ids: set[str] = set()
    for index, turn in enumerate(turns):
        if turn.role == "assistant":
            blocks = _with_ids(turn.content)
            calls = [block for block in blocks if isinstance(block, b.ToolUseBlock)]
            open_calls = calls or open_calls
            # The ids of the results before the next answer.
            answered_ids = {*answers_before_assistant(islice(turns, index + 1, None))}
        else:
            blocks = tuple(_with_call_id(open_calls, block, answered_ids) for block in turn.content)
        is_unchanged = blocks == turn.content
        yield (
            turn
            if is_unchanged
            else message(turn.role, blocks, kind="recorded", details=turn._details)
        )


def _with_ids(blocks: tuple[b.Block, ...]) -> tuple[b.Block, ...]:
    """Return the blocks of a turn. A call without an id gets an id that no other call has."""
    used_ids = {block.id for block in blocks if isinstance(block, b.ToolUseBlock)}
    free_ids = (id for id in map("call_{}".format, count()) if id not in used_ids)
    return tuple(
        attrs.evolve(block, id=next(free_ids))
        if isinstance(block, b.ToolUseBlock) and block.id == UNNAMED
        else block
        for block in blocks
    )


def _with_call_id(
    open_calls: list[b.ToolUseBlock], block: b.Block, answered_ids: set[str]
) -> b.Block:
    """Return a result with the id of its call, and remove the call from ``open_calls``.

    Any other block is returned unchanged. A result without an id never answers a call whose id
    another result has: ``answered_ids`` are the ids of these results.
    """
    if not isinstance(block, b.ToolResultBlock):
        return block
    is_unnamed = block.tool_use_id == UNNAMED
    for index, call in enumerate(open_calls):
        by_name = is_unnamed and block.name == call.name and call.id not in answered_ids
        if by_name or block.tool_use_id == call.id:
            del open_calls[index]
            return attrs.evolve(block, tool_use_id=call.id)
    return attrs.evolve(block, tool_use_id=block.name or "call") if is_unnamed else block


def _keys(*names: str, rest: bool = False, **inner: Inner) -> Shape:
    """Return the shape of an object. It has each key in the spelling of the SDK and the service."""
    inner_by_spelling = {spelled: inner[name] for name in inner for spelled in (name, camel(name))}
    return shape(*names, *map(camel, names), rest=rest, **inner_by_spelling)


def _content_keys(content: Mapping[str, object]) -> Shape | None:
    return _CONTENT if "parts" in content else _reasoning_keys(content)


def _reasoning_keys(part: Mapping[str, object]) -> Shape | None:
    return _REASONING if part.get("thought") and "text" in part else None


def _system_keys(content: Mapping[str, object]) -> Shape:
    return _SYSTEM if "parts" in content else _TEXT


_TEXT = shape("text")
_REASONING = _keys("text", "thought", "thought_signature")
_CONTENT = shape("role", parts=_reasoning_keys)
_SYSTEM = shape("role", parts=_TEXT)

_NO_CONTENT = (
    *("index", "model_version", "response_id", "create_time", "sdk_http_response", "model_status"),
    *("finish_message", "block_reason_message", "safety_ratings", "token_count"),
    *("avg_logprobs", "logprobs_result", "traffic_type", "service_tier"),
    *("prompt_tokens_details", "candidates_tokens_details", "cache_tokens_details"),
    *("tool_use_prompt_tokens_details", "automatic_function_calling_history", "parsed"),
)
_USAGE = _keys(
    *("prompt_token_count", "tool_use_prompt_token_count", "candidates_token_count"),
    *("thoughts_token_count", "cached_content_token_count", "total_token_count", *_NO_CONTENT),
)

KEYS = ReadKeys(
    {
        "system_instruction": _system_keys,
        "config": shape(rest=True, system_instruction=_system_keys),
        "contents": _content_keys,
    },
    _keys(
        *_NO_CONTENT,
        candidates=_keys("content", "finish_reason", *_NO_CONTENT),
        prompt_feedback=_keys("block_reason", *_NO_CONTENT),
        usage_metadata=_USAGE,
    ),
    _NO_CONTENT,
    fields_of=fields_of,
)
