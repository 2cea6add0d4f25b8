"""Read the parts of a Gemini content as blocks."""

import base64

from promptdsl import messages as b
from promptdsl.foundation.errors import DataError, is_one_of
from promptdsl.foundation.frozen import is_mapping
from promptdsl.foundation.json import JsonObject, JsonValue, write_json
from promptdsl.messages.field_checks import optional
from promptdsl.messages.read_blocks import contents
from promptdsl.providers.gemini.media import read_media
from promptdsl.providers.gemini.partial_args import joined_args
from promptdsl.providers.gemini.spelling import base64_text, fields_of, items_or_one
from promptdsl.providers.shared.blocks import ITEM, JSON, SIGNATURE
from promptdsl.providers.shared.checks import items, located_items, mapping, required

_WORDS = ("skip_thought_signature_validator", "context_engineering_is_the_way_to_go")
_ENCODED_WORDS = tuple(base64.b64encode(word.encode()).decode() for word in _WORDS)
UNSIGNED = _ENCODED_WORDS[0]
"""The substitute for a missing signature (Google's documentation of signatures)."""

SUBSTITUTES = frozenset({*_WORDS, *_ENCODED_WORDS})
"""All documented substitutes for a signature, as text and as bytes."""

EMPTY_RESPONSE: JsonObject = {"response": {}}
"""The response of a recorded result that has only files."""

UNNAMED = "\0"  # the id of a call and of a result without one, until they are paired

_DATA = ("text", "function_call", "function_response", "inline_data", "file_data")

OPAQUE = ("executable_code", "code_execution_result", "tool_call", "tool_response")
"""The kinds of parts that are kept unchanged, because we have no block for them."""

AFTER_MEDIA = ("video_metadata",)
"""The kinds of parts after an attachment of a user, in a body that no SDK wrote."""

PARTS = frozenset({*_DATA, *OPAQUE, SIGNATURE})
"""The keys by which a part is recognised."""


def read_parts(value: object) -> tuple[b.Block, ...]:
    """Return the blocks of the parts of a content: a list, a single part, or a string."""
    if value is None or isinstance(value, str):
        return contents(value)
    return tuple(located_items("parts", read_part, items_or_one(value, "parts")))


def read_part(data: object) -> b.Block:
    """Return the block of a part. An unknown part is kept unchanged."""
    part = fields_of({"text": data} if isinstance(data, str) else data)
    if SIGNATURE in part:
        part[SIGNATURE] = base64_text(part[SIGNATURE])
        if part.keys() <= {"thought", SIGNATURE}:
            part["text"] = ""
        # The writer adds a substitute again if the model needs one.
        if is_one_of(part[SIGNATURE], SUBSTITUTES):
            del part[SIGNATURE]
    if part.get("thought") is False:
        del part["thought"]
    kinds = [key for key in _DATA if key in part]
    if len(kinds) != 1 or "type" in part:
        return b.UnknownBlock(part, "gemini")
    kind = kinds[0]
    if kind == "text" and part.get("thought"):
        text = required(part, "text", str)
        signature = optional(part.get(SIGNATURE), SIGNATURE)
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
    # A call that was still being streamed has only some of its arguments.
    if call.pop("will_continue", None):
        return b.UnknownBlock(part, "gemini")
    name = required(call, "name", str)
    id = optional(call.pop("id", None), "id")
    args: object = call.pop("args", None) or {}
    pieces = items(call.pop("partial_args", None) or (), "partial_args")
    if pieces and is_mapping(args):
        try:
            args = {**args, **joined_args(pieces)}
        except DataError:
            return b.UnknownBlock(part, "gemini")
    # Arguments that were recorded as text stay unchanged, even if they are broken.
    arguments = args if isinstance(args, str) else write_json(mapping(args))
    further = {key: value for key, value in part.items() if key != "function_call"}
    del call["name"]
    return b.ToolUseBlock(id or UNNAMED, name, arguments, extra={**call, **further})


def _read_tool_result(part: dict[str, JsonValue]) -> b.Block:
    """Return a result. A response that is not one string becomes its JSON, noted in ``extra``."""
    result = fields_of(part.pop("function_response"))
    id = optional(result.pop("id", None), "id")
    name = optional(result.pop("name", None), "name")
    response = mapping(result.pop("response", None) or {})
    # Many responses have the key ``error`` with an empty value.
    keys, is_error = [*response], bool(response.get("error"))
    # A single value under ``output`` or ``error`` is the response. An object keeps its key.
    is_alone = keys in (["output"], ["error"])
    alone: JsonValue = response[keys[0]] if is_alone else response
    content: tuple[b.Block, ...] = ()
    if isinstance(alone, str):
        is_error = keys == ["error"]
        content = contents(alone)
    elif response:
        is_value = not isinstance(alone, dict) and (is_error or keys == ["output"])
        text = write_json(alone if is_value else response)
        content = (b.TextBlock(text, extra={JSON: True}),)
    content += tuple(located_items("parts", _read_result_part, result.pop("parts", ())))
    extra = {**result, **part}
    if not response and content:
        extra[ITEM] = EMPTY_RESPONSE
    return b.ToolResultBlock(id or UNNAMED, content, name=name, is_error=is_error, extra=extra)


def _read_result_part(data: object) -> b.Block:
    """Return an attachment in a result, which may contain nothing else."""
    block = read_part(data)
    is_media = block.type in ("image", "audio", "video", "document")
    return block if is_media else b.UnknownBlock(fields_of(data), "gemini")
